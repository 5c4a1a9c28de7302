"""Where a query keeps its state: changelog topics, a partition a task, and local copies of them on this machine."""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from orion.errors import Conflict, OrionError
from orion.hub.changelog import (
    FIRST_EDITION,
    Changelog,
    Editions,
    changelog_name,
    create_changelogs,
    delete_changelogs,
    find_changelogs,
    find_editions,
)
from orion.hub.kafka import Kafka
from orion.plan.relations import Query, has_own_slots, operator_count, scans
from orion.runtime.operators.spread import Spread
from orion.runtime.state.task_store import StateContext

# How long a broker may not know of topics yet that another one has made.
_SPREADS_S = 10.0


@dataclass(frozen=True)
class StateEdition:
    """The changelogs that a run goes on with, by operator."""

    name: str
    changelogs: tuple[Changelog, ...]

    @property
    def tasks(self) -> int:
        return self.changelogs[0].partitions


@dataclass(frozen=True)
class QueryState:
    """The state of one incarnation of a query."""

    kafka: Kafka
    service: str
    query: Query
    folder: Path  # of the local copies: scratch

    def names(self, edition: str) -> list[str]:
        query, count = self.query, operator_count(self.query.relation)
        return [changelog_name(self.service, query.id, query.incarnation, number, edition) for number in range(count)]

    def find(self) -> Editions:
        """The changelogs that there are."""
        return find_editions(self.kafka, self.service, self.query.id, self.query.incarnation)

    def slot_count(self, tasks: int) -> int:
        return tasks if has_own_slots(self.query.relation) else 1

    def most_slots(self, found: Editions) -> int:
        """How many slots may be noted by a run, whatever it finds."""
        tasks = [log.partitions for logs in found.values() for log in logs.values()]
        if self.query.tasks or not tasks:
            tasks.append(self.query.tasks or self._widest())
        return self.slot_count(max(tasks))

    def _widest(self) -> int:
        """As many as the widest topic that is read has partitions."""
        topics = self.kafka.present([source.topic for source in scans(self.query.relation)])
        return max((topic.partitions for topic in topics.values()), default=1)

    # ---- which edition -------------------------------------------------------------------------------------------

    def stand(self, found: Editions, told: str | None, *, begun: bool) -> StateEdition:
        """The edition to go on with; a new one where nothing has begun.

        `told` is the one that the slots' notes say; None where the group has forgotten all it knew. `begun` is
        whether any batch was planned or written.
        """
        name = self._choose(found) if told is None else told
        there = self._await_whole(name, found.get(name, {})) if begun or name else found.get(name, {})
        missing = [topic for topic in self.names(name) if topic not in there]
        if missing and (begun or name):
            raise Conflict(
                "STATE_LOST",
                f"The state of {self.query.id} is gone: there is no topic {missing[0]}, though it has read its topics.",
                hint="Drop it and create it again: it then reads its topics from their start.",
            )
        if missing:
            there = create_changelogs(self.kafka, self.names(name), self.query.tasks or self._widest())
        return StateEdition(name, tuple(there[topic] for topic in self.names(name)))

    def find_whole(self, found: Editions, name: str) -> StateEdition:
        """The edition of which the slots' notes tell. Raises LookupError where it isn't whole or not the only one, or
        is to be of another number of tasks."""
        there = found.get(name, {})
        missing = [topic for topic in self.names(name) if topic not in there]
        if missing or len(found) > 1:
            raise LookupError("its state has to be seen to first")
        edition = StateEdition(name, tuple(there[topic] for topic in self.names(name)))
        if self.query.tasks not in (0, edition.tasks):
            raise LookupError("its state is to be spread over another number of tasks")
        return edition

    def _choose(self, found: Editions) -> str:
        """Where nobody tells: the only one that there is. No batch runs while there are two."""
        whole = [name for name, logs in found.items() if not set(self.names(name)) - set(logs)]
        if len(whole) > 1:
            topics = ", ".join(self.names(name)[0] for name in whole)
            raise Conflict(
                "STATE_UNCLEAR",
                f"The state of {self.query.id} is there twice, and its group has forgotten which one counts: {topics}.",
                hint="Delete the topic that was made last, with those that differ from it only in their last number.",
            )
        return whole[0] if whole else FIRST_EDITION

    def _await_whole(self, name: str, there: Mapping[str, Changelog]) -> Mapping[str, Changelog]:
        """A broker that was asked first may know of the topics a moment later."""
        until = time.monotonic() + _SPREADS_S
        while set(self.names(name)) - set(there) and time.monotonic() < until:
            time.sleep(0.2)
            there = find_changelogs(self.kafka, self.names(name))
        return there

    def remove_others(self, found: Editions, edition: StateEdition) -> None:
        """Of editions that were left behind nothing stays: no batch runs as long as there are two."""
        for name, logs in found.items():
            if name != edition.name:
                delete_changelogs(self.kafka, list(logs))

    def create_edition(self, name: str, tasks: int) -> StateEdition:
        """A new edition, empty."""
        topics = self.names(name)
        there = {**create_changelogs(self.kafka, topics, tasks)}
        whole = self._await_whole(name, there)
        return StateEdition(name, tuple(whole[topic] for topic in topics))

    # ---- for a run ---------------------------------------------------------------------------------------------

    def spread(self, edition: StateEdition, written: Collection[tuple[int, int]]) -> Spread:
        """How the operators of a run are to run. `written` has the last batch of each slot that has written any."""
        context = StateContext(
            str(self.folder),
            uuid.uuid4().hex,
            self.kafka.bootstrap,
            edition.changelogs,
            tuple(written),
            one_slot=not has_own_slots(self.query.relation),
        )
        return Spread(edition.tasks, context, self.query.by_partitioner)

    def drop_local(self) -> None:
        """The local copies go: they are of other changelogs."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def drop(self) -> None:
        """Nothing is left of it. Topics that can't be deleted now stay: nobody reads them again."""
        self.drop_local()
        with suppress(OrionError):
            delete_changelogs(self.kafka, [topic for logs in self.find().values() for topic in logs])
