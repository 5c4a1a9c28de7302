"""Files as rows: what workers make of CSV, JSON lines and Parquet, without Spark."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal as Number
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from orion.feeds import frames
from orion.feeds.reading.batches import Format, Reading
from orion.feeds.reading.columns import schema_of
from orion.feeds.reading.entries import Entry, Found
from orion.feeds.reading.lines import Dialect, csv_lines, header_of, json_lines
from orion.schema import Column, Decimal, Scalar

COLUMNS = ("ID", "NAME")
PLAIN = Dialect()


def read(folder: Path, text: bytes, dialect: Dialect = PLAIN, columns: Sequence[str] = COLUMNS) -> list[Entry]:
    file = folder / "some.csv"
    file.write_bytes(text)
    return list(csv_lines(Found(f"file:{file}", 0), dialect, columns))


def test_cells_in_the_order_of_the_columns(tmp_path: Path) -> None:
    assert read(tmp_path, b'1,Ana\r\n2,\r\n\r\n3,"a ""b"", c"\n') == [
        Entry(b"1,Ana", 1, ("1", "Ana")),
        Entry(b"2,", 2, ("2", None)),
        Entry(b'3,"a ""b"", c"', 4, ("3", 'a "b", c')),
    ]


def test_a_header_says_where_columns_stand(tmp_path: Path) -> None:
    (entry,) = read(tmp_path, b"\xef\xbb\xbfname,other,Id\nAna,x,1\n", Dialect(header=True))
    assert entry.cells == ("1", "Ana")
    assert entry.number == 2


def test_a_column_that_the_header_lacks_is_null(tmp_path: Path) -> None:
    (entry,) = read(tmp_path, b"id\n7\n", Dialect(header=True))
    assert entry.cells == ("7", None)


def test_a_header_of_other_columns_is_bad(tmp_path: Path) -> None:
    (row,) = read(tmp_path, b"a,b\n1,2\n", Dialect(header=True))
    assert row == Entry(b"1,2", 2, bad="VALUE_UNREADABLE: the file's header names none of the columns")


def test_too_many_cells_are_bad_and_keep_their_text(tmp_path: Path) -> None:
    bad, good = read(tmp_path, b"1,Ana,x\n2,Bo\n")
    assert (bad.raw, bad.bad) == (b"1,Ana,x", "VALUE_UNREADABLE: 3 cells, and there are 2 columns")
    assert good.cells == ("2", "Bo")


def test_a_cell_may_have_several_lines(tmp_path: Path) -> None:
    first, second = read(tmp_path, b'1,"two\nlines"\n2,x\n')
    assert first == Entry(b'1,"two\nlines"', 1, ("1", "two\nlines"))
    assert second.number == 3


def test_a_quote_that_is_not_closed_costs_its_own_line_only(tmp_path: Path) -> None:
    bad, *rest = read(tmp_path, b'1,"oops\n2,b\n3,c\n')
    assert (bad.raw, bad.bad) == (b'1,"oops', "VALUE_UNREADABLE: a quote isn't closed")
    assert [entry.cells for entry in rest] == [("2", "b"), ("3", "c")]
    assert [entry.number for entry in rest] == [2, 3]


def test_bytes_that_are_no_text_are_kept_as_they_are(tmp_path: Path) -> None:
    bad, good = read(tmp_path, b"1,\xff\xfe\n2,b\n")
    assert (bad.raw, bad.bad) == (b"1,\xff\xfe", "VALUE_UNREADABLE: not UTF-8")
    assert good.cells == ("2", "b")


def test_other_signs(tmp_path: Path) -> None:
    dialect = Dialect(separator=";", quote="'", nulls=frozenset({"", "-"}), skipped=1, charset="latin-1")
    assert [e.cells for e in read(tmp_path, "# made by hand\n1;'a;b'\n-;\xe9\n".encode("latin-1"), dialect)] == [
        ("1", "a;b"),
        (None, "é"),
    ]


def test_packed_files(tmp_path: Path) -> None:
    file = tmp_path / "some.json.gz"
    file.write_bytes(gzip.compress(b'{"a":1}\n\n{"a":2}'))
    assert list(json_lines(Found(str(file), 0))) == [Entry(b'{"a":1}', 1), Entry(b'{"a":2}', 3)]
    file.write_bytes(gzip.compress(b'{"a":1}\n' * 1000)[:-12])
    assert [e.bad for e in json_lines(Found(str(file), 0))][-1] == (
        "FILE_UNREADABLE: Compressed file ended before the end-of-stream marker was reached"
    )


def test_a_header_tells_columns(tmp_path: Path) -> None:
    file = tmp_path / "some.csv"
    file.write_text("\nid,name\n1,2\n")
    assert header_of(Found(str(file), 0), Dialect(header=True)) == ["id", "name"]


WANTED = (
    Column("ID", Scalar.BIGINT),
    Column("PRICE", Decimal(6, 2)),
    Column("AT", Scalar.TIMESTAMP),
    Column("NOTE", Scalar.STRING),
)


def without_notes(batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """The rows, without what is noted behind each file."""
    found = pa.Table.from_batches(list(batches))
    return found.filter(pc.fill_null(pc.not_equal(found[frames.BAD], frames.NOTE), True))


def blocks(file: Path) -> pa.Table:
    reading = Reading("parquet", WANTED, Dialect(), file_time=True)
    listed = pa.RecordBatch.from_pylist([{"path": f"file:{file}", "modified": 5}])
    return without_notes(reading(iter([listed])))


def test_parquet_by_name_and_type(tmp_path: Path) -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    table = pa.table({"note": ["a", None], "id": pa.array([1, 2], pa.int32()), "price": [1.5, 2.25], "at": [at, None]})
    pq.write_table(table, tmp_path / "some.parquet")
    found = blocks(tmp_path / "some.parquet")
    assert found.select([c.name for c in WANTED]).to_pylist() == [
        {"ID": 1, "PRICE": Number("1.50"), "AT": at, "NOTE": "a"},
        {"ID": 2, "PRICE": Number("2.25"), "AT": None, "NOTE": None},
    ]
    assert found["ROWTIME"].to_pylist() == [5, 5]
    assert found[frames.NUMBER].to_pylist() == [1, 2]


def test_a_row_of_parquet_that_does_not_fit_is_bad_by_itself(tmp_path: Path) -> None:
    table = pa.table({"ID": ["1", "x"], "NOTE": [{"k": 1}, {"k": 2}]})
    pq.write_table(table, tmp_path / "some.parquet")
    good, bad = blocks(tmp_path / "some.parquet").to_pylist()
    assert (good["ID"], good["NOTE"], good[frames.BAD]) == (1, '{"k": 1}', None)
    assert bad[frames.BAD] == "VALUE_UNREADABLE: ID is no BIGINT"
    assert bad[frames.RAW_VALUE] == b'{"ID": "x", "PRICE": null, "AT": null, "NOTE": {"k": 2}}'


def test_what_is_no_parquet_is_one_letter(tmp_path: Path) -> None:
    (tmp_path / "some.parquet").write_bytes(b"hello")
    (row,) = blocks(tmp_path / "some.parquet").to_pylist()
    assert row[frames.BAD].startswith("FILE_UNREADABLE: ")
    assert row[frames.RAW_VALUE] == str(tmp_path / "some.parquet").encode()


def test_parquet_tells_its_columns(tmp_path: Path) -> None:
    table = pa.table({"id": [1], "price": pa.array([Number("1.20")], pa.decimal128(8, 2)), "tags": [["a"]]})
    pq.write_table(table, tmp_path / "some.parquet")
    told = schema_of(Found(str(tmp_path / "some.parquet"), 0))
    assert [(c.name, str(c.type)) for c in told] == [
        ("ID", "BIGINT"),
        ("PRICE", "DECIMAL(8, 2)"),
        ("TAGS", "ARRAY<VARCHAR(STRING)>"),
    ]


@pytest.mark.parametrize("format_", ["csv", "json"])
def test_files_are_read_from_the_oldest_on(tmp_path: Path, format_: str) -> None:
    wanted = (Column("ID", Scalar.STRING),)
    reading = Reading("csv" if format_ == "csv" else "json", wanted, Dialect())
    for name in "ab":
        (tmp_path / name).write_text(f"{name}\n")
    listed = [{"path": str(tmp_path / name), "modified": at} for name, at in (("a", 2), ("b", 1))]
    found = without_notes(reading(iter([pa.RecordBatch.from_pylist(listed)]))).to_pylist()
    assert [row[frames.RAW_VALUE] for row in found] == [b"b", b"a"]
    assert [row[frames.PLACE] for row in found] == [str(tmp_path / "b"), str(tmp_path / "a")]


@pytest.mark.parametrize("format_", ["csv", "json", "parquet"])
def test_behind_each_file_it_is_noted_that_it_was_read(tmp_path: Path, format_: Format) -> None:
    file = tmp_path / "a b.txt"
    file.write_text("")
    reading = Reading(format_, WANTED, Dialect(), "DROP")
    listed = pa.RecordBatch.from_pylist([{"path": f"file:{file}", "modified": 5}])
    *_, last = reading(iter([listed]))
    (note,) = last.to_pylist()
    assert note[frames.BAD] == frames.NOTE
    assert note[frames.RAW_KEY] == f'["DROP",{{"file":"{file}"}}]'.encode()
    assert note[frames.RAW_VALUE] == b'{"modified":5}'
