"""Rows that come by HTTP: which stream or table they are for, what is wrong with each, and their records."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from orion.errors import Conflict, ExternalError, NotFound, OrionError, SchemaError, UserError, hint_nearest
from orion.formats.rows.reading import parsed, row_of
from orion.formats.rows.writing import record_of
from orion.hub.records import Outgoing, Receipt
from orion.plan.sources import SCHEMA_TYPES, Kind, Serde, Source, subject
from orion.schema import Role, Schema
from orion.web.gateway import Gateway
from orion.web.rest_proxy.bodies import refuse_half_pairs

_NDJSON = "ndjson"


@dataclass(frozen=True)
class Refused:
    """A row that wasn't taken; `again`: it isn't the row's fault, and may be taken another time."""

    index: int
    error: OrionError

    @property
    def again(self) -> bool:
        return isinstance(self.error, ExternalError)

    def told(self) -> dict[str, Any]:
        return {"index": self.index, **self.error.as_dict(), **({"retry": True} if self.again else {})}


@dataclass(frozen=True)
class Prepared:
    """The rows of a request as records, by their places in it, and those that are no rows of the source."""

    source: Source
    count: int
    records: dict[int, Outgoing] = field(default_factory=dict)
    refused: tuple[Refused, ...] = ()


@dataclass(frozen=True)
class Fed:
    """What became of a request."""

    prepared: Prepared
    refused: tuple[Refused, ...]

    @property
    def taken(self) -> int:
        return self.prepared.count - len(self.refused)

    @property
    def status(self) -> int:
        """200 all, 429 again later, 207 some, 422 none."""
        if not self.refused:
            return 200
        if any(one.again for one in self.refused):
            return 429
        return 207 if self.taken else 422

    def body(self) -> dict[str, Any]:
        return {
            "topic": self.prepared.source.topic,
            "source": self.prepared.source.name,
            "rows": self.prepared.count,
            "taken": self.taken,
            "refused": [one.told() for one in self.refused],
        }


# ---- whose rows they are -----------------------------------------------------------------------------------------


def source_of(gateway: Gateway, topic: str, name: str | None) -> Source:
    """The stream or table over a topic that rows are for, told the schemas it writes."""
    over = [one for one in gateway.catalog().sources.values() if one.topic == topic]
    if name is not None:
        found = [one for one in over if one.name.upper() == name.upper()]
        if not found:
            hint = hint_nearest(name, [one.name for one in over]) or _told_names(over)
            raise NotFound("NOT_FOUND", f"There is no stream or table {name} over the topic {topic}.", hint=hint)
        over = found
    chosen = _inferred(gateway, topic) if not over else _one(over, topic)
    if chosen.window is not None:
        raise UserError("WINDOWED", f"{chosen.name} is windowed: rows can't be written into it.")
    if chosen.read_only:
        raise UserError("READ_ONLY", f"{chosen.name} is a SOURCE {chosen.kind}, which is only read.")
    return gateway.schemas.written(chosen)


def source_named(gateway: Gateway, name: str) -> Source:
    """The stream or table of a name, as SQL writes it, told the schemas it writes."""
    sources = gateway.catalog().sources
    bare = name[1:-1] if len(name) > 1 and name[0] == name[-1] == "`" else name.upper()
    found = sources.get(bare) or sources.get(name)
    if found is None:
        hint = hint_nearest(name, list(sources))
        raise NotFound("NOT_FOUND", f"There is no stream or table {name}.", hint=hint)
    return source_of(gateway, found.topic, found.name)


def _one(over: Sequence[Source], topic: str) -> Source:
    """The one that all of them are as far as a writer can see; one that rows can be written into, if there is one."""
    fit = [one for one in over if one.window is None and not one.read_only] or list(over)
    if any((one.schema, one.key, one.value) != (fit[0].schema, fit[0].key, fit[0].value) for one in fit):
        message = f"Several streams and tables over {topic} have columns of their own."
        raise Conflict("AMBIGUOUS_SOURCE", message, hint=f"Say which with ?source=: {_told_names(fit)}")
    # Of a table a row needs its key: what is good for it is good for a stream, too.
    return next((one for one in fit if one.kind is Kind.TABLE), fit[0])


def _told_names(sources: Sequence[Source]) -> str:
    return f"There are {', '.join(one.name for one in sources)}." if sources else "None is declared over it."


