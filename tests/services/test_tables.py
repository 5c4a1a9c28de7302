"""Tables that follow their topics on a real broker, whatever the records hold and whatever happens to the database."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import duckdb
import pytest

from orion import ksql
from orion.config import Serving
from orion.hub.kafka import Kafka
from orion.hub.records import Outgoing
from orion.hub.writer import send_all
from orion.plan.catalog import Catalog
from orion.plan.sources import Source
from orion.serving.feed import TableStatus
from orion.serving.store import Changes, Layout
from orion.serving.tables import Tables


@pytest.fixture
def source(kafka: Kafka) -> Iterator[Source]:
    topic = f"tables-{uuid4().hex[:8]}"
    kafka.create_topic(topic, 1)
    text = (
        "CREATE SOURCE TABLE t2 (k STRING PRIMARY KEY, s STRING, ts TIMESTAMP) "
        f"WITH (kafka_topic='{topic}', value_format='JSON', partitions=1);"
    )
    catalog = Catalog()
    for step in ksql.compile(text, catalog).steps:
        catalog = catalog.after(step)
    yield catalog.sources["T2"]
    kafka.delete_topic(topic)


@pytest.fixture
def tables(kafka: Kafka, source: Source, tmp_path: Path) -> Iterator[Tables]:
    made = Tables(kafka, lambda _: None, tmp_path, Serving())
    yield made
    made.close()


def until(condition: Callable[[], bool], deadline_s: float = 120.0) -> None:
    end = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < end, f"not within {deadline_s:.0f} s"
        time.sleep(0.02)


def status(tables: Tables) -> TableStatus:
    found = tables.status("T2")
    assert found is not None
    return found


def rows(tables: Tables) -> list[tuple[str, str]]:
    return [(k, s) for k, s in tables.store.rows("SELECT K, S FROM T2 ORDER BY K")]


def test_a_record_that_can_not_be_stored_stops_nothing(kafka: Kafka, source: Source, tables: Tables) -> None:
    values = {"a": b'{"s":"ok"}', "b": b'{"s":"\\ud800"}', "c": b'{"s":"after"}', "d": b'{"ts":9223372036854775807}'}
    send_all(kafka, source.topic, [Outgoing(value, key.encode()) for key, value in values.items()])
    tables.follow(Catalog(sources={"T2": source}))
    until(lambda: status(tables).lag == 0 and status(tables).state == "RUNNING")
    assert rows(tables) == [("a", "ok"), ("c", "after")]
    found = status(tables)
    assert (found.bad_records, found.error) == (2, None)
    assert [(one.partition, one.offset) for one in found.last_bad] == [(0, 3), (0, 1)]
    assert tables.failing() == {}


def test_a_database_that_can_not_be_written_is_told_and_tried_again(
    kafka: Kafka, source: Source, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.follow(Catalog(sources={"T2": source}))
    until(lambda: status(tables).state == "RUNNING")
    assert tables.warnings([source]) == ()
    apply, full = tables.store.apply, True

    def on_a_full_disk(layout: Layout, changes: Changes) -> None:
        if full:
            raise duckdb.IOException("Could not write file: No space left on device")
        apply(layout, changes)

    monkeypatch.setattr(tables.store, "apply", on_a_full_disk)
    send_all(kafka, source.topic, [Outgoing(b'{"s":"x"}', b"a")])
    until(lambda: status(tables).state == "ERROR")
    (warning,) = tables.warnings([source])
    assert "T2 has stopped following its topic" in warning
    assert "No space left on device" in warning
    assert tables.failing() == {"T2": "IOException: Could not write file: No space left on device"}
    full = False
    until(lambda: status(tables).state == "RUNNING" and status(tables).lag == 0)
    assert rows(tables) == [("a", "x")]
    assert status(tables).bad_records == 0
    assert tables.warnings([source]) == ()


def test_a_database_that_is_opened_anew_goes_on(kafka: Kafka, source: Source, tables: Tables) -> None:
    """After an error of its own DuckDB answers nothing any more, until it is opened again."""
    tables.follow(Catalog(sources={"T2": source}))
    send_all(kafka, source.topic, [Outgoing(b'{"s":"x"}', b"a")])
    until(lambda: status(tables).rows == 1)
    tables.store.reopen()
    send_all(kafka, source.topic, [Outgoing(b'{"s":"y"}', b"b")])
    until(lambda: status(tables).rows == 2 and status(tables).lag == 0)
    assert rows(tables) == [("a", "x"), ("b", "y")]
