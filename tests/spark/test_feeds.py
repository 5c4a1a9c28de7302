"""Feeds as streams of Spark's, without a broker: what their rows are, and that a stream goes on where it was."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal as Number
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orion import ksql
from orion.errors import ConfigError
from orion.feeds import Feed, frames, open_feed
from orion.feeds.datagen import DatagenFeed
from orion.feeds.generation.expressions import NUMBER, TIME
from orion.feeds.generation.quickstarts import QUICKSTARTS
from orion.plan.catalog import Catalog
from orion.plan.sources import Connector, Direction, Source
from orion.plan.steps import DefineSource
from orion.runtime.session import Result, Spark
from orion.schema import spark_type

Rows = list[Result]


def declared(columns: str, properties: str = "VALUE_FORMAT = 'JSON'", kind: str = "STREAM") -> Source:
    text = f"CREATE {kind} target ({columns}) WITH (KAFKA_TOPIC = 'target', {properties})"
    steps = ksql.compile(text, Catalog()).steps
    return next(step.source for step in steps if isinstance(step, DefineSource))


def connector(plugin: str, options: Mapping[str, str], *sources: Source, number: int = 0) -> Connector:
    told = tuple(options.items())
    return Connector("FEED", plugin, sources, told, number=number, direction=Direction.SOURCE)


class Stream:
    """A feed's stream into memory; run on until it has nothing to read."""

    def __init__(self, spark: Spark, folder: Path, number: int) -> None:
        self._spark, self._folder, self._number, self._runs = spark, folder, number, 0
        self.batches = 0

    def rows(self, plugin: str, options: Mapping[str, str], target: Source, position: Any = None) -> Rows:
        self._runs += 1
        feed = open_feed(connector(plugin, options, target, number=self._number))
        feed.prepare()
        return self.of(feed, target, position)

    def of(self, feed: Feed, target: Source, position: Any = None) -> Rows:
        frame = feed.stream(self._spark, target, position)
        assert frame.columns == list(frames.spark_types(target))
        found: Rows = []

        def take(batch: Any, _: int) -> None:
            found.extend(batch.collect())

        stream = (
            frame.coalesce(1)
            .writeStream.foreachBatch(take)
            .option("checkpointLocation", str(self._folder / "checkpoint"))
            .trigger(processingTime="0 seconds")
            .start()
        )
        try:
            stream.processAllAvailable()
        finally:
            stream.stop()
        return found


@pytest.fixture
def stream(spark: Spark, tmp_path: Path, request: pytest.FixtureRequest) -> Stream:
    return Stream(spark, tmp_path, abs(hash(request.node.name)) % 1_000_000)


# ---- files -----------------------------------------------------------------------------------------------------------


def told(rows: Rows, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for column in columns) for row in rows if row[frames.BAD] is None]


def without_notes(rows: Rows) -> Rows:
    """Without what tells that a file was read."""
    return [row for row in rows if row[frames.BAD] != frames.NOTE]


def letters(rows: Rows) -> list[tuple[str, bytes, str]]:
    bad = (row for row in without_notes(rows) if row[frames.BAD] is not None)
    return [(row[frames.BAD], bytes(row[frames.RAW_VALUE]), Path(row[frames.PLACE]).name) for row in bad]


