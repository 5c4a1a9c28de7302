"""Which changelogs a run goes on with, by what the notes say and what there is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orion import ksql
from orion.errors import Conflict
from orion.hub.changelog import Changelog
from orion.plan.catalog import Catalog
from orion.plan.relations import Query
from orion.plan.steps import StartQuery
from orion.runtime import query_state
from orion.runtime.query_state import QueryState
from tests.jobs import Clock

SOURCE = "CREATE TABLE s (k STRING PRIMARY KEY, v STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON')"
# Two operators: by the table's key, and by the group's.
GROUPED = "CREATE TABLE o AS SELECT v, COUNT(*) AS n FROM s GROUP BY v"


def grouped() -> Query:
    catalog = Catalog()
    for step in ksql.compile(SOURCE, catalog).steps:
        catalog = catalog.after(step)
    [query] = [step.query for step in ksql.compile(GROUPED, catalog).steps if isinstance(step, StartQuery)]
    return query


class Cluster:
    """Topics of a cluster, as far as a QueryState asks for them."""

    def __init__(self, partitions: int) -> None:
        self.bootstrap = "nowhere:9092"
        self.there: dict[str, int] = {"s": partitions}
        self.late: dict[str, int] = {}  # those that will be known after a second question
        self.asked = 0

    def outlines(self) -> list[Any]:
        return [SimpleNamespace(name=name) for name in self.there]

    def present(self, names: Sequence[str]) -> dict[str, Any]:
        self.asked += 1
        if self.asked > 2:
            self.there |= self.late
        found = {name: self.there[name] for name in names if name in self.there}
        return {name: SimpleNamespace(topic_id=f"id-{name}", partitions=count) for name, count in found.items()}

    def create_topic(self, name: str, partitions: int, **_: Any) -> bool:
        self.there[name] = partitions
        return True

    def delete_topic(self, name: str, **_: Any) -> bool:
        return self.there.pop(name, None) is not None


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setattr(query_state, "time", Clock())
    return Cluster(4)


@pytest.fixture
def state(cluster: Any, tmp_path: Path) -> QueryState:
    return QueryState(cluster, "orion", grouped(), tmp_path)


def fill(cluster: Cluster, state: QueryState, edition: str, tasks: int) -> list[Changelog]:
    for name in state.names(edition):
        cluster.there[name] = tasks
    return [Changelog(name, f"id-{name}", tasks) for name in state.names(edition)]


def test_what_has_not_begun_gets_changelogs_as_wide_as_its_topics(cluster: Cluster, state: QueryState) -> None:
    edition = state.stand(state.find(), "", begun=False)
    assert (edition.name, edition.tasks, len(edition.changelogs)) == ("", 4, 2)
    assert set(cluster.there) == {"s", *state.names("")}


def test_the_noted_edition_counts_and_others_are_removed(cluster: Cluster, state: QueryState) -> None:
    fill(cluster, state, "", 2)
    logs = fill(cluster, state, "aa", 3)
    fill(cluster, state, "bb", 5)
    edition = state.stand(found := state.find(), "aa", begun=True)
    assert (edition.name, list(edition.changelogs), edition.tasks) == ("aa", logs, 3)
    state.remove_others(found, edition)
    assert set(cluster.there) == {"s", *state.names("aa")}
    assert (state.slot_count(3), state.most_slots(found)) == (1, 1)  # two operators: one slot


def test_without_a_note_the_first_edition_counts_and_an_unfinished_one_does_not(
    cluster: Cluster, state: QueryState
) -> None:
    fill(cluster, state, "", 2)
    fill(cluster, state, "aa", 3)
    assert state.stand(state.find(), "", begun=True).name == ""


def test_where_all_is_forgotten_the_only_whole_edition_counts(cluster: Cluster, state: QueryState) -> None:
    fill(cluster, state, "aa", 3)
    cluster.there[state.names("bb")[0]] = 5  # not whole: it was being made
    assert state.stand(state.find(), None, begun=True).name == "aa"
    fill(cluster, state, "bb", 5)
    with pytest.raises(Conflict) as refused:
        state.stand(state.find(), None, begun=True)
    assert refused.value.code == "STATE_UNCLEAR"


@pytest.mark.parametrize("told", ["", "aa"])
def test_state_that_is_gone_is_refused(cluster: Cluster, state: QueryState, told: str) -> None:
    fill(cluster, state, told, 2)
    cluster.there.pop(state.names(told)[1])
    with pytest.raises(Conflict) as refused:
        state.stand(state.find(), told, begun=True)
    assert refused.value.code == "STATE_LOST"


def test_topics_that_a_broker_does_not_know_of_yet_are_waited_for(cluster: Cluster, state: QueryState) -> None:
    cluster.late = dict.fromkeys(state.names("aa"), 3)
    assert state.stand(state.find(), "aa", begun=True).tasks == 3


def test_what_is_dropped_leaves_no_edition(cluster: Cluster, state: QueryState) -> None:
    fill(cluster, state, "", 2)
    fill(cluster, state, "aa", 3)
    state.drop()
    assert set(cluster.there) == {"s"}
