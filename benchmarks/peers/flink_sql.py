"""The benchmarks' jobs as Flink SQL: tables over topics, and what is inserted where.

A source is read from its beginning to where it ends at the start of the job, so that the job ends by itself, after it
has committed; where latency is measured it goes on. What can't be read as JSON is left out: Flink SQL has no dead
letters. The rows' times aren't kept on the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks import clean_plays, windowed_having
from benchmarks.stream_stream_join import ORDERS, PAYMENTS
from benchmarks.stream_table_join import CLICKS, USERS

_MINUTE = "INTERVAL '1' MINUTE"
_TIME = f"ts AS TO_TIMESTAMP_LTZ(`at`, 3), WATERMARK FOR ts AS ts - {_MINUTE}"
_COUNTED = f"user_id STRING, track_id STRING, seconds INT, `at` BIGINT, {_TIME}"
_BOUNDED = {"scan.bounded.mode": "latest-offset"}


@dataclass(frozen=True)
class Writing:
    """How results are written."""

    bootstrap: str
    guarantee: str = "exactly-once"
    linger_ms: int = 20


def run_clean_plays(to: Writing, out: str) -> list[str]:
    plays = (
        "user_id STRING, play_id STRING, track_id STRING, title STRING, country STRING, ms_played BIGINT,"
        " played_at BIGINT"
    )
    clean = "user_id STRING, PLAY_ID STRING, TRACK_ID STRING, TITLE STRING, COUNTRY STRING, SECONDS BIGINT"
    return [
        _source(to, "plays", plays, "user_id", clean_plays.TOPIC),
        _sink(to, "clean", clean, "user_id", out),
        "INSERT INTO clean SELECT user_id, play_id, track_id, title, UPPER(country), ms_played / 1000 FROM plays"
        f" WHERE ms_played >= {clean_plays.SHORTEST_MS}",
    ]


def run_running_count(to: Writing, topic: str, out: str) -> list[str]:
    return [
        _source(to, "plays", _COUNTED, "user_id", topic),
        _upserts(to, "counts", "user_id STRING, PLAYS BIGINT, SECONDS BIGINT", "user_id", out),
        "INSERT INTO counts SELECT user_id, COUNT(*), SUM(seconds) FROM plays GROUP BY user_id",
    ]


def run_windowed_count(to: Writing, topic: str, out: str) -> list[str]:
    return [
        _source(to, "plays", _COUNTED, "user_id", topic),
        _sink(to, "counts", "k STRING, PLAYS BIGINT, SECONDS BIGINT", "k", out),
        f"INSERT INTO counts SELECT {_WINDOW_KEY}, COUNT(*), SUM(seconds) {_BY_MINUTE}",
    ]


def run_windowed_having(to: Writing, topic: str, out: str) -> list[str]:
    return [
        _source(to, "plays", _COUNTED, "user_id", topic),
        _sink(to, "counts", "k STRING, PLAYS BIGINT", "k", out),
        f"INSERT INTO counts SELECT {_WINDOW_KEY}, COUNT(*) {_BY_MINUTE} HAVING COUNT(*) >= {windowed_having.LEAST}",
    ]


_WINDOW_KEY = "user_id || '@' || CAST(window_start AS STRING)"
_BY_MINUTE = f"FROM TABLE(TUMBLE(TABLE plays, DESCRIPTOR(ts), {_MINUTE})) GROUP BY user_id, window_start, window_end"


def run_stream_table_join(to: Writing, out: str) -> list[str]:
    """A join with the table as of the click's time: any other join takes results back."""
    users = "user_id STRING, name STRING, user_type STRING, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',"
    return [
        _source(to, "clicks", f"user_id STRING, page STRING, `at` BIGINT, {_TIME}", "user_id", CLICKS),
        _upserts(to, "users", f"{users} WATERMARK FOR ts AS ts", "user_id", USERS, source=True),
        _sink(to, "enriched", "user_id STRING, PAGE STRING, NAME STRING, USER_TYPE STRING", "user_id", out),
        "INSERT INTO enriched SELECT c.user_id, c.page, u.name, u.user_type FROM clicks c"
        " LEFT JOIN users FOR SYSTEM_TIME AS OF c.ts AS u ON c.user_id = u.user_id",
    ]


