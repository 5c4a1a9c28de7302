"""Ten statements over one topic, each a filter with a projection to a topic of its own.

Orion runs them as one stream by itself, here from the beginning, as after a restart of its server; a statement that is
new reads by itself what there is, and joins the others then. The peers are measured in both ways: with a job for each
statement, which is what comes of ten statements that are made one by one, and with all in one job, which they have to
be written as: Flink's STATEMENT SET, and one program of Kafka Streams over one stream. Orion does the same in both.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from confluent_kafka import TopicPartition
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.contest import PARTITIONS, await_records, compile_all, has_records, open_source, surroundings
from benchmarks.counted_plays import Plays
from benchmarks.peers import flink_sql
from benchmarks.peers.kafka_streams import Job
from benchmarks.peers.rows import FLINK, KAFKA_STREAMS, ORION, PARTED, Peers, Row, choose_plays
from benchmarks.stage import Stage
from orion.hub.kafka import Kafka
from orion.runtime.jobs import Candidate, QueryJob
from orion.runtime.shared_stream import MemberStream, start_shared

PARTS = 10


def make_ten_statements(peers: Peers) -> Row:
    """The peers with a job for each statement."""
    plays = replace(choose_plays(peers), records=peers.scaled(PARTED), topic="bench_parted")
    return _row(peers, plays, "ten_statements", "ten filters with projections; peers: ten jobs", together=False)


def make_ten_in_one(peers: Peers) -> Row:
    """The peers with one job for all of them."""
    plays = replace(choose_plays(peers), records=peers.scaled(PARTED), topic="bench_parted")
    return _row(peers, plays, "ten_in_one", "ten filters with projections; peers: one job", together=True)


def _row(peers: Peers, plays: Plays, name: str, what: str, *, together: bool) -> Row:
    plays.fill(peers.stage)
    counts = plays.count_parts(PARTS)

    def run_orion(outs: Sequence[str]) -> float:
        jobs = _make_jobs(peers.stage, plays, outs)
        begun = time.perf_counter()
        with _share_stream(jobs) as stream:
            await_records(stream, {plays.topic: plays.records})
            return time.perf_counter() - begun

    def run_flink(outs: Sequence[str]) -> float:
        return peers.flink.run(flink_sql.run_parts(peers.writing, plays.topic, outs, together=together))

    def run_streams(outs: Sequence[str]) -> float:
        read = (plays.topic,)
        apart = [Job(f"part-{n}", read, (out,)) for n, out in enumerate(outs)]
        return peers.streams.run([Job("parts", read, tuple(outs))] if together else apart)

    def check(kafka: Kafka, outs: Sequence[str]) -> None:
        for out, count in zip(outs, counts, strict=True):
            has_records(count)(kafka, out)

    runs = {ORION: run_orion, FLINK: run_flink, KAFKA_STREAMS: run_streams}
    return Row(name, what, plays.records, runs, check, PARTS)


def write_script(plays: Plays, outs: Sequence[str]) -> str:
    """The statements, as Orion is told them."""
    statements = (
        f"CREATE STREAM part_{n} WITH (kafka_topic='{out}') AS SELECT user_id, track_id, seconds + {n} AS more"
        f" FROM plays WHERE seconds % {len(outs)} = {n} EMIT CHANGES;"
        for n, out in enumerate(outs)
    )
    return "\n".join((plays.declared, *statements))


def _make_jobs(stage: Stage, plays: Plays, outs: Sequence[str]) -> list[QueryJob]:
    """The statements as jobs that have been started before, and have read nothing yet."""
    around = surroundings(stage, open_source(stage, plays.batch), outs[0])
    queries = compile_all(write_script(plays, outs))
    jobs = [QueryJob(replace(query, id=f"PART_{n}"), around) for n, query in enumerate(queries)]
    for job in jobs:
        stage.kafka.create_topic(job.dead_letters, 1, exist_ok=True)
        consumer = stage.kafka.consumer(job.standing().group)
        begin = [TopicPartition(plays.topic, partition, 0) for partition in range(PARTITIONS)]
        consumer.commit(offsets=begin, asynchronous=False)
        consumer.close()
    return jobs


@contextmanager
def _share_stream(jobs: Sequence[QueryJob]) -> Iterator[StreamingQuery]:
    """The stream of all jobs, while it runs."""
    with ExitStack() as stack:
        candidates = list[Candidate]()
        for job in jobs:
            candidates.append(job.join())
            stack.callback(candidates[-1].start.run.close)
        (stream, *_) = (run.stream for run in start_shared(candidates))
        assert isinstance(stream, MemberStream)
        stack.callback(stream.stop)
        yield stream.shared.stream
