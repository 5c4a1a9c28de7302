"""Plan values as JSON: everything the journal holds comes back as it was."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orion.errors import Conflict
from orion.plan import relations
from orion.plan.catalog import Entry
from orion.plan.codec import PlanCodec, dumps, loads
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
from orion.plan.tags import TAGS
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
    Query, words, words, trees, all_sources, st.lists(words).map(tuple), words, pairs, st.booleans(),
    guarantee=st.sampled_from(Guarantee), profile=st.none() | words,
)  # fmt: skip
connectors = st.builds(
    Connector, words, words, st.lists(all_sources, max_size=2).map(tuple), pairs, words, st.integers(),
    words, st.sampled_from(Direction), st.sampled_from(Wanted), pairs, words,
)  # fmt: skip
parameters = st.lists(st.builds(Field, words, types), max_size=2).map(tuple)
python_functions = st.builds(PythonFunction, words, parameters, types, words, st.none() | words, words, words)

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
    Connector: connectors, CustomType: st.builds(CustomType, words, types, words),
    PythonFunction: python_functions, Within: withins, JoinKind: st.sampled_from(JoinKind),
    JoinType: st.sampled_from(JoinType), Side: sides, Union: st.builds(Union, st.tuples(trees, trees)),
    Explode: st.builds(Explode, trees, named), Settle: st.builds(Settle, trees, named, st.integers()),
    Distinct: st.builds(Distinct, trees, named, windows), Guarantee: st.sampled_from(Guarantee),
    Join: st.builds(
        Join, sides, sides, st.sampled_from(JoinKind), st.sampled_from(JoinType), st.none() | withins, named,
        st.tuples(exprs),
    ),
}  # fmt: skip


def _find_classes(hint: Any, found: set[type[Any]]) -> set[type[Any]]:
    """Every class of a value that a hint allows, with those of its fields."""
    for part in get_args(hint):
        _find_classes(part, found)
    if isinstance(hint, type) and hint not in found and (is_dataclass(hint) or issubclass(hint, Enum)):
        found.add(hint)
        if is_dataclass(hint):
            for inner in get_type_hints(hint).values():
                _find_classes(inner, found)
    return found


def test_every_class_that_an_entry_can_hold_has_a_tag_and_no_other_has() -> None:
    """A new class of the plan needs a line in orion.plan.tags, and one here."""
    reachable = _find_classes(Entry, set())
    assert {cls.__name__ for cls in reachable} == {cls.__name__ for cls in TAGS.values()}
    assert reachable == set(TAGS.values())
    assert reachable == set(PLAIN)


def test_each_class_has_one_tag() -> None:
    assert len(set(TAGS.values())) == len(TAGS)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", tag) for tag in TAGS)


def test_no_two_fields_of_a_class_are_stored_under_one_name() -> None:
    for cls in TAGS.values():
        names = [f.metadata.get("stored", f.name) for f in fields(cls)] if is_dataclass(cls) else []
        assert len(names) == len(set(names)), cls
        assert "@" not in names


@pytest.mark.parametrize("cls", list(PLAIN), ids=lambda c: c.__name__)
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_every_value_comes_back_as_it_was(cls: type[Any], data: st.DataObject) -> None:
    value = data.draw(PLAIN[cls])
    again = loads(dumps(value))
    assert again == value
    assert type(again) is cls
    assert loads(dumps(value).encode()) == value


def test_each_value_is_written_with_its_tag() -> None:
    assert json.loads(dumps(Decimal(5, 2))) == {"@": "decimal", "precision": 5, "scale": 2}
    assert json.loads(dumps(Kind.TABLE)) == {"@": "kind", "value": "TABLE"}
    assert json.loads(dumps(Array(Scalar.DATE)))["element"] == {"@": "scalar", "value": "DATE"}


def test_what_has_its_default_is_left_out_and_comes_back() -> None:
    assert json.loads(dumps(Serde("JSON"))) == {"@": "serde", "format": "JSON"}
    assert json.loads(dumps(Serde("JSON", wrap_single=False)))["wrap_single"] is False
    assert loads('{"@": "serde", "format": "JSON"}') == Serde("JSON")


def test_a_class_without_a_tag_is_not_written() -> None:
    @dataclass(frozen=True)
    class Untagged:
        name: str

    for value in (Untagged("x"), (Untagged("x"),), 1.5, {"a": 1}, Serde):
        with pytest.raises(TypeError, match="has no tag"):
            dumps(value)


@dataclass(frozen=True)
class Before:
    name: str
    size: int = 1
    inner: Kind = Kind.STREAM


@dataclass(frozen=True)
class After:
    """The same under another name, with a field renamed and two more that have defaults."""

    title: str = field(metadata={"stored": "name"})
    colour: str | None = None
    size: int = 1
    inner: Kind = Kind.STREAM
    more: tuple[int, ...] = field(default_factory=tuple)


@pytest.mark.parametrize("values", [("a",), ("a", 2), ("a", 1, Kind.TABLE)])
def test_renaming_a_class_or_a_field_and_adding_a_defaulted_one_changes_nothing_that_is_stored(
    values: tuple[Any, ...],
) -> None:
    old, new = PlanCodec({"kind": Kind, "thing": Before}), PlanCodec({"kind": Kind, "thing": After})
    written = old.encode_value(Before(*values))
    read = new.decode_value(written)
    assert Before(read.title, read.size, read.inner) == Before(*values)
    assert (read.colour, read.more) == (None, ())
    assert new.encode_value(read) == written
    assert new.encode_value(replace(read, colour="red", more=(1,)))["more"] == [1]


@pytest.mark.parametrize(
    "text",
    [
        '{"@": "plugin", "name": "x"}',
        '{"@": "Serde", "format": "JSON"}',
        '{"@": "serde", "format": "JSON", "colour": "red"}',
        '{"@": "kind", "value": "HEAP"}',
    ],
)
def test_what_a_newer_orion_may_have_written_is_told_as_such(text: str) -> None:
    with pytest.raises(Conflict) as caught:
        loads(text)
    assert caught.value.code == "NEWER_ORION"
    assert "Upgrade Orion" in (caught.value.hint or "")


@pytest.mark.parametrize("text", ['{"name": "x"}', '{"@": "serde"}', "not JSON"])
def test_what_nobody_understands_is_refused_as_the_journal_expects(text: str) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        loads(text)
