"""A sink connector's task as a job that the supervisor runs: the rows of one topic, on their way to another system.

A connector has a task for each of its topics. What can't be decoded, and what the other side refuses, goes to the
connector's dead letters. While the other side is away the task waits, and no other one minds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TypeGuard, cast

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from orion.hub.transactions import Permit
from orion.plan.sources import ROWTIME, Source
from orion.plan.tolerance import Tolerance
from orion.runtime import emit, rows
from orion.runtime.checkpoint_planting import BatchPlan, Notes, Reached, plan_for_sink
from orion.runtime.connector_job import ConnectorJob
from orion.runtime.dataframe import with_origin
from orion.runtime.jobs import is_back
from orion.runtime.kafka_source import KafkaSource
from orion.runtime.lanes.exact import tallies
from orion.runtime.lanes.stores import StoresLane
from orion.runtime.lanes.streams import writer
from orion.runtime.runs import Run
from orion.runtime.scan import decoded
from orion.sinks import Lake, Sink, open_sink
from orion.sinks.store import Layout, Nested, Store, StoreAway
from orion.sinks.transforms import Shape, layout_of, shaped


@dataclass(frozen=True)
class SinkTask(ConnectorJob):
    source: Source

    @property
    def id(self) -> str:
        """The connector's name, and the topic's behind it where it has several."""
        name = self.connector.name
        return name if len(self.connector.sources) == 1 else f"{name}.{self.source.topic}"

    @property
    def sink(self) -> str:
        return self.connector.plugin

    @property
    def identity(self) -> str:
        return f"{self.connector.identity}.{self.source.topic}"

    @property
    def topics(self) -> tuple[str, ...]:
        return (self.source.topic,)

    @property
    def shape(self) -> Shape:
        return shaped(self.connector, self.source)

    def opened(self) -> Sink:
        """The other side, with all that was said about it checked as far as that goes without asking it."""
        return open_sink(self.resolved_connector, self.layout)

    def check(self) -> None:
        """Raises what the other side refuses at once; nothing is made there."""
        self.opened().reach()

    @property
    def layout(self) -> Layout:
        return layout_of(self.shape, self.source)

    def start(self, on_written: Callable[[Counter[str]], None], *, new: bool, accept: bool) -> Run:
        sink = self.opened()
        sink.prepare()
        around, standing = self.around, self.standing
        run = around.begin(standing, new=new, accept=accept)
        run.tolerance = Tolerance.parse(self.connector.tolerance)
        try:
            permit = replace(around.permit(run, self.dead_letters), checkpoint=self.checkpoint)
            frame = self._rows(_paced(around.source.over(run.inputs), sink))
            if _is_store(sink):
                columns = self.shape.select(sink.nested)
                lane = StoresLane(permit, around.trigger_ms, sink, self.identity)
                stream = lane.start(frame, columns, self.id, self.checkpoint)
            else:
                stream = self._to_lake(frame, cast(Lake, sink), (run, permit, on_written))
            return around.started(run, standing, stream)
        except BaseException:
            run.close()
            raise

    def replan(self, notes: Notes, reached: Reached, scans: Sequence[str]) -> BatchPlan:
        return plan_for_sink(notes, reached, scans)

    def _rows(self, read: KafkaSource) -> DataFrame:
        source = self.around.schemas.read(self.source)
        frame = decoded(with_origin(read.stream(source)), source)
        keeps = self.shape.where
        return frame if keeps is None else frame.where(f"{rows.BAD} IS NOT NULL OR ({keeps})")

    def _to_lake(
        self, frame: DataFrame, lake: Lake, under: tuple[Run, Permit, Callable[[Counter[str]], None]]
    ) -> StreamingQuery:
        run, permit, on_written = under
        columns = self.shape.select(Nested.ARROW)

        def write(batch: DataFrame, number: int) -> None:
            run.admit()
            run.begin_batch(number, dict(permit.done))
            with _decoded_once(batch) as held:
                newest, bad = held.selectExpr(
                    f"max(if({rows.BAD} IS NULL, {ROWTIME}, NULL))", f"count({rows.BAD})"
                ).collect()[0]
                # The letters first: a batch that the lake has is never looked at again.
                letters = emit.letters(held, self.dead_letters)
                tally = tallies(letters, permit, number).collect() if bad else []
                taken = lake.write(held.where(f"{rows.BAD} IS NULL").selectExpr(*columns), number)
            on_written(Counter({self.sink: taken, self.dead_letters: sum(t.letters for t in tally)}))
            if newest is not None:
                run.note_newest(newest)
            run.judge(taken, sum(t.errors for t in tally), next((t.example for t in tally if t.example), ""))

        batched = writer(frame, self.id, self.checkpoint).foreachBatch(write)
        return batched.trigger(processingTime=f"{self.around.trigger_ms} milliseconds").start()

    def learn(self, error: str) -> bool:
        """A store that was away is asked whether it is back; raises ExternalError while it isn't."""
        if StoreAway.MARK not in error:
            return self.around.schemas.learn(error)
        return is_back(lambda: self.opened().prepare())


@contextmanager
def _decoded_once(batch: DataFrame) -> Iterator[DataFrame]:
    """The batch as it came out once, for all who read it. Not in Spark's cache: Delta merges nothing from there."""
    held = batch.localCheckpoint(eager=True)
    try:
        yield held
    finally:
        with suppress(Py4JError):
            held._jdf.queryExecution().analyzed().rdd().unpersist(False)


def _is_store(sink: Sink) -> TypeGuard[Store]:
    return hasattr(sink, "nested")


def _paced(source: KafkaSource, sink: Sink) -> KafkaSource:
    """A sink that writes a file for each batch says how large one should be."""
    pace = getattr(sink, "pace", None)
    if pace is None:
        return source
    return replace(source, least_records=pace.rows, longest_wait_ms=pace.every_ms)
