"""Statements on the whole platform: a real broker, real streams, through the app."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orion.app import Orion
from orion.errors import OrionError
from orion.hub.records import Outgoing
from orion.hub.writer import send_all
from orion.runtime.idle_monitors import end_idle_monitors, idle_monitors
from orion.runtime.push import PushQuery
from tests.scenarios.conftest import Await, everything


def send(orion: Orion, topic: str, *rows: tuple[str, object, int]) -> None:
    """(key, value, timestamp) each; a str value goes as it is."""
    records = [
        Outgoing(v.encode() if isinstance(v, str) else json.dumps(v).encode(), k.encode(), timestamp=t)
        for k, v, t in rows
    ]
    send_all(orion.kafka, topic, records)


def test_having_withdraws_a_row_that_stops_fulfilling_it(orion: Orion, until: Await) -> None:
    orion.execute(
        "CREATE STREAM hv_in (k STRING KEY, v INT) WITH (kafka_topic='hv_in', value_format='JSON', partitions=1);"
        "CREATE TABLE hv_low AS SELECT k, SUM(v) AS s FROM hv_in GROUP BY k HAVING SUM(v) < 10 EMIT CHANGES;"
    )
    send(orion, "hv_in", ("a", {"v": 4}, 1), ("b", {"v": 3}, 2))
    until(lambda: len(everything(orion.kafka, "HV_LOW")) == 2, 90)
    send(orion, "hv_in", ("a", {"v": 8}, 3))
    until(lambda: len(everything(orion.kafka, "HV_LOW")) == 3, 90)
    last = {r.key: r.value for r in everything(orion.kafka, "HV_LOW")}
    assert last == {b"a": None, b"b": b'{"S":3}'}


def test_sessions_that_meet_become_one_and_the_old_ones_go(orion: Orion, until: Await) -> None:
    orion.execute(
        "CREATE STREAM se_in (k STRING KEY, v INT) WITH (kafka_topic='se_in', value_format='JSON', partitions=1);"
        "CREATE TABLE se AS SELECT k, COUNT(*) AS n FROM se_in WINDOW SESSION (10 SECONDS) GROUP BY k EMIT CHANGES;"
    )
    send(orion, "se_in", ("a", {"v": 1}, 1_000), ("a", {"v": 1}, 21_000))
    until(lambda: len(everything(orion.kafka, "SE")) == 2, 90)
    send(orion, "se_in", ("a", {"v": 1}, 11_000))
    until(lambda: len(everything(orion.kafka, "SE")) == 5, 90)
    left = {r.key: r.value for r in everything(orion.kafka, "SE")}
    alive = {k[-16:]: v for k, v in left.items() if k and v}
    assert alive == {(21_000).to_bytes(8, "big") + (1_000).to_bytes(8, "big"): b'{"N":3}'}
    # Threads in Spark's driver that see to many workers stay; those of a single worker go.
    end_idle_monitors(orion.spark)
    until(lambda: {needed for _, needed in idle_monitors(orion.spark)} == {True}, 60)


def test_insert_push_print_and_the_way_down(orion: Orion) -> None:
    orion.execute(
        "CREATE STREAM ip (k STRING KEY, v INT, m DECIMAL(4,2), at TIMESTAMP) "
        "WITH (kafka_topic='ip', value_format='JSON', partitions=2);"
        "INSERT INTO ip (ROWTIME, k, v, m, at) VALUES (1234, 'a', 1 + 1, 2.5, '2026-01-02T03:04:05.678');"
    )
    rows = orion.push("SELECT *, ROWTIME FROM ip EMIT CHANGES LIMIT 1;", {"auto.offset.reset": "earliest"})
    assert isinstance(rows, PushQuery)
    with rows:
        (row,) = list(rows)
    assert [*row[:2], float(row[2]), *row[3:]] == ["a", 2, 2.5, "2026-01-02T03:04:05.678", 1234]
    printed = orion.push("PRINT 'ip' FROM BEGINNING LIMIT 1;")
    assert not isinstance(printed, PushQuery)
    (record,) = [r for r in printed if r is not None]
    assert (record.key, record.timestamp) == (b"a", 1234)
    orion.execute("DROP STREAM ip DELETE TOPIC;")
    assert "ip" not in {t.name for t in orion.kafka.topics()}


def test_pause_resume_terminate(orion: Orion, until: Await) -> None:
    orion.execute(
        "CREATE STREAM pr (k STRING KEY, v INT) WITH (kafka_topic='pr', value_format='JSON', partitions=1);"
        "CREATE STREAM pr_out AS SELECT * FROM pr EMIT CHANGES;"
    )
    query = next(q.id for q in orion.queries() if q.sink == "PR_OUT")
    orion.execute(f"PAUSE {query};")
    send(orion, "pr", ("a", {"v": 1}, 1))
    assert next(q.state for q in orion.queries() if q.id == query) == "PAUSED"
    orion.execute(f"RESUME {query};")
    until(lambda: len(everything(orion.kafka, "PR_OUT")) == 1, 60)
    with pytest.raises(OrionError, match="still use it"):
        orion.execute("DROP STREAM pr;")
    orion.execute(f"TERMINATE {query}; DROP STREAM pr_out DELETE TOPIC; DROP STREAM pr DELETE TOPIC;")
    assert query not in {q.id for q in orion.queries()}


def test_what_is_paused_writes_nothing_any_more(orion: Orion, until: Await) -> None:
    orion.execute(
        "CREATE STREAM held (k STRING KEY, v INT) WITH (kafka_topic='held', value_format='JSON', partitions=2);"
        "SET 'orion.max.records.per.batch'='20';"
        "CREATE STREAM held_out AS SELECT * FROM held EMIT CHANGES;"
    )
    query = next(q.id for q in orion.queries() if q.sink == "HELD_OUT")
    send(orion, "held", *((f"k{n}", {"v": n}, n + 1) for n in range(4_000)))
    until(lambda: sum(orion.kafka.end_offsets("HELD_OUT", committed=True).values()) > 20, 90)
    orion.execute(f"PAUSE {query};")
    written = len(everything(orion.kafka, "HELD_OUT"))
    status = next(q for q in orion.queries() if q.id == query)
    assert (status.state, status.rate) == ("PAUSED", 0.0)
    assert 0 < written < 4_000
    orion.execute("CREATE STREAM held_other AS SELECT * FROM held EMIT CHANGES;")
    until(lambda: sum(orion.kafka.end_offsets("HELD_OTHER", committed=True).values()) > 20, 90)
    assert len(everything(orion.kafka, "HELD_OUT")) == written
    other = next(q.id for q in orion.queries() if q.sink == "HELD_OTHER")
    orion.execute(f"TERMINATE {other}; TERMINATE {query};")


def test_a_statement_that_cannot_start_leaves_nothing_behind(orion: Orion) -> None:
    with pytest.raises(OrionError) as refused:
        orion.execute("CREATE STREAM nowhere (v INT) WITH (kafka_topic='not_there', value_format='JSON');")
    assert refused.value.code == "TOPIC_NOT_FOUND"
    assert "NOWHERE" not in orion.engine.catalog.sources


def test_the_lake_holds_each_row_once_and_bad_rows_are_letters(orion: Orion, until: Await, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    orion.execute(
        "CREATE STREAM lk (k STRING KEY, day STRING, v INT) WITH (kafka_topic='lk', value_format='JSON', partitions=2);"
        f"CREATE SINK CONNECTOR lk_lake WITH ('connector.class'='delta', 'topics'='lk', 'path'='{lake}', "
        "'partition.by'='day');"
    )
    send(orion, "lk", *((f"k{n}", {"day": f"d{n % 2}", "v": n}, n + 1) for n in range(20)), ("bad", "{oops", 1))
    until(lambda: len(everything(orion.kafka, "dlq.LK_LAKE")) == 1, 90)
    until(lambda: (lake / "_delta_log").exists() and orion.spark.read.format("delta").load(str(lake)).count() == 20, 90)
    assert {p.name for p in lake.iterdir() if p.name.startswith("DAY=")} == {"DAY=d0", "DAY=d1"}
    # Rows are counted once they stand.
    until(lambda: orion.execute("DESCRIBE CONNECTOR lk_lake;")[0]["status"]["rowsOut"] == 20, 30)
    orion.execute("DROP CONNECTOR lk_lake;")


def test_a_sink_with_wrong_options_fails_the_statement(orion: Orion) -> None:
    orion.execute("CREATE STREAM wo (v INT) WITH (kafka_topic='wo', value_format='JSON', partitions=1);")
    with pytest.raises(OrionError) as refused:
        orion.execute("CREATE SINK CONNECTOR w WITH ('connector.class'='delta', 'topics'='wo', 'pth'='/x');")
    assert refused.value.code == "INVALID_CONNECTOR"
    assert "W" not in orion.engine.catalog.connectors


def test_a_table_is_all_there_before_a_stream_looks_into_it(orion: Orion, until: Await) -> None:
    orion.execute(
        "CREATE TABLE lt (k STRING PRIMARY KEY, v INT) WITH (kafka_topic='lt', value_format='JSON', partitions=2);"
        "CREATE STREAM ls (k STRING KEY, w INT) WITH (kafka_topic='ls', value_format='JSON', partitions=2);"
    )
    send(orion, "lt", *((f"k{n}", {"v": n}, 1 + n) for n in range(20)))
    send(orion, "ls", *((f"k{n}", {"w": n}, 100 + n) for n in range(20)))
    # Batches are far smaller than the table.
    orion.execute(
        "CREATE STREAM lj AS SELECT s.k AS k, v, w FROM ls s LEFT JOIN lt t ON s.k = t.k;",
        {"orion.max.records.per.batch": "4"},
    )
    until(lambda: len(everything(orion.kafka, "LJ")) == 20, 90)
    found = sorted(json.loads(r.value)["V"] for r in everything(orion.kafka, "LJ") if r.value)
    assert found == list(range(20))
