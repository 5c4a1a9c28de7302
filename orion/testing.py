"""Run SQL over records at hand, without a broker: for tests of Orion's, and of those who use it.

    results = testing.run(spark, "CREATE STREAM s (a INT) WITH (...); CREATE STREAM t AS SELECT ...;", [
        Given("s-topic", value=b'{"a": 1}', timestamp=10),
    ])

The engine's real decoding, operators and encoding are on the path; each query runs as one batch over all records of its
topics, the next one over what it wrote. What hangs on batches coming one after the other needs a real stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from orion import ksql
from orion.plan.catalog import Catalog
from orion.plan.relations import Query
from orion.plan.sources import Source
from orion.plan.steps import InsertRow, Plan, StartQuery, StopQuery
from orion.runtime.dataframe import outgoing
from orion.runtime.insert import insert_frame
from orion.runtime.session import Frame, Result, Spark

_RAW = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, millis BIGINT, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>, arrival BIGINT"
)


@dataclass(frozen=True, slots=True)
class Given:
    """A record, before or after."""

    topic: str
    key: bytes | None = None
    value: bytes | None = None
    timestamp: int = 0
    headers: tuple[tuple[str, bytes | None], ...] = field(default=(), compare=False)


def run(spark: Spark, script: str, given: Iterable[Given], properties: Mapping[str, str] | None = None) -> list[Given]:
    """Everything the script's queries write, in the order they wrote it."""
    desk = Desk(spark, properties)
    for text in ksql.split(script):
        desk.execute(text)
    desk.log += given
    return desk.settle()


@dataclass
class Desk:
    """A platform without a broker: the catalog, and one log of all topics in the order of arrival."""

    spark: Spark
    properties: Mapping[str, str] | None = None
    catalog: Catalog = field(default_factory=Catalog)
    log: list[Given] = field(default_factory=list)
    waiting: list[Query] = field(default_factory=list)
    inserted: list[Given] = field(default_factory=list)  # by INSERT INTO ... VALUES; they are in the log as well

    def execute(self, text: str) -> Plan:
        """Compile a statement and do what it says; a query only starts to wait for `settle`."""
        plan = ksql.compile(text, self.catalog, self.properties)
        for step in plan.steps:
            self.catalog = self.catalog.after(step)
            match step:
                case StartQuery(query):
                    self.waiting.append(query)
                case StopQuery(id):
                    self.waiting = [q for q in self.waiting if q.id != id]
                case InsertRow():
                    made = [_record(row) for row in insert_frame(self.spark, step, now_ms=0).collect()]
                    self.inserted += made
                    self.log += made
                case _:
                    pass
        return plan

    def settle(self) -> list[Given]:
        """Run each waiting query to its end, one after the other; what they wrote."""
        made: list[Given] = []
        for query in self.waiting:
            written = [_record(row) for row in outgoing(query, self._reader()).collect()]
            self.log += written
            made += written
        self.waiting = []
        return made

    def _reader(self) -> Callable[[Source], Frame]:
        log = list(self.log)

        def read(source: Source) -> Frame:
            found = [(at, r) for at, r in enumerate(log) if r.topic == source.topic]
            rows = [
                (r.key, r.value, r.topic, 0, offset, r.timestamp, list(r.headers), arrival)
                for offset, (arrival, r) in enumerate(found)
            ]
            return self.spark.createDataFrame(rows, _RAW).selectExpr(
                "key",
                "value",
                "topic",
                "partition",
                "offset",
                "timestamp_millis(millis) AS timestamp",
                "headers",
                "arrival",
            )

        return read


def _record(row: Result) -> Given:
    headers = tuple((h.key, None if h.value is None else bytes(h.value)) for h in row.headers or ())
    key = None if row.key is None else bytes(row.key)
    return Given(row.topic, key, None if row.value is None else bytes(row.value), row.timestamp, headers)
