"""Numbers of one type as values of another, in Python, with what Spark's try_cast makes of them."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context
from decimal import Decimal as Number
from typing import Any

from orion.schema import INTEGRAL, Decimal, Scalar, SqlType, is_numeric

INT, LONG = 2**31, 2**63
EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_DAY = 86_400_000
WIDE = Context(prec=1000, rounding=ROUND_HALF_UP)
Convert = Callable[[Any], Any]


def conversion(given: SqlType, wanted: SqlType) -> Convert | None:
    """What makes a value of the wanted type, or NULL where it doesn't fit. None: nothing does, or nothing need."""
    match wanted:
        case _ if given == wanted:
            return None
        case Scalar.STRING if given is Scalar.BOOLEAN:
            return lambda v: "true" if v else "false"
        case Scalar.STRING if given is Scalar.DOUBLE:
            return double_text
        case Scalar.STRING if is_numeric(given):
            return lambda v: format(v, "f") if isinstance(v, Number) else str(v)
        case Scalar.TIMESTAMP if given is Scalar.BIGINT:
            return lambda v: integer(v * 1000, LONG)
        case Scalar.DATE if given is Scalar.INTEGER:
            return lambda v: v
        case Scalar.TIME if given in INTEGRAL:
            return lambda v: v if 0 <= v <= _DAY else None
        case Scalar.INTEGER | Scalar.BIGINT if is_numeric(given):
            most = INT if wanted is Scalar.INTEGER else LONG
            return lambda v: integer(v, most)
        case Scalar.DOUBLE if is_numeric(given):
            return float
        case Decimal() if is_numeric(given):
            return fitted(wanted)
        case _:
            return None


def integer(value: Any, most: int) -> int | None:
    """Without what is behind the point, if the rest is from -most to most."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    whole = int(value)
    return whole if -most <= whole < most else None


def fitted(type_: Decimal) -> Convert:
    """Rounded to the digits of the type; NULL if it has more before the point."""
    step, most = Number(1).scaleb(-type_.scale), Number(10) ** (type_.precision - type_.scale)

    def convert(value: Any) -> Number | None:
        # A double counts as the shortest text that stands for it.
        number = Number(repr(value)) if isinstance(value, float) else Number(value)
        try:
            rounded = number.quantize(step, context=WIDE)
        except ArithmeticError:
            return None
        # Without abs(), which rounds to 28 digits; and Java's zero has no sign.
        return (rounded or rounded.copy_abs()) if -most < rounded < most else None

    return convert


def unscaled(digits: bytes, scale: int) -> Number | None:
    """A whole number in two's complement, the point moved to the left. NULL if no column could hold it."""
    try:
        return WIDE.scaleb(Number(int.from_bytes(digits, "big", signed=True)), -scale)
    except ArithmeticError:
        return None


def double_text(value: float) -> str:
    """As Java writes it."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, digits, exponent = Number(repr(value)).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    power = exponent + len(text) - 1
    return f"{'-' if sign else ''}{text[0]}.{text[1:].rstrip('0') or '0'}E{power}"
