"""Values on the wire, held against psycopg: what it reads of ours, and what we read of its parameters."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any
from uuid import UUID

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import Format

from orion.web.postgres import binary, parameters, text, types
from orion.web.postgres.errors import Refused
from orion.web.postgres.lexer import tokens
from orion.web.postgres.rows import data_rows

UTC = dt.UTC
VALUES: list[tuple[str, Any]] = [
    ("true", True),
    ("7::TINYINT", 7),
    ("-7::SMALLINT", -7),
    ("7", 7),
    ("-9000000000", -9000000000),
    ("9000000000000000000000::HUGEINT", Decimal("9000000000000000000000")),
    ("18446744073709551615::UBIGINT", Decimal("18446744073709551615")),
    ("1.5::FLOAT", 1.5),
    ("1e-7::DOUBLE", 1e-7),
    ("'inf'::DOUBLE", float("inf")),
    ("12.340::DECIMAL(9, 3)", Decimal("12.340")),
    ("0.0000000001::DECIMAL(38, 10)", Decimal("0.0000000001")),
    ("'aé \"b\"'", 'aé "b"'),
    ("''", ""),
    ("'\\x00\\xFF'::BLOB", b"\0\xff"),
    ("DATE '2024-02-29'", dt.date(2024, 2, 29)),
    ("TIME '10:11:12.5'", dt.time(10, 11, 12, 500000)),
    ("TIMESTAMP '1969-12-31 23:59:59.999999'", dt.datetime(1969, 12, 31, 23, 59, 59, 999999)),
    ("TIMESTAMP_MS '2024-01-02 03:04:05.678'", dt.datetime(2024, 1, 2, 3, 4, 5, 678000)),
    ("TIMESTAMPTZ '2024-07-02 03:04:05+00'", dt.datetime(2024, 7, 2, 3, 4, 5, tzinfo=UTC)),
    ("INTERVAL '1 day 02:03:04.5'", dt.timedelta(days=1, hours=2, minutes=3, seconds=4.5)),
    ("INTERVAL '-1 second'", dt.timedelta(seconds=-1)),
    ("'00000000-0000-0000-0000-000000000007'::UUID", UUID(int=7)),
    ("'b'::ENUM('a', 'b')", "b"),
    ("NULL", None),
    ("NULL::DATE", None),
    ("[1, NULL, 3]", [1, None, 3]),
    ("[]::INTEGER[]", []),
    ("['a b', '', 'NULL', NULL, '\"', '{,}\\']", ["a b", "", "NULL", None, '"', "{,}\\"]),
    ("[DATE '2024-02-29']", [dt.date(2024, 2, 29)]),
    ("[1.50::DECIMAL(5, 2)]", [Decimal("1.50")]),
    ("{'city': 'Ulm', 'zip': 89073}", {"city": "Ulm", "zip": 89073}),
    ("MAP {'k': [1, 2]}", {"k": [1, 2]}),
    ("[[1], [2, 3]]", [[1], [2, 3]]),
    ("[{'a': DATE '2024-02-29'}]", [{"a": "2024-02-29"}]),
    ("'{\"a\": 1}'::JSON", {"a": 1}),
    ("'10:00:00+02'::TIMETZ", "10:00:00+02"),
]


def on_the_wire(sql: str, code: int, zone: str = "UTC") -> list[tuple[int, bytes | None]]:
    """The oid and the bytes of a query's only column."""
    with duckdb.connect() as connection:
        connection.execute(f"SET TimeZone = '{zone}'").fetchall()
        relation = connection.sql(f"SELECT {sql}")
        (column,) = types.columns(relation.columns, relation.types)
        table = relation.project((column.fetched or "{}").format("#1")).to_arrow_reader(10).read_all()
        found: list[tuple[int, bytes | None]] = []
        for batch in table.to_batches():
            rest = data_rows(batch, [column], [code])
            while rest:
                size = int.from_bytes(rest[1:5])
                assert (rest[:1], rest[5:7]) == (b"D", b"\0\1")
                length = int.from_bytes(rest[7:11], signed=True)
                found.append((column.type.oid, None if length == -1 else rest[11 : 11 + length]))
                assert size == 4 + 2 + 4 + max(length, 0)
                rest = rest[1 + size :]
        return found


