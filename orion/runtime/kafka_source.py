"""Topics as Spark sees them: streams for queries, with the settings every reader of Orion's topics needs."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from orion.plan.sources import Source


@dataclass(frozen=True)
class KafkaSource:
    """`starting` is where a query without a checkpoint begins: earliest or latest."""

    spark: SparkSession
    bootstrap: str
    starting: str
    most_records: int

    def stream(self, source: Source) -> DataFrame:
        return (
            self.spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self.bootstrap)
            .option("subscribe", source.topic)
            .option("startingOffsets", self.starting)
            .option("maxOffsetsPerTrigger", self.most_records)
            # What a transaction has not committed has not happened.
            .option("kafka.isolation.level", "read_committed")
            .option("failOnDataLoss", "true")
            # They cost every record an array, so only a source with columns over them asks for them.
            .option("includeHeaders", "true" if source.schema.headers else "false")
            .load()
        )
