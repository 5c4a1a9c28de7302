"""Formats as text: which Spark SQL they write. What Spark makes of it is in tests/spark."""

from __future__ import annotations

import pytest

from orion.errors import InternalError
from orion.formats import NAMES, format_of
from orion.ksql.properties import FORMATS
from orion.plan.sources import Serde
from orion.schema import Array, Column, Decimal, Field, Map, Role, Scalar, SqlType, Struct

KEY = Column("K", Scalar.STRING, Role.KEY, spelling="k")
JSON, KAFKA, NONE = Serde("JSON"), Serde("KAFKA"), Serde("NONE")


def column(name: str, type_: SqlType, spelling: str | None = None) -> Column:
    return Column(name, type_, spelling=spelling)


def test_the_formats_of_sql_are_the_plug_ins() -> None:
    assert {name.lower() for name in FORMATS} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_no_columns_are_no_bytes(name: str) -> None:
    serde = Serde(name.upper())
    assert format_of(serde).encode((), serde) == "CAST(NULL AS BINARY)"
    assert format_of(serde).decode((), serde, "raw", "v").fields == ()


# ---- JSON ------------------------------------------------------------------------------------------------------


def test_json_reads_a_field_under_each_spelling_and_takes_the_first_there_is() -> None:
    read = format_of(JSON).decode(
        (column("USERID", Scalar.BIGINT, "userId"), column("N", Scalar.DOUBLE, "N")), JSON, "raw", "v"
    )
    assert "`userId` BIGINT, `USERID` BIGINT, `userid` BIGINT, `N` DOUBLE, `n` DOUBLE, __corrupt STRING" in read.struct
    assert read.fields == ("coalesce(v.`userId`, v.`USERID`, v.`userid`)", "coalesce(v.`N`, v.`n`)")


def test_json_that_orion_writes_is_read_under_one_name() -> None:
    read = format_of(JSON).decode((column("USERID", Scalar.BIGINT), column("N", Scalar.DOUBLE)), JSON, "raw", "v")
    assert read.fields == ("v.`USERID`", "v.`N`")
    assert read.bad == "(v IS NULL OR v.__corrupt IS NOT NULL)"


@pytest.mark.parametrize(
    ("columns", "serde", "alone"),
    [
        ((KEY,), JSON, True),
        ((column("V", Scalar.INTEGER),), JSON, False),
        ((column("V", Scalar.INTEGER),), Serde("JSON", wrap_single=False), True),
        ((KEY,), Serde("JSON", wrap_single=True), False),
        ((KEY, Column("L", Scalar.STRING, Role.KEY)), JSON, False),
    ],
)
def test_json_of_a_single_key_stands_alone_unless_told(columns: tuple[Column, ...], serde: Serde, alone: bool) -> None:
    assert ("concat(" in format_of(serde).decode(columns, serde, "raw", "v").struct) == alone
    assert ("substring(" in format_of(serde).encode(columns, serde)) == alone


def test_json_alone_is_cut_out_of_its_object() -> None:
    text = "to_json(named_struct('K', `K`), map('ignoreNullFields', 'false'))"
    # {"K": is five characters; the value goes from the sixth to the one before the closing brace.
    assert format_of(JSON).encode((KEY,), JSON) == (
        f"CAST(if(`K` IS NULL, NULL, substring({text}, 6, length({text}) - 6)) AS BINARY)"
    )


@pytest.mark.parametrize(
    ("type_", "wire", "read", "written"),
    [
        (Scalar.TIMESTAMP, "BIGINT", "timestamp_millis(v.`C`)", "unix_millis(`C`)"),
        (Scalar.DATE, "INT", "date_from_unix_date(v.`C`)", "unix_date(`C`)"),
        (Scalar.TIME, "INT", "v.`C`", "`C`"),
        (Scalar.BYTES, "BINARY", "v.`C`", "`C`"),
        (Decimal(5, 2), "DECIMAL(5,2)", "v.`C`", "`C`"),
        (Array(Scalar.INTEGER), "ARRAY<INT>", "v.`C`", "`C`"),
        (
            Array(Scalar.DATE),
            "ARRAY<INT>",
            "transform(v.`C`, x0 -> date_from_unix_date(x0))",
            "transform(`C`, x0 -> unix_date(x0))",
        ),
        (Map(Scalar.STRING, Scalar.BIGINT), "MAP<STRING,BIGINT>", "v.`C`", "`C`"),
        (
            Struct((Field("A", Scalar.DATE),)),
            "STRUCT<`A`:INT,`a`:INT>",
            "if(v.`C` IS NULL, NULL, named_struct('A', "
            "coalesce(date_from_unix_date(v.`C`.`A`), date_from_unix_date(v.`C`.`a`))))",
            "if(`C` IS NULL, NULL, named_struct('A', unix_date(`C`.`A`)))",
        ),
    ],
)
def test_json_types_on_the_wire(type_: SqlType, wire: str, read: str, written: str) -> None:
    columns = (column("C", type_), column("D", Scalar.INTEGER))
    decoded = format_of(JSON).decode(columns, JSON, "raw", "v")
    assert f"`C` {wire}, `D` INT" in decoded.struct
    assert decoded.fields == (read, "v.`D`")
    assert f"named_struct('C', {written}, 'D', `D`)" in format_of(JSON).encode(columns, JSON)


# ---- KAFKA -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type_", "fits"),
    [
        (Scalar.INTEGER, "length(raw) = 4"),
        (Scalar.BIGINT, "length(raw) = 8"),
        (Scalar.DOUBLE, "length(raw) = 8"),
        (Scalar.STRING, "TRUE"),
        (Scalar.BYTES, "TRUE"),
    ],
)
def test_kafka_numbers_have_a_width(type_: Scalar, fits: str) -> None:
    read = format_of(KAFKA).decode((column("C", type_),), KAFKA, "raw", "v")
    assert read.struct.startswith(f"named_struct('ok', {fits}, 'it', CASE WHEN {fits} THEN ")
    assert read.fields == ("v.it",)
    assert read.bad == "NOT v.ok"


@pytest.mark.parametrize("columns", [(column("C", Array(Scalar.INTEGER)),), (KEY, column("V", Scalar.INTEGER))])
def test_kafka_holds_one_plain_column(columns: tuple[Column, ...]) -> None:
    with pytest.raises(InternalError):
        format_of(KAFKA).decode(columns, KAFKA, "raw", "v")


def test_kafka_writes_bytes_as_its_own_serialisers_do() -> None:
    assert format_of(KAFKA).encode((column("C", Scalar.BIGINT),), KAFKA) == "CAST(`C` AS BINARY)"
    assert "reverse(to_avro(" in format_of(KAFKA).encode((column("C", Scalar.DOUBLE),), KAFKA)


def test_none_looks_at_nothing() -> None:
    read = format_of(NONE).decode((), NONE, "raw", "v")
    assert "raw" not in f"{read.struct}{read.bad}{read.reason}"
    assert read.bad == "FALSE"
