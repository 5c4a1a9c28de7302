"""Rows of a query as Kafka records: good ones encoded for the sink, bad ones as dead letters."""

from __future__ import annotations

from pyspark.sql import DataFrame

from orion.formats import REFUSING, format_of
from orion.hub.dead_letters import ATTEMPT, OF_LANES, OURS
from orion.plan.sources import ROWOFFSET, ROWPARTITION, ROWTIME, WINDOWEND, WINDOWSTART, Source, WindowKind, is_alone
from orion.runtime import rows
from orion.runtime.headers import Own
from orion.runtime.letters import NO_LETTER, OFFSET, PARTITION, with_letters_read
from orion.runtime.scan import NO_HEADERS, event_time
from orion.schema import Role, literal, quote

_SIDES = (Role.KEY, Role.VALUE)
_KEY_BYTES, _VALUE_BYTES = "__key_bytes", "__value_bytes"
_TIMELESS = "'TIMESTAMP_UNREADABLE: no time for the record'"


def records(frame: DataFrame, sink: Source, dead_letters: str = "", *, rekeyed: bool = False) -> DataFrame:
    """Rows with the sink's columns as records of its topic (rows.OUTGOING); behind an operator changes of state, too.

    Dead letters that have passed the operator by are letters here. A row that the sink's schema can't hold becomes one,
    with the row as JSON for its value. `rekeyed`: see _key.
    """
    if rows.BAD not in frame.columns:
        frame = frame.selectExpr("*", f"CAST(NULL AS STRING) AS {rows.BAD}", f"{NO_LETTER} AS {rows.LETTER}")
    if sink.timestamp is not None:
        # As in ksqlDB, such a row is left out.
        frame = frame.where(f"{rows.BAD} IS NOT NULL OR NOT {_is_timeless(sink)}")
    return routed(_as_if_read(frame, sink), sink, dead_letters, rekeyed=rekeyed)


def routed(
    frame: DataFrame, sink: Source, dead_letters: str, own: Own | None = None, *, rekeyed: bool = False
) -> DataFrame:
    """Both kinds in one pass, for rows that still carry rows.META; with the fast lane's `own` headers, if given."""
    if sink.timestamp is not None:
        others = [quote(c) for c in frame.columns if c != rows.BAD]
        timeless = f"CASE WHEN {_is_timeless(sink)} THEN {_TIMELESS} END"
        frame = frame.selectExpr(*others, f"coalesce({rows.BAD}, {timeless}) AS {rows.BAD}")
    good = f"{rows.BAD} IS NULL"
    behind = rows.LETTER in frame.columns
    # A change of state goes its own way; a feed's note says where it goes as a letter does.
    is_letter = f"{rows.BAD} <> '{rows.NOTE}'" if behind else f"{rows.BAD} IS NOT NULL"
    key, value = _key(sink, rekeyed), _value(sink)
    if any(_may_refuse(sink, role) for role in _SIDES):
        frame = _encoded(frame, sink, key, value)
        key, value = _KEY_BYTES, _VALUE_BYTES
    made = frame.selectExpr(
        f"if({good}, '{sink.topic}', '{dead_letters}') AS topic",
        f"if({good}, {key}, {rows.RAW_KEY}) AS key",
        f"CASE WHEN {rows.BAD} IS NOT NULL THEN {rows.RAW_VALUE} WHEN NOT {rows.DELETED} THEN {value} END AS value",
        f"if({good}, {_time(sink)}, {rows.STAMP}) AS timestamp",
        f"if({good}, {_headers(frame)}, {_own_headers(frame)}) AS headers",
        _origin(frame),
        f"CASE WHEN {is_letter} THEN {_letter(frame)} END AS letter",
        *([f"CASE WHEN {rows.BAD} = '{rows.NOTE}' THEN {rows.LETTER} END AS {rows.STATE}"] if behind else []),
        *([own.column] if own else []),
    )
    return own.added(made) if own else made


def _may_refuse(sink: Source, role: Role) -> bool:
    """Whether the side's format may give no bytes for a row: its schema doesn't take every value."""
    return sink.serde(role).format in REFUSING and bool(sink.columns(role))


def _encoded(frame: DataFrame, sink: Source, key: str, value: str) -> DataFrame:
    """With the bytes of key and value, and BAD where there should be some and are none."""
    others = [quote(c) for c in frame.columns if c != rows.BAD]
    written = f"CASE WHEN NOT {rows.DELETED} THEN {value} END"
    frame = frame.selectExpr(*others, rows.BAD, f"{key} AS {_KEY_BYTES}", f"{written} AS {_VALUE_BYTES}")
    whys = []
    for role, found in ((Role.KEY, _KEY_BYTES), (Role.VALUE, f"NOT {rows.DELETED} AND {_VALUE_BYTES}")):
        columns, serde = sink.columns(role), sink.serde(role)
        if not _may_refuse(sink, role):
            continue
        meant = " OR ".join(f"{quote(c.name)} IS NOT NULL" for c in columns)
        missing = f"{found} IS NULL"
        if role is Role.KEY or is_alone(columns, serde):
            missing += f" AND ({meant})"
        reason = literal(f"{role}_UNWRITABLE: a value doesn't fit the schema of {sink.topic}")
        whys.append(f"CASE WHEN {missing} THEN {reason} END")
    bad = f"coalesce({', '.join((rows.BAD, *whys))})"
    return frame.selectExpr(*others, _KEY_BYTES, _VALUE_BYTES, f"{bad} AS {rows.BAD}")


