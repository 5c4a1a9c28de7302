"""Formats as text: which Spark SQL they write. What Spark makes of it is in tests/spark."""

from __future__ import annotations

import pytest

from orion.errors import InternalError
from orion.formats import NAMES, format_of
from orion.formats.wire import ranges
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
    assert (
        "`userId` BIGINT, `USERID` BIGINT, `userid` BIGINT, `N` DOUBLE, `n` DOUBLE, __corrupt STRING" in read.before[0]
    )
    assert read.fields == (
        "if(v IS NULL, coalesce(v_0.`userId`, v_0.`USERID`, v_0.`userid`), v.it.c0)",
        "if(v IS NULL, coalesce(v_0.`N`, v_0.`n`), v.it.c1)",
    )


def test_json_looks_for_other_cases_only_where_something_is_missing() -> None:
    read = format_of(JSON).decode((column("USERID", Scalar.BIGINT, "userid"),), JSON, "raw", "v")
    assert "(coalesce(v_0.`userid`, v_0.`USERID`) IS NULL) AND CAST(raw AS STRING) RLIKE" in read.struct
    assert r"""(?!(?:userid|USERID)")(?iu:USERID)"\\s*:'""" in read.struct


def test_json_that_orion_writes_is_read_under_one_name() -> None:
    read = format_of(JSON).decode((column("USERID", Scalar.BIGINT), column("N", Scalar.DOUBLE)), JSON, "raw", "v")
    assert read.fields == ("if(v IS NULL, v_0.`USERID`, v.it.c0)", "if(v IS NULL, v_0.`N`, v.it.c1)")
    assert all("RLIKE" not in text for text in (*read.before, read.struct))
    assert read.bad == "coalesce(v.state = 1, FALSE)"


def test_json_of_a_quoted_name_is_read_under_that_alone() -> None:
    read = format_of(JSON).decode((column("userId", Scalar.BIGINT, "userId"),), JSON, "raw", "v")
    assert "'`userId` BIGINT, __corrupt STRING'" in read.before[0]
    assert "(?iu:" not in read.struct


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
    assert ("concat(" in format_of(serde).decode(columns, serde, "raw", "v").before[0]) == alone
    assert ("named_struct" not in format_of(serde).encode(columns, serde)) == alone


@pytest.mark.parametrize(
    ("type_", "written"),
    [
        (Scalar.STRING, "if(`C` IS NULL, NULL, btrim(to_json(array(`C`)), '[]'))"),
        (Scalar.BIGINT, "CAST(`C` AS STRING)"),
        (Scalar.DATE, "CAST(unix_date(`C`) AS STRING)"),
        (Array(Scalar.INTEGER), "to_json(`C`, map('ignoreNullFields', 'false'))"),
    ],
)
def test_json_alone_has_no_object_around_it(type_: SqlType, written: str) -> None:
    assert format_of(JSON).encode((Column("C", type_, Role.KEY),), JSON) == f"CAST({written} AS BINARY)"


@pytest.mark.parametrize(
    ("type_", "wire", "read", "written"),
    [
        (Scalar.TIMESTAMP, "BIGINT", ranges.timestamp("v_0.`C`"), "unix_millis(`C`)"),
        (Scalar.DATE, "INT", "date_from_unix_date(v_0.`C`)", "unix_date(`C`)"),
        (Scalar.TIME, "INT", "v_0.`C`", "`C`"),
        (Scalar.BYTES, "BINARY", "v_0.`C`", "`C`"),
        (Decimal(5, 2), "DECIMAL(5,2)", "v_0.`C`", "`C`"),
        (Array(Scalar.INTEGER), "ARRAY<INT>", "v_0.`C`", "`C`"),
        (
            Array(Scalar.DATE),
            "ARRAY<INT>",
            "transform(v_0.`C`, x0 -> date_from_unix_date(x0))",
            "transform(`C`, x0 -> unix_date(x0))",
        ),
        (Map(Scalar.STRING, Scalar.BIGINT), "MAP<STRING,BIGINT>", "v_0.`C`", "`C`"),
        (
            Struct((Field("A", Scalar.DATE),)),
            "STRUCT<`A`:INT,`a`:INT>",
            "if(v_0.`C` IS NULL, NULL, named_struct('A', "
            "coalesce(date_from_unix_date(v_0.`C`.`A`), date_from_unix_date(v_0.`C`.`a`))))",
            "if(`C` IS NULL, NULL, named_struct('A', unix_date(`C`.`A`)))",
        ),
    ],
)
def test_json_types_on_the_wire(type_: SqlType, wire: str, read: str, written: str) -> None:
    columns = (column("C", type_), column("D", Scalar.INTEGER))
    decoded = format_of(JSON).decode(columns, JSON, "raw", "v")
    assert f"`C` {wire}, `D` INT" in decoded.before[0]
    if isinstance(type_, Scalar | Decimal) and read == "v_0.`C`":
        assert decoded.fields[0] == f"if(v IS NULL, {read}, v.it.c0)"
    else:  # what takes time to make is made once
        assert f"named_struct('c0', {read}, 'c1', v_0.`D`)" in decoded.before[1]
        assert decoded.fields[0] == "if(v IS NULL, v_1.c0, v.it.c0)"
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


# ---- DELIMITED -------------------------------------------------------------------------------------------------

DELIMITED = Serde("DELIMITED")


def test_delimited_counts_its_cells_and_reads_each_by_its_type() -> None:
    columns = (column("A", Scalar.STRING), column("B", Scalar.INTEGER), column("C", Decimal(5, 2)))
    read = format_of(DELIMITED).decode(columns, DELIMITED, "raw", "v")
    assert "'c0 STRING, c1 STRING, c2 STRING, __corrupt STRING'" in read.struct
    assert read.fields == (
        "nullif(v.c0, '')",
        "try_cast(nullif(v.c1, '') AS INT)",
        "try_cast(nullif(v.c2, '') AS DECIMAL(5,2))",
    )
    assert "v.__corrupt IS NOT NULL" in read.bad
    assert "length(raw) = 0" in read.bad


@pytest.mark.parametrize(
    ("delimiter", "sep"), [(None, "','"), ("\t", "'\t'"), ("|", "'|'"), ("'", "'\\''"), ("\\", "'\\\\\\\\'")]
)
def test_delimited_takes_any_character(delimiter: str | None, sep: str) -> None:
    serde = Serde("DELIMITED", delimiter)
    assert f"'sep', {sep}," in format_of(serde).decode((KEY,), serde, "raw", "v").struct


def test_delimited_quotes_only_what_may_need_it() -> None:
    columns = (column("A", Scalar.STRING), column("B", Scalar.INTEGER))
    assert format_of(DELIMITED).encode(columns, DELIMITED).count("RLIKE") == 1
    minus = Serde("DELIMITED", "-")
    assert format_of(minus).encode(columns, minus).count("RLIKE") == 2


@pytest.mark.parametrize("type_", [Array(Scalar.INTEGER), Map(Scalar.STRING, Scalar.INTEGER), Struct(())])
def test_delimited_holds_no_nested_types(type_: SqlType) -> None:
    with pytest.raises(InternalError):
        format_of(DELIMITED).decode((column("C", type_),), DELIMITED, "raw", "v")
    with pytest.raises(InternalError):
        format_of(DELIMITED).encode((column("C", type_),), DELIMITED)
