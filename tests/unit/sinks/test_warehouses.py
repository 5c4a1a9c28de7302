"""The SQL by which warehouses load what the s3 sink has laid down."""

from __future__ import annotations

import pytest

from orion.errors import UnsupportedError
from orion.plan.sources import Kind
from orion.schema import Array, Column, Decimal, Map, Role, Scalar, SqlType, Struct
from orion.sinks.store import Layout
from orion.sinks.warehouses import WAREHOUSES, Stage, loading

STAGE = Stage("lake", "topics/shop.orders", "parquet")
LAYOUT = Layout(
    "shop.orders",
    Kind.STREAM,
    (Column("ID", Scalar.STRING, Role.KEY), Column("PAID", Decimal(10, 2)), Column("TAGS", Array(Scalar.STRING))),
)


def test_redshift_copies_parquet() -> None:
    assert loading("redshift", LAYOUT, STAGE) == (
        'CREATE TABLE IF NOT EXISTS "shop_orders" (\n'
        '  "ID" VARCHAR(65535),\n'
        '  "PAID" DECIMAL(10, 2),\n'
        '  "TAGS" SUPER\n'
        ");\n\n"
        'COPY "shop_orders"\n'
        "  FROM 's3://lake/topics/shop.orders/'\n"
        "  IAM_ROLE default\n"
        "  FORMAT AS PARQUET SERIALIZETOJSON;"
    )


def test_snowflake_copies_from_a_stage_by_column_names() -> None:
    text = loading("snowflake", LAYOUT, STAGE)
    assert '"PAID" NUMBER(10, 2)' in text
    assert "FROM @orion_stage/topics/shop.orders/\n" in text
    assert "FILE_FORMAT = (TYPE = PARQUET)" in text
    assert "MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE;" in text


def test_bigquery_loads_files() -> None:
    text = loading("bigquery", LAYOUT, STAGE)
    assert "CREATE TABLE IF NOT EXISTS `shop_orders` (" in text
    assert "FROM FILES (format = 'PARQUET', uris = ['s3://lake/topics/shop.orders/*'])" in text


def test_synapse_loads_parquet_alone() -> None:
    assert "FILE_TYPE = 'PARQUET'" in loading("synapse", LAYOUT, STAGE)
    with pytest.raises(UnsupportedError):
        loading("synapse", LAYOUT, Stage("lake", "topics/t", "avro"))


@pytest.mark.parametrize("warehouse", WAREHOUSES)
def test_every_type_has_one_in_every_warehouse(warehouse: str) -> None:
    how = WAREHOUSES[warehouse]
    nested: list[SqlType] = [Array(Scalar.INTEGER), Map(Scalar.STRING, Scalar.DATE), Struct(())]
    every: list[SqlType] = [*Scalar, Decimal(38, 10), *nested]
    said = [how.type_of(t) for t in every]
    assert all(said)
    assert len({how.type_of(t) for t in nested}) == 1


def test_a_name_is_quoted_whatever_it_holds() -> None:
    odd = Layout("t", Kind.STREAM, (Column('a"b`c', Scalar.BIGINT),))
    assert '"a""b`c"' in loading("redshift", odd, STAGE)
    assert '`a"b``c`' in loading("bigquery", odd, STAGE)
