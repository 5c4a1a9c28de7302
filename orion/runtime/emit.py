"""Rows of a query as Kafka records: good ones encoded for the sink, bad ones as dead letters."""

from __future__ import annotations

from pyspark.sql import DataFrame

from orion.formats import format_of
from orion.plan.sources import ROWOFFSET, ROWPARTITION, ROWTIME, WINDOWEND, WINDOWSTART, Source, WindowKind
from orion.runtime import rows
from orion.runtime.scan import event_time

_NO_HEADERS = "CAST(NULL AS ARRAY<STRUCT<key: STRING, value: BINARY>>)"


def records(frame: DataFrame, sink: Source) -> DataFrame:
    """Rows with the sink's columns, ROWTIME, and DELETED, as records of its topic (rows.OUTGOING)."""
    return frame.selectExpr(
        f"'{sink.topic}' AS topic",
        f"{_key(sink)} AS key",
        f"CASE WHEN NOT {rows.DELETED} THEN {_value(sink)} END AS value",
        f"{_time(sink)} AS timestamp",
        f"{_NO_HEADERS} AS headers",
    )


def routed(frame: DataFrame, sink: Source, dead_letters: str) -> DataFrame:
    """Both kinds in one pass, for rows that still carry rows.META."""
    good = f"{rows.BAD} IS NULL"
    value = _value(sink)
    return frame.selectExpr(
        f"if({good}, '{sink.topic}', '{dead_letters}') AS topic",
        f"if({good}, {_key(sink)}, {rows.RAW_KEY}) AS key",
        f"CASE WHEN {rows.BAD} IS NOT NULL THEN {rows.RAW_VALUE} WHEN NOT {rows.DELETED} THEN {value} END AS value",
        f"if({good}, {_time(sink)}, {rows.STAMP}) AS timestamp",
        f"if({good}, {_NO_HEADERS}, {_letter_headers()}) AS headers",
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
        "orion.error.reason": f"split_part({rows.BAD}, ': ', 2)",
        "orion.source.topic": rows.TOPIC,
        "orion.source.partition": f"CAST({ROWPARTITION} AS STRING)",
        "orion.source.offset": f"CAST({ROWOFFSET} AS STRING)",
        "orion.source.timestamp": f"CAST({rows.STAMP} AS STRING)",
        "orion.attempt": "'1'",
    }
    entries = (f"named_struct('key', '{name}', 'value', CAST({text} AS BINARY))" for name, text in told.items())
    return f"array({', '.join(entries)})"


def _value(sink: Source) -> str:
    return format_of(sink.value).encode(sink.schema.value, sink.value)


def _time(sink: Source) -> str:
    """The record's timestamp: ROWTIME, or the sink's own TIMESTAMP column where the row has one."""
    return f"coalesce({event_time(sink)}, {ROWTIME})" if sink.timestamp else ROWTIME


def _key(sink: Source) -> str:
    """The key's bytes; of a windowed table with the window behind them, as Kafka Streams writes it."""
    key = format_of(sink.key).encode(sink.schema.key, sink.key)
    if sink.window is None:
        return key
    start, end = f"CAST({WINDOWSTART} AS BINARY)", f"CAST({WINDOWEND} AS BINARY)"
    if sink.window.kind is WindowKind.SESSION:
        return f"concat({key}, {end}, {start})"
    return f"concat({key}, {start})"
