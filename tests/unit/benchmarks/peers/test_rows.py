"""What the engines are told: the same topics, jobs that their drivers know, and jars that are pinned."""

from __future__ import annotations

import re

from benchmarks.contest import compile_all
from benchmarks.counted_plays import Plays
from benchmarks.peers import flink_sql, kafka_streams, parts
from benchmarks.peers.__main__ import EXTRA, LATENCY_ROWS, ROWS
from benchmarks.peers.driver import SOURCES
from benchmarks.peers.flink_sql import Writing
from benchmarks.peers.jars import list_jars
from orion.plan.sharing import why_alone

WRITING = Writing("broker:1")
PLAYS = Plays("plays", 1_000, 100)


def test_kafka_streams_has_a_job_for_every_row() -> None:
    source = (SOURCES / "StreamsDriver.java").read_text("utf-8")
    jobs = set(re.findall(r'case "(\w+)" -> \w+\(builder', source))
    separate = {"ten_statements", "ten_in_one"}
    assert jobs == {"parts", *ROWS, *LATENCY_ROWS} - separate - set(EXTRA)


def test_flink_reads_up_to_the_end_and_writes_exactly_once() -> None:
    source, sink, insert = flink_sql.run_windowed_count(WRITING, "plays", "out")
    assert "'topic' = 'plays'" in source
    assert "'scan.bounded.mode' = 'latest-offset'" in source
    assert "'topic' = 'out'" in sink
    assert "'sink.delivery-guarantee' = 'exactly-once'" in sink
    assert "'properties.bootstrap.servers' = 'broker:1'" in sink
    assert insert.startswith("INSERT INTO counts")


def test_where_latency_is_measured_the_source_goes_on() -> None:
    loose = Writing("broker:1", "at-least-once", 0)
    for told in (flink_sql.filter_sent, flink_sql.count_sent):
        source, sink, _ = told(loose, "in", "out")
        assert "scan.bounded.mode" not in source
        assert "transaction" not in sink
        assert "'properties.linger.ms' = '0'" in sink


def test_parts_are_as_many_jobs_as_statements_or_one() -> None:
    outs = ("a", "b", "c")
    apart = flink_sql.run_parts(WRITING, "plays", outs, together=False)
    whole = flink_sql.run_parts(WRITING, "plays", outs, together=True)
    assert sum(one.startswith("INSERT") for one in apart) == 3
    assert (len(whole), whole[-1].count("INSERT")) == (5, 3)


def test_orions_parts_can_share_a_stream() -> None:
    queries = compile_all(parts.write_script(PLAYS, ("a", "b", "c")))
    assert [query.sink.topic for query in queries] == ["a", "b", "c"]
    assert {why_alone(query) for query in queries} == {None}
    assert sum(PLAYS.count_parts(3)) == 1_000


def test_a_group_has_read_its_topics_when_it_has_committed_all_ends() -> None:
    ends = {"a": {0: 5, 1: 0}, "b": {0: 2}}
    assert not kafka_streams.covers({}, ends)
    assert not kafka_streams.covers({("a", 0): 5}, ends)
    assert not kafka_streams.covers({("a", 0): 4, ("b", 0): 2}, ends)
    assert kafka_streams.covers({("a", 0): 5, ("b", 0): 2}, ends)


def test_the_peers_jars_are_pinned() -> None:
    flink, streams = list_jars("flink"), list_jars("kafka-streams")
    assert {"flink-table-planner-loader", "flink-sql-connector-kafka"} <= {jar.artifact for jar in flink}
    assert {"kafka-streams", "rocksdbjni"} <= {jar.artifact for jar in streams}
    assert all(len(jar.sha256) == 64 for jar in (*flink, *streams))
