"""The types of parameters that neither the client nor a cast tells: what DuckDB's binder makes of them.

Its plan says which type each parameter got from its place: in comparisons, lists, BETWEEN, LIMIT, arguments. It gives
none where one of them could be of several, as in `n + $1`, and then nothing is known of the others either. PostgreSQL
takes the type of the other side there; so a second question puts `coalesce($1, n)` in the parameter's place.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import cache
from typing import Any

import duckdb

from orion.web.postgres import types
from orion.web.postgres.guard import walk_nodes

_MOST = 40  # parameters that are asked for one by one
_NULL = {"class": "CONSTANT", "type": "VALUE_CONSTANT", "literal": {"kind": "NULL_LITERAL", "text": ""}}
_ZERO = {"class": "CONSTANT", "type": "VALUE_CONSTANT", "literal": {"kind": "INTEGER", "text": "0"}}
_LITERALS = {"INTEGER_LITERAL": types.INT4.oid, "STRING_LITERAL": types.TEXT.oid}

Node = dict[str, Any]


def infer_types(cursor: duckdb.DuckDBPyConnection, sql: str, numbers: Sequence[int]) -> dict[int, int]:
    """Types by the numbers of parameters, as far as the statement lets them be known; it has passed the guard."""
    planned = _planned(cursor, sql)
    if planned is not None and planned.keys() >= {*numbers}:
        return planned
    ((text,),) = cursor.execute("SELECT json_serialize_sql(CAST(? AS VARCHAR))", [sql]).fetchall()
    tree = json.loads(text)
    if tree.get("error"):
        return planned or {}
    found = _signed(tree) | (planned or {})
    for _ in range(2):  # what is known of one may help with another
        for number in [number for number in numbers[:_MOST] if number not in found]:
            if (oid := _alone(cursor, tree, number, found)) is not None:
                found[number] = oid
    for node in walk_nodes(tree):  # of these at least that much is known
        for number in numbers:
            if number not in found and _is_any_of(node, number):
                found[number] = types.TEXT.array
    return found


def _alone(cursor: duckdb.DuckDBPyConnection, tree: Node, number: int, known: Mapping[int, int]) -> int | None:
    """The type of one parameter, whatever the others are."""
    for lean in (_lean_on_sibling, _call_interval, _call_instant):
        alone, is_array = _isolate(tree, number, known, lean)
        answer = _planned_tree(cursor, alone)
        if answer and (oid := answer.get(number)) is not None:
            array = types.BY_OID[oid].array
            return array if is_array and array else oid
    return None


def _signed(tree: Node) -> dict[int, int]:
    """Arguments of functions whose forms agree on what they are."""
    found: dict[int, int] = {}
    for node in walk_nodes(tree):
        if node.get("class") != "FUNCTION":
            continue
        arguments = _arguments(node)
        for at, argument in enumerate(arguments):
            known = _signatures().get((str(node.get("function_name")), len(arguments), at), frozenset())
            if argument.get("class") == "PARAMETER" and len(known) == 1 and argument["identifier"].isdecimal():
                found.setdefault(int(argument["identifier"]), next(iter(known)))
    return found


@cache
def _signatures() -> dict[tuple[str, int, int], frozenset[int]]:
    """Of DuckDB's functions, by name, number of arguments and place of one: the types that it may have. 0: any."""
    with closing(duckdb.connect()) as own:
        forms = own.execute(
            "SELECT DISTINCT function_name, parameter_types FROM duckdb_functions() WHERE parameter_types IS NOT NULL"
        ).fetchall()
    found: dict[tuple[str, int, int], frozenset[int]] = {}
    for name, kinds in forms:
        for at, kind in enumerate(kinds):
            place = (name, len(kinds), at)
            oid = types.column("", kind).type.oid if kind is not None and types.is_known(kind) else 0
            found[place] = found.get(place, frozenset()) | {oid}
    whole = frozenset({types.INT8.oid})  # of numbers more often than of instants
    series = {
        (name, count, at): whole for name in ("range", "generate_series") for count in (1, 2, 3) for at in range(count)
    }
    return {place: oids for place, oids in found.items() if 0 not in oids} | series


def _planned_tree(cursor: duckdb.DuckDBPyConnection, tree: Node) -> dict[int, int] | None:
    try:
        ((sql,),) = cursor.execute("SELECT json_deserialize_sql(CAST(? AS JSON))", [json.dumps(tree)]).fetchall()
    except duckdb.Error:
        return None
    return _planned(cursor, str(sql))


def _planned(cursor: duckdb.DuckDBPyConnection, sql: str) -> dict[int, int] | None:
    """What the binder says; none: it couldn't tell for one of them, or has no plan that can be looked at."""
    try:
        question = "SELECT json_serialize_plan(CAST(? AS VARCHAR), optimize := false)"
        ((text,),) = cursor.execute(question, [sql]).fetchall()
    except duckdb.Error:
        return None
    plan = json.loads(text)
    if plan.get("error"):
        return None
    places = [node for node in walk_nodes(plan) if node.get("expression_class") == "BOUND_PARAMETER"]
    found: dict[int, int] = {}
    for node in sorted(places, key=lambda node: int(node.get("query_location", 0))):  # the first place decides
        name, oid = str(node["identifier"]), _oid(node["return_type"])
        if oid is not None and name.isdecimal():
            found.setdefault(int(name), oid)
    return found