def run_stream_stream_join(to: Writing, out: str) -> list[str]:
    return [
        _source(to, "orders", f"order_id STRING, total DOUBLE, `at` BIGINT, {_TIME}", "order_id", ORDERS),
        _source(to, "payments", f"order_id STRING, `method` STRING, `at` BIGINT, {_TIME}", "order_id", PAYMENTS),
        _sink(to, "paid", "order_id STRING, TOTAL DOUBLE, `METHOD` STRING", "order_id", out),
        "INSERT INTO paid SELECT o.order_id, o.total, p.`method` FROM orders o JOIN payments p"
        f" ON o.order_id = p.order_id AND p.ts BETWEEN o.ts - {_MINUTE} AND o.ts + {_MINUTE}",
    ]


def run_parts(to: Writing, topic: str, outs: Sequence[str], *, together: bool) -> list[str]:
    """A statement for each output, all in one job or each in its own."""
    inserts = [
        f"INSERT INTO part_{n} SELECT user_id, track_id, seconds + {n} FROM plays WHERE seconds % {len(outs)} = {n}"
        for n in range(len(outs))
    ]
    sinks = [
        _sink(to, f"part_{n}", "user_id STRING, TRACK_ID STRING, MORE INT", "user_id", out)
        for n, out in enumerate(outs)
    ]
    plays = "user_id STRING, track_id STRING, seconds INT, `at` BIGINT"
    whole = [f"EXECUTE STATEMENT SET BEGIN {' '.join(f'{insert};' for insert in inserts)} END"]
    return [_source(to, "plays", plays, "user_id", topic), *sinks, *(whole if together else inserts)]


def filter_sent(to: Writing, topic: str, out: str) -> list[str]:
    return [
        _sent(to, topic),
        _sink(to, "doubled", "k STRING, ID BIGINT, TWICE INT, SENT DOUBLE", "k", out),
        "INSERT INTO doubled SELECT k, id, amount * 2, sent FROM orders WHERE amount >= 0",
    ]


def count_sent(to: Writing, topic: str, out: str) -> list[str]:
    return [
        _sent(to, topic),
        _upserts(to, "counts", "k STRING, ORDERS BIGINT, SENT DOUBLE", "k", out),
        "INSERT INTO counts SELECT k, COUNT(*), LAST_VALUE(sent) FROM orders GROUP BY k",
    ]


def _sent(to: Writing, topic: str) -> str:
    return _table("orders", "k STRING, id BIGINT, amount INT, sent DOUBLE", _reading(to, topic, "k"))


def _source(to: Writing, name: str, columns: str, key: str, topic: str) -> str:
    return _table(name, columns, {**_reading(to, topic, key), **_BOUNDED})


def _sink(to: Writing, name: str, columns: str, key: str, topic: str) -> str:
    """Rows that are never taken back."""
    options = {"connector": "kafka", "key.fields": key, **_topic(to, topic), **_writing(to, topic)}
    return _table(name, columns, options)


def _upserts(to: Writing, name: str, columns: str, key: str, topic: str, *, source: bool = False) -> str:
    """A table by its key: read from its beginning to its end, or written."""
    options = {"connector": "upsert-kafka", **_topic(to, topic), **(_BOUNDED if source else _writing(to, topic))}
    return _table(name, f"{columns}, PRIMARY KEY ({key}) NOT ENFORCED", options)


def _reading(to: Writing, topic: str, key: str) -> dict[str, str]:
    return {
        "connector": "kafka",
        **_topic(to, topic),
        "key.fields": key,
        "scan.startup.mode": "earliest-offset",
        "value.json.ignore-parse-errors": "true",
    }


def _topic(to: Writing, topic: str) -> dict[str, str]:
    return {
        "topic": topic,
        "properties.bootstrap.servers": to.bootstrap,
        "key.format": "raw",
        "value.format": "json",
        "value.fields-include": "EXCEPT_KEY",
    }


def _writing(to: Writing, topic: str) -> dict[str, str]:
    options = {
        "properties.linger.ms": str(to.linger_ms),
        "properties.batch.size": "262144",
        "properties.compression.type": "lz4",
        "sink.delivery-guarantee": to.guarantee,
    }
    if to.guarantee != "exactly-once":
        return options
    # By itself Flink asks for an hour, which is longer than a broker allows.
    return {**options, "sink.transactional-id-prefix": topic, "properties.transaction.timeout.ms": "600000"}


def _table(name: str, columns: str, options: dict[str, str]) -> str:
    told = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    return f"CREATE TABLE {name} ({columns}) WITH ({told})"
