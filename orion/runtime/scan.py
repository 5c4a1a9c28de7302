"""Records of a topic as rows of a source: bytes decoded once, what can't be decoded marked and kept."""

from __future__ import annotations

from pyspark.sql import DataFrame

from orion.formats import format_of
from orion.plan.sources import ROWOFFSET, ROWPARTITION, ROWTIME, WINDOWEND, WINDOWSTART, Kind, Source, WindowKind
from orion.runtime import rows
from orion.schema import Scalar, quote

KEY, VALUE = "__k", "__v"


def decoded(raw: DataFrame, source: Source) -> DataFrame:
    """From the columns of Spark's Kafka source to the source's own, the pseudo columns and rows.META."""
    key_bytes, bounds = _key_and_window(source)
    key = format_of(source.key).decode(source.schema.key, source.key, key_bytes, KEY)
    value = format_of(source.value).decode(source.schema.value, source.value, "value", VALUE)
    # `inline` evaluates the decoding exactly once: a later WHERE isn't pushed below it to decode a second time.
    once = (
        f"inline(array(named_struct('{KEY}', CASE WHEN key IS NOT NULL THEN {key.struct} END, "
        f"'{VALUE}', CASE WHEN value IS NOT NULL THEN {value.struct} END)))"
    )
    frame = raw.selectExpr("key", "value", "topic", "partition", "offset", "timestamp", once)
    columns = [
        *(f"{e} AS {quote(c.name)}" for c, e in zip(source.schema.key, key.fields, strict=True)),
        *(f"{e} AS {quote(c.name)}" for c, e in zip(source.schema.value, value.fields, strict=True)),
        *(f"{e} AS {name}" for name, e in bounds.items()),
    ]
    wrong = (
        f"CASE WHEN key IS NOT NULL AND {key.bad} THEN concat('KEY_UNREADABLE: ', {key.reason}) "
        f"WHEN value IS NOT NULL AND {value.bad} THEN concat('VALUE_UNREADABLE: ', {value.reason}) END"
    )
    frame = frame.selectExpr(
        *columns,
        f"{wrong} AS __undecoded",
        f"value IS NULL AS {rows.DELETED}",
        f"key AS {rows.RAW_KEY}",
        f"value AS {rows.RAW_VALUE}",
        f"topic AS {rows.TOPIC}",
        f"unix_millis(timestamp) AS {rows.STAMP}",
        f"partition AS {ROWPARTITION}",
        f"offset AS {ROWOFFSET}",
    )
    return _with_time(_without_empty(frame, source), source)


def _without_empty(frame: DataFrame, source: Source) -> DataFrame:
    """A stream's record without a value is no event, and a table's without a key no row: as in ksqlDB, both pass by."""
    if source.kind is Kind.STREAM:
        return frame.where(f"NOT {rows.DELETED}")
    return frame.where(f"{rows.RAW_KEY} IS NOT NULL")


def _with_time(frame: DataFrame, source: Source) -> DataFrame:
    """ROWTIME: the record's timestamp, or the column that the TIMESTAMP property names."""
    names = [quote(c.name) for c in source.row if c.name != ROWTIME]
    carried = [rows.DELETED, rows.RAW_KEY, rows.RAW_VALUE, rows.TOPIC, rows.STAMP]
    if source.timestamp is None or source.query_id is not None:
        # What Orion writes carries its ROWTIME as the record's timestamp.
        return frame.selectExpr(*names, *carried, f"{rows.STAMP} AS {ROWTIME}", f"__undecoded AS {rows.BAD}")
    time = f"CASE WHEN __undecoded IS NULL AND NOT {rows.DELETED} THEN {event_time(source)} END"
    reason = f"'TIMESTAMP_UNREADABLE: no time in {source.timestamp.column}'"
    timeless = f"CASE WHEN {ROWTIME} IS NULL AND NOT {rows.DELETED} THEN {reason} END"
    frame = frame.selectExpr(*names, *carried, "__undecoded", f"{time} AS {ROWTIME}")
    return frame.selectExpr(
        *names,
        *carried,
        f"coalesce({ROWTIME}, {rows.STAMP}) AS {ROWTIME}",
        f"coalesce(__undecoded, {timeless}) AS {rows.BAD}",
    )


def event_time(source: Source) -> str:
    """The Spark SQL of the TIMESTAMP column in milliseconds."""
    assert source.timestamp is not None
    column = source.schema.get(source.timestamp.column)
    assert column is not None
    name = quote(column.name)
    if column.type is Scalar.TIMESTAMP:
        return f"unix_millis({name})"
    if column.type is Scalar.STRING:
        pattern = (source.timestamp.format or "").replace("'", "\\'")
        return f"unix_millis(try_to_timestamp({name}, '{pattern}'))"
    return f"if({name} < 0, NULL, {name})"


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
