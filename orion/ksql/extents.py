"""How large a value a call may make out of a few characters: a series of two numbers, a text padded to a length.

What is written as a constant is refused where it is too large; what only a row's values tell is NULL then, in every
engine alike: a query that runs for good must not end by one row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orion.errors import BindError
from orion.ksql import ast

MOST = 100_000
# A lambda makes one for each element, and one inside of another for each of those.
_IN_LAMBDA = {"GENERATE_SERIES": 100, "LPAD": 1000, "RPAD": 1000}
_HINT = "Take a smaller one; of what isn't written as a constant, a larger one is NULL."


def most_values(function: str, parameters: int) -> int:
    """How many values or characters one call may make, inside of lambdas of so many parameters."""
    return MOST if parameters == 0 else max(1, _IN_LAMBDA.get(function, MOST) // 10 ** (parameters - 1))


def refuse_too_large(node: ast.Call, parameters: int) -> None:
    """Raise where a call's constants say that it makes too much."""
    count = _COUNTS.get(node.name)
    made = None if count is None else count([_constant(argument) for argument in node.args])
    most = most_values(node.name, parameters)
    if made is not None and made > most:
        where = " inside of a lambda" if parameters else ""
        what = "elements" if node.name == "GENERATE_SERIES" else "characters"
        text = f"{node.name} would make {made} {what}, and may make {most}{where}."
        raise BindError("VALUE_TOO_LARGE", text, span=node.span, hint=_HINT)


def _constant(node: ast.Expression) -> int | None:
    """A whole number that is written out, perhaps as a sum or product."""
    match node:
        case ast.Literal(value) if type(value) is int:
            return value
        case ast.Cast(operand):
            return _constant(operand)
        case ast.Unary("-" | "+" as sign, operand):
            found = _constant(operand)
            return found if found is None or sign == "+" else -found
        case ast.Binary("+" | "-" | "*" as op, left, right):
            one, two = _constant(left), _constant(right)
            if one is None or two is None:
                return None
            return one * two if op == "*" else one + two if op == "+" else one - two
        case _:
            return None


def _series(given: Sequence[int | None]) -> int | None:
    first, last = (*given, None, None)[:2]
    step = given[2] if len(given) > 2 else 1
    if first is None or last is None or not step:
        return None
    return abs(last - first) // abs(step) + 1


def _padded(given: Sequence[int | None]) -> int | None:
    return given[1] if len(given) > 1 else None


_COUNTS: dict[str, Callable[[Sequence[int | None]], int | None]] = {
    "GENERATE_SERIES": _series,
    "LPAD": _padded,
    "RPAD": _padded,
}
