"""Fingerprints: the same meaning has the same one, another meaning another."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from orion import ksql
from orion.plan.catalog import Catalog
from orion.plan.fingerprint import fingerprint
from orion.plan.relations import Aggregate, Query
from orion.plan.steps import DefineSource, ReplaceQuery, StartQuery

SOURCE = "CREATE STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON')"
FILTER = "CREATE STREAM o AS SELECT k, a + 1 AS c, b FROM s WHERE a > 1"
COUNT = "CREATE TABLE o AS SELECT b, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY b"
HAVING = "CREATE TABLE o AS SELECT b, SUM(a) AS n FROM s GROUP BY b HAVING SUM(a) > 1"


def query(statement: str, source: str = SOURCE, version: int = 0) -> Query:
    catalog = Catalog(version=version)
    for step in ksql.compile(source, catalog).steps:
        if isinstance(step, DefineSource):
            catalog = catalog.put(step.source)
    [found] = [s.query for s in ksql.compile(statement, catalog).steps if isinstance(s, StartQuery)]
    return found


def test_it_is_short_and_fit_for_a_folder_name() -> None:
    assert re.fullmatch(r"[0-9a-f]{16}", fingerprint(query(FILTER)))


@pytest.mark.parametrize("statement", [FILTER, COUNT, HAVING])
def test_words_that_mean_nothing_change_nothing(statement: str) -> None:
    wordy = statement.replace(" FROM ", "\n  /* from */ FROM -- here\n ").replace("SELECT", "select")
    assert wordy != statement
    assert fingerprint(query(f"-- my query\n{wordy};")) == fingerprint(query(statement))


def test_how_an_expression_is_spelled_changes_nothing() -> None:
    assert fingerprint(query(FILTER.replace("a + 1", "((S.A + 1))"))) == fingerprint(query(FILTER))
    assert fingerprint(query(FILTER.replace("a > 1", "NOT (a <= 1)"))) != fingerprint(query(FILTER))


def test_the_statement_of_the_source_and_the_number_of_the_query_change_nothing() -> None:
    same = query(FILTER, f"/* the source */ {SOURCE}", version=7)
    assert same.id != query(FILTER).id
    assert fingerprint(same) == fingerprint(query(FILTER))


@pytest.mark.parametrize(
    ("statement", "other"),
    [
        (FILTER, FILTER.replace("a + 1", "a + 2")),
        (FILTER, FILTER.replace("a > 1", "a >= 1")),
        (FILTER, FILTER.replace(" WHERE a > 1", "")),
        (FILTER, FILTER.replace("AS c", "AS d")),
        (FILTER, FILTER.replace(", b", "")),
        (FILTER, FILTER.replace("STREAM o AS", "STREAM p AS")),
        (FILTER, FILTER.replace("STREAM o AS", "STREAM o WITH (KAFKA_TOPIC='other') AS")),
        (FILTER, FILTER.replace("STREAM o AS", "STREAM o WITH (KEY_FORMAT='JSON') AS")),
        (FILTER, f"{FILTER} PARTITION BY b"),
        (COUNT, COUNT.replace("1 MINUTE", "2 MINUTES")),
        (COUNT, COUNT.replace("1 MINUTE", "1 MINUTE, GRACE PERIOD 0 SECONDS")),
        (COUNT, COUNT.replace("COUNT(*)", "COUNT(a)")),
        (COUNT, COUNT.replace("WINDOW TUMBLING (SIZE 1 MINUTE) ", "")),
        (HAVING, HAVING.replace("SUM(a) > 1", "SUM(a) > 2")),
        (HAVING, HAVING.replace(" HAVING SUM(a) > 1", "")),
    ],
)
def test_another_meaning_has_another_fingerprint(statement: str, other: str) -> None:
    assert statement != other
    assert fingerprint(query(statement)) != fingerprint(query(other))


@pytest.mark.parametrize(
    "source",
    [
        SOURCE.replace("a INT", "a BIGINT"),
        SOURCE.replace("KAFKA_TOPIC='s'", "KAFKA_TOPIC='t'"),
        SOURCE.replace("VALUE_FORMAT", "KEY_FORMAT='JSON', VALUE_FORMAT"),
    ],
)
def test_another_source_makes_another_query(source: str) -> None:
    count = "CREATE TABLE o AS SELECT b, COUNT(*) AS n FROM s GROUP BY b"
    assert fingerprint(query(count, source)) != fingerprint(query(count))


def test_when_changes_are_told_and_groups_forgotten_is_meaning() -> None:
    one = query(HAVING)
    made = one.relation
    assert isinstance(made, Aggregate)
    others = (replace(made, final=True), replace(made, each=True), replace(made, ttl_ms=1000))
    assert len({fingerprint(replace(one, relation=relation)) for relation in (made, *others)}) == 4


def test_the_number_of_tasks_is_no_meaning() -> None:
    one = query(COUNT)
    assert one.tasks == 0
    assert len({fingerprint(replace(one, tasks=tasks)) for tasks in (0, 1, 16)}) == 1


def replace_query(running: Query, statement: str, properties: dict[str, str] | None = None) -> ReplaceQuery:
    catalog = Catalog(version=9).put(running).put(running.sink)
    for step in ksql.compile(SOURCE, Catalog()).steps:
        catalog = catalog.after(step)
    plan = ksql.compile(statement.replace("CREATE", "CREATE OR REPLACE"), catalog, properties)
    [found] = [step for step in plan.steps if isinstance(step, ReplaceQuery)]
    return found


@pytest.mark.parametrize("statement", [FILTER, COUNT])
def test_the_same_meaning_keeps_the_name_that_it_was_given_whoever_gave_it(statement: str) -> None:
    running = replace(query(statement), incarnation="given-by-an-older-orion")
    step = replace_query(running, statement.replace("SELECT", "SELECT /* again */"))
    assert (step.query.id, step.query.incarnation, step.continues) == (running.id, running.incarnation, True)


@pytest.mark.parametrize("by_partitioner", [True, False])
def test_the_same_meaning_keeps_its_state_where_it_lies(by_partitioner: bool) -> None:
    running = replace(query(COUNT), by_partitioner=by_partitioner)
    assert replace_query(running, COUNT).query.by_partitioner is by_partitioner
    running = replace(query(HAVING), by_partitioner=by_partitioner)
    assert replace_query(running, HAVING.replace("> 1", "> 2")).query.by_partitioner


@pytest.mark.parametrize(("told", "tasks"), [({}, 4), ({"orion.tasks": "4"}, 4), ({"orion.tasks": "6"}, 6)])
def test_the_same_meaning_keeps_its_tasks_unless_told_otherwise(told: dict[str, str], tasks: int) -> None:
    running = replace(query(COUNT), incarnation="given-by-an-older-orion", tasks=4)
    step = replace_query(running, COUNT, told)
    assert (step.query.tasks, step.query.id, step.continues) == (tasks, running.id, True)
    assert step.query.incarnation == running.incarnation


def test_another_meaning_gets_a_name_of_its_own() -> None:
    running = replace(query(FILTER), incarnation="given-by-an-older-orion")
    step = replace_query(running, FILTER.replace("a > 1", "a > 2"))
    assert (step.query.id, step.query.incarnation, step.continues) == (running.id, fingerprint(step.query), True)
    running = replace(query(COUNT), incarnation="given-by-an-older-orion")
    step = replace_query(running, COUNT.replace("AS n", "AS n, MAX(a) AS most"))
    assert (step.query.id != running.id, step.query.incarnation, step.continues) == (
        True,
        fingerprint(step.query),
        False,
    )
