"""Statements of the fast lane: what they write, what their headers say, and that Orion's readers drop repeats."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from orion.app import Orion
from orion.errors import Conflict
from orion.hub.kafka import Kafka
from orion.hub.records import Outgoing, Record
from orion.hub.writer import send_all
from tests.scenarios.conftest import Await, everything

SCRIPT = """
CREATE STREAM fl (k STRING KEY, id BIGINT, at BIGINT, tags ARRAY<STRING>)
  WITH (kafka_topic='fl', value_format='JSON', timestamp='at', partitions=2);
CREATE STREAM fl_fast WITH (guarantee='fast', partitions=3) AS
  SELECT k, id, EXPLODE(tags) AS tag FROM fl WHERE id >= 0 EMIT CHANGES;
CREATE STREAM fl_exact AS SELECT k, id, tag, ROWTIME AS rt FROM fl_fast EMIT CHANGES;
CREATE TABLE fl_counts AS SELECT tag, COUNT(*) AS n FROM fl_fast GROUP BY tag EMIT CHANGES;
CREATE STREAM fl_again WITH (guarantee='fast') AS SELECT k, id, tag FROM fl_fast EMIT CHANGES;
"""
START = 1_700_000_000_000


@pytest.fixture
def queries(orion: Orion) -> Iterator[dict[str, str]]:
    """The ids of the script's queries, by what they write."""
    orion.execute(SCRIPT)
    yield {q.sink.name: q.id for q in orion.engine.catalog.queries.values() if q.sink.name.startswith("FL_")}
    for name in ("FL_AGAIN", "FL_COUNTS", "FL_EXACT", "FL_FAST", "FL"):
        kind = orion.engine.catalog.sources[name].kind
        orion.execute(f"DROP {kind} {name};")


def record(number: int, **other: Any) -> Outgoing:
    """Every third has no key; half have one tag, half two."""
    tags = ["a", "b"][: 1 + number % 2]
    value = {"id": number, "at": START + number, "tags": tags, **other}
    return Outgoing(json.dumps(value).encode(), None if number % 3 == 0 else f"k{number % 7}".encode())


def feed(kafka: Kafka, numbers: range) -> Counter[tuple[int, str]]:
    send_all(kafka, "fl", [record(n) for n in numbers])
    return Counter((n, tag) for n in numbers for tag in ["a", "b"][: 1 + n % 2])


def rows(records: list[Record]) -> Counter[tuple[int, str]]:
    values = [json.loads(r.value or b"{}") for r in records]
    return Counter((v["ID"], v["TAG"]) for v in values)


def test_fast_statement(orion: Orion, queries: dict[str, str], kafka: Kafka, until: Await) -> None:
    expected = feed(kafka, range(60))
    ahead = int(time.time() * 1000) + 3 * 86_400_000
    bad = [Outgoing(b"no json", b"k1"), record(1000, at=ahead), record(-1)]  # the last one is filtered out
    send_all(kafka, "fl", bad)
    until(lambda: rows(everything(kafka, "FL_FAST")) == expected and len(everything(kafka, "dlq.FL_FAST")) == 2, 60)

    check_told(orion, queries)
    check_headers(kafka, queries["FL_FAST"])
    check_letters(kafka, queries["FL_FAST"], ahead)

    # Stopped in the middle of a batch, it writes all of it again.
    orion.execute(f"PAUSE {queries['FL_FAST']};")
    orion.execute(f"RESUME {queries['FL_FAST']};")
    expected += feed(kafka, range(60, 140))
    until(lambda: set(rows(everything(kafka, "FL_FAST"))) == set(expected), 60)
    twice = rows(everything(kafka, "FL_FAST")) - expected
    assert twice == Counter((n, tag) for n in range(60) for tag in ["a", "b"][: 1 + n % 2])

    # What came after the repeats is in every partition, so who has it all has met them.
    assert {r.partition for r in everything(kafka, "FL_FAST") if json.loads(r.value or b"")["ID"] >= 60} == {0, 1, 2}
    until(lambda: all(set(rows(everything(kafka, t))) == set(expected) for t in ("FL_EXACT", "FL_AGAIN")), 60)
    assert rows(everything(kafka, "FL_EXACT")) == expected
    assert rows(everything(kafka, "FL_AGAIN")) == expected
    assert {r.timestamp for r in everything(kafka, "FL_EXACT")} == {START + n for n, _ in expected}
    assert all(json.loads(r.value or b"")["RT"] == r.timestamp for r in everything(kafka, "FL_EXACT"))
    wanted = Counter(tag for _, tag in expected.elements())
    until(lambda: last_counts(kafka) == wanted, 60)


def check_told(orion: Orion, queries: dict[str, str]) -> None:
    for name, guarantee in (("FL_FAST", "fast"), ("FL_EXACT", "exact")):
        described = orion.execute(f"DESCRIBE {name};")[0]["sourceDescription"]
        assert [(q["id"], q["guarantee"]) for q in described["writeQueries"]] == [(queries[name], guarantee)]
        explained = orion.execute(f"EXPLAIN {queries[name]};")[0]["queryDescription"]
        assert explained["lane"].startswith(f"lane {guarantee}: ")
        assert explained["lane"] in explained["executionPlan"]


def check_headers(kafka: Kafka, query: str) -> None:
    given = {
        (r.partition, r.offset): json.loads(r.value or b"{}") for r in everything(kafka, "fl") if r.value != b"no json"
    }
    ids = set()
    for made in everything(kafka, "FL_FAST"):
        headers = dict(made.headers)
        assert sorted(headers) == ["orion.id", "orion.rowtime"]
        writer, topic, partition, offset, nth = (headers["orion.id"] or b"").decode().split("/")
        assert (writer, topic) == (query, "fl")
        source, row = given[int(partition), int(offset)], json.loads(made.value or b"{}")
        assert (source["id"], source["tags"][int(nth)]) == (row["ID"], row["TAG"])
        assert headers["orion.rowtime"] == str(source["at"]).encode()
        ids.add(headers["orion.id"])
    assert len(ids) == 90


def check_letters(kafka: Kafka, query: str, ahead: int) -> None:
    letters = {dict(r.headers)["orion.error.code"]: r for r in everything(kafka, "dlq.FL_FAST")}
    assert set(letters) == {b"VALUE_UNREADABLE", b"TIMESTAMP_IN_FUTURE"}
    assert letters[b"VALUE_UNREADABLE"].value == b"no json"
    future = letters[b"TIMESTAMP_IN_FUTURE"]
    assert json.loads(future.value or b"")["at"] == ahead
    told = dict(future.headers)
    assert (told["orion.id"] or b"").startswith(f"{query}/fl/".encode())


def last_counts(kafka: Kafka) -> Counter[str]:
    last = {(r.key or b"").decode(): json.loads(r.value or b"{}")["N"] for r in everything(kafka, "FL_COUNTS")}
    return Counter(last)


def test_more_partitions_than_slots_are_refused(orion: Orion) -> None:
    orion.execute("CREATE STREAM fl_wide (v INT) WITH (kafka_topic='fl_wide', value_format='JSON', partitions=9);")
    with pytest.raises(Conflict) as refused:
        orion.execute("CREATE STREAM fl_narrow WITH (guarantee='fast') AS SELECT v FROM fl_wide;")
    assert refused.value.code == "NO_TASK_SLOTS"
    assert "FL_NARROW" not in orion.engine.catalog.sources
