"""Rows of a query as Kafka records: good ones encoded for the sink, bad ones as dead letters."""

from __future__ import annotations

from pyspark.sql import DataFrame

from orion.formats import format_of
from orion.plan.sources import ROWOFFSET, ROWPARTITION, ROWTIME, WINDOWEND, WINDOWSTART, Source, WindowKind
from orion.runtime import rows
from orion.runtime.scan import event_time
from orion.schema import quote

_NO_HEADERS = "CAST(NULL AS ARRAY<STRUCT<key: STRING, value: BINARY>>)"
_TIMELESS = "'TIMESTAMP_UNREADABLE: no time for the record'"


def records(frame: DataFrame, sink: Source) -> DataFrame:
    """Rows with the sink's columns, ROWTIME, and DELETED, as records of its topic (rows.OUTGOING)."""
    if sink.timestamp is not None:
        frame = frame.where(f"NOT {_is_timeless(sink)}")  # as in ksqlDB, such a row is left out
    return frame.selectExpr(
        f"'{sink.topic}' AS topic",
        f"{_key(sink)} AS key",
        f"CASE WHEN NOT {rows.DELETED} THEN {_value(sink)} END AS value",
        f"{_time(sink)} AS timestamp",
        f"{_headers(frame)} AS headers",
    )


def routed(frame: DataFrame, sink: Source, dead_letters: str) -> DataFrame:
    """Both kinds in one pass, for rows that still carry rows.META."""
    if sink.timestamp is not None:
        others = [quote(c) for c in frame.columns if c != rows.BAD]
        timeless = f"CASE WHEN {_is_timeless(sink)} THEN {_TIMELESS} END"
        frame = frame.selectExpr(*others, f"coalesce({rows.BAD}, {timeless}) AS {rows.BAD}")
    good = f"{rows.BAD} IS NULL"
    value = _value(sink)
    return frame.selectExpr(
        f"if({good}, '{sink.topic}', '{dead_letters}') AS topic",
        f"if({good}, {_key(sink)}, {rows.RAW_KEY}) AS key",
        f"CASE WHEN {rows.BAD} IS NOT NULL THEN {rows.RAW_VALUE} WHEN NOT {rows.DELETED} THEN {value} END AS value",
        f"if({good}, {_time(sink)}, {rows.STAMP}) AS timestamp",
        f"if({good}, {_headers(frame)}, {_letter_headers()}) AS headers",
    )


def letters(frame: DataFrame, dead_letters: str) -> DataFrame:
    """Only the bad ones of a decoded frame."""
    return frame.where(f"{rows.BAD} IS NOT NULL").selectExpr(
        f"'{dead_letters}' AS topic",
        f"{rows.RAW_KEY} AS key",
        f"{rows.RAW_VALUE} AS value",
        f"{rows.STAMP} AS timestamp",
        f"{_letter_headers()} AS headers",
    )


def _letter_headers() -> str:
    told = {
        "orion.error.code": f"split_part({rows.BAD}, ': ', 1)",
        "orion.error.reason": f"substring({rows.BAD}, locate(': ', {rows.BAD}) + 2)",
        "orion.source.topic": rows.TOPIC,
        "orion.source.partition": f"CAST({ROWPARTITION} AS STRING)",
        "orion.source.offset": f"CAST({ROWOFFSET} AS STRING)",
        "orion.source.timestamp": f"CAST({rows.STAMP} AS STRING)",
        "orion.attempt": "'1'",
    }
    entries = (f"named_struct('key', '{name}', 'value', CAST({text} AS BINARY))" for name, text in told.items())
    return f"array({', '.join(entries)})"


def _headers(frame: DataFrame) -> str:
    """A record keeps the headers of the one it was made of, where they were read at all."""
    return rows.HEADERS if rows.HEADERS in frame.columns else _NO_HEADERS


def _is_timeless(sink: Source) -> str:
    return f"(NOT {rows.DELETED} AND {event_time(sink)} IS NULL)"


def _value(sink: Source) -> str:
    return format_of(sink.value).encode(sink.schema.value, sink.value)


def _time(sink: Source) -> str:
    """The record's timestamp: ROWTIME, or the sink's own TIMESTAMP column, which a deletion has none of."""
    return f"coalesce({event_time(sink)}, {ROWTIME})" if sink.timestamp else ROWTIME


def _key(sink: Source) -> str:
    """The key's bytes; of a windowed table with the window behind them, as Kafka Streams writes it."""
    columns = sink.schema.key
    key = format_of(sink.key).encode(columns, sink.key)
    if len(columns) > 1 or sink.key.format == "DELIMITED":
        # Formats of several columns would write something for none at all.
        there = " OR ".join(f"{quote(c.name)} IS NOT NULL" for c in columns)
        key = f"CASE WHEN {there} THEN {key} END" if columns else key
    if sink.window is None:
        return key
    start, end = f"CAST({WINDOWSTART} AS BINARY)", f"CAST({WINDOWEND} AS BINARY)"
    if sink.window.kind is WindowKind.SESSION:
        return f"concat({key}, {end}, {start})"
    return f"concat({key}, {start})"
