"""SQL's types as JSON for a search server.

DECIMAL is a text, so that no reader rounds it; the server indexes it as a number all the same. BYTES are base64, DATE,
TIME and TIMESTAMP (UTC) ISO texts. A DOUBLE that JSON has no word for goes as one, and the server refuses it.
"""

from __future__ import annotations

import decimal
import json
from base64 import b64encode
from datetime import UTC, date, datetime
from math import isfinite, isnan
from typing import Any, assert_never

from orion.schema import Decimal, Scalar
from orion.sinks.documents.values import Convert, Entries, clock


def plain(type_: Scalar | Decimal) -> Convert | None:
    match type_:
        case Decimal():
            return _exact
        case Scalar.DOUBLE:
            return _number
        case Scalar.BYTES:
            return _base64
        case Scalar.DATE:
            return date.isoformat
        case Scalar.TIME:
            return clock
        case Scalar.TIMESTAMP:
            return _instant
        case Scalar.BOOLEAN | Scalar.INTEGER | Scalar.BIGINT | Scalar.STRING:
            return None
        case _:
            assert_never(type_)


def as_pairs(entries: list[tuple[str, Any]]) -> list[dict[str, Any]]:
    """A map whose keys would be too many names: a list of keys and values."""
    return [{"key": key, "value": value} for key, value in entries]


def entries_of(compact: bool) -> Entries:
    return dict if compact else as_pairs


def written(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def as_id(fields: dict[str, Any]) -> str:
    """A key as a document's id: the text of its column, or of several the JSON of all."""
    value = next(iter(fields.values())) if len(fields) == 1 else fields
    return value if isinstance(value, str) else written(value).decode()


def _exact(value: decimal.Decimal) -> str:
    return format(value, "f")


def _number(value: float) -> float | str:
    if isfinite(value):
        return value
    return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _base64(value: bytes) -> str:
    return b64encode(value).decode()


def _instant(value: datetime) -> str:
    utc = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    spec = "microseconds" if utc.microsecond % 1000 else "milliseconds"
    return utc.replace(tzinfo=None).isoformat(timespec=spec) + "Z"
