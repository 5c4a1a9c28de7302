"""What ksqlDB's API calls statements, and when two push queries mean the same."""

from __future__ import annotations

import pytest

from orion import ksql
from orion.plan.catalog import Catalog
from orion.plan.commands import command_id
from orion.plan.fingerprint import meaning
from orion.plan.relations import Transient
from orion.plan.steps import Push

DECLARED = """
CREATE STREAM s (k STRING KEY, v INT) WITH (kafka_topic='s', value_format='JSON', partitions=1);
CREATE STREAM t AS SELECT * FROM s EMIT CHANGES;
CREATE TYPE address AS STRUCT<zip STRING>;
"""


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    made = Catalog()
    for text in ksql.split(DECLARED):
        for step in ksql.compile(text, made).steps:
            made = made.after(step)
    return made


@pytest.mark.parametrize(
    ("statement", "command"),
    [
        ("CREATE TABLE c AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES", "table/`C`/create"),
        (
            "CREATE STREAM `mixed` (v INT) WITH (kafka_topic='m', value_format='JSON', partitions=1)",
            "stream/`mixed`/create",
        ),
        ("INSERT INTO t SELECT * FROM s EMIT CHANGES", "stream/`T`/create"),
        ("ALTER STREAM s ADD COLUMN w INT", "stream/`S`/alter"),
        ("DROP STREAM t", "stream/`T`/drop"),
        ("DROP TYPE address", "type/`ADDRESS`/drop"),
        ("CREATE TYPE other AS INT", "type/`OTHER`/create"),
        ("INSERT INTO s VALUES ('a', 1)", "stream/`S`/insert"),
        ("SET 'auto.offset.reset' = 'earliest'", None),
    ],
)
def test_what_is_journaled_has_a_command_id(catalog: Catalog, statement: str, command: str | None) -> None:
    assert command_id(ksql.compile(statement, catalog).steps) == command


@pytest.mark.parametrize("word", ["TERMINATE", "PAUSE", "RESUME"])
def test_a_query_is_named_by_its_id(catalog: Catalog, word: str) -> None:
    (query,) = catalog.queries
    assert command_id(ksql.compile(f"{word} {query}", catalog).steps) == f"{word.lower()}/`{query}`/execute"


def pushed(catalog: Catalog, text: str, **properties: str) -> Transient:
    ask = ksql.compile(text, catalog, {name.replace("_", "."): value for name, value in properties.items()}).ask
    assert isinstance(ask, Push)
    return ask.query


def test_push_queries_mean_the_same_whatever_their_letters_and_limits(catalog: Catalog) -> None:
    one = meaning(pushed(catalog, "SELECT v * 2 AS w FROM s WHERE v > 1 EMIT CHANGES"))
    assert one == meaning(pushed(catalog, "select V*2  as W from S where V > 1 emit changes limit 3 -- a few"))
    others = (
        pushed(catalog, "SELECT v * 2 AS x FROM s WHERE v > 1 EMIT CHANGES"),
        pushed(catalog, "SELECT v * 2 AS w FROM s WHERE v > 2 EMIT CHANGES"),
        pushed(catalog, "SELECT v * 2 AS w FROM t WHERE v > 1 EMIT CHANGES"),
        pushed(catalog, "SELECT v * 2 AS w FROM s WHERE v > 1 EMIT CHANGES", auto_offset_reset="earliest"),
    )
    assert one not in map(meaning, others)
