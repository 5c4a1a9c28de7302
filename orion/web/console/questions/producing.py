"""Writing one record that somebody has typed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from orion.app import Orion
from orion.errors import ExternalError, NotFound, UserError
from orion.formats.rows.reading import parsed, row_of
from orion.formats.rows.writing import record_of
from orion.hub.outbox import Outbox
from orion.hub.records import Headers, Outgoing, Receipt, Record
from orion.plan.sources import Source
from orion.schema import Array, Map, Scalar, SqlType, Struct
from orion.web.console.questions.decoding import Decoded, spread
from orion.web.console.questions.sources import row_of as row_as_shown

_PATIENCE_S = 5.0
_LONGEST_S = 35.0
_EXAMPLES = {Scalar.BOOLEAN: True, Scalar.INTEGER: 0, Scalar.BIGINT: 0, Scalar.DOUBLE: 0.0}


UNCHANGED = "\0unchanged"  # no name of a stream: a record is sent again byte by byte


@dataclass(frozen=True, slots=True)
class Typed:
    """`source` is what the value is a row of; empty: key and value are taken as they are."""

    source: str
    key: str
    value: str
    headers: str = ""
    original: Record | None = None  # the record that was there before, if this is one sent again


def send(orion: Orion, outbox: Outbox, topic: str, typed: Typed) -> Receipt:
    """Write it, and wait until the brokers have it."""
    outbox.partitions(topic)
    (future,) = outbox.send(topic, [record(orion, typed)], patience=_PATIENCE_S)
    try:
        return future.result(_LONGEST_S)
    except TimeoutError:
        raise ExternalError("NOT_DELIVERED", "The brokers haven't acknowledged the record.") from None


def record(orion: Orion, typed: Typed) -> Outgoing:
    if typed.source == UNCHANGED:
        assert typed.original is not None
        return Outgoing(typed.original.value, typed.original.key, typed.original.headers)
    headers = headers_of(typed.headers)
    if not typed.source:
        # What isn't there at all is a tombstone.
        return Outgoing(typed.value.encode() or None, typed.key.encode() or None, headers)
    source = orion.engine.catalog.sources.get(typed.source)
    if source is None:
        raise NotFound("NOT_FOUND", f"{typed.source} is not declared any more.")
    try:
        given = parsed(typed.value)
    except ValueError as error:
        raise UserError("NOT_JSON", f"The row is not JSON: {error}.", hint='Write {"COLUMN": value, ...}.') from None
    row = row_of(source, given)
    key, value = record_of(orion.engine.schemas.written(source), row)
    return replace(Outgoing(value, key, headers), timestamp=row.rowtime)


def headers_of(written: str) -> Headers:
    found = []
    for line in filter(None, map(str.strip, written.splitlines())):
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            raise UserError("INVALID_HEADER", f"{line!r} is not a header.", hint="Write name=value, one a line.")
        found.append((name.strip(), value.strip().encode()))
    return tuple(found)


def typed_again(source: Source | None, one: Decoded) -> Typed:
    """A record as it is typed to be sent again: as a row of what is declared, where it is one; else key and value."""
    headers = "\n".join(f"{name}={value}" for name, value in one.headers)
    if source is not None:
        columns = tuple(c for c in source.schema if c.header is None)
        row = row_as_shown(columns, one)
        if row is not None and one.value.kind != "null":
            named = dict(zip((c.name for c in columns), row[1:], strict=True))  # the first is its time
            return Typed(source.name, "", spread(named), headers, one.record)
    key, value = ("" if side.kind == "null" else side.text for side in (one.key, one.value))
    return Typed("", key, value, headers, one.record)


def template(sources: Sequence[Source]) -> str:
    """A row to fill in."""
    if not sources:
        return ""
    return json.dumps({c.name: _example(c.type) for c in sources[0].schema if c.header is None}, indent=2)


def _example(type_: SqlType) -> object:
    match type_:
        case Array():
            return []
        case Map() | Struct():
            return {}
        case Scalar():
            return _EXAMPLES.get(type_, "")
        case _:
            return 0
