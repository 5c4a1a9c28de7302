"""A law of the formats with schemas: columns come back from the schema that is made of them."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orion.formats import schema_format_of
from orion.plan.sources import SCHEMA_TYPES, Serde, WireSchema
from orion.registry.schemas import parse, schema_type
from orion.schema import Array, Column, Decimal, Field, Map, Role, Scalar, SqlType, Struct

NAMES = st.text("ABC_", min_size=1, max_size=3)
DECIMALS = st.integers(1, 38).flatmap(lambda digits: st.builds(Decimal, st.just(digits), st.integers(0, digits)))
TYPES: st.SearchStrategy[SqlType] = st.recursive(
    st.sampled_from(Scalar) | DECIMALS,
    lambda inner: (
        st.builds(Array, inner)
        | st.builds(Map, st.just(Scalar.STRING), inner)
        | st.lists(st.builds(Field, NAMES, inner), min_size=1, max_size=3, unique_by=lambda f: f.name).map(
            lambda fields: Struct(tuple(fields))
        )
    ),
    max_leaves=4,
)
COLUMNS = st.lists(st.builds(Column, NAMES, TYPES), min_size=1, max_size=4, unique_by=lambda c: c.name).map(tuple)
FORMATS = pytest.mark.parametrize("format_", ["AVRO", "JSON_SR"])  # Protobuf lacks some types: see its own tests
LAW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def through(columns: tuple[Column, ...], serde: Serde, role: Role) -> tuple[tuple[Column, ...], bool]:
    """The columns of the columns' schema, which a registry takes."""
    kind = schema_type(SCHEMA_TYPES[serde.format])
    text = schema_format_of(serde).schema_of(columns, serde)
    parse(kind, text, {})
    found = schema_format_of(serde).columns_of(WireSchema(1, kind, text), serde, role)
    return found.columns, found.alone


@FORMATS
@LAW
@given(columns=COLUMNS)
def test_columns_come_back_from_their_own_schema(format_: str, columns: tuple[Column, ...]) -> None:
    again, alone = through(columns, Serde(format_), Role.VALUE)
    assert [(c.name, c.type, c.role) for c in again] == [(c.name, c.type, Role.VALUE) for c in columns]
    assert not alone


@FORMATS
@LAW
@given(type_=TYPES)
def test_a_lone_key_comes_back_as_rowkey(format_: str, type_: SqlType) -> None:
    again, alone = through((Column("K", type_, Role.KEY),), Serde(format_), Role.KEY)
    assert [(c.name, c.type, c.role) for c in again] == [("ROWKEY", type_, Role.KEY)]
    assert alone


@FORMATS
@LAW
@given(type_=TYPES)
def test_a_lone_value_comes_back_as_rowval(format_: str, type_: SqlType) -> None:
    again, alone = through((Column("V", type_),), Serde(format_, wrap_single=False), Role.VALUE)
    assert [(c.name, c.type, c.role) for c in again] == [("ROWVAL", type_, Role.VALUE)]
    assert alone
