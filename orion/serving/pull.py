"""Answers to pull queries: columns and rows, as values for programs and as JSON has them."""

from __future__ import annotations

import datetime as dt
import math
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import duckdb
import pyarrow as pa

from orion.arrow import arrow_type
from orion.errors import ExternalError, UserError
from orion.moments import date_text, days_of, micros_of, timestamp_text
from orion.plan.interruption import Interruption
from orion.plan.steps import Pull
from orion.schema import Array, Column, Map, Scalar, SqlType, Struct
from orion.serving.store import Store

Show = Callable[[Any], Any]


class OutOfReach(Exception):
    """DuckDB could not compute this one, for instance since a number left its type; Spark may."""


@dataclass(frozen=True)
class Pulled:
    """`values` are Python's own: datetime, date, Decimal, bytes; TIME is milliseconds of the day. A date or timestamp
    that Python has no value for is its text. `warnings` tell what is wrong with the tables that were read."""

    columns: tuple[Column, ...]
    values: Sequence[Sequence[Any]]
    warnings: tuple[str, ...] = ()

    @cached_property
    def rows(self) -> list[list[Any]]:
        """Each row as JSON has it: TIMESTAMP and its like as text, BYTES as base64; DECIMAL stays exact."""
        shows = [_shown(c.type) for c in self.columns]
        if not any(shows):
            return [list(row) for row in self.values]
        return [
            [v if show is None or v is None else show(v) for show, v in zip(shows, row, strict=True)]
            for row in self.values
        ]

    def arrow(self) -> pa.Table:
        by_column = list(zip(*self.values, strict=True)) or [()] * len(self.columns)
        arrays = [
            pa.array([_plain(v, c.type) for v in values], arrow_type(c.type))
            for c, values in zip(self.columns, by_column, strict=True)
        ]
        return pa.Table.from_arrays(arrays, names=[c.name for c in self.columns])


def run(pull: Pull, store: Store, parameters: Sequence[Any], interruption: Interruption | None = None) -> Pulled:
    """The rows, by DuckDB."""
    assert pull.duckdb is not None
    try:
        if interruption is None:
            return Pulled(pull.columns, store.rows(pull.duckdb, parameters))
        with interruption.ended_by(store.cursor().interrupt):
            return Pulled(pull.columns, store.rows_up_to(pull.duckdb, parameters))
    except duckdb.OutOfMemoryException as error:
        hint = "Ask for less, or raise serving.memory_limit."
        raise UserError("PULL_TOO_LARGE", "The pull query needs more memory than DuckDB has.", hint=hint) from error
    except (duckdb.OutOfRangeException, duckdb.ConversionException, duckdb.InvalidInputException) as error:
        raise OutOfReach(str(error)) from error
    except duckdb.OperationalError as error:
        raise _unreadable(error) from error
    except (duckdb.InternalError, duckdb.FatalException) as error:
        store.reopen()
        raise _unreadable(error) from error


def _unreadable(error: duckdb.Error) -> ExternalError:
    hint = "It is tried again by itself; the log and DESCRIBE ... EXTENDED say more. A full disk is a frequent cause."
    return ExternalError("TABLES_UNREADABLE", f"The tables can't be read: {error}", hint=hint, retry_after=1.0)


def _shown(type_: SqlType) -> Show | None:
    """What makes JSON's value of one that isn't None; None: it is one already."""
    match type_:
        case Scalar.TIMESTAMP:
            return _timestamp
        case Scalar.DATE:
            return lambda v: date_text(days_of(v)) if isinstance(v, str) else v.isoformat()
        case Scalar.TIME:
            return _time
        case Scalar.BYTES:
            return lambda v: b64encode(v).decode()
        case Scalar.DOUBLE:
            return lambda v: v if math.isfinite(v) else "NaN" if math.isnan(v) else f"{'-' if v < 0 else ''}Infinity"
        case Array(element):
            inner = _inside(element)
            return lambda v: [inner(one) for one in v]
        case Map(key, value):
            key_text, inner = _shown(key), _inside(value)
            return lambda v: {_key(k, key_text): inner(one) for k, one in _pairs(v)}
        case Struct(fields):
            shows = [(f.name, _inside(f.type)) for f in fields]
            return lambda v: {name: inner(v[name]) for name, inner in shows}
        case _:
            return None


def _inside(type_: SqlType) -> Show:
    show = _shown(type_)
    return lambda v: v if v is None or show is None else show(v)


def _pairs(value: Any) -> Any:
    return value.items() if isinstance(value, dict) else value


def _key(value: Any, show: Show | None) -> str:
    shown = value if show is None else show(value)
    return shown if isinstance(shown, str) else str(shown).lower() if isinstance(shown, bool) else str(shown)


def _timestamp(value: dt.datetime | str) -> str:
    if isinstance(value, str):  # DuckDB's own spelling of what Python can't hold
        return timestamp_text(micros_of(value))
    return value.replace(tzinfo=None).isoformat(timespec="milliseconds")


def _time(millis: int) -> str:
    return (dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=millis)).time().isoformat(timespec="milliseconds")


def _plain(value: Any, type_: SqlType) -> Any:
    """As Arrow takes it: a MAP as pairs, a time in UTC."""
    if value is None:
        return None
    match type_:
        case Scalar.TIMESTAMP if isinstance(value, str):
            return micros_of(value)
        case Scalar.DATE if isinstance(value, str):
            return days_of(value)
        case Scalar.TIMESTAMP:
            return value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        case Array(element):
            return [_plain(one, element) for one in value]
        case Map(key, inner):
            return [(_plain(k, key), _plain(v, inner)) for k, v in _pairs(value)]
        case Struct(fields):
            return {f.name: _plain(value[f.name], f.type) for f in fields}
        case _:
            return value
