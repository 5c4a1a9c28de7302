"""Records of a topic as rows of a source: bytes decoded once, what can't be decoded marked and kept."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame

from orion.formats import Decoded, decode_in_steps, format_of
from orion.formats.wire.ranges import beyond_range
from orion.moments import ROW_MILLIS
from orion.plan.sources import (
    ROWOFFSET,
    ROWPARTITION,
    ROWTIME,
    WINDOWEND,
    WINDOWSTART,
    Kind,
    Source,
    WindowKind,
    is_alone,
)
from orion.runtime import headers as own_headers
from orion.runtime import rows
from orion.schema import Column, Scalar, literal, quote

KEY, VALUE = "__k", "__v"
NO_HEADERS = "CAST(NULL AS ARRAY<STRUCT<key: STRING, value: BINARY>>)"
# A column that a reader of topics may add: the latest time that a record may have.
LATEST = "latest"
# Where the day of the batch ends. A finer time would stand as a number in the code of every batch, which Spark would
# compile each time, and the JVM never get to make fast. With a column in it there is nothing that Spark could fold into
# a constant: it would look through the whole plan once more after that, at every batch.
DAY_END = "(unix_date(date_add(current_date(), partition * 0)) * 86400000L + 86400000L)"


def decoded(raw: DataFrame, source: Source, unread: frozenset[str] = frozenset()) -> DataFrame:
    """From the columns of Spark's Kafka source to the source's own, the pseudo columns and rows.META.

    Columns that are `unread` may be NULL.
    """
    if source.headed:
        raw = own_headers.honoured(raw)
    key_bytes, bounds = _key_and_window(source)
    key = format_of(source.key).decode(source.schema.key, source.key, key_bytes, KEY)
    value = _decode_value(source, unread)
    headers = source.schema.headers
    taken = ["key", "value", "topic", "partition", "offset", "timestamp"]
    taken += ["headers" if "headers" in raw.columns else f"{NO_HEADERS} AS headers"]
    added = [name for name in (LATEST, rows.ORIGIN) if name in raw.columns]
    # Spark's source knows no order between topics: the records' own times stand in for it.
    arrival = "arrival" if "arrival" in raw.columns else "unix_millis(timestamp)"
    frame = raw.selectExpr(*taken, *added, f"{_order(arrival)} AS {rows.ORDER}")
    frame = decode_in_steps(frame, {KEY: (key, "key IS NOT NULL"), VALUE: (value, "value IS NOT NULL")})
    columns = [
        *(f"{e} AS {quote(c.name)}" for c, e in zip(source.schema.key, key.fields, strict=True)),
        *(f"{e} AS {quote(c.name)}" for c, e in zip(source.schema.value, value.fields, strict=True)),
        *(f"{_header(c)} AS {quote(c.name)}" for c in headers),
        *(f"{e} AS {name}" for name, e in bounds.items()),
    ]
    wrong = (
        f"CASE WHEN key IS NOT NULL AND {key.bad} THEN {_told('KEY_UNREADABLE', key.reason)} "
        f"WHEN value IS NOT NULL AND {value.bad} THEN {_told('VALUE_UNREADABLE', value.reason)} "
        f"{_beyond(source.schema.key, key.fields, 'KEY')}{_beyond(source.schema.value, value.fields, 'VALUE')}END"
    )
    frame = frame.selectExpr(
        *columns,
        f"{wrong} AS __undecoded",
        f"{_empty(value.empty)} AS {rows.DELETED}",
        f"key AS {rows.RAW_KEY}",
        f"value AS {rows.RAW_VALUE}",
        f"topic AS {rows.TOPIC}",
        f"unix_millis(timestamp) AS {rows.STAMP}",
        rows.ORDER,
        f"headers AS {rows.RECORD_HEADERS}",
        *([f"headers AS {rows.HEADERS}"] if headers else []),
        f"partition AS {ROWPARTITION}",
        f"offset AS {ROWOFFSET}",
        *added,
    )
    return _with_time(_without_empty(frame, source), source)


def _decode_value(source: Source, unread: frozenset[str]) -> Decoded:
    """Without the text that nobody reads: in JSON whatever stands there is one, so it can't make a record a bad one."""
    columns, serde = source.schema.value, source.value
    time = source.timestamp and source.timestamp.column
    kept = tuple(c for c in columns if c.type is not Scalar.STRING or c.name not in unread or c.name == time)
    if serde.format != "JSON" or len(kept) == len(columns) or not kept or is_alone(kept, serde):
        return format_of(serde).decode(columns, serde, "value", VALUE)
    found = format_of(serde).decode(kept, serde, "value", VALUE)
    fields = dict(zip((c.name for c in kept), found.fields, strict=True))
    return replace(found, fields=tuple(fields.get(c.name, "CAST(NULL AS STRING)") for c in columns))


def _beyond(columns: tuple[Column, ...], fields: tuple[str, ...], side: str) -> str:
    """The branch for a date or time that is out of range, if a column could hold one."""
    found = beyond_range(columns, fields)
    reason = f"'{side}_UNREADABLE: a date or time is out of range'"
    return "" if found is None else f"WHEN {side.lower()} IS NOT NULL AND {found} THEN {reason} "


