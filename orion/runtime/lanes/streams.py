"""What every stream of a job begins with, whatever it writes to."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter


def writer(frame: DataFrame, job: str, checkpoint: Path) -> DataStreamWriter:
    # A scheduler pool for each job: a long batch of one doesn't hold up the others.
    frame.sparkSession.sparkContext.setLocalProperty("spark.scheduler.pool", job)
    return frame.writeStream.queryName(job).outputMode("update").option("checkpointLocation", str(checkpoint))
