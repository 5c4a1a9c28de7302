"""SQL's types as BSON's.

BOOLEAN bool, INTEGER int, BIGINT long, DOUBLE double, STRING string, BYTES binary, DECIMAL decimal128, DATE a date at
midnight UTC, TIMESTAMP a date, TIME a text as 10:15:30.250, ARRAY an array, MAP and STRUCT documents.
"""

from __future__ import annotations

import decimal
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import assert_never

from bson import Decimal128, Int64

from orion.schema import Array, Decimal, Map, Scalar, SqlType, Struct
from orion.sinks.documents.values import Convert, Plain, Unfit, clock


class Decimals(StrEnum):
    """How DECIMAL is written. The names are Debezium's."""

    PRECISE = "precise"  # decimal128: 34 digits
    STRING = "string"  # a text, of any length
    DOUBLE = "double"  # a number, rounded


def bson(decimals: Decimals) -> Plain:
    def plain(type_: Scalar | Decimal) -> Convert | None:
        match type_:
            case Decimal():
                return _DECIMALS[decimals]
            case Scalar.BIGINT:
                return Int64  # also where it would fit into an int: a field has one type
            case Scalar.DATE:
                return _midnight
            case Scalar.TIME:
                return clock
            case Scalar.BOOLEAN | Scalar.INTEGER | Scalar.DOUBLE | Scalar.STRING | Scalar.BYTES | Scalar.TIMESTAMP:
                return None
            case _:
                assert_never(type_)

    return plain


def has_decimal(type_: SqlType) -> bool:
    match type_:
        case Decimal():
            return True
        case Array(element):
            return has_decimal(element)
        case Map(key, value):
            return has_decimal(key) or has_decimal(value)
        case Struct(fields):
            return any(has_decimal(f.type) for f in fields)
        case Scalar():
            return False
        case _:
            assert_never(type_)


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _decimal128(value: decimal.Decimal) -> Decimal128:
    try:
        return Decimal128(value)
    except ArithmeticError:
        raise Unfit("a DECIMAL of more than 34 digits, which decimal128 doesn't have") from None


def _text(value: decimal.Decimal) -> str:
    return format(value, "f")


_DECIMALS: dict[Decimals, Convert] = {
    Decimals.PRECISE: _decimal128,
    Decimals.STRING: _text,
    Decimals.DOUBLE: float,
}
