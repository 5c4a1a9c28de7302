"""What files and datagen are told, and what they refuse."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orion.errors import ConfigError
from orion.feeds import NAMES, open_feed, plugin
from orion.feeds.datagen import DatagenFeed, Ticks, after
from orion.feeds.files import FilesFeed
from orion.options import definitions
from orion.plan.sources import Connector, Direction


def files(options: Mapping[str, str]) -> FilesFeed:
    made = open_feed(Connector("F", "files", (), tuple(options.items()), direction=Direction.SOURCE))
    assert isinstance(made, FilesFeed)
    return made


def datagen(options: Mapping[str, str]) -> DatagenFeed:
    made = open_feed(Connector("G", "datagen", (), tuple(options.items()), direction=Direction.SOURCE))
    assert isinstance(made, DatagenFeed)
    return made


def test_an_unknown_feed() -> None:
    with pytest.raises(ConfigError) as refused:
        plugin("file")
    assert refused.value.hint == "Did you mean files?"


@pytest.mark.parametrize("name", NAMES)
def test_every_option_says_what_it_is_for(name: str) -> None:
    assert [d.name for d in definitions(plugin(name).OPTIONS) if not d.doc] == []


# ---- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "format_"),
    [("/in/*.csv", "csv"), ("/in/*.jsonl.gz", "json"), ("/in/*.ndjson", "json"), ("/in/*.parquet", "parquet")],
)
def test_a_format_by_its_files(path: str, format_: str) -> None:
    assert files({"path": path}).format == format_


def test_names_of_spool_dir() -> None:
    made = files({"input.path": "/in/", "input.file.pattern": r"^orders.*\.csv$", "csv.separator.char": "59"})
    assert (made.options.path, made.format, made.dialect.separator) == ("/in/orders*.csv", "csv", ";")
    assert files({"input.path": "/in", "format": "json"}).options.path == "/in/*"


def test_how_csv_is_written() -> None:
    told = {"csv.separator.char": r"\t", "csv.null.values": "NULL, -", "csv.first.row.as.header": "true"}
    dialect = files({"path": "/in", "format": "csv", **told, "csv.file.charset": "latin-1"}).dialect
    assert (dialect.separator, dialect.nulls, dialect.header) == ("\t", frozenset({"NULL", "-"}), True)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"path": "/in"}, "'format' is missing"),
        ({"path": "/in", "format": "xml"}, "'format'"),
        ({}, "'path' is missing"),
        ({"path": "/in/*.csv", "csv.separator.char": "ab"}, "one sign"),
        ({"path": "/in/*.csv", "csv.file.charset": "klingon"}, "klingon is no charset"),
        ({"path": "/in/*.csv", "cleanup.policy": "move"}, "finished.path"),
        ({"path": "/in/*.csv", "finished.path": "/done"}, "finished.path"),
        ({"input.path": "/in", "input.file.pattern": "(a|b).csv", "format": "csv"}, "too much of an expression"),
        ({"input.path": "/in", "input.file.pattern": r"\d+.csv", "format": "csv"}, "too much of an expression"),
    ],
)
def test_what_files_refuses(options: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        files(options)


def test_a_folder_has_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        files({"path": f"{tmp_path}/none/*.csv"}).prepare()
    assert refused.value.code == "PATH_NOT_FOUND"
    files({"path": f"{tmp_path}/*.csv"}).prepare()
    files({"path": "s3a://bucket/in/*.csv"}).prepare()
    inside = {"path": f"{tmp_path}/*.csv", "cleanup.policy": "move", "finished.path": f"{tmp_path}/done"}
    with pytest.raises(ConfigError, match="inside of"):
        files(inside).prepare()


def test_columns_that_files_tell(tmp_path: Path) -> None:
    csv = files({"path": f"{tmp_path}/*.csv", "csv.first.row.as.header": "true"})
    assert csv.columns() is None
    (tmp_path / "a.csv").write_text("id,Name\n1,x\n")
    told = csv.columns()
    assert told is not None
    assert told.names == ["ID", "NAME"]
    pq.write_table(pa.table({"n": [1]}), tmp_path / "a.parquet")
    told = files({"path": str(tmp_path / "a.parquet")}).columns()
    assert told is not None
    assert told.names == ["N"]
    assert files({"path": str(tmp_path), "format": "json"}).columns() is None


# ---- datagen ---------------------------------------------------------------------------------------------------------


def test_columns_that_are_made_up() -> None:
    told = datagen({"schema": "id INT KEY, name STRING, price DECIMAL(8,2)"}).columns()
    assert told is not None
    assert [(c.name, str(c.type), c.role.value) for c in told] == [
        ("ID", "INTEGER", "KEY"),
        ("NAME", "VARCHAR(STRING)", "VALUE"),
        ("PRICE", "DECIMAL(8, 2)", "VALUE"),
    ]
    assert datagen({}).columns() is None


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"quickstart": "orders", "schema": "id INT"}, "can't both be given"),
        ({"quickstart": "order"}, "quickstart"),
        ({"schema": "id INTT"}, "'schema' is no list of columns"),
        ({"rows.per.second": "0"}, "rows.per.second"),
        ({"field.id": "1"}, "there is no option 'field.id'"),
        ({"field.id.maximum": "1"}, "there is no option 'field.id.maximum'"),
        ({"field.id.nulls": "2"}, "from 0 to 1"),
        ({"schema": "id INT", "field.ids.min": "1"}, "names no column"),
        ({"schema": "id STRING", "field.id.min": "1"}, "is no number"),
        ({"schema": "id INT", "field.id.min": "5", "field.id.max": "1"}, "less than 'min'"),
        ({"schema": "id INT", "field.id.values": "1,two"}, "no number"),
    ],
)
def test_what_datagen_refuses(options: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        datagen(options).prepare()


def test_as_many_rows_as_the_clock_says() -> None:
    ticks = Ticks(rate=3.0)
    at = {"row": 0, "us": 1_000_000}
    assert after(ticks, at, 1_300_000) is at
    rows = 0
    for now in range(1_000_000, 11_000_001, 100_000):
        at = after(ticks, at, now)
        rows = at["row"]
    assert rows == 30
    # Whoever stood still for long goes on from now.
    later = after(ticks, at, 100_000_000)
    assert later["row"] - rows == 3
    assert later["us"] == 100_000_000
    assert after(Ticks(3.0, 31), at, 100_000_000)["row"] == 31
    assert after(Ticks(3.0, 30), at, 100_000_000) is at


def test_rows_have_numbers_and_times() -> None:
    (batch,) = Ticks(4.0).read({"row": 8, "us": 1_000_000}, {"row": 12, "us": 2_000_000})
    assert batch.to_pydict() == {"n": [8, 9, 10, 11], "t": [1250, 1500, 1750, 2000]}
