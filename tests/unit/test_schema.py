"""Types and columns: how they are written for people and for Spark."""

from __future__ import annotations

import pytest

from orion.schema import Array, Column, Decimal, Field, Map, Role, Scalar, Schema, SqlType, Struct, quote, spark_type

NESTED = Struct((Field("A", Array(Scalar.INTEGER)), Field("b c", Map(Scalar.STRING, Decimal(4, 2)))))


@pytest.mark.parametrize(
    ("type_", "shown", "spark"),
    [
        (Scalar.BOOLEAN, "BOOLEAN", "BOOLEAN"),
        (Scalar.INTEGER, "INTEGER", "INT"),
        (Scalar.BIGINT, "BIGINT", "BIGINT"),
        (Scalar.DOUBLE, "DOUBLE", "DOUBLE"),
        (Scalar.STRING, "VARCHAR(STRING)", "STRING"),
        (Scalar.BYTES, "BYTES", "BINARY"),
        (Scalar.DATE, "DATE", "DATE"),
        (Scalar.TIME, "TIME", "INT"),
        (Scalar.TIMESTAMP, "TIMESTAMP", "TIMESTAMP"),
        (Decimal(10, 2), "DECIMAL(10, 2)", "DECIMAL(10,2)"),
        (Array(Scalar.TIME), "ARRAY<TIME>", "ARRAY<INT>"),
        (
            NESTED,
            "STRUCT<A ARRAY<INTEGER>, b c MAP<VARCHAR(STRING), DECIMAL(4, 2)>>",
            "STRUCT<`A`:ARRAY<INT>,`b c`:MAP<STRING,DECIMAL(4,2)>>",
        ),
    ],
)
def test_a_type_is_written_as_ksqldb_does_and_as_spark_does(type_: SqlType, shown: str, spark: str) -> None:
    assert str(type_) == shown
    assert spark_type(type_) == spark


def test_a_name_is_quoted_whatever_it_holds() -> None:
    assert quote("A") == "`A`"
    assert quote("a`b c") == "`a``b c`"


def test_a_struct_is_asked_by_exact_name() -> None:
    assert NESTED.get("b c") == Map(Scalar.STRING, Decimal(4, 2))
    assert NESTED.get("B C") is None


def test_a_schema_tells_key_from_value() -> None:
    key, value, header = (
        Column("K", Scalar.STRING, Role.KEY),
        Column("V", Scalar.INTEGER),
        Column("H", Scalar.BYTES, Role.HEADERS, "h"),
    )
    schema = Schema((key, value, header))
    assert schema.key == (key,)
    assert schema.value == (value,)
    assert schema.names == ["K", "V", "H"]
    assert list(schema) == [key, value, header]
    assert schema.get("V") is value
    assert schema.get("v") is None
