"""INSERT INTO ... VALUES: one row, evaluated and encoded by Spark as a query's would be, produced by the server."""

from __future__ import annotations

import time

from pyspark.sql import DataFrame, SparkSession

from orion.errors import SchemaError
from orion.hub.durable import DurableWriter
from orion.hub.records import Outgoing
from orion.plan.sources import ROWTIME, Kind
from orion.plan.steps import InsertRow
from orion.runtime import emit, rows
from orion.schema import quote, spark_type


def insert(spark: SparkSession, writer: DurableWriter, step: InsertRow) -> None:
    """`step` has its source told the schemas that it writes."""
    row = insert_frame(spark, step, time.time_ns() // 1_000_000).collect()[0]
    if row.topic != step.source.topic:
        message = f"The row doesn't fit the schema of {step.source.topic}."
        raise SchemaError("UNWRITABLE", message, hint="A field of the schema takes no NULL, or not this value.")
    if step.source.kind is Kind.TABLE and row.key is None:
        raise SchemaError("NULL_KEY", f"The key of a row of {step.source.name} can't be NULL.")
    key = None if row.key is None else bytes(row.key)
    headers = tuple((h.key, h.value) for h in row.headers or ())
    writer.write(step.source.topic, Outgoing(bytes(row.value), key, headers, timestamp=row.timestamp))


def insert_frame(spark: SparkSession, step: InsertRow, now_ms: int) -> DataFrame:
    """The one record, as rows.OUTGOING."""
    given = dict(step.values)
    columns = [
        f"CAST({given[c.name].spark if c.name in given else 'NULL'} AS {spark_type(c.type)}) AS {quote(c.name)}"
        for c in step.source.schema
    ]
    stamp = f"CAST({step.rowtime.spark if step.rowtime else f'{now_ms}L'} AS BIGINT) AS {ROWTIME}"
    frame = spark.range(1).selectExpr(*columns, stamp, f"FALSE AS {rows.DELETED}")
    return emit.records(frame, step.source)
