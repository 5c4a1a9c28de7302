"""Plan values as JSON: everything the journal holds comes back as it was."""

from __future__ import annotations

import dataclasses
import inspect
import json
from enum import Enum
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orion import schema
from orion.plan import definitions, relations, sources
from orion.plan.codec import dumps, loads
from orion.plan.definitions import CustomType, PythonFunction
from orion.plan.relations import (
    Aggregate,
    AggregateCall,
    Distinct,
    Explode,
    Expr,
    Filter,
    Guarantee,
    Join,
    JoinKind,
    JoinType,
    Named,
    Project,
    Query,
    Scan,
    Settle,
    Side,
    Transient,
    Union,
    Within,
)
from orion.plan.sources import (
    Connector,
    Direction,
    Kind,
    Serde,
    Source,
    Timestamp,
    Wanted,
    Window,
    WindowKind,
    WireSchema,
    Wiring,
)
from orion.schema import Array, Column, Decimal, Field, Map, Role, Scalar, Schema, SqlType, Struct

words = st.text(max_size=8)
types: st.SearchStrategy[SqlType] = st.recursive(
    st.sampled_from(list(Scalar)) | st.builds(Decimal, st.integers(1, 38), st.integers(0, 38)),
    lambda inner: (
        st.builds(Array, inner)
        | st.builds(Map, inner, inner)
        | st.builds(Struct, st.lists(st.builds(Field, words, inner), max_size=2).map(tuple))
    ),
    max_leaves=3,
)
pairs = st.lists(st.tuples(words, words), max_size=2).map(tuple)
columns = st.builds(Column, words, types, st.sampled_from(Role), st.none() | words, st.none() | words)
schemas = st.builds(Schema, st.lists(columns, max_size=3).map(tuple))
wire_schemas = st.builds(WireSchema, st.integers(), words, words, pairs)
some_schemas = st.lists(wire_schemas, max_size=1).map(tuple)
wirings = st.builds(Wiring, words, some_schemas, st.tuples(st.integers()), st.none() | wire_schemas)
serdes = st.builds(
    Serde, words, st.none() | words, st.none() | st.booleans(), st.none() | st.integers(), st.none() | words,
    st.sampled_from((None, "OPTIONAL", "WRAPPER")), st.none() | wirings,
)  # fmt: skip
windows = st.builds(Window, st.sampled_from(WindowKind), st.integers(), st.integers(), st.integers())
timestamps = st.builds(Timestamp, words, st.none() | words)
all_sources = st.builds(
    Source, words, st.sampled_from(Kind), schemas, words, serdes, serdes, st.none() | timestamps, st.none() | windows,
    words, st.none() | words,
)  # fmt: skip
exprs = st.builds(Expr, words, types, words)
named = st.lists(st.builds(Named, words, exprs), max_size=2).map(tuple)
calls = st.builds(
    AggregateCall, words, words, st.lists(exprs, max_size=2).map(tuple),
    st.lists(st.integers() | words | st.booleans(), max_size=2).map(tuple), types, st.none() | words,
)  # fmt: skip
withins = st.builds(Within, st.integers(), st.integers(), st.integers(), st.booleans())
trees: st.SearchStrategy[relations.Relation] = st.recursive(
    st.builds(Scan, all_sources),
    lambda inner: (
        st.builds(Filter, inner, exprs)
        | st.builds(Project, inner, named)
        | st.builds(Union, st.lists(inner, max_size=2).map(tuple))
        | st.builds(
            Aggregate, inner, named, st.lists(calls, max_size=2).map(tuple), st.none() | windows, st.none() | exprs,
            named, st.none() | words,
        )
    ),
    max_leaves=2,
)  # fmt: skip
sides = st.builds(Side, trees, named, st.tuples(exprs))
queries = st.builds(
    Query, words, trees, all_sources, st.lists(words).map(tuple), words, pairs, st.booleans(),
    guarantee=st.sampled_from(Guarantee), profile=st.none() | words,
)  # fmt: skip
connectors = st.builds(
    Connector, words, words, st.lists(all_sources, max_size=2).map(tuple), pairs, words, st.integers(),
    words, st.sampled_from(Direction), st.sampled_from(Wanted), pairs, words,
)  # fmt: skip
parameters = st.lists(st.builds(Field, words, types), max_size=2).map(tuple)
python_functions = st.builds(PythonFunction, words, parameters, types, words, st.none() | words, words, words)
transients = st.builds(
    Transient, trees, named, st.sampled_from(Kind), words, st.none() | st.integers(), st.booleans()
)  # fmt: skip