def _inferred(gateway: Gateway, topic: str) -> Source:
    """Nothing is declared: rows are what the registry's schema of the topic's values says, without a key."""
    gateway.outbox.partitions(topic)  # raises where there is no topic
    formats = {kind: name for name, kind in SCHEMA_TYPES.items()}
    latest = gateway.schemas.registry.latest(subject(topic, Role.VALUE))
    if latest is None:
        hint = f"CREATE STREAM over it, or register a schema under {subject(topic, Role.VALUE)}."
        raise NotFound("NO_SCHEMA", f"Nothing says what the rows of {topic} are.", hint=hint)
    serde = Serde(formats[latest.type])
    found = gateway.schemas.infer(topic, Role.VALUE, serde)
    assert found is not None
    value = Serde(serde.format, wrap_single=False) if found.alone and serde.format != "PROTOBUF" else serde
    return Source(topic, Kind.STREAM, Schema(found.columns), topic, Serde("NONE"), value)


# ---- rows --------------------------------------------------------------------------------------------------------


def prepared(gateway: Gateway, source: Source, raw: bytes, media: str) -> Prepared:
    """Each row of a body as a record, or what is wrong with it."""
    gateway.outbox.partitions(source.topic)
    return checked(source, rows_of(raw, media))


def checked(source: Source, rows: Sequence[Any]) -> Prepared:
    """Each row as a record, or what is wrong with it; one that could not be read is an error in its place."""
    records: dict[int, Outgoing] = {}
    refused = []
    now = time.time_ns() // 1_000_000
    for at, row in enumerate(rows):
        try:
            if isinstance(row, OrionError):
                raise row
            read = row_of(source, row)
            key, value = record_of(source, read)
            records[at] = Outgoing(value, key, timestamp=now if read.rowtime is None else read.rowtime)
        except UserError as error:
            refused.append(Refused(at, error))
    return Prepared(source, len(rows), records, tuple(refused))


def rows_of(raw: bytes, media: str) -> list[Any]:
    """The rows of a body: an array's, one object, or a line each. A line that is no JSON is an error in its place."""
    text = raw.strip()
    if not text:
        raise UserError("BAD_REQUEST", "The body is empty.", hint="Send an object, an array of them, or one a line.")
    if not text.startswith(b"[") and (_NDJSON in media or b"\n" in text):
        lines = text.split(b"\n")
        single = _whole(text) if _NDJSON not in media else None
        return [single] if single is not None else [row_of_line(line) for line in lines if line.strip()]
    try:
        found = parsed(text)
        refuse_half_pairs(text, found)
    except (ValueError, RecursionError) as error:
        raise UserError("BAD_REQUEST", f"The body is no JSON: {error}.") from error
    return found if isinstance(found, list) else [found]


def _whole(text: bytes) -> Any:
    """The object, if all lines together are one."""
    try:
        found = parsed(text)
        refuse_half_pairs(text, found)
        return found
    except (ValueError, RecursionError):
        return None


def row_of_line(line: bytes) -> Any:
    """A row, or the error that the line is no JSON."""
    try:
        found = parsed(line)
        refuse_half_pairs(line, found)
        return found
    except (ValueError, RecursionError) as error:
        return SchemaError("ROW_UNFIT", f"The line is no JSON: {error}.")


# ---- writing -----------------------------------------------------------------------------------------------------


async def written(gateway: Gateway, rows: Prepared) -> Fed:
    """Write the good rows, and wait until the brokers have each, or haven't; raises where there is no room for them."""
    told = await gateway.send(rows.source.topic, rows.records.values()) if rows.records else []
    failed = [Refused(at, one) for at, one in zip(rows.records, told, strict=True) if not isinstance(one, Receipt)]
    return Fed(rows, tuple(sorted((*rows.refused, *failed), key=lambda one: one.index)))


async def written_together(gateway: Gateway, rows: Prepared) -> Fed:
    """All rows in one transaction, or none of them."""
    if rows.refused:
        hint = "Send it again without those that are wrong."
        others = [Refused(at, Conflict("NOT_ALONE", "Another row is wrong.", hint=hint)) for at in rows.records]
        return Fed(rows, tuple(sorted((*rows.refused, *others), key=lambda one: one.index)))
    try:
        await gateway.run(gateway.transactions.write, rows.source.topic, rows.records.values())
    except OrionError as error:
        return Fed(rows, tuple(Refused(at, error) for at in rows.records))
    return Fed(rows, ())
