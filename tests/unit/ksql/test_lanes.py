"""Whose word counts for the lane and the profile of a statement."""

from __future__ import annotations

import pytest

from orion import ksql
from orion.errors import UserError
from orion.plan.catalog import Catalog
from orion.plan.relations import Query
from orion.plan.steps import StartQuery

STREAM = "CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');"
FAST, SERVER_FAST = {"orion.guarantee": "fast"}, {"orion.guarantee": "fast"}


def compiled(
    with_: str = "", properties: dict[str, str] | None = None, defaults: dict[str, str] | None = None
) -> Query:
    catalog = Catalog()
    for step in ksql.compile(STREAM, catalog).steps:
        catalog = catalog.after(step)
    plan = ksql.compile(f"CREATE STREAM o {with_} AS SELECT k, v FROM s;", catalog, properties, defaults=defaults)
    return next(step.query for step in plan.steps if isinstance(step, StartQuery))


@pytest.mark.parametrize(
    ("with_", "properties", "defaults", "lane"),
    [
        ("", {}, {}, "exact"),
        ("", {}, SERVER_FAST, "fast"),
        ("", {"orion.guarantee": "exact"}, SERVER_FAST, "exact"),
        ("WITH (guarantee = 'fast')", {"orion.guarantee": "exact"}, {}, "fast"),
        ("WITH (guarantee = 'exact')", FAST, SERVER_FAST, "exact"),
        ("", {"processing.guarantee": "exactly_once_v2"}, SERVER_FAST, "exact"),
        ("", {"processing.guarantee": "at_least_once"}, SERVER_FAST, "fast"),
        ("", {"processing.guarantee": "at_least_once"}, {}, "exact"),
        ("", {"ksql.streams.processing.guarantee": "exactly_once", **FAST}, {}, "fast"),
        ("WITH (profile = 'durability')", {}, SERVER_FAST, "exact"),
        ("WITH (profile = 'durability')", FAST, {}, "fast"),
    ],
)
def test_lane(with_: str, properties: dict[str, str], defaults: dict[str, str], lane: str) -> None:
    query = compiled(with_, properties, defaults)
    assert query.guarantee == lane
    assert query.sink.headed is (lane == "fast")


def test_profile() -> None:
    assert compiled().profile is None
    assert compiled(defaults={"orion.profile": "latency"}).profile == "latency"
    assert compiled(properties={"orion.profile": "durability"}, defaults={"orion.profile": "latency"}).profile == (
        "durability"
    )
    assert compiled("WITH (profile = 'Throughput')", {"orion.profile": "durability"}).profile == "throughput"


@pytest.mark.parametrize("name", ["orion.guarantee", "orion.profile"])
def test_a_session_takes_only_what_there_is(name: str) -> None:
    with pytest.raises(UserError) as refused:
        compiled(properties={name: "quick"})
    assert refused.value.code == "INVALID_PROPERTY"


def test_a_source_over_a_fast_topic_reads_its_headers_too() -> None:
    catalog = Catalog()
    over = "CREATE STREAM other (k STRING KEY) WITH (KAFKA_TOPIC = 'O', VALUE_FORMAT = 'JSON');"
    for text in (STREAM, "CREATE STREAM o WITH (guarantee = 'fast') AS SELECT k, v FROM s;", over):
        for step in ksql.compile(text, catalog).steps:
            catalog = catalog.after(step)
    assert {name: source.headed for name, source in catalog.sources.items()} == {"S": False, "O": True, "OTHER": True}