def _oid(type_: Node) -> int | None:
    name, info = str(type_["id"]), type_.get("type_info") or {}
    if name in _LITERALS:
        return _LITERALS[name]
    if name == "LIST":
        element = types.BY_OID.get(_oid(info.get("child_type") or {"id": ""}) or 0)
        return (element.array or None) if element else None
    if name in ("UNKNOWN", "NULL", "INVALID", "ANY"):
        return None
    return types.column("", f"{name}(18,3)" if name == "DECIMAL" else name).type.oid


def _isolate(
    tree: Node, number: int, known: Mapping[int, int], lean: Callable[[Node, Node], None]
) -> tuple[Node, bool]:
    """The statement with one parameter, so that others don't matter; and whether it is an array of the type it has."""
    changed = copy.deepcopy(tree)
    is_array = False
    for node in [*walk_nodes(changed)]:
        if node.get("class") == "PARAMETER" and not _is_parameter(node, number):
            other = types.BY_OID.get(known.get(int(node["identifier"]), 0))
            _become(node, _ZERO if other and other.category == "N" else _NULL)
            if other and other.category != "A":
                _cast(node, other.name)
    for node in [*walk_nodes(changed)]:
        if _is_any_of(node, number):
            is_array = True
            left = node["child"]
            _become(node, {"class": "COMPARISON", "type": "COMPARE_EQUAL", "left": left, "right": _parameter(number)})
        elif node.get("class") == "COMPARISON":
            _pair_rows(node, number)
        elif node.get("class") == "FUNCTION":
            for child in _arguments(node):
                if _is_parameter(child, number):
                    lean(node, child)
    return changed, is_array


def _is_any_of(node: Node, number: int) -> bool:
    """`x = ANY ($1)`, which DuckDB has parsed to a query over the array's elements."""
    if node.get("class") != "SUBQUERY" or node.get("subquery_type") != "ANY":
        return False
    selected = ((node.get("subquery") or {}).get("node") or {}).get("select_list") or []
    elements = [one for one in selected if one.get("function_name") == "unnest"]
    return any(_is_parameter(child, number) for one in elements for child in _arguments(one))


def _is_parameter(node: Node, number: int) -> bool:
    return node.get("class") == "PARAMETER" and node.get("identifier") == str(number)


def _parameter(number: int) -> Node:
    return {"class": "PARAMETER", "type": "VALUE_PARAMETER", "identifier": str(number)}


def _pair_rows(comparison: Node, number: int) -> None:
    """`(a, b) > ($1, $2)`: each parameter has its own other side."""
    sides = [comparison.get("left") or {}, comparison.get("right") or {}]
    if all(side.get("function_name") == "row" for side in sides):
        for one, other in zip(*map(_arguments, sides), strict=False):
            for parameter, beside in ((one, other), (other, one)):
                if _is_parameter(parameter, number):
                    _lean(parameter, beside)


def _lean_on_sibling(function: Node, parameter: Node) -> None:
    """Give a parameter the type of what stands beside it in an operator or a call."""
    siblings = [one for one in _arguments(function) if one.get("class") not in ("PARAMETER", "CONSTANT")]
    constants = [one for one in _arguments(function) if one.get("class") == "CONSTANT" and not _is_null(one)]
    if beside := next(iter((*siblings, *constants)), None):
        _lean(parameter, beside)


def _lean(parameter: Node, beside: Node) -> None:
    both = [dict(parameter), copy.deepcopy(beside)]
    _become(parameter, {"class": "OPERATOR", "type": "OPERATOR_COALESCE", "children": both})


def _is_null(constant: Node) -> bool:
    return (constant.get("literal") or {}).get("kind") == "NULL_LITERAL"


def _call_interval(function: Node, parameter: Node) -> None:
    """What is added to an instant, or taken from it, is a span of time."""
    if function.get("function_name") in ("+", "-") and len(_arguments(function)) == 2:
        _cast(parameter, "INTERVAL")


def _call_instant(function: Node, parameter: Node) -> None:
    """And what a span is added to is an instant."""
    if function.get("function_name") in ("+", "-") and len(_arguments(function)) == 2:
        _cast(parameter, "TIMESTAMPTZ")


def _cast(parameter: Node, name: str) -> None:
    type_ = {"class": "TYPE", "type": "TYPE", "type_name": name, "qualified_name": {"path": [name]}}
    _become(parameter, {"class": "CAST", "type": "OPERATOR_CAST", "child": dict(parameter), "type_expr": type_})


def _arguments(function: Node) -> list[Node]:
    return [argument["expression"] for argument in function.get("arguments") or ()]


def _become(node: Node, other: Node) -> None:
    node.clear()
    node.update(copy.deepcopy(other))
