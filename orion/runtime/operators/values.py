"""Values as folds see them, by their type: a STRUCT is a tuple, a MAP a dict, and points in time are whole numbers.

Spark hands them to Python through Arrow, and takes results the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context
from decimal import Decimal as Number
from typing import Any

from orion.schema import Array, Decimal, Map, Scalar, SqlType, Struct, literal, quote, spark_type

Convert = Callable[[Any], Any]


def plain_type(type_: SqlType) -> str:
    """The type as it crosses to Python, in Spark's DDL: time zones stay on the JVM's side."""
    match type_:
        case Scalar.TIMESTAMP:
            return "BIGINT"
        case Scalar.DATE:
            return "INT"
        case Array(element):
            return f"ARRAY<{plain_type(element)}>"
        case Map(key, value):
            return f"MAP<{plain_type(key)},{plain_type(value)}>"
        case Struct(fields):
            return f"STRUCT<{','.join(f'f{at}:{plain_type(f.type)}' for at, f in enumerate(fields))}>"
        case _:
            return spark_type(type_)


def to_plain(value: str, type_: SqlType, depth: int = 0) -> str:
    """The Spark SQL that makes the value plain."""
    x = f"x{depth}"
    match type_:
        case Scalar.TIMESTAMP:
            return f"unix_micros({value})"
        case Scalar.DATE:
            return f"unix_date({value})"
        case Array(element) if not _is_plain(element):
            return f"transform({value}, {x} -> {to_plain(x, element, depth + 1)})"
        case Map(key, inner) if not (_is_plain(key) and _is_plain(inner)):
            entry = f"struct({to_plain(f'{x}.key', key, depth + 1)}, {to_plain(f'{x}.value', inner, depth + 1)})"
            return f"map_from_entries(transform(map_entries({value}), {x} -> {entry}))"
        case Struct(fields):
            parts = (
                f"'f{at}', {to_plain(f'{value}.{quote(f.name)}', f.type, depth + 1)}" for at, f in enumerate(fields)
            )
            return f"if({value} IS NULL, NULL, named_struct({', '.join(parts)}))"
        case _:
            return value


def from_plain(value: str, type_: SqlType, depth: int = 0) -> str:
    """The Spark SQL that makes a plain value what it was."""
    x = f"x{depth}"
    match type_:
        case Scalar.TIMESTAMP:
            return f"timestamp_micros({value})"
        case Scalar.DATE:
            return f"date_from_unix_date({value})"
        case Array(element) if not _is_plain(element):
            return f"transform({value}, {x} -> {from_plain(x, element, depth + 1)})"
        case Map(key, inner) if not (_is_plain(key) and _is_plain(inner)):
            entry = f"struct({from_plain(f'{x}.key', key, depth + 1)}, {from_plain(f'{x}.value', inner, depth + 1)})"
            return f"map_from_entries(transform(map_entries({value}), {x} -> {entry}))"
        case Struct(fields):
            parts = (
                f"{literal(f.name)}, {from_plain(f'{value}.f{at}', f.type, depth + 1)}" for at, f in enumerate(fields)
            )
            return f"if({value} IS NULL, NULL, named_struct({', '.join(parts)}))"
        case _:
            return value


def _is_plain(type_: SqlType) -> bool:
    match type_:
        case Scalar.TIMESTAMP | Scalar.DATE | Struct():
            return False
        case Array(element):
            return _is_plain(element)
        case Map(key, value):
            return _is_plain(key) and _is_plain(value)
        case _:
            return True


def reader(type_: SqlType) -> Convert | None:
    """What makes of Arrow's value the one a fold sees; None where it is that already."""
    match type_:
        case Array(element):
            of_element = reader(element)
            if of_element is None:
                return None
            return lambda value: [None if v is None else of_element(v) for v in value]
        case Map(_, value_type):
            of_value = reader(value_type)
            return lambda value: {k: v if v is None or of_value is None else of_value(v) for k, v in _pairs(value)}
        case Struct(fields):
            readers = [reader(f.type) for f in fields]
            return lambda value: tuple(
                v if v is None or read is None else read(v) for read, v in zip(readers, value.values(), strict=True)
            )
        case _:
            return None


def _pairs(value: Any) -> Any:
    return value.items() if isinstance(value, dict) else value


def writer(type_: SqlType) -> Convert:
    """What makes of a fold's result the value that Arrow takes for the column."""
    match type_:
        case Scalar.INTEGER | Scalar.BIGINT:
            # Folds count without bounds; what doesn't fit wraps around, as Java's numbers do.
            half = 2 ** (31 if type_ is Scalar.INTEGER else 63)
            return lambda value: (value + half) % (2 * half) - half
        case Decimal(precision, scale):
            return _decimal(precision, scale)
        case Scalar.DOUBLE:
            return float
        case Array(element):
            inner = writer(element)
            return lambda value: [None if v is None else inner(v) for v in value]
        case Map(_, value_type):
            inner = writer(value_type)
            return lambda value: [(k, None if v is None else inner(v)) for k, v in value.items()]
        case Struct(fields):
            writers = [writer(f.type) for f in fields]
            names = [f.name for f in fields]
            return lambda value: {
                f"f{at}": None if v is None else write(v)
                for at, (write, v) in enumerate(zip(writers, _fields(value, names), strict=True))
            }
        case _:
            return lambda value: value


def _decimal(precision: int, scale: int) -> Convert:
    step, most = Number(1).scaleb(-scale), Number(10) ** (precision - scale)
    exact = Context(prec=80)

    def convert(value: Any) -> Number | None:
        """Too large for its column is NULL, as it is in Spark."""
        rounded = Number(value).quantize(step, context=exact)
        return rounded if abs(rounded) < most else None

    return convert


def _fields(value: Any, names: list[str]) -> list[Any]:
    return [value[n] for n in names] if isinstance(value, dict) else list(value)
