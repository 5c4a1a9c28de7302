"""A Delta table at a path: made, widened, appended to, and merged into.

Delta keeps in the table itself the number of the last batch that an application wrote (its transaction id and version),
with the rows of that batch. A batch that comes again is passed over, by an append and by a merge alike. New columns are
added before a run begins, so that a merge finds them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameWriter, SparkSession, functions
from pyspark.sql.types import StructType

from orion.errors import ConfigError
from orion.schema import quote
from orion.sinks.store import DELETED, OFFSET, PARTITION

# How Spark and Delta fail. Texts of some of Delta's errors can't be had through Spark, which gives up on them.
FAILURES = (PySparkException, Py4JError)
APP, VERSION = "spark.databricks.delta.write.txnAppId", "spark.databricks.delta.write.txnVersion"
# Names that Parquet doesn't take as they are: Delta then maps names to others.
MAPPED = frozenset(" ,;{}()\n\t=")
# A batch comes of a topic, and is the same each time it is read: Delta needn't keep a copy of it.
_MATERIALIZED = "spark.databricks.delta.merge.materializeSource"
_TASKS = ("spark.databricks.delta.snapshotPartitions", "spark.sql.sources.parallelPartitionDiscovery.parallelism")
_ROW, _LAST = "__row", "__last"


@dataclass(frozen=True, slots=True)
class Batch:
    """Which batch of which application this is."""

    application: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Table:
    path: str
    partition_by: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As SQL names it."""
        return f"delta.{quote(self.path)}"

    def exists(self, session: SparkSession) -> bool:
        jvm: Any = session.sparkContext._jvm
        return bool(jvm.io.delta.tables.DeltaTable.isDeltaTable(session._jsparkSession, self.path))

    def schema(self, session: SparkSession) -> StructType:
        return session.read.format("delta").load(self.path).schema

    def make(self, session: SparkSession, ddl: str) -> None:
        """A table that takes rows of these columns: made, widened, or left as it is."""
        wanted = session.createDataFrame([], ddl)
        try:
            if self.exists(session):
                if self.partition_by:
                    self._check_partitions(session)
                if _holds(self.schema(session), wanted.schema):
                    return
            self._writer(wanted).save(self.path)
        except FAILURES as error:
            raise ConfigError(
                "TABLE_UNFIT",
                f"The Delta table {self.path} doesn't take these columns: {first_line(error)}",
                hint="Write to another path, or rename or cast the column.",
            ) from error

    def append(self, rows: DataFrame, batch: Batch) -> None:
        writer = self._writer(rows).option("txnAppId", batch.application).option("txnVersion", batch.epoch)
        writer.save(self.path)

    def merge(self, changes: DataFrame, keys: tuple[str, ...], batch: Batch) -> None:
        """The last change of each key counts; a change with DELETED set takes its key's row away."""
        session = changes.sparkSession
        view = re.sub(r"\W", "_", f"orion_changes_{batch.application}")
        last_of_each(changes, keys).createOrReplaceTempView(view)
        columns = [quote(c) for c in changes.columns if c not in (DELETED, PARTITION, OFFSET)]
        same = " AND ".join(f"t.{quote(k)} <=> s.{quote(k)}" for k in keys)
        statement = f"""
            MERGE INTO {self.name} AS t USING {view} AS s ON {same}
            WHEN MATCHED AND s.{DELETED} THEN DELETE
            WHEN MATCHED THEN UPDATE SET {", ".join(f"{c} = s.{c}" for c in columns)}
            WHEN NOT MATCHED AND NOT s.{DELETED} THEN
                INSERT ({", ".join(columns)}) VALUES ({", ".join(f"s.{c}" for c in columns)})
        """
        try:
            with settings(session, {APP: batch.application, VERSION: str(batch.epoch), _MATERIALIZED: "none"}):
                session.sql(statement).collect()
        finally:
            session.catalog.dropTempView(view)

    def _writer(self, rows: DataFrame) -> DataFrameWriter:
        writer = rows.write.format("delta").mode("append").option("mergeSchema", "true")
        if any(set(name) & MAPPED for name in rows.columns):
            writer = writer.option("delta.columnMapping.mode", "name")
        return writer.partitionBy(*self.partition_by) if self.partition_by else writer

    def _check_partitions(self, session: SparkSession) -> None:
        (detail,) = session.sql(f"DESCRIBE DETAIL {self.name}").select("partitionColumns").collect()
        there = tuple(detail.partitionColumns)
        if there != self.partition_by:
            raise ConfigError(
                "TABLE_UNFIT",
                f"The Delta table {self.path} is partitioned by {', '.join(there) or 'nothing'}.",
                hint="Partitions of a table can't be changed: set 'partition.by' to them, or write to another path.",
            )


def last_of_each(changes: DataFrame, keys: tuple[str, ...]) -> DataFrame:
    """The last change of each key, by partition and offset, without these two."""
    others = [quote(c) for c in changes.columns if c not in (*keys, PARTITION, OFFSET)]
    packed = changes.selectExpr(
        *(quote(k) for k in keys), f"struct({', '.join(others)}) AS {_ROW}", f"struct({PARTITION}, {OFFSET}) AS {_LAST}"
    )
    grouped = packed.groupBy(*(quote(k) for k in keys)).agg(functions.expr(f"max_by({_ROW}, {_LAST}) AS {_ROW}"))
    return grouped.selectExpr(*(quote(k) for k in keys), f"{_ROW}.*")


def tuned(session: SparkSession) -> SparkSession:
    """With fewer tasks for Delta's own work, which is made for clusters: each commit of a small table has 50 of them,
    and a removal of files has thousands. What somebody has set stays."""
    most = str(min(50, session.sparkContext.defaultParallelism))
    for name in _TASKS:
        if session.conf.get(name, None) is None:
            session.conf.set(name, most)
    return session


@contextmanager
def settings(session: SparkSession, wanted: Mapping[str, str]) -> Iterator[None]:
    """Settings of the session, for a moment. A batch's session is its stream's own."""
    before: dict[str, str | None] = {name: session.conf.get(name, None) for name in wanted}
    for name, value in wanted.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, old)


def _holds(there: StructType, wanted: StructType) -> bool:
    """Whether nothing has to change for these columns."""
    types = {f.name: f.dataType for f in there.fields}
    return all(types.get(f.name) == f.dataType for f in wanted.fields)


def first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