@pytest.mark.parametrize("code", [0, 1], ids=["text", "binary"])
@pytest.mark.parametrize(("sql", "expected"), VALUES, ids=[sql for sql, _ in VALUES])
def test_psycopg_reads_values(sql: str, expected: Any, code: int) -> None:
    ((oid, data),) = on_the_wire(sql, code)
    loaded = None if data is None else Transformer().get_loader(oid, Format(code)).load(data)
    if isinstance(loaded, dt.datetime) and loaded.tzinfo:
        loaded = loaded.astimezone(UTC)
    assert loaded == expected


def test_what_no_python_value_stands_for() -> None:
    assert on_the_wire("TIMESTAMP 'infinity'", 0) == [(1114, b"infinity")]
    assert on_the_wire("DATE '-infinity'", 0) == [(1082, b"-infinity")]
    assert on_the_wire("DATE 'infinity'", 1) == [(1082, b"\x7f\xff\xff\xff")]
    assert on_the_wire("TIMESTAMPTZ '-infinity'", 1) == [(1184, b"\x80" + b"\0" * 7)]
    assert on_the_wire("'nan'::DOUBLE", 0) == [(701, b"NaN")]
    assert on_the_wire("INTERVAL '14 months'", 0) == [(1186, b"14 mons")]


def test_years_before_1_and_after_9999_are_written_as_postgresql_does() -> None:
    days = pa.array([2_932_897, -800_000, 100_000_000, None, 0], pa.date32())
    assert text.date(days).to_pylist() == ["10000-01-01", "0222-09-04 BC", "275760-09-13", None, "1970-01-01"]
    micros = [253_402_300_800_000_000, -62_135_596_800_001_000, 0]
    plain = ["10000-01-01 00:00:00.000000", "0001-12-31 23:59:59.999000 BC", "1970-01-01 00:00:00.000000"]
    assert text.timestamp(pa.array(micros, pa.timestamp("us"))).to_pylist() == plain
    zoned = ["10000-01-01 00:00:00.000000+00", "0001-12-31 23:59:59.999000+00 BC", "1970-01-01 00:00:00.000000+00"]
    assert text.timestamp_with_zone(pa.array(micros, pa.timestamp("us", "UTC"))).to_pylist() == zoned


def test_times_are_shown_in_the_zone_of_the_session() -> None:
    for zone, shown in (("Asia/Kolkata", b"05:30:00.000000+05:30"), ("America/New_York", b"19:00:00.000000-05")):
        ((_, data),) = on_the_wire("TIMESTAMPTZ '2024-01-01 00:00:00+00'", 0, zone)
        assert data is not None
        assert data.endswith(shown)


def test_rows_without_columns() -> None:
    with duckdb.connect() as connection:
        batch = connection.sql("SELECT 1").to_arrow_reader(10).read_next_batch()
    assert data_rows(batch.select([]), [], []) == b"D\0\0\0\6\0\0"


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        ("DECIMAL(10,2)", ("numeric", (10 << 16 | 2) + 4)),
        ("VARCHAR", ("text", -1)),
        ("DECIMAL(4,1)[]", ("_numeric", -1)),
        ("STRUCT(a INTEGER)[]", ("json", -1)),
        ("INTEGER[3]", ("json", -1)),
        ("SOMETHING NEW", ("text", -1)),
    ],
)
def test_types_have_names(type_: str, expected: tuple[str, int]) -> None:
    column = types.column("a", type_)
    assert (column.type.name, column.modifier) == expected


@given(
    st.decimals(allow_nan=False, allow_infinity=False, places=6) | st.decimals(allow_nan=False, allow_infinity=False)
)
def test_numbers_survive_the_binary_format(value: Decimal) -> None:
    if abs(value.adjusted()) < 60:
        again = binary.numeric_value(binary.numeric(value))
        assert again == value
        assert Transformer().get_loader(1700, Format.BINARY).load(binary.numeric(value)) == value


PARAMETERS: list[Any] = [
    True, 1, -40000, 9000000000, 1.5, Decimal("-12.50"), "text", dt.date(2024, 2, 29), dt.time(10, 11, 12),
    dt.datetime(2024, 1, 2, 3, 4, 5, 6), dt.datetime(2024, 1, 2, tzinfo=UTC), UUID(int=7), [1, 2], ["a,b", None, '"'],
    [], [Decimal("1.5")], dt.timedelta(days=-1, hours=2, microseconds=3),
]  # fmt: skip


