"""Run SQL over records at hand, without a broker: for tests of Orion's, and of those who use it.

    results = testing.run(spark, "CREATE STREAM s (a INT) WITH (...); CREATE STREAM t AS SELECT ...;", [
        Given("s-topic", value=b'{"a": 1}', timestamp=10),
    ])

The engine's real decoding, operators and encoding are on the path; each query runs as one batch over all records of its
topics, the next one over what it wrote. What hangs on batches coming one after the other needs a real stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from orion import ksql
from orion.plan.catalog import Catalog
from orion.plan.sources import Source
from orion.plan.steps import DefineSource, StartQuery
from orion.runtime.dataframe import outgoing
from orion.runtime.session import Frame, Result, Spark

_RAW = "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP"


@dataclass(frozen=True, slots=True)
class Given:
    """A record, before or after."""

    topic: str
    key: bytes | None = None
    value: bytes | None = None
    timestamp: int = 0
    headers: tuple[tuple[str, bytes | None], ...] = field(default=(), compare=False)


def run(spark: Spark, script: str, given: Iterable[Given]) -> list[Given]:
    """Everything the script's queries write, in the order they wrote it."""
    log = list(given)
    made: list[Given] = []
    catalog = Catalog()
    for text in ksql.split(script):
        for step in ksql.compile(text, catalog).steps:
            if isinstance(step, DefineSource):
                catalog = catalog.put(step.source)
            if isinstance(step, StartQuery):
                catalog = catalog.put(step.query)
                written = [_record(row) for row in outgoing(step.query, _reader(spark, log)).collect()]
                log += written
                made += written
    return made


def _reader(spark: Spark, log: list[Given]) -> Callable[[Source], Frame]:
    def read(source: Source) -> Frame:
        found = [r for r in log if r.topic == source.topic]
        rows = [(r.key, r.value, r.topic, 0, at, r.timestamp) for at, r in enumerate(found)]
        frame = spark.createDataFrame(rows, _RAW.replace("timestamp TIMESTAMP", "millis BIGINT"))
        return frame.selectExpr("key", "value", "topic", "partition", "offset", "timestamp_millis(millis) AS timestamp")

    return read


def _record(row: Result) -> Given:
    headers = tuple((h.key, bytes(h.value)) for h in row.headers or ())
    key = None if row.key is None else bytes(row.key)
    return Given(row.topic, key, None if row.value is None else bytes(row.value), row.timestamp, headers)
