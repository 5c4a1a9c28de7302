"""Run SQL over records at hand, without a broker: for tests of Orion's, and of those who use it.

    results = testing.run(spark, "CREATE STREAM s (a INT) WITH (...); CREATE STREAM t AS SELECT ...;", [
        Given("s-topic", value=b'{"a": 1}', timestamp=10),
    ])

The engine's real decoding, operators and encoding are on the path; each query runs as one batch over all records of its
topics, the next one over what it wrote. What hangs on batches coming one after the other needs a real stream.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import InitVar, dataclass, field, replace
from itertools import islice
from math import isclose, isnan
from typing import Any, NoReturn

from orion import ksql
from orion.errors import ExpectationFailed
from orion.ksql.session import Session
from orion.plan.catalog import Catalog
from orion.plan.relations import Query
from orion.plan.sources import ROWTIME, Source
from orion.plan.steps import (
    Ask,
    AssertRow,
    AssertSchema,
    AssertSource,
    AssertTopic,
    DefineFunction,
    DropSource,
    EnsureTopic,
    InsertRow,
    Plan,
    Pull,
    Push,
    RegisterSchema,
    ReplaceQuery,
    StartQuery,
    Step,
    StopQuery,
)
from orion.registry.access import Access, Local
from orion.registry.log import MemoryLog
from orion.registry.store import Registry
from orion.runtime import emit, python_functions
from orion.runtime.dataframe import build, outgoing
from orion.runtime.insert import insert_frame
from orion.runtime.pull import PullBatch
from orion.runtime.push import as_json, row_of
from orion.runtime.rows import ORDER
from orion.runtime.scan import decoded
from orion.runtime.schemas import Schemas
from orion.runtime.session import Frame, Result, Spark
from orion.schema import quote, spark_type
from orion.serving.folding import Fold
from orion.serving.pull import OutOfReach, Pulled
from orion.serving.pull import run as run_pull
from orion.serving.store import Store

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
    """A platform without a broker: the catalog, and one log of all topics in the order of arrival.

    Each query starts at the beginning of its topics. ASSERT VALUES and its like are checked here: they let every query
    read what has come so far, and look at the next record of a topic.
    """

    spark: Spark
    properties: InitVar[Mapping[str, str] | None] = None
    catalog: Catalog = field(default_factory=Catalog)
    log: list[Given] = field(default_factory=list)
    inserted: list[Given] = field(default_factory=list)  # by INSERT INTO ... VALUES; they are in the log as well
    registry: Access = field(default_factory=lambda: Local(Registry(MemoryLog())))
    session: Session = field(init=False)
    schemas: Schemas = field(init=False)
    _running: list[_Running] = field(default_factory=list)
    _asserted: Counter[str] = field(default_factory=Counter)  # how many records of a topic have been looked at
    _topics: dict[str, int | None] = field(default_factory=dict)  # with their partitions, where a statement says

    def __post_init__(self, properties: Mapping[str, str] | None) -> None:
        self.session = Session.of(properties)
        self.schemas = Schemas(self.registry, patience_s=0)

    def execute(self, text: str) -> Plan:
        """Compile a statement and do what it says; a query only starts to wait for `settle`."""
        plan = ksql.compile(text, self.catalog, self.session.properties, self.session.variables, self.schemas)
        for step in plan.steps:
            self._do(step)
            self.catalog, self.session = self.catalog.after(step), self.session.after(step)
        return plan

    def _do(self, step: Step) -> None:
        match step:
            case EnsureTopic(topic, partitions):
                self._topics.setdefault(topic, partitions)
            case RegisterSchema():
                self.schemas.register(step)
            case StartQuery(query):
                self._running.append(_Running(query))
            case ReplaceQuery(id, query, continues):
                self.settle()
                self._stop(id)
                self._running.append(_Running(query, len(self.log) if continues else 0))
            case StopQuery(id):
                self._stop(id)
            case DropSource(name, _, topic) if topic is not None:
                self.schemas.forget(self.catalog.sources[name])
                self._topics.pop(topic, None)
                self.log = [record for record in self.log if record.topic != topic]
            case DefineFunction(function):
                python_functions.register(self.spark, function)
            case InsertRow():
                bound = replace(step, source=self.schemas.written(step.source))
                made = [_record(row) for row in insert_frame(self.spark, bound, now_ms=0).collect()]
                self.inserted += made
                self.log += made
            case AssertTopic():
                self._assert_topic(step)
            case AssertSchema():
                problem = self.schemas.problem(step)
                if problem is not None:
                    _fail(problem)
            case AssertRow(row, deleted):
                self._assert_row(row, deleted=deleted)
            case AssertSource():
                _assert_source(self.catalog.sources[step.name], step)
            case _:
                pass

    def _stop(self, query_id: str) -> None:
        self._running = [r for r in self._running if r.query.id != query_id]

    def settle(self) -> list[Given]:
        """Let each query read what it hasn't read, one after the other; what they wrote."""
        made: list[Given] = []
        for running in self._running:
            if running.seen == len(self.log):
                continue
            # Each run is over all records: what the runs before it have written comes first, and is there already.
            everything = self._results(running)
            written = [_record(row) for row in everything[running.written :]]
            running.written = len(everything)
            self.log += written
            running.seen = len(self.log)
            made += written
        return made

    def _results(self, running: _Running) -> list[Result]:
        while True:
            query = self.schemas.bound(running.query)
            try:
                return emit.told(outgoing(query, self._reader(running.start))).collect()
            except Exception as error:
                if not self.schemas.learn(str(error)):
                    raise

    # ---- SELECT ------------------------------------------------------------------------------------------------

    def rows(self, ask: Ask | None) -> list[list[Any]]:
        """What a SELECT gives over the records so far, as /query-stream shows it."""
        self.settle()
        match ask:
            case Pull():
                return self._pulled(ask).rows
            case Push(query):
                frame = build(self.schemas.bound_relation(query.relation), self._reader())
                found = [row_of(r.row) for r in as_json(frame.orderBy(ORDER), query.columns).collect()]
                return found if query.limit is None else found[: query.limit]
            case _:
                raise ExpectationFailed("NOT_A_QUERY", "Only SELECT gives rows.")

    def _pulled(self, pull: Pull) -> Pulled:
        store = Store()
        try:
            for source in pull.reads:
                if source.is_served:
                    self._keep(source, store)
            if pull.duckdb is not None:
                try:
                    return run_pull(pull, store, [p.value for p in pull.parameters])
                except OutOfReach:
                    pass
            given = [p.value for p in pull.parameters] if pull.fetched else []
            batch = PullBatch(self.spark, self.schemas)
            found = batch.answer(pull, self._reader(), lambda s: store.arrow(s, pull.fetched, given))
            return Pulled(pull.columns, found)
        finally:
            store.close()

    def _keep(self, source: Source, store: Store) -> None:
        fold = Fold(source, self.registry.by_id)
        store.opened(source, "")
        store.apply(fold.layout, fold.changes([r for r in self.log if r.topic == source.topic], {})[0])

    def _reader(self, start: int = 0) -> Callable[[Source], Frame]:
        log = list(self.log)

        def read(source: Source) -> Frame:
            found = [(at, r) for at, r in enumerate(log) if r.topic == source.topic and at >= start]
            return self._raw([(offset, arrival, record) for offset, (arrival, record) in enumerate(found)])

        return read

    def _raw(self, records: list[tuple[int, int, Given]]) -> Frame:
        """Records (with offset and arrival) as Spark's Kafka source gives them."""
        rows = [
            (r.key, r.value, r.topic, 0, offset, r.timestamp, list(r.headers), arrival)
            for offset, arrival, r in records
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

    # ---- ASSERT ------------------------------------------------------------------------------------------------

    def _assert_topic(self, step: AssertTopic) -> None:
        there = step.topic in self._topics or any(r.topic == step.topic for r in self.log)
        partitions = self._topics.get(step.topic)
        fits = there and all(n != "PARTITIONS" or partitions in (None, v) for n, v in step.settings)
        if fits is not step.exists:
            _fail(f"Topic {step.topic} {'exists' if there else 'does not exist'}, with {partitions or 1} partitions.")

    def _assert_row(self, row: InsertRow, *, deleted: bool) -> None:
        self.settle()
        source = row.source
        at = self._asserted[source.topic]
        record = next(islice((r for r in self.log if r.topic == source.topic), at, None), None)
        if record is None:
            _fail(f"{source.name} has {at} records, and no next one.")
        self._asserted[source.topic] += 1
        wanted = self._evaluated(row)
        found = self._decoded(record, source)
        if found is None:
            _fail(f"Record {at + 1} of {source.name} is no row: its key is {record.key!r}, its value {record.value!r}.")
        if deleted != (record.value is None):
            _fail(
                f"Record {at + 1} of {source.name} {'deletes a row' if record.value is None else 'is a row'}: {found}."
            )
        names = [c.name for c in (source.schema.key if deleted else source.schema)]
        names += [ROWTIME] if row.rowtime else []
        other = [n for n in names if not _alike(found[n], wanted[n])]
        if other:
            told = ", ".join(f"{n} is {found[n]!r}, not {wanted[n]!r}" for n in other)
            _fail(f"Record {at + 1} of {source.name}: {told}.")

    def _evaluated(self, row: InsertRow) -> dict[str, Any]:
        given = dict(row.values)
        columns = [
            f"CAST({given[c.name].spark if c.name in given else 'NULL'} AS {spark_type(c.type)}) AS {quote(c.name)}"
            for c in row.source.schema
        ]
        stamp = f"CAST({row.rowtime.spark if row.rowtime else 'NULL'} AS BIGINT) AS {ROWTIME}"
        made: dict[str, Any] = self.spark.range(1).selectExpr(*columns, stamp).collect()[0].asDict()
        return made

    def _decoded(self, record: Given, source: Source) -> dict[str, Any] | None:
        columns = [*(quote(c.name) for c in source.schema), ROWTIME]
        rows = decoded(self._raw([(0, 0, record)]), self.schemas.read(source)).selectExpr(*columns).collect()
        found: dict[str, Any] | None = rows[0].asDict() if rows else None
        return found


def _assert_source(source: Source, step: AssertSource) -> None:
    wanted = step.expected
    checks: dict[str, tuple[object, object]] = {
        "kind": (source.kind, wanted.kind),
        "columns": (
            [(c.name, str(c.type), c.role.value) for c in source.schema],
            [(c.name, str(c.type), c.role.value) for c in wanted.schema],
        ),
    }
    named: dict[str, tuple[object, object]] = {
        "KAFKA_TOPIC": (source.topic, wanted.topic),
        "KEY_FORMAT": (source.key.format, wanted.key.format),
        "VALUE_FORMAT": (source.value.format, wanted.value.format),
        "FORMAT": (f"{source.key.format}, {source.value.format}", f"{wanted.key.format}, {wanted.value.format}"),
        "TIMESTAMP": (source.timestamp, wanted.timestamp),
        "WINDOW_TYPE": (source.window and source.window.kind, wanted.window and wanted.window.kind),
        "WINDOW_SIZE": (source.window and source.window.size_ms, wanted.window and wanted.window.size_ms),
    }
    checks |= {name: pair for name, pair in named.items() if name in step.properties}
    other = [f"{name} is {found}, not {expected}" for name, (found, expected) in checks.items() if found != expected]
    if other:
        _fail(f"{step.name}: {'; '.join(other)}.")


def _fail(message: str) -> NoReturn:
    raise ExpectationFailed("ASSERT_FAILED", message)


def _alike(found: Any, wanted: Any) -> bool:
    if isinstance(found, float) and isinstance(wanted, float):
        return isclose(found, wanted, rel_tol=1e-9) or (isnan(found) and isnan(wanted))
    return bool(found == wanted)


@dataclass
class _Running:
    """A query at the desk: from where in the log it reads, and how much of the log it has seen and written."""

    query: Query
    start: int = 0
    seen: int = 0
    written: int = 0


def _record(row: Result) -> Given:
    headers = tuple((h.key, None if h.value is None else bytes(h.value)) for h in row.headers or ())
    key = None if row.key is None else bytes(row.key)
    return Given(row.topic, key, None if row.value is None else bytes(row.value), row.timestamp, headers)
