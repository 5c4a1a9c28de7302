"""Rows as Python has them: a JSON row by its columns' types, rows as Arrow and pandas, values on their way in."""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal as Number
from functools import cache
from typing import TYPE_CHECKING, Any, assert_never

from orion.ksql.parser import Parser
from orion.moments import days_of, micros_of
from orion.schema import Array, Decimal, Map, Scalar, SqlType, Struct

if TYPE_CHECKING:
    import pandas
    import pyarrow

_MIDNIGHT = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True)
class Result:
    """What a pull query gives: its rows, each a list in the order of the columns."""

    columns: tuple[str, ...]
    types: tuple[SqlType, ...]
    rows: list[list[Any]]
    warning: str | None = None  # what is wrong with the tables that the rows come from: they may be old

    def __iter__(self) -> Iterator[list[Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def arrow(self) -> pyarrow.Table:
        """The rows as a table, each column of the type that it has in SQL."""
        import pyarrow as pa

        from orion.arrow import Times, arrow_type

        times = Times(pa.timestamp("ms", "UTC"), pa.time32("ms"))
        columns = [(n, type_, arrow_type(type_, times)) for n, type_ in enumerate(self.types)]
        arrays = [pa.array([_for_arrow(row[n], type_) for row in self.rows], arrow) for n, type_, arrow in columns]
        return pa.Table.from_arrays(arrays, names=list(self.columns))

    def pandas(self) -> pandas.DataFrame:
        made: pandas.DataFrame = self.arrow().to_pandas()
        return made


def types_of(head: dict[str, Any]) -> tuple[SqlType, ...]:
    """The columns' types, as the head of an answer writes them."""
    return tuple(map(_type_of, head["columnTypes"]))


@cache
def _type_of(text: str) -> SqlType:
    return Parser(text).type()


def row_of(line: Any, types: tuple[SqlType, ...]) -> list[Any]:
    return [value_of(value, type_) for value, type_ in zip(line, types, strict=True)]


def value_of(value: Any, type_: SqlType) -> Any:
    """A value of JSON, whose numbers with a point are Decimals, as Python's own."""
    if value is None:
        return None
    match type_:
        case Scalar.DOUBLE:
            return float(value)
        case Scalar.BYTES:
            return base64.b64decode(value)
        case Scalar.DATE | Scalar.TIMESTAMP if value[:1] in "+-" or value.startswith("0000"):
            return value  # before the year 1 or after 9999: Python has no value for it
        case Scalar.DATE:
            return dt.date.fromisoformat(value)
        case Scalar.TIME:  # within another type it is the milliseconds of the day
            at = _MIDNIGHT + dt.timedelta(milliseconds=value) if isinstance(value, int) else None
            return dt.time.fromisoformat(value) if at is None else at.time()
        case Scalar.TIMESTAMP:
            at = dt.datetime.fromisoformat(value)
            return at if at.tzinfo else at.replace(tzinfo=dt.UTC)
        case Scalar():
            return value
        case Decimal():
            return Number(value)
        case Array(element):
            return [value_of(one, element) for one in value]
        case Map(key, element):
            return {_key_of(name, key): value_of(one, element) for name, one in value.items()}
        case Struct(fields):
            return {field.name: value_of(value.get(field.name), field.type) for field in fields}
        case _:
            assert_never(type_)


def _key_of(name: str, type_: SqlType) -> Any:
    """JSON's names are texts, whatever they were."""
    return name if type_ is Scalar.STRING else value_of(json.loads(name, parse_float=Number), type_)


def dumped(row: Any) -> str:
    """A row as the line that goes in."""
    return json.dumps(row, default=_plain, ensure_ascii=False)


def _plain(value: Any) -> Any:
    match value:
        case Number():
            return str(value)
        case dt.date() | dt.time():
            return value.isoformat()
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(value).decode()
        case _:
            raise TypeError(f"A {type(value).__name__} is no value of SQL.")


# ---- Arrow -------------------------------------------------------------------------------------------------------


def _for_arrow(value: Any, type_: SqlType) -> Any:
    """Arrow takes a map as pairs, wherever it stands."""
    match type_:
        case _ if value is None:
            return None
        case Array(element):
            return [_for_arrow(one, element) for one in value]
        case Map(_, element):
            return [(key, _for_arrow(one, element)) for key, one in value.items()]
        case Struct(fields):
            return {field.name: _for_arrow(value[field.name], field.type) for field in fields}
        case Scalar.DATE if isinstance(value, str):
            return days_of(value)
        case Scalar.TIMESTAMP if isinstance(value, str):
            return micros_of(value) // 1000
        case _:
            return value
