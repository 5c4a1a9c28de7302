"""Objects of JSON to rows of a source: every field has a column, and every value its column's type."""

from __future__ import annotations

import binascii
import datetime as dt
import json
import math
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Inexact, InvalidOperation
from decimal import Decimal as Number
from typing import Any, NoReturn

from orion.errors import SchemaError, hint_nearest
from orion.formats.wire.naming import named
from orion.moments import DAYS, MILLIS, days_of, micros_of
from orion.plan.sources import ROWTIME, Kind, Source
from orion.schema import Array, Decimal, Map, Role, Scalar, SqlType, Struct

_BOUNDS = {Scalar.INTEGER: 1 << 31, Scalar.BIGINT: 1 << 63}
_EPOCH = dt.date(1970, 1, 1)
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Row:
    """The values of a source's columns by name, None where there is none, and the row's time if it says one."""

    values: dict[str, Any]
    rowtime: int | None = None


def row_of(source: Source, given: Any) -> Row:
    """The row that an object is. Numbers with a point are to come as Decimal: see `parsed`.

    Raises SchemaError with what is wrong, and where.
    """
    if not isinstance(given, dict):
        raise SchemaError("ROW_UNFIT", f"A row is an object, and this is {_shown(given)}.")
    columns = [column for column in source.schema if column.role is not Role.HEADERS]
    names = [column.name for column in columns]
    spellings = [column.spelling or column.name for column in columns]
    values: dict[str, Any] = dict.fromkeys(names)
    rowtime: int | None = None
    seen: set[str] = set()
    for field, value in given.items():
        at = _place(field, names, spellings)
        if at is None and field.upper() == ROWTIME:
            rowtime = None if value is None else _whole(value, Scalar.BIGINT, ROWTIME)
            continue
        if at is None:
            raise _unknown(source, field, names)
        if names[at] in seen:
            raise SchemaError("ROW_UNFIT", f"{names[at]} is there twice, as fields that differ in case alone.")
        seen.add(names[at])
        values[names[at]] = _value(value, columns[at].type, names[at])
    missing = [column.name for column in source.schema.key if values[column.name] is None]
    if source.kind is Kind.TABLE and missing:
        raise SchemaError("KEY_MISSING", f"A row of a TABLE needs its key {missing[0]}.")
    return Row(values, _time(source, values) if rowtime is None else rowtime)


def parsed(raw: bytes | str) -> Any:
    """JSON with every digit of its numbers; raises ValueError."""
    return json.loads(raw, parse_float=Number, parse_constant=_no_number)


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def _place(field: str, names: Sequence[str], spellings: Sequence[str]) -> int | None:
    if field in spellings:
        return spellings.index(field)
    return named(field, names)


def _unknown(source: Source, field: str, names: list[str]) -> SchemaError:
    if field.upper() in {column.name.upper() for column in source.schema.headers}:
        return SchemaError("ROW_UNFIT", f"{field} is of the record's headers, and rows have none.")
    hint = hint_nearest(field, names) or f"It has {', '.join(names)}."
    return SchemaError("UNKNOWN_COLUMN", f"{source.name} has no column {field}.", hint=hint)


def _time(source: Source, values: dict[str, Any]) -> int | None:
    """The time that the source's own column tells, where that is a time or a number."""
    column = None if source.timestamp is None else source.schema.get(source.timestamp.column)
    if column is None or column.type not in (Scalar.BIGINT, Scalar.TIMESTAMP):
        return None
    found: int | None = values.get(column.name)
    if found is None:
        raise SchemaError("ROW_UNFIT", f"{column.name} is the row's time, and can't be NULL.")
    return found


# ---- values ------------------------------------------------------------------------------------------------------


def _value(value: Any, type_: SqlType, where: str) -> Any:
    if value is None:
        return None
    match type_:
        case Scalar.INTEGER | Scalar.BIGINT:
            return _whole(value, type_, where)
        case Scalar():
            return _scalar(value, type_, where)
        case Decimal():
            return _decimal(value, type_, where)
        case Array(element):
            if not isinstance(value, list):
                raise _unfit(value, type_, where)
            return [_value(one, element, f"{where}[{at}]") for at, one in enumerate(value)]
        case Map(_, element):
            if not isinstance(value, dict):
                raise _unfit(value, type_, where)
            return {key: _value(one, element, f"{where}['{key}']") for key, one in value.items()}
        case Struct(fields):
            if not isinstance(value, dict):
                raise _unfit(value, type_, where)
            names = [field.name for field in fields]
            found: dict[str, Any] = dict.fromkeys(names)
            for key, one in value.items():
                at = named(key, names)
                if at is None:
                    hint = hint_nearest(key, names) or f"It has {', '.join(names)}."
                    raise SchemaError("UNKNOWN_COLUMN", f"{where} has no field {key}.", hint=hint)
                found[names[at]] = _value(one, fields[at].type, f"{where}->{names[at]}")
            return found