PLAIN: dict[type[Any], st.SearchStrategy[Any]] = {
    Scalar: st.sampled_from(Scalar), Role: st.sampled_from(Role), Kind: st.sampled_from(Kind),
    WindowKind: st.sampled_from(WindowKind), Direction: st.sampled_from(Direction),
    Wanted: st.sampled_from(Wanted), Decimal: st.builds(Decimal, st.integers(), st.integers()),
    Array: st.builds(Array, types), Map: st.builds(Map, types, types), Field: st.builds(Field, words, types),
    Struct: st.builds(Struct, st.lists(st.builds(Field, words, types)).map(tuple)), Column: columns, Schema: schemas,
    WireSchema: wire_schemas, Wiring: wirings, Serde: serdes, Window: windows, Timestamp: timestamps,
    Source: all_sources, Expr: exprs,
    Named: st.builds(Named, words, exprs), AggregateCall: calls, Scan: st.builds(Scan, all_sources),
    Filter: st.builds(Filter, trees, exprs), Project: st.builds(Project, trees, named),
    Aggregate: st.builds(Aggregate, trees, named, st.tuples(calls), windows, exprs, named, words), Query: queries,
    Connector: connectors, Transient: transients, CustomType: st.builds(CustomType, words, types, words),
    PythonFunction: python_functions, Within: withins, JoinKind: st.sampled_from(JoinKind),
    JoinType: st.sampled_from(JoinType), Side: sides, Union: st.builds(Union, st.tuples(trees, trees)),
    Explode: st.builds(Explode, trees, named), Settle: st.builds(Settle, trees, named, st.integers()),
    Distinct: st.builds(Distinct, trees, named, windows), Guarantee: st.sampled_from(Guarantee),
    Join: st.builds(
        Join, sides, sides, st.sampled_from(JoinKind), st.sampled_from(JoinType), st.none() | withins, named,
        st.tuples(exprs),
    ),
}  # fmt: skip


def _written() -> list[type[Any]]:
    """Every class of the modules whose values the journal may hold."""
    return [
        cls
        for module in (schema, sources, relations, definitions)
        for cls in vars(module).values()
        if inspect.isclass(cls) and cls.__module__ == module.__name__
        if dataclasses.is_dataclass(cls) or issubclass(cls, Enum)
    ]


def test_every_class_is_tried_here() -> None:
    assert set(_written()) == set(PLAIN)


def test_no_two_classes_are_written_under_one_name() -> None:
    names = [cls.__name__ for cls in _written()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("cls", list(PLAIN), ids=lambda c: c.__name__)
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_every_value_comes_back_as_it_was(cls: type[Any], data: st.DataObject) -> None:
    value = data.draw(PLAIN[cls])
    again = loads(dumps(value))
    assert again == value
    assert type(again) is cls
    assert loads(dumps(value).encode()) == value


def test_each_class_is_written_with_its_name() -> None:
    assert json.loads(dumps(Decimal(5, 2))) == {"@": "Decimal", "precision": 5, "scale": 2}
    assert json.loads(dumps(Kind.TABLE)) == {"@": "Kind", "value": "TABLE"}
    assert json.loads(dumps(Array(Scalar.DATE)))["element"] == {"@": "Scalar", "value": "DATE"}


def test_a_field_that_an_older_orion_did_not_write_takes_its_default() -> None:
    assert loads('{"@": "Serde", "format": "JSON"}') == Serde("JSON")


@pytest.mark.parametrize(
    "text",
    [
        '{"@": "Plugin", "name": "x"}',  # no such class
        '{"name": "x"}',  # no class at all
        '{"@": "Serde", "format": "JSON", "colour": "red"}',  # a field that a newer Orion writes
        '{"@": "Serde"}',  # a field without a default is missing
        '{"@": "Kind", "value": "HEAP"}',
        "not JSON",
    ],
)
def test_what_is_not_known_is_refused_as_the_journal_expects(text: str) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        loads(text)
