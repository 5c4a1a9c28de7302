"""Functions over the rows around a row: what they take and what comes out. Both engines know them by these names."""

from __future__ import annotations

from orion.errors import BindError, hint_nearest
from orion.ksql import ast
from orion.ksql.aggregate_calls import chosen_call
from orion.ksql.bind import bind, function_of
from orion.ksql.scope import Scope
from orion.ksql.walk import is_aggregate
from orion.schema import Scalar, SqlType

_RANKS = {"ROW_NUMBER": 0, "RANK": 0, "DENSE_RANK": 0, "NTILE": 1}
_SHARES = ("PERCENT_RANK", "CUME_DIST")
# How many arguments there may be; the first is the value.
_VALUES = {"LAG": (1, 3), "LEAD": (1, 3), "FIRST_VALUE": (1, 1), "LAST_VALUE": (1, 1), "NTH_VALUE": (2, 2)}
NAMES = (*_RANKS, *_SHARES, *_VALUES)
# These are over ordered rows, and take no frame in one engine or the other.
_FRAMELESS = (*_RANKS, *_SHARES, "LAG", "LEAD")


def type_of(over: ast.Over, scope: Scope) -> SqlType:
    """The type of a window function; raises where there is no such call."""
    call = over.call
    if is_aggregate(call):
        return chosen_call(function_of(call), call, scope)[4]
    _check(over)
    if call.name in _RANKS:
        return Scalar.BIGINT
    if call.name in _SHARES:
        return Scalar.DOUBLE
    return bind(call.args[0], scope).type


def _check(over: ast.Over) -> None:
    call = over.call
    if call.name not in NAMES:
        raise BindError(
            "UNKNOWN_FUNCTION",
            f"There is no window function {call.name}.",
            span=call.span,
            hint=hint_nearest(call.name, list(NAMES)) or f"There are {', '.join(NAMES)}, and the aggregates.",
        )
    least, most = _VALUES.get(call.name, (_RANKS.get(call.name, 0),) * 2)
    if not least <= len(call.args) <= most:
        raise BindError("NO_SUCH_SIGNATURE", f"{call.name} doesn't take {len(call.args)} arguments.", span=call.span)
    if not over.order_by:
        raise BindError(
            "ORDER_MISSING",
            f"{call.name} needs to know the order of the rows.",
            span=over.span,
            hint=f"Write {call.name}(...) OVER (ORDER BY ...).",
        )
    if over.frame and call.name in _FRAMELESS:
        raise BindError("FRAME_NOT_HERE", f"{call.name} takes no ROWS or RANGE.", span=over.span)
