"""Whether a record can be read as a row of a source: what is asked before a record is sent, without Spark."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from orion.formats.rows.decoding import Bad, SchemaOf, bounds, decoder
from orion.formats.rows.fitting import field_of, fit
from orion.plan.sources import Source, is_alone
from orion.schema import Column, Role, Scalar

_UNFIT = (ValueError, TypeError, ArithmeticError, LookupError)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a record would become a dead letter, by the code that the letter would have."""

    code: str
    reason: str

    def __str__(self) -> str:
        return f"{self.code}: {self.reason}"


Check = Callable[[bytes | None, bytes | None], Fault | None]


def checker(source: Source, schema_of: SchemaOf) -> Check:
    """What tells of a key and a value why they are no row of the source; None where nothing is known against them."""
    keys, values = decoder(source, Role.KEY, schema_of), decoder(source, Role.VALUE, schema_of)

    def check(key: bytes | None, value: bytes | None) -> Fault | None:
        bad = None if key is None else keys([_without_window(source, key)])[0]
        if isinstance(bad, Bad):
            return Fault("KEY_UNREADABLE", bad.reason)
        if value is None:
            return None
        found = values([value])[0]
        if isinstance(found, Bad):
            return Fault("VALUE_UNREADABLE", _unfit_column(source, value) or found.reason)
        return _timeless(source, found) if isinstance(found, tuple) else None

    return check


def _without_window(source: Source, key: bytes) -> bytes:
    return key if source.window is None or len(key) < 8 else bounds(source.window, key)[0]


def _timeless(source: Source, row: tuple[Any, ...]) -> Fault | None:
    """What Orion writes by itself carries its time with the record; others may say that a column has it."""
    if source.timestamp is None or source.query_id is not None:
        return None
    columns = source.columns(Role.VALUE)
    at = next((at for at, c in enumerate(columns) if c.name == source.timestamp.column), None)
    if at is None:
        return None
    is_before = columns[at].type is Scalar.BIGINT and row[at] is not None and row[at] < 0
    return Fault("TIMESTAMP_UNREADABLE", f"no time in {columns[at].name}") if row[at] is None or is_before else None


def _unfit_column(source: Source, value: bytes) -> str | None:
    """Which column of a JSON object doesn't fit, and what stands there."""
    columns, serde = source.columns(Role.VALUE), source.value
    if serde.format != "JSON" or is_alone(columns, serde):
        return None
    try:
        document = json.loads(value)
    except (ValueError, RecursionError) as error:
        return f"it isn't JSON: {error}"
    if not isinstance(document, dict):
        return "it isn't an object of JSON with the columns as fields"
    return next((told for column in columns if (told := _unfit(column, document))), None)


def _unfit(column: Column, document: dict[str, Any]) -> str | None:
    given = field_of(document, column.name, column.spelling)
    try:
        if given is not None:
            fit(column.type)(given)
    except _UNFIT:
        shown = json.dumps(given, ensure_ascii=False)
        return f"{column.name} is {shown if len(shown) <= 60 else f'{shown[:57]}...'}, which is no {column.type}"
    return None