def test_csv_is_followed_and_misfits_are_bad(stream: Stream, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    columns = "ID INT KEY, PRICE DECIMAL(6,2), AT TIMESTAMP, DAY DATE, CLOCK TIME, OK BOOLEAN, NAME STRING"
    target = declared(columns, "VALUE_FORMAT = 'JSON', KEY_FORMAT = 'KAFKA'")
    options = {"path": f"{folder}/*.csv", "csv.first.row.as.header": "true", "timestamp.mode": "file_time"}
    header = "name,id,price,at,day,clock,ok\n"
    (folder / "a.csv").write_text(
        f"{header}Ana,1,2.50,2026-01-02T03:04:05Z,2026-01-02,03:04:05,true\n"
        "Bo,x,1,,,,\n"
        "Cy,3,99999.999,,,,\n"
        "Di,4,,1767323045000,,,no\n"
    )
    rows = stream.rows("files", options, target)
    at = datetime(2026, 1, 2, 3, 4, 5)
    assert told(rows, "ID", "PRICE", "AT", "DAY", "CLOCK", "OK", "NAME") == [
        (1, Number("2.50"), at, at.date(), 11045000, True, "Ana"),
        (4, None, at - timedelta(seconds=at.second - 5), None, None, False, "Di"),
    ]
    assert letters(rows) == [
        ("VALUE_UNREADABLE: ID is no INTEGER", b"Bo,x,1,,,,", "a.csv"),
        ("VALUE_UNREADABLE: PRICE is no DECIMAL(6, 2)", b"Cy,3,99999.999,,,,", "a.csv"),
    ]
    changed = (folder / "a.csv").stat().st_mtime_ns // 1_000_000
    assert {row["ROWTIME"] for row in without_notes(rows)} == {changed}
    # The stream goes on with what is new alone, in a file whose columns stand otherwise.
    (folder / "b.csv").write_text("id,name\n5,Eve\n")
    assert told(stream.rows("files", options, target), "ID", "NAME") == [(5, "Eve")]


def test_json_lines_are_understood_as_records_are(stream: Stream, tmp_path: Path) -> None:
    target = declared("ID STRING KEY, N INT, DEEP STRUCT<A ARRAY<DOUBLE>>")
    (tmp_path / "x.jsonl").write_bytes(
        b'{"id": 7, "N": "12", "deep": {"a": [1, 2.5]}}\n{"id":"b","n":null}\nnot json\n{"n":"many"}\nnull\n'
    )
    rows = stream.rows("files", {"path": f"{tmp_path}/*.jsonl"}, target)
    assert [(r["ID"], r["N"], r["DEEP"] and r["DEEP"]["A"]) for r in rows if r[frames.BAD] is None] == [
        ("7", 12, [1.0, 2.5]),
        ("b", None, None),
    ]
    assert [(raw, row) for _, raw, row in letters(rows)] == [
        (b"not json", "x.jsonl"),
        (b'{"n":"many"}', "x.jsonl"),
        (b"null", "x.jsonl"),
    ]
    assert [row[frames.NUMBER] for row in without_notes(rows)] == [1, 2, 3, 4, 5]
    assert len(rows) == len(without_notes(rows)) + 1


def test_parquet_is_read_and_what_is_none_is_a_letter(stream: Stream, tmp_path: Path, spark: Spark) -> None:
    folder, done = tmp_path / "in", tmp_path / "done"
    folder.mkdir()
    pq.write_table(pa.table({"id": [1, 2], "tags": [["a"], None]}), folder / "1.parquet")
    (folder / "2.parquet").write_bytes(b"PAR1 it is not")
    target = declared("ID BIGINT KEY, TAGS ARRAY<STRING>")
    options = {"path": str(folder), "format": "parquet", "cleanup.policy": "move", "finished.path": str(done)}
    rows = stream.rows("files", options, target)
    assert told(rows, "ID", "TAGS") == [(1, ["a"]), (2, None)]
    ((why, raw, _),) = letters(rows)
    assert (why.partition(":")[0], raw) == ("FILE_UNREADABLE", str(folder / "2.parquet").encode())


def test_a_type_that_csv_has_not_is_refused(stream: Stream, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="CSV has no ARRAY"):
        stream.rows("files", {"path": str(tmp_path), "format": "csv"}, declared("A ARRAY<INT>"))


# ---- datagen ---------------------------------------------------------------------------------------------------------


def test_the_same_seed_makes_the_same_rows(spark: Spark) -> None:
    types = "ID BIGINT KEY, A INT, B DOUBLE, C DECIMAL(8,2), D STRING, E BOOLEAN, F BYTES, G DATE, H TIME, I TIMESTAMP"
    target = declared(f"{types}, J ARRAY<INT>, K MAP<STRING, INT>, L STRUCT<X INT, Y STRING>, M STRING, N INT")
    options = {
        "seed": "7",
        "field.m.values": "red, green",
        "field.n.min": "5",
        "field.n.max": "6",
        "field.d.nulls": "1",
    }
    feed = open_feed(connector("datagen", options, target))
    assert isinstance(feed, DatagenFeed)

    def made(seed: str) -> Rows:
        other = open_feed(connector("datagen", {**options, "seed": seed}, target))
        assert isinstance(other, DatagenFeed)
        numbers = spark.range(200).selectExpr(f"id AS {NUMBER}", f"1767323045000L + id AS {TIME}")
        return numbers.selectExpr(*(f"{other.cell(c)} AS {c.name}" for c in target.schema)).collect()

    rows = made("7")
    assert rows == made("7") != made("8")
    assert [row["ID"] for row in rows] == list(range(200))
    assert {row["M"] for row in rows} == {"red", "green"}
    assert {row["N"] for row in rows} == {5, 6}
    assert {row["D"] for row in rows} == {None}
    assert len({row["A"] for row in rows}) > 100
    assert all(row[c.name] is not None for row in rows for c in target.schema if c.name != "D")


@pytest.mark.parametrize("name", QUICKSTARTS)
def test_a_quickstart_fills_all_its_columns(spark: Spark, name: str) -> None:
    quickstart = QUICKSTARTS[name]
    cells = quickstart.cells(1)
    assert list(cells) == quickstart.schema.names
    numbers = spark.range(300).selectExpr(f"id AS {NUMBER}", f"1767323045000L + id AS {TIME}")
    types = {c.name: spark_type(c.type) for c in quickstart.schema}
    rows = numbers.selectExpr(*(f"CAST({spark} AS {types[n]}) AS {n}" for n, spark in cells.items())).collect()
    assert all(value is not None for row in rows for value in row)


def test_iterations_end_and_a_restart_goes_on(stream: Stream) -> None:
    target = declared("ID BIGINT KEY, NAME STRING")
    options = {"rows.per.second": "1000000", "iterations": "1000"}
    first = stream.rows("datagen", options, target)
    first += stream.rows("datagen", options, target)
    assert sorted(row["ID"] for row in first) == list(range(1000))
    assert len({row["ROWTIME"] for row in first}) >= 1
    assert stream.rows("datagen", options, target) == []