def _told(code: str, reason: str) -> str:
    """A reason with its code. Spark's parser makes one text of two that stand side by side."""
    return f"'{code}: ' {reason}" if reason.startswith("'") else f"concat('{code}: ', {reason})"


def _order(arrival: str) -> str:
    """See rows.ORDER. Bytes of numbers sort as the numbers do as long as none is below zero."""
    parts = (f"greatest({arrival}, 0L)", "hash(topic)", "partition", "offset")
    return f"concat({', '.join(f'CAST({p} AS BINARY)' for p in parts)})"


def _empty(in_format: str | None) -> str:
    """Whether a record has no value: no bytes, or bytes that say so, like JSON's null."""
    return "value IS NULL" if in_format is None else f"(value IS NULL OR coalesce({in_format}, FALSE))"


def _header(column: Column) -> str:
    """All headers of a record, or the last one of a name."""
    if column.header is None:
        return "transform(coalesce(headers, array()), h -> named_struct('KEY', h.key, 'VALUE', h.value))"
    return f"try_element_at(filter(headers, h -> h.key = {literal(column.header)}), -1).value"


def _without_empty(frame: DataFrame, source: Source) -> DataFrame:
    """A table's record without a key is no row, and passes by as in ksqlDB.

    A stream's record without a value stays, as DELETED: a projection writes it on as it is, a filter drops it, and
    aggregations and joins take no notice of it.
    """
    if source.kind is Kind.STREAM:
        return frame
    return frame.where(f"{rows.RAW_KEY} IS NOT NULL")


def _with_time(frame: DataFrame, source: Source) -> DataFrame:
    """ROWTIME: the record's timestamp, or the column that the TIMESTAMP property names."""
    names = [quote(c.name) for c in source.row if c.name != ROWTIME]
    carried = [rows.DELETED, rows.RAW_KEY, rows.RAW_VALUE, rows.TOPIC, rows.STAMP, rows.ORDER, rows.RECORD_HEADERS]
    carried += [name for name in (rows.HEADERS, rows.ORIGIN) if name in frame.columns]
    ahead = f", {_ahead()}" if LATEST in frame.columns else ""
    if source.timestamp is None or source.query_id is not None:
        # What Orion writes carries its ROWTIME as the record's timestamp.
        frame = frame.selectExpr("*", f"{rows.STAMP} AS {ROWTIME}")
        return frame.selectExpr(*names, *carried, ROWTIME, f"coalesce(__undecoded{ahead}) AS {rows.BAD}")
    time = f"CASE WHEN __undecoded IS NULL AND NOT {rows.DELETED} THEN {event_time(source)} END"
    reason = f"'TIMESTAMP_UNREADABLE: no time in {source.timestamp.column}'"
    timeless = f"CASE WHEN {ROWTIME} IS NULL AND NOT {rows.DELETED} THEN {reason} END"
    frame = frame.selectExpr("*", f"{time} AS {ROWTIME}")
    return frame.selectExpr(
        *names,
        *carried,
        f"coalesce({ROWTIME}, {rows.STAMP}) AS {ROWTIME}",
        f"coalesce(__undecoded, {timeless}{ahead}) AS {rows.BAD}",
    )


def _ahead() -> str:
    """A clock that runs ahead by days would carry the stream's time along, and make every right row a late one."""
    reason = f"concat('TIMESTAMP_IN_FUTURE: ', {ROWTIME}, ' is later than ', {LATEST})"
    return f"CASE WHEN {ROWTIME} > {LATEST} THEN {reason} END"


def event_time(source: Source) -> str:
    """The Spark SQL of the TIMESTAMP column in milliseconds."""
    assert source.timestamp is not None
    column = source.schema.get(source.timestamp.column)
    assert column is not None
    name = quote(column.name)
    if column.type is Scalar.TIMESTAMP:
        return _bounded(f"unix_millis({name})", least=-ROW_MILLIS[1])
    if column.type is Scalar.STRING:
        pattern = (source.timestamp.format or "").replace("'", "\\'")
        return _bounded(f"unix_millis(try_to_timestamp({name}, '{pattern}'))", least=-ROW_MILLIS[1])
    return _bounded(name, least=0)


def _bounded(millis: str, least: int) -> str:
    return f"if({millis} BETWEEN {least}L AND {ROW_MILLIS[1]}L, {millis}, NULL)"


def _key_and_window(source: Source) -> tuple[str, dict[str, str]]:
    """The bytes of the key itself, and the window's bounds that Kafka Streams' windowed serialisers put behind it."""
    if source.window is None:
        return "key", {}
    if source.window.kind is WindowKind.SESSION:
        end, start = _long_at(15), _long_at(7)
        return "substring(key, 1, length(key) - 16)", {WINDOWSTART: start, WINDOWEND: end}
    start = _long_at(7)
    return "substring(key, 1, length(key) - 8)", {
        WINDOWSTART: start,
        WINDOWEND: f"{start} + {source.window.size_ms}L",
    }


def _long_at(from_end: int) -> str:
    return f"CAST(conv(hex(substring(key, length(key) - {from_end}, 8)), 16, -10) AS BIGINT)"