def _whole(value: Any, type_: Scalar, where: str) -> int:
    if type(value) is not int:
        raise _unfit(value, type_, where)
    if not -_BOUNDS[type_] <= value < _BOUNDS[type_]:
        raise SchemaError("ROW_UNFIT", f"{where} is {value}, which is too large for {type_}.")
    return value


def _scalar(value: Any, type_: Scalar, where: str) -> Any:
    match type_, value:
        case Scalar.BOOLEAN, bool():
            return value
        case Scalar.STRING, str():
            return _text(value, where)
        case Scalar.DOUBLE, int() | float() | Number() if not isinstance(value, bool):
            return _double(value, where)
        case Scalar.BYTES, str():
            try:
                return b64decode(value, validate=True)
            except (binascii.Error, ValueError) as error:
                raise SchemaError("ROW_UNFIT", f"{where} is {_shown(value)}, which is no base64.") from error
        case ((Scalar.DATE | Scalar.TIME | Scalar.TIMESTAMP), str()):
            return _moment(value, type_, where)
        case Scalar.DATE, int() if not isinstance(value, bool):
            return _within(value, DAYS, type_, where)
        case Scalar.TIME, int() if not isinstance(value, bool) and 0 <= value < _DAY_MS:
            return value
        case Scalar.TIMESTAMP, int() if not isinstance(value, bool):
            return _within(value, MILLIS, type_, where)
        case _:
            raise _unfit(value, type_, where)


def _text(value: str, where: str) -> str:
    """Half of a pair of surrogates is no character, and no format has bytes for it."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise SchemaError("ROW_UNFIT", f"{where} is {_shown(value)}, which has half of a character.") from error
    return value


def _within(value: int, bounds: tuple[int, int], type_: Scalar, where: str) -> int:
    if not bounds[0] <= value <= bounds[1]:
        raise SchemaError("ROW_UNFIT", f"{where} is {value}, which is out of the range of {type_}.")
    return value


def _double(value: int | float | Number, where: str) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise SchemaError("ROW_UNFIT", f"{where} is {_shown(value)}, which is too large for DOUBLE.")
    return number


def _decimal(value: Any, type_: Decimal, where: str) -> Number:
    """A number, or a text of one: many writers have no numbers with that many digits."""
    if isinstance(value, bool) or not isinstance(value, int | float | Number | str):
        raise _unfit(value, type_, where)
    try:
        number = Number(str(value))
        context = Context(prec=type_.precision, traps=[Inexact, InvalidOperation])
        return number.quantize(Number(1).scaleb(-type_.scale), context=context)
    except (InvalidOperation, Inexact, ValueError) as error:
        raise _unfit(value, type_, where) from error


def _moment(value: str, type_: Scalar, where: str) -> int:
    try:
        if value[:1] in ("+", "-") and type_ is not Scalar.TIME:  # a year that Python hasn't
            far = days_of(value) if type_ is Scalar.DATE else micros_of(value.removesuffix("Z")) // 1000
            return _within(far, DAYS if type_ is Scalar.DATE else MILLIS, type_, where)
        if type_ is Scalar.DATE:
            return (dt.date.fromisoformat(value) - _EPOCH).days
        if type_ is Scalar.TIME:
            time = dt.time.fromisoformat(value)
            seconds = time.hour * 3600 + time.minute * 60 + time.second
            return seconds * 1000 + time.microsecond // 1000
        moment = dt.datetime.fromisoformat(value)
        aware = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
        return (aware - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(milliseconds=1)
    except (ValueError, OverflowError) as error:
        raise _unfit(value, type_, where) from error


_WANTED = {
    Scalar.DATE: "days since 1970, or text such as 2026-01-31",
    Scalar.TIME: "milliseconds of the day, or text such as 12:30:00",
    Scalar.TIMESTAMP: "milliseconds since 1970, or text such as 2026-01-31T12:00:00Z",
    Scalar.BYTES: "base64 in a text",
}


def _unfit(value: Any, type_: SqlType, where: str) -> SchemaError:
    hint = f"A {type_} is {_WANTED[type_]}." if isinstance(type_, Scalar) and type_ in _WANTED else None
    return SchemaError("ROW_UNFIT", f"{where} is {_shown(value)}, and the column is {type_}.", hint=hint)


def _shown(value: Any) -> str:
    text = str(value) if isinstance(value, Number) else json.dumps(value, ensure_ascii=False, default=str)
    text = text.encode(errors="backslashreplace").decode()
    return text if len(text) <= 60 else f"{text[:57]}..."