@pytest.mark.parametrize("format_", [PyFormat.TEXT, PyFormat.BINARY])
@pytest.mark.parametrize("value", PARAMETERS, ids=repr)
def test_parameters_of_psycopg_are_read(value: Any, format_: PyFormat) -> None:
    """psycopg doesn't tell the type of lists of texts and of empty ones: there the place of the parameter does."""
    dumper = Transformer().get_dumper(value, format_)
    data = bytes(dumper.dump(value) or b"")
    known = parameters.Types((dumper.oid,), {1: 1009} if isinstance(value, list) else {})
    assert parameters.values([data], known, [int(dumper.format)]) == [value]


def test_parameters_that_cannot_be_read_are_refused() -> None:
    for data, oid, code in ((b"x", 23, 0), (b"maybe", 16, 0), (b"\1", 701, 1), (b"{1,{2}}", 1007, 0), (b"1", 1007, 0)):
        with pytest.raises(Refused, match="can't be read"):
            parameters.value(data, oid, code)
    with pytest.raises(Refused):
        parameters.values([b"1", b"2", b"3"], parameters.Types(), [0, 1])


def test_a_type_that_is_not_told_stays_text() -> None:
    known = parameters.Types((23,), {2: 1082, 3: 1007, 4: 23})
    assert parameters.values([b"1", b"2024-1-1", b"{1,NULL}", None], known, []) == [1, "2024-1-1", [1, None], None]
    assert parameters.values([b"\0\0\0\1"] * 2, parameters.Types((23,), {2: 23}), [1]) == [1, 1]
    assert [known.of(number) for number in range(1, 6)] == [23, 1082, 1007, 23, 25]
    assert parameters.cast_types(tuple(tokens("SELECT $1::int4, $2 :: text[] WHERE a = $3"))) == {1: 23, 2: 1009}


def test_days_and_instants_that_are_out_of_reach() -> None:
    """Years after 9999 and before 1 are spelled; what PostgreSQL's types don't hold is endless, in both formats."""
    days = pa.array([2_932_897, -719_163, -2_440_588, -2_440_589, 2_145_042_905, 2_145_042_906, None], pa.int32())
    assert types.DATE.as_text(days.cast(pa.date32())).to_pylist() == [
        "10000-01-01", "0001-12-31 BC", "4714-11-24 BC", "-infinity", "5874897-12-31", "infinity", None,
    ]  # fmt: skip
    written = types.DATE.as_binary(days.cast(pa.date32())).to_pylist()
    assert [written[at] for at in (3, 5)] == [b"\x80\0\0\0", b"\x7f\xff\xff\xff"]
    assert int.from_bytes(written[2], signed=True) == -2_440_588 - 10_957
    micros = pa.array([253_402_300_800_000_000, -(2**63) + 1, 2**63 - 2, 2**63 - 1], pa.int64())
    for kind, column in ((types.TIMESTAMP, pa.timestamp("us")), (types.TIMESTAMPTZ, pa.timestamp("us", "UTC"))):
        zone = "+00" if kind is types.TIMESTAMPTZ else ""
        assert kind.as_text(micros.cast(column)).to_pylist() == [
            f"10000-01-01 00:00:00.000000{zone}", "-infinity", f"294247-01-10 04:00:54.775806{zone}", "infinity",
        ]  # fmt: skip
        assert kind.as_binary(micros.cast(column)).to_pylist()[1] == b"\x80" + bytes(7)
    assert types.TIME.as_text(pa.array([86_400_000_000, 1], pa.int64()).cast(pa.time64("us"))).to_pylist() == [
        b"24:00:00", b"00:00:00.000001",
    ]  # fmt: skip


def test_json_has_no_numbers_that_json_has_not() -> None:
    written = types.JSON.as_text(pa.array(['{"a":NaN,"b":[-Infinity],"c":"NaN \\" Infinity"}', None, '{"a":1}']))
    assert written.to_pylist() == [b'{"a":"NaN","b":["-Infinity"],"c":"NaN \\" Infinity"}', None, b'{"a":1}']


@pytest.mark.parametrize(("data", "expected"), [(b"\\x00ff", b"\0\xff"), (b"\\000a\\377", b"\0a\xff"), (b"", b"")])
def test_both_ways_to_write_bytes(data: bytes, expected: bytes) -> None:
    assert parameters.value(data, 17, 0) == expected