def _as_if_read(frame: DataFrame, sink: Source) -> DataFrame:
    """Rows of an operator with what a dead letter tells. Of one that becomes a letter only now, that is what it is."""
    read = with_letters_read(frame)
    if not any(_may_refuse(sink, role) for role in _SIDES):
        return read
    told = {
        rows.RAW_VALUE: f"CAST(to_json(named_struct({_fields(sink)})) AS BINARY)",
        rows.TOPIC: literal(sink.topic),
        rows.STAMP: _time(sink),
    }
    others = [quote(c) for c in read.columns if c not in told]
    return read.selectExpr(
        *others, *(f"if({rows.BAD} IS NULL, {spark}, {name}) AS {name}" for name, spark in told.items())
    )


def _fields(sink: Source) -> str:
    return ", ".join(f"{literal(c.name)}, {quote(c.name)}" for c in (*sink.schema.key, *sink.schema.value))


def letters(frame: DataFrame, dead_letters: str) -> DataFrame:
    """Only the bad ones of a decoded frame."""
    return frame.where(f"{rows.BAD} IS NOT NULL").selectExpr(
        f"'{dead_letters}' AS topic",
        f"{rows.RAW_KEY} AS key",
        f"{rows.RAW_VALUE} AS value",
        f"{rows.STAMP} AS timestamp",
        f"{_own_headers(frame)} AS headers",
        _origin(frame),
        f"{_letter(frame)} AS letter",
    )


def _origin(frame: DataFrame) -> str:
    """Rows of an operator come from everywhere: they have none."""
    return f"{rows.ORIGIN if rows.ORIGIN in frame.columns else 'CAST(NULL AS INT)'} AS origin"


def told(records: DataFrame) -> DataFrame:
    """Outgoing records with what dead letters have to tell among their headers; see dead_letters.telling.

    Behind the headers that a record has itself: the last one counts. Changes of state are left out.
    """
    if rows.STATE in records.columns:
        records = records.where(f"{rows.STATE} IS NULL")
    before = f"try_element_at(map_from_entries(headers), '{ATTEMPT}')"
    said = {
        "orion.error.code": "split_part(letter.bad, ': ', 1)",
        "orion.error.reason": "substring(letter.bad, locate(': ', letter.bad) + 2)",
        "orion.source.topic": "letter.topic",
        "orion.source.partition": "CAST(letter.partition AS STRING)",
        "orion.source.offset": "CAST(letter.offset AS STRING)",
        "orion.source.timestamp": "CAST(letter.stamp AS STRING)",
        ATTEMPT: f"CAST(coalesce(TRY_CAST(CAST({before} AS STRING) AS INT), 0) + 1 AS STRING)",
    }
    entries = (f"named_struct('key', '{name}', 'value', CAST({text} AS BINARY))" for name, text in said.items())
    lanes = ", ".join(map(literal, OF_LANES))
    own = f"filter(headers, h -> NOT startswith(h.key, '{OURS}') OR h.key IN ({lanes}))"
    headers = f"concat(coalesce({own}, array()), array({', '.join(entries)}))"
    # A letter from the future has the present day: brokers may refuse its own, and a topic would keep it too long.
    today = "unix_date(current_date()) * 86400000L"
    stamp = f"if(letter IS NULL OR timestamp < {today} + 86400000L, timestamp, {today}) AS timestamp"
    return records.selectExpr(
        "topic", "key", "value", stamp, f"if(letter IS NULL, headers, {headers}) AS headers", "origin"
    )


def _letter(frame: DataFrame) -> str:
    """What a dead letter will tell of itself."""
    behind = rows.LETTER in frame.columns
    partition, offset = (PARTITION, OFFSET) if behind else (ROWPARTITION, ROWOFFSET)
    return (
        f"named_struct('bad', {rows.BAD}, 'topic', {rows.TOPIC}, 'partition', {partition}, "
        f"'offset', {offset}, 'stamp', {rows.STAMP})"
    )


def _own_headers(frame: DataFrame) -> str:
    """Those of the record that became a letter."""
    return rows.RECORD_HEADERS if rows.RECORD_HEADERS in frame.columns else NO_HEADERS


def _headers(frame: DataFrame) -> str:
    """A record keeps the headers of the one it was made of, where they were read at all; not Orion's own, which are
    said of that record alone."""
    return _not_ours(rows.HEADERS) if rows.HEADERS in frame.columns else NO_HEADERS


def _not_ours(headers: str) -> str:
    return f"filter({headers}, h -> NOT startswith(h.key, '{OURS}'))"


def _is_timeless(sink: Source) -> str:
    return f"(NOT {rows.DELETED} AND {event_time(sink)} IS NULL)"


def _value(sink: Source) -> str:
    return format_of(sink.value).encode(sink.schema.value, sink.value)


def _time(sink: Source) -> str:
    """The record's timestamp: ROWTIME, or the sink's own TIMESTAMP column, which a deletion has none of."""
    return f"coalesce({event_time(sink)}, {ROWTIME})" if sink.timestamp else ROWTIME


def _key(sink: Source, rekeyed: bool) -> str:
    """The key's bytes; of a windowed table with the window behind them, as Kafka Streams writes it.

    A row whose key columns are all NULL has no key, unless PARTITION BY has given it one of NULLs (`rekeyed`).
    """
    columns = sink.schema.key
    key = format_of(sink.key).encode(columns, sink.key)
    if (len(columns) > 1 and not rekeyed) or (len(columns) == 1 and sink.key.format == "DELIMITED"):
        # Formats of several columns would write something for none at all.
        there = " OR ".join(f"{quote(c.name)} IS NOT NULL" for c in columns)
        key = f"CASE WHEN {there} THEN {key} END"
    if sink.window is None:
        return key
    start, end = f"CAST({WINDOWSTART} AS BINARY)", f"CAST({WINDOWEND} AS BINARY)"
    if sink.window.kind is WindowKind.SESSION:
        return f"concat({key}, {end}, {start})"
    return f"concat({key}, {start})"
