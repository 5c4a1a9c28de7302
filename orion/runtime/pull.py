"""Pull queries on Spark: a batch over a stream's records, or over a table's rows where DuckDB can't compute it."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from orion.arrow import python_values
from orion.errors import ExternalError, OrionError
from orion.plan.interruption import MOST_ROWS, Interruption, refuse_too_many
from orion.plan.sources import ROWTIME, Kind, Source
from orion.plan.steps import Pull
from orion.runtime import rows
from orion.runtime.kafka_source import IN_BATCHES
from orion.runtime.scan import decoded
from orion.runtime.schemas import Schemas
from orion.schema import quote, spark_type

_TABLE = re.compile(r"\b__t(\d+)\b")
Read = Callable[[Source], DataFrame]


@dataclass(frozen=True)
class PullBatch:
    """One answer. What ends it from outside cancels the jobs of this thread's group."""

    spark: SparkSession
    schemas: Schemas
    most_rows: int = MOST_ROWS
    interruption: Interruption = field(default_factory=Interruption)

    def answer(self, pull: Pull, records: Read, table: Callable[[Source], pa.Table]) -> list[Sequence[Any]]:
        """The rows, each with the columns' values. `records` gives a stream's as Spark's Kafka source has them."""
        while True:
            frames = [
                _events(records(s), self.schemas.read(s)) if s.kind is Kind.STREAM else _kept(self.spark, table(s), s)
                for s in pull.reads
            ]
            try:
                return self._run(pull, frames)
            except OrionError:
                raise
            except Exception as error:
                if not self.schemas.learn(str(error)):
                    raise ExternalError("PULL_QUERY_FAILED", f"Spark could not answer: {str(error)[:500]}") from error

    def _run(self, pull: Pull, frames: Sequence[DataFrame]) -> list[Sequence[Any]]:
        views = [f"__pull_{uuid.uuid4().hex}" for _ in frames]
        try:
            for view, frame in zip(views, frames, strict=True):
                frame.createOrReplaceTempView(view)
            text = _TABLE.sub(lambda found: views[int(found[1])], pull.spark)
            with self._cancelled_when_ended():
                made = self.spark.sql(text).limit(self.most_rows + 1).toArrow()
            refuse_too_many(made.num_rows, self.most_rows)
            return list(zip(*map(python_values, made.columns), strict=True))
        finally:
            for view in views:
                self.spark.catalog.dropTempView(view)

    @contextmanager
    def _cancelled_when_ended(self) -> Iterator[None]:
        group, context = f"pull {uuid.uuid4().hex}", self.spark.sparkContext
        scala: Any = context._jsc.sc()
        context.setJobGroup(group, "a pull query", interruptOnCancel=True)
        try:
            # One query may be several jobs, and the first of them may be still to come.
            with self.interruption.ended_by(lambda: scala.cancelJobGroupAndFutureJobs(group)):
                yield
        finally:
            scala.clearJobGroup()


def _events(raw: DataFrame, source: Source) -> DataFrame:
    """A stream's records that are rows."""
    frame = decoded(raw, source).where(f"{rows.BAD} IS NULL AND NOT {rows.DELETED}")
    return frame.selectExpr(*(quote(c.name) for c in source.row))


def _kept(spark: SparkSession, found: pa.Table, source: Source) -> DataFrame:
    types = {c.name: c.type for c in source.row}
    columns = [f"CAST({quote(n)} AS {spark_type(types[n])}) AS {quote(n)}" for n in found.column_names]
    assert ROWTIME in found.column_names
    return spark.createDataFrame(found).selectExpr(*columns)


def topic_reader(spark: SparkSession, bootstrap: str) -> Read:
    """All committed records of a source's topic, up to its end as it is now."""

    def read(source: Source) -> DataFrame:
        return (
            spark.read.format("kafka")
            .option("kafka.bootstrap.servers", bootstrap)
            .option("subscribe", source.topic)
            .option("kafka.isolation.level", "read_committed")
            .option("startingOffsets", "earliest")
            .option("endingOffsets", "latest")
            .option("includeHeaders", "true")
            .options(**IN_BATCHES)
            .load()
        )

    return read
