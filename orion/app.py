"""The composition root: everything Orion is made of, put together once.

with Orion.start(load(), progress=print) as orion:
    orion.execute("CREATE STREAM ...;")
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any, Self

from orion import answers, ksql
from orion.config import Config
from orion.errors import UserError
from orion.hub import cluster_data
from orion.hub.embedded import EmbeddedCluster
from orion.hub.kafka import Kafka
from orion.hub.reader import Reader
from orion.hub.records import Position, Record
from orion.hub.running import LOCK
from orion.ksql.pull.patience import DEADLINE_S, Offsets
from orion.plan.interruption import Interruption
from orion.plan.steps import PrintTopic, Pull, Push
from orion.plan.tolerance import ALL
from orion.plan.tolerance import PROPERTY as TOLERANCE
from orion.pulling import Pulls
from orion.registry.access import Access, Local, Remote
from orion.registry.log import KafkaLog
from orion.registry.store import Registry
from orion.runtime import session
from orion.runtime.engine import Engine
from orion.runtime.managed import ManagedConnectors
from orion.runtime.push import PushQuery
from orion.runtime.spark_process import SparkProcess
from orion.runtime.states import QueryStatus
from orion.serving.pull import Pulled
from orion.serving.tables import Tables

Entity = dict[str, Any]


# Queries wait for the registry's answer: one that doesn't come soon counts as away, and is asked for again.
_REGISTRY_S = 5.0
# How long a start waits for statements to come back; those that take longer come back later.
RESTORED_S = 600.0
_ELSEWHERE = "Use push for SELECT ... EMIT CHANGES and PRINT, execute for all other statements."


def _silent(_: str) -> None:
    pass


class Orion:
    """The running platform. Statements go in by `execute`, streams of rows come out of `push` and `print_topic`."""

    def __init__(
        self,
        engine: Engine,
        closing: ExitStack,
        cluster: EmbeddedCluster | None = None,
        registry: Registry | None = None,
        tables: Tables | None = None,
    ) -> None:
        self.engine = engine
        self.pulls = Pulls(engine, tables, engine.config.serving)
        self.registry = registry  # the one of this process, if it runs one
        self._closing = closing
        closing.callback(self.pulls.close)
        self._cluster = cluster

    @classmethod
    def start(
        cls,
        config: Config,
        progress: Callable[[str], None] = _silent,
        *,
        wait: bool = True,
        launched: SparkProcess | None = None,
    ) -> Self:
        """Start the broker (unless a cluster is named), Spark, and every query there was.

        `wait`: until these are back. What `progress` raises ends the start, and all that was started. `launched` is
        Spark's JVM where it was launched before.
        """
        with ExitStack() as stack:
            # Two servers over the same checkpoints would both go on from where one of them is.
            lock = cluster_data.claim(config.data.absolute(), LOCK)
            stack.callback(lock.close)
            coming = stack.enter_context(session.coming(config.engine, config.data, progress, launched))
            bootstrap, cluster = config.hub.bootstrap, None
            if bootstrap is None:
                cluster = EmbeddedCluster.start(
                    config.data / "kafka",
                    brokers=config.hub.brokers,
                    port=config.hub.port if "port" in config.hub.model_fields_set else 0,
                    preferred=config.hub.port,
                    heap=config.hub.heap,
                    progress=progress,
                )
                stack.callback(cluster.stop)
                bootstrap = cluster.bootstrap
            kafka = Kafka(bootstrap)
            kafka.check(10.0)
            registry = None
            if config.registry.enabled and config.registry.url is None:
                registry = Registry(KafkaLog(Kafka(bootstrap)))
                stack.callback(registry.close)
            progress("starting Spark")
            spark = coming.result()
            engine = Engine(config, kafka, spark, _access(config, registry))
            stack.callback(engine.close)
            tables = _tables(engine)  # first: they answer by themselves, whether their queries are back or not
            engine.restore(progress)
            orion = cls(engine, stack, cluster, registry, tables)
            stack.enter_context(session.archiving_classes(spark, orion.has_time))
            if wait:
                orion.await_restored(progress)
            orion._closing = stack.pop_all()
            return orion

    @classmethod
    def over(cls, engine: Engine, registry: Registry | None = None) -> Self:
        """The platform over an engine whose broker and Spark belong to somebody else, and outlive it."""
        with ExitStack() as stack:
            stack.callback(engine.close)
            tables = _tables(engine)
            return cls(engine, stack.pop_all(), registry=registry, tables=tables)

    @property
    def tables(self) -> Tables | None:
        """Those that pull queries are answered from, if they are."""
        return self.pulls.tables

    @property
    def bootstrap(self) -> str:
        return self.engine.kafka.bootstrap

    @property
    def kafka(self) -> Kafka:
        return self.engine.kafka

    @property
    def connectors(self) -> ManagedConnectors:
        """All connectors, for those who manage them by other means than SQL."""
        return ManagedConnectors(self.engine)

    @property
    def spark(self) -> session.Spark:
        return self.engine.spark

    def execute(
        self, script: str, properties: Mapping[str, str] | None = None, variables: Mapping[str, str] | None = None
    ) -> list[Entity]:
        """Run every statement of a script, each against what those before it made. All are parsed before any runs."""
        statements = ksql.split(script)
        session = ksql.Session.of({**self._defaults, **(properties or {})}, variables)
        if len(statements) > 1:  # one by itself is parsed before it does anything
            ksql.check_syntax(statements, self.engine.catalog, session.variables)
        told: list[Entity] = []
        for text in statements:
            entity, session = self._execute(text, session)
            told.append(entity)
        return told

    @property
    def _defaults(self) -> Mapping[str, str]:
        """What the settings say for every session that doesn't say it itself."""
        tolerance = self.engine.config.engine.errors_tolerance
        return {} if tolerance == ALL else {TOLERANCE: tolerance}

    def _execute(self, text: str, session: ksql.Session) -> tuple[Entity, ksql.Session]:
        plan = ksql.compile(
            text, self.engine.catalog, session.properties, session.variables, self.engine.schemas, self.engine.defaults
        )
        if isinstance(plan.ask, Push | Pull | PrintTopic):
            raise UserError(
                "STREAMING_STATEMENT",
                "SELECT and PRINT give a stream of rows, not an answer.",
                hint="Send it to /query-stream, or use `orion sql`.",
            )
        if plan.ask is not None:
            return answers.answer(plan.ask, plan.statement, self.engine, session, self.tables), session
        told = self.engine.perform(plan)
        if self.tables is not None:
            self.tables.follow(self.engine.catalog)
        for step in plan.steps:
            session = session.after(step)
        return answers.done(plan, told, self.engine.catalog.version), session

    def explain(self, statement: str, properties: Mapping[str, str] | None = None) -> str:
        """What a statement would do under these properties."""
        entity = self.execute(f"EXPLAIN {statement.rstrip().rstrip(';')};", dict(properties or {}))[0]
        return str(entity["queryDescription"]["executionPlan"])

    def pull(
        self,
        statement: str,
        properties: Mapping[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
        *,
        seen: Offsets | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> Pulled:
        """The rows of a SELECT without EMIT, as they are now.

        With `seen`, offsets by topic and partition, as they are once the tables have these records. What isn't so
        before the deadline raises ExternalError.
        """
        found = self.pulls.plan(statement, properties, variables)
        if found is None:
            raise UserError("NOT_A_PULL_QUERY", "Only a SELECT without EMIT is answered at once.", hint=_ELSEWHERE)
        return self.pulls.answer(*found, seen, deadline_s)

    def query(
        self,
        statement: str,
        properties: Mapping[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
        interruption: Interruption | None = None,
    ) -> Pulled | PushQuery | Iterator[Record | None]:
        """What any statement gives that gives rows: those of a pull query at once, others as they come.

        An `interruption` ends a pull query under way, from another thread.
        """
        found = self.pulls.query(statement, properties, variables, interruption)
        return self.push(statement, properties, variables) if found is None else found

    def push(
        self, statement: str, properties: Mapping[str, str] | None = None, variables: Mapping[str, str] | None = None
    ) -> PushQuery | Iterator[Record | None]:
        """Rows of SELECT ... EMIT CHANGES, or records of PRINT."""
        texts = ksql.split(statement)
        if len(texts) != 1:
            raise UserError("ONE_STATEMENT", "Exactly one statement can be streamed.")
        plan = ksql.compile(texts[0], self.engine.catalog, properties, variables, self.engine.schemas)
        match plan.ask:
            case Push(query):
                return self.engine.push(query)
            case PrintTopic():
                return self._print(plan.ask)
            case Pull():
                hint = "Add EMIT CHANGES to follow the rows, or ask for them by pull."
                raise UserError("NOT_A_PUSH_QUERY", "A SELECT without EMIT gives rows once.", hint=hint)
            case _:
                raise UserError(
                    "NOT_A_QUERY", "Only SELECT and PRINT give rows.", hint="Send other statements to /ksql."
                )

    def _print(self, ask: PrintTopic) -> Iterator[Record | None]:
        """Records of a topic, until closed or `limit` is reached."""
        reader = Reader(self.kafka, ask.topic, Position("earliest" if ask.from_beginning else "latest"))
        return _sampled(reader, ask.interval, ask.limit)

    def check(self) -> None:
        """Raise when a broker of ours has died: nothing goes on without it."""
        if self._cluster is not None:
            self._cluster.check()

    def queries(self) -> list[QueryStatus]:
        """How every query and sink is doing."""
        return self.engine.statuses()

    def await_restored(self, progress: Callable[[str], None] = _silent, deadline_s: float = RESTORED_S) -> bool:
        """Wait until every statement that there was is back, in whatever state; whether that came about in time."""
        until, before = time.monotonic() + deadline_s, -1
        while time.monotonic() < until:
            back, known = self.engine.restored
            if back != before and known:
                progress(f"starting, {back} of {known} statements are back")
            if back == known:
                return True
            before = back
            time.sleep(0.1)
        return False

    def has_time(self) -> bool:
        """Whether statements run, all of them, and the machine has time for other things."""
        load, statuses = self.engine.load, self.queries()
        return bool(
            load is not None
            and not load.starved
            and all(status.state in ("RUNNING", "PAUSED") for status in statuses)
            and any(status.batches for status in statuses)
        )

    def failing_tables(self) -> dict[str, str]:
        """The tables that don't follow their topics, and why."""
        return self.tables.failing() if self.tables is not None else {}

    def drain(self, deadline_s: float) -> bool:
        """Wait until every query has read all there is; whether that came about in time.

        One look isn't enough: a query that just wrote gives the next one something to read.
        """
        until = time.monotonic() + deadline_s
        calm = 0
        while time.monotonic() < until:
            running = [s for s in self.queries() if s.state != "PAUSED"]
            calm = calm + 1 if all(s.lag == 0 for s in running) else 0
            if calm >= 3:
                return True
            time.sleep(0.1)
        return False

    def close(self) -> None:
        self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _tables(engine: Engine) -> Tables | None:
    """The tables that answer, if they do."""
    config = engine.config
    if not config.serving.enabled:
        return None
    made = Tables(engine.kafka, engine.schemas.by_id, config.data.absolute(), config.serving)
    made.follow(engine.catalog)
    return made


def _access(config: Config, registry: Registry | None) -> Access | None:
    if config.registry.url is not None:
        return Remote(config.registry.url, _REGISTRY_S)
    return None if registry is None else Local(registry)


def _sampled(reader: Reader, interval: int, limit: int | None) -> Iterator[Record | None]:
    """Every `interval`-th record, `limit` at most; None when nothing comes for a while, so the caller may leave."""
    given = seen = 0
    with reader:
        while limit is None or given < limit:
            found = reader.read(100, 0.25)
            if not found:
                yield None
            for record in found:
                seen += 1
                if (seen - 1) % interval == 0 and (limit is None or given < limit):
                    given += 1
                    yield record
