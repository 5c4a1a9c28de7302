"""Real checkpoints: sound ones are trusted, damaged copies aren't; and what Spark itself makes of some of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from orion.hub.kafka import Kafka
from orion.hub.records import Outgoing
from orion.hub.writer import send_all
from orion.runtime.checkpoint import Checkpoint, Distrust, Identity, sweep
from orion.runtime.inputs import noted

TOPIC = "checkpointed"
LAST = 2  # each round of records is a batch: 0, 1, 2


@dataclass(frozen=True)
class Streams:
    """A stream as far as batch LAST, and as it was a batch before. It has no state: what a query keeps is Orion's own,
    and no part of a checkpoint."""

    spark: SparkSession
    kafka: Kafka
    folder: Path

    def run(self, checkpoint: Path, topic: str = TOPIC, *, careful: bool = True) -> list[tuple[int, list[str]]]:
        """Read what there is; the batches that were made, each with its values."""
        read = (
            self.spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self.kafka.bootstrap)
            .option("subscribe", topic)
            .option("failOnDataLoss", str(careful).lower())
            .option("startingOffsets", "earliest")
            .load()
        )
        rows = read.selectExpr("CAST(value AS STRING) AS v")
        made: list[tuple[int, list[str]]] = []

        def write(batch: DataFrame, number: int) -> None:
            made.append((number, sorted(row.v for row in batch.collect())))

        started = rows.writeStream.outputMode("update").foreachBatch(write).trigger(availableNow=True)
        query = started.option("checkpointLocation", str(checkpoint)).start()
        try:
            assert query.awaitTermination(60)
        finally:
            query.stop()
        return made

    @property
    def checkpoint(self) -> Checkpoint:
        return Checkpoint(self.folder / "whole")

    def copy(self, name: str, to: Path) -> Path:
        shutil.copytree(self.folder / name, to)
        return to


@pytest.fixture(scope="module")
def streams(spark: SparkSession, kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Streams]:
    made = Streams(spark, kafka, tmp_path_factory.mktemp("checkpoints"))
    kafka.create_topic(TOPIC, 2)
    for _ in range(LAST + 1):
        send_all(kafka, TOPIC, [Outgoing(b"a", partition=0), Outgoing(b"b", partition=1)])
        if made.checkpoint.last_committed == LAST - 1:
            made.copy("whole", made.folder / "older")
        made.run(made.checkpoint.path)
        topics = noted((TOPIC,), kafka.present([TOPIC]))
        made.checkpoint.note(Identity("Q", "orion", kafka.cluster_id(), False, topics))
    yield made
    kafka.delete_topic(TOPIC)


def test_what_spark_writes_is_trusted(streams: Streams, tmp_path: Path) -> None:
    checkpoint = streams.checkpoint
    checkpoint.verify(LAST)
    assert (checkpoint.last_planned, checkpoint.last_committed) == (LAST, LAST)
    assert checkpoint.reached == {TOPIC: {0: 3, 1: 3}}
    assert checkpoint.offsets(0) == {TOPIC: {0: 1, 1: 1}}

    cut_off = Checkpoint(streams.copy("whole", tmp_path / "copy"))
    (cut_off.path / f"commits/{LAST}").unlink()  # as when it is killed in the middle of a batch
    sweep(cut_off.path)
    cut_off.verify(LAST)
    assert streams.run(cut_off.path) == [(LAST, ["a", "b"])]
    cut_off.verify(LAST)


def lose(name: str) -> Callable[[Path], None]:
    return lambda folder: shutil.rmtree(folder / name) if (folder / name).is_dir() else (folder / name).unlink()


def cut(name: str, to: int) -> Callable[[Path], None]:
    def act(folder: Path) -> None:
        (folder / name).write_bytes((folder / name).read_bytes()[:to])

    return act


def turn_back(folder: Path) -> None:
    """Another number in the last entry, as a damaged disk or a careless hand leaves it."""
    entry = folder / f"offsets/{LAST}"
    turned = entry.read_text().replace(json.dumps({"0": 3, "1": 3}, separators=(",", ":")), '{"0":2,"1":3}')
    assert turned != entry.read_text()
    entry.write_text(turned)


def forget(folder: Path) -> None:
    for log in ("offsets", "commits"):
        shutil.rmtree(folder / log)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "/metadata is gone": lose("metadata"),
    "/metadata is empty": cut("metadata", 0),
    "/offsets holds nothing": lose("offsets"),
    "has lost entries": lose(f"offsets/{LAST}"),
    f"/offsets/{LAST - 1} is gone": lose(f"offsets/{LAST - 1}"),
    f"/offsets/{LAST} is empty": cut(f"offsets/{LAST}", 0),
    f"/offsets/{LAST} doesn't match": cut(f"offsets/{LAST}", 900),
    f"/offsets/{LAST} doesn't match its checksum": turn_back,
    f"/commits/{LAST} is empty": cut(f"commits/{LAST}", 0),
    "no batch is done": lose("commits"),
}


@pytest.mark.parametrize("said", DAMAGES)
def test_what_is_damaged_is_not_trusted(streams: Streams, said: str, tmp_path: Path) -> None:
    folder = streams.copy("whole", tmp_path / "copy")
    DAMAGES[said](folder)
    with pytest.raises(Distrust) as caught:
        Checkpoint(folder).verify(LAST)
    assert said in str(caught.value)


def test_what_spark_takes_without_a_word_is_not_trusted(streams: Streams, tmp_path: Path) -> None:
    forgetful, older = streams.copy("whole", tmp_path / "0"), streams.copy("older", tmp_path / "1")
    forget(forgetful)
    for folder in (forgetful, older):
        with pytest.raises(Distrust):
            Checkpoint(folder).verify(LAST)
    assert streams.run(forgetful) == [(0, ["a"] * 3 + ["b"] * 3)]
    assert streams.run(older) == [(LAST, ["a", "b"])]


def test_spark_goes_on_behind_a_gap_when_it_is_told_to(streams: Streams, kafka: Kafka, tmp_path: Path) -> None:
    topic = f"{TOPIC}-gap"
    kafka.create_topic(topic, 1)
    send_all(kafka, topic, [Outgoing(b"read")])
    assert streams.run(tmp_path, topic) == [(0, ["read"])]
    send_all(kafka, topic, [Outgoing(b"lost"), Outgoing(b"read on")])
    kafka.delete_records(topic, {0: 2})
    with pytest.raises(StreamingQueryException):
        streams.run(tmp_path, topic)
    Checkpoint(tmp_path).verify(0)
    assert streams.run(tmp_path, topic, careful=False)[-1][1] == ["read on"]
    kafka.delete_topic(topic)
