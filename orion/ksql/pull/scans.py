"""Which rows of a table WHERE asks for: one key's, a range of keys, or perhaps all of them.

A session that sets `ksql.query.pull.table.scan.enabled` to false gets no query that may have to look at every row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orion.errors import BindError
from orion.ksql import ast
from orion.ksql.bind import bind
from orion.ksql.pull.shape import Shape, Table
from orion.ksql.walk import walk
from orion.schema import Scalar

SCANS = "ksql.query.pull.table.scan.enabled"
RANGES = "ksql.query.pull.range.scan.enabled"
_BOUNDS = ("<", "<=", ">", ">=")
_HINT = f"Say which keys in WHERE, or SET '{SCANS}' = 'true'."


def check(shape: Shape, properties: Mapping[str, str]) -> None:
    """Refuse keys that can't be, and scans where the session wants none."""
    if not isinstance(shape.rows, Table) or not shape.rows.source.is_served:
        return
    keys = [c.name for c in shape.rows.source.schema.key]
    if shape.where is not None:
        for inner in walk(shape.where):
            if isinstance(inner, ast.In) and isinstance(inner.operand, ast.Name) and inner.operand.name in keys:
                _check_choices(inner, shape)
    if properties.get(SCANS, "true").lower() != "false":
        return
    ranges = properties.get(RANGES, "true").lower() != "false"
    if shape.where is None:
        raise BindError("TABLE_SCAN_OFF", "This query needs a table scan, and those are off.", hint=_HINT)
    for disjunct in parts(shape.where, "OR"):
        _check_keyed(disjunct, keys, ranges=ranges)


def _check_choices(node: ast.In, shape: Shape) -> None:
    is_text = bind(node.operand, shape.scope).type is Scalar.STRING
    for choice in node.choices:
        if isinstance(choice, ast.Literal) and (
            choice.value is None or (isinstance(choice.value, str) and not is_text)
        ):
            shown = bind(choice, shape.scope).text
            raise BindError("INVALID_KEY", f"{shown} can't be a value of the key.", span=choice.span)


def _check_keyed(node: ast.Expression, keys: list[str], *, ranges: bool) -> None:
    """Every column of the key is given once; of a single one, a range will do."""
    equal: list[str] = []
    bounds = 0
    for part in parts(node, "AND"):
        match part:
            case ast.In(ast.Name(name), choices, False) if name in keys and all(map(_is_constant, choices)):
                equal.append(name)
            case ast.Binary(op, left, right):
                compared = _compared(left, right, keys)
                if compared is not None and op == "=":
                    equal.append(compared)
                elif compared is not None and op in _BOUNDS:
                    bounds += 1
            case _:
                pass
    keyed = sorted(equal) == sorted(keys) and not bounds
    ranged = ranges and len(keys) == 1 and not equal and bounds == 1
    if not keyed and not ranged:
        raise BindError(
            "TABLE_SCAN_OFF", "This query needs a table scan, and those are off.", span=node.span, hint=_HINT
        )


def _compared(left: ast.Expression, right: ast.Expression, keys: list[str]) -> str | None:
    """The column of the key that is compared with a constant."""
    for side, other in ((left, right), (right, left)):
        if isinstance(side, ast.Name) and side.name in keys and _is_constant(other):
            return side.name
    return None


def _is_constant(node: ast.Expression) -> bool:
    return not any(isinstance(inner, ast.Name) for inner in walk(node))


def parts(node: ast.Expression, op: str) -> Iterator[ast.Expression]:
    """What AND, or OR, stands between."""
    if isinstance(node, ast.Binary) and node.op == op:
        yield from parts(node.left, op)
        yield from parts(node.right, op)
    else:
        yield node
