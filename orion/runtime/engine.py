"""Performs plans: the one place where a step has its effect. What is done is journaled, and so comes back."""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, assert_never

import pyarrow as pa
import structlog
from pyspark.sql import SparkSession

from orion import ksql, profiles
from orion.config import Config
from orion.errors import ExpectationFailed, ExternalError, Forbidden, NotFound, OrionError, UserError
from orion.feeds.cdc import Captures
from orion.feeds.cdc import Surroundings as CaptureSurroundings
from orion.hub.broker_settings import ANY_TIME
from orion.hub.durable import DurableWriter
from orion.hub.kafka import Kafka
from orion.hub.ledger import prepare_ledger
from orion.plan.catalog import Catalog
from orion.plan.definitions import CustomType, PythonFunction
from orion.plan.interruption import Interruption
from orion.plan.relations import Guarantee, Query, Transient, is_stateful, scans
from orion.plan.sources import Connector, Source
from orion.plan.steps import (
    AssertRow,
    AssertSchema,
    AssertSource,
    AssertTopic,
    CreateConnector,
    DefineFunction,
    DefineSource,
    DefineType,
    DropConnector,
    DropFunction,
    DropSource,
    DropType,
    EnsureTopic,
    InsertRow,
    Nothing,
    PauseQuery,
    Plan,
    Pull,
    RegisterSchema,
    ReplaceQuery,
    ResumeQuery,
    SetProperty,
    SetVariable,
    StartQuery,
    SteerConnector,
    Step,
    StopQuery,
)
from orion.registry.access import Access
from orion.runtime import python_functions
from orion.runtime.capturing import Capturing
from orion.runtime.connectors import Connectors, Ground
from orion.runtime.idle_monitors import end_idle_monitors
from orion.runtime.inputs import Watch
from orion.runtime.insert import insert
from orion.runtime.jobs import QueryJob, Surroundings
from orion.runtime.journal import Journal, journal_topic
from orion.runtime.kafka_source import KafkaSource
from orion.runtime.machine import Load
from orion.runtime.progress import Progress
from orion.runtime.pull import PullBatch, topic_reader
from orion.runtime.push import PushQueries, PushQuery
from orion.runtime.queries import Queries
from orion.runtime.schemas import Schemas
from orion.runtime.shared_stream import remove_folders
from orion.runtime.starting import Grounds
from orion.runtime.states import QueryStatus
from orion.security.secret_places import SecretPlaces

log = structlog.get_logger()

LARGEST_LETTER = 128 << 20


class Engine:
    """The running platform below its doors: catalog, queries and sinks on one Spark session and one Kafka cluster."""

    def __init__(self, config: Config, kafka: Kafka, spark: SparkSession, registry: Access | None = None) -> None:
        self.config = config
        self.schemas = Schemas(registry)
        self.kafka = kafka
        self.spark = spark
        self._lock = threading.RLock()
        self._writer = DurableWriter(kafka)
        self._journal = Journal(kafka, journal_topic(config.service_id), self._writer)
        prepare_ledger(kafka, 0)
        self.catalog: Catalog = self._with_functions(self._journal.open())
        self.secrets = SecretPlaces.of(config)
        writers, shuffled = config.data.absolute() / "writers", config.engine.shuffle_partitions
        self._grounds = Grounds(kafka, Watch(kafka), config.service_id, writers, shuffled)
        self._queries = Queries(
            self._lag, config.engine.grace_s, tidy=lambda: end_idle_monitors(spark), find_ends=kafka.committed_ends_of
        )
        self.push_queries = PushQueries(self._pushing, self.schemas)
        self.connectors = Connectors(
            Ground(
                self._queries,
                Capturing(self._captures, self.secrets),
                lambda: self.catalog,
                self._put_connector,
                self._drop_connector,
                lambda starting: self._around({"auto.offset.reset": starting}),
                self._letters_topic,
                self._declare,
            )
        )

    @property
    def defaults(self) -> dict[str, str]:
        """What statements get that don't say, by the names that properties have."""
        engine = self.config.engine
        return {"orion.guarantee": engine.guarantee, **({"orion.profile": engine.profile} if engine.profile else {})}

    @property
    def problems(self) -> list[str]:
        """What the journal holds and can't be read."""
        return self._journal.problems

    def restore(self, progress: Callable[[str], None]) -> None:
        """Have every query and sink of the catalog brought back, side by side. What can't start is shown as such."""
        self._sweep_groups()
        remove_folders(self._checkpoints)
        for query in self.catalog.queries.values():
            job = QueryJob(query, self._around(dict(query.properties), query.profile))
            self._queries.restore(job, paused=query.paused)
        for connector in self.catalog.connectors.values():
            self.connectors.restore(connector)
        back, known = self.restored
        if back < known:
            progress(f"bringing back {known - back} statements")

    @property
    def restored(self) -> tuple[int, int]:
        """How many of the statements that the journal knows are back, in whatever state, and how many there are."""
        return self._queries.restored

    @property
    def load(self) -> Load | None:
        """How much of the machine's time is wanted, and how much there is; None: it isn't known."""
        return self._queries.load

    def _sweep_groups(self) -> None:
        """Forget the groups of what was dropped: their member stays in them for a while after its end.

        None are while an entry can't be read: one of them may be its own, and say how far it is.
        """
        if self._journal.unread:
            return
        service = re.escape(self.config.service_id)
        ours = re.compile(rf"{service}\.(?:C[ST]AS_|INSERTQUERY_|connector\.)")
        alive = {f"{self.config.service_id}.{name}" for name in self.catalog.queries}
        alive |= {f"{self.config.service_id}.connector.{identity}" for identity in self.connectors.identities()}
        for group in self.kafka.groups():
            if ours.match(group.name) and group.name not in alive and group.state == "empty":
                with suppress(OrionError):
                    self.kafka.delete_group(group.name)

    # ---- effects -----------------------------------------------------------------------------------------------

    def perform(self, plan: Plan) -> str:
        """Do all of a plan's steps; what to tell about the last."""
        if len(plan.steps) == 1 and isinstance(plan.steps[0], AssertTopic | AssertSchema):
            return self._await(plan.steps[0])  # waits, and keeps nobody else from working
        with self._lock:
            for step in plan.steps:
                self._check_writable(step)
            told, replaced = "Nothing to do.", ""
            for step in _started_before_journaled(plan.steps):
                told = self._do(step)
                replaced = told if isinstance(step, ReplaceQuery) else replaced
            return f"{told} {replaced}" if replaced else told

    def _check_writable(self, step: Step) -> None:
        """Raise, before anything is done, where a step is in the way of what a newer Orion has journaled."""
        match step:
            case StartQuery(query) | ReplaceQuery(_, query):
                self._journal.check_free(Query, query.id)
            case DefineSource(Source(name)) | DropSource(name):
                self._journal.check_free(Source, name)
                if name in self.catalog.sources:  # who writes it stands behind an entry that can't be read
                    self._journal.check_free(Query, self.catalog.sources[name].query_id or "")
            case CreateConnector(connector):
                self._journal.check_free(Connector, connector.name)
            case DefineType(type_):
                self._journal.check_free(CustomType, type_.name)
            case DefineFunction(function):
                self._journal.check_free(PythonFunction, function.name)
            case _:
                pass

    def _do(self, step: Step) -> str:
        match step:
            case EnsureTopic():
                return self._ensure(step)
            case RegisterSchema():
                return self.schemas.register(step)
            case DefineSource(source, done):
                self.catalog = self._journal.put(self.catalog, source)
                if done != "created":
                    self.connectors.altered(source)
                return f"{source.kind.capitalize()} {source.name} {done}."
            case StartQuery(query):
                return self._start(query)
            case ReplaceQuery():
                return self._replace(step)
            case StopQuery(query_id):
                self._queries.remove(query_id)
                self.catalog = self._journal.drop(self.catalog, Query, query_id)
                return f"Query {query_id} terminated."
            case PauseQuery(query_id):
                self._queries.pause(query_id)
                self.catalog = self._journal.put(self.catalog, replace(self.catalog.queries[query_id], paused=True))
                return f"Query {query_id} paused."
            case ResumeQuery(query_id):
                self._queries.resume(query_id)
                self.catalog = self._journal.put(self.catalog, replace(self.catalog.queries[query_id], paused=False))
                return f"Query {query_id} resumed."
            case DropSource(name, kind, topic):
                source = self.catalog.sources[name]
                self.catalog = self._journal.drop(self.catalog, Source, name)
                if topic is not None:
                    self.kafka.delete_topic(topic, missing_ok=True)
                    self.schemas.forget(source)
                return f"{kind.capitalize()} {name} was dropped."
            case CreateConnector(connector, replaces):
                return self.connectors.replace(connector) if replaces else self.connectors.create(connector)
            case DropConnector(name):
                return self.connectors.drop(name)
            case SteerConnector(name, wanted):
                return self.connectors.steer(name, wanted)
            case DefineType(type_):
                self.catalog = self._journal.put(self.catalog, type_)
                return f"Registered custom type with name '{type_.name}' and SQL type {type_.type}"
            case DropType(name):
                self.catalog = self._journal.drop(self.catalog, CustomType, name)
                return f"Dropped type '{name}'"
            case DefineFunction(function):
                return self._define_function(function)
            case DropFunction(name):
                python_functions.unregister(self.spark, self.catalog.functions[name])
                self.catalog = self._journal.drop(self.catalog, PythonFunction, name)
                return f"Function {name} was dropped."
            case InsertRow():
                insert(self.spark, self._writer, replace(step, source=self.schemas.written(step.source)))
                return "1 row inserted."
            case SetProperty(name, value):
                return f"Property {name} {'unset' if value is None else f'set to {value}'}."
            case SetVariable(name, value):
                return f"Variable {name} {'undefined' if value is None else f'defined as {value}'}."
            case AssertTopic() | AssertSchema():
                return self._await(step)
            case AssertRow() | AssertSource():
                raise UserError(
                    "ASSERT_IN_TESTS",
                    "ASSERT VALUES, NULL VALUES, STREAM and TABLE run in tests, not on a server.",
                    hint="orion.testing runs them: Desk(spark).execute('ASSERT ...').",
                )
            case Nothing(message):
                return message
            case _:
                assert_never(step)

    def _ensure(self, step: EnsureTopic) -> str:
        partitions = step.partitions
        if partitions is None and step.like is not None:
            partitions = self.kafka.describe_topic(step.like).topic.partitions
        if partitions is None:
            try:
                self.kafka.describe_topic(step.topic)
            except NotFound as error:
                raise NotFound(
                    error.code,
                    f"The topic {step.topic} does not exist.",
                    hint=error.hint or "Add PARTITIONS=n to the WITH clause to create it.",
                ) from None
            return f"Topic {step.topic} is there."
        replicas, config = step.replicas, dict(step.config)
        if step.profile is not None:
            suited, brokers = profiles.of(step.profile), len(self.kafka.brokers())
            replicas = replicas or suited.replication(brokers)
            config = suited.topic_config(brokers, replicas) | config
        if step.like is not None:  # a query writes it, with its rows' times
            config = {"message.timestamp.after.max.ms": ANY_TIME, **config}
        made = self.kafka.create_topic(step.topic, partitions, replicas, config=config, exist_ok=True)
        return f"Topic {step.topic} {'created' if made else 'is there'}."

    def _start(self, query: Query) -> str:
        self._letters_topic(query.dead_letters)
        self._queries.start(QueryJob(query, self._around(dict(query.properties), query.profile)))
        self.catalog = self._journal.put(self.catalog, query)
        return f"Created query with ID {query.id}"

    def _letters_topic(self, name: str) -> None:
        """Dead letters are kept whole: a record may be one just because it is too large for the topic it was for."""
        config = {"max.message.bytes": str(LARGEST_LETTER), "message.timestamp.after.max.ms": ANY_TIME}
        self.kafka.create_topic(name, 1, config=config, exist_ok=True)

    def _replace(self, step: ReplaceQuery) -> str:
        """Stop a query and start the one in its place. One that can't start leaves the old one running."""
        if step.continues and self._changes_tasks(step.query):
            return self._change_tasks(step.query)
        old = self._queries.get(step.id)
        job = QueryJob(step.query, self._around(dict(step.query.properties), step.query.profile))
        moves = step.continues and old is not None and old.job.checkpoint != job.checkpoint
        if old is not None:
            self._queries.pause(step.id)
            # Copied, not moved: whatever happens from here on, the old query finds its own as it was.
            if moves and old.job.checkpoint.exists():
                shutil.copytree(old.job.checkpoint, job.checkpoint, dirs_exist_ok=True)
        try:
            self._letters_topic(step.query.dead_letters)
            # One that goes on isn't new, whatever has become of its folder: its notes and its state count.
            goes_on = step.continues and step.query.guarantee is not Guarantee.FAST
            self._queries.start(job, new=not goes_on)
        except Exception:
            if moves or not step.continues:
                job.forget()
            if old is not None:
                self._queries.resume(step.id)
            raise
        self.catalog = self._journal.put(self.catalog, step.query)
        if step.query.id != step.id:
            self._queries.remove(step.id)
            self.catalog = self._journal.drop(self.catalog, Query, step.id)
        elif moves and old is not None:
            old.job.forget()
        how = "goes on from where it was" if step.continues else "starts from the beginning: its state is made anew"
        return f"Query {step.query.id} {how}."

    def _changes_tasks(self, query: Query) -> bool:
        known = self.catalog.queries.get(query.id)
        return known is not None and is_stateful(query.relation) and known.tasks != query.tasks

    def _change_tasks(self, query: Query) -> str:
        """Have a query go on over another number of tasks. The journal says what is wanted, and each start of the query
        sees to it: whoever ends it on the way only has it begin again."""
        self._letters_topic(query.dead_letters)
        self.catalog = self._journal.put(self.catalog, query)
        self._queries.exchange(QueryJob(query, self._around(dict(query.properties), query.profile)))
        return f"Query {query.id} goes on from where it was, over {query.tasks} tasks."

    # ---- functions in Python -----------------------------------------------------------------------------------

    def _with_functions(self, catalog: Catalog) -> Catalog:
        """The catalog with the functions of the settings' modules, all of them known to Spark."""
        allowed = self.config.functions.python
        for function in list(catalog.functions.values()):
            if not allowed:
                self._journal.problems.append(f"function {function.name} is not loaded: functions.python is off")
                catalog = catalog.drop(PythonFunction, function.name)  # in memory: the journal keeps it
                continue
            try:
                python_functions.register(self.spark, function)
            except OrionError as error:
                self._journal.problems.append(error.message)
        for function in python_functions.of_modules(self.config.functions.modules):
            python_functions.register(self.spark, function)
            catalog = catalog.put(function)
        return catalog

    def _define_function(self, function: PythonFunction) -> str:
        if not self.config.functions.python:
            raise Forbidden(
                "PYTHON_OFF",
                f"This server takes no Python: the function {function.name} was not created.",
                hint="Set functions.python: true in orion.yaml, where only people you trust reach the server.",
            )
        before = self.catalog.functions.get(function.name)
        python_functions.register(self.spark, function)
        self.catalog = self._journal.put(self.catalog, function)
        if before is not None and before.spark_name != function.spark_name:
            python_functions.unregister(self.spark, before)
        return f"Function {function.name} {'created' if before is None else 'replaced'}."

    # ---- assertions --------------------------------------------------------------------------------------------

    def _await(self, step: AssertTopic | AssertSchema) -> str:
        until = time.monotonic() + step.timeout_ms / 1000
        while True:
            problem = self._topic_problem(step) if isinstance(step, AssertTopic) else self.schemas.problem(step)
            if problem is None:
                what = f"Topic {step.topic}" if isinstance(step, AssertTopic) else "The schema"
                return f"{what} {'exists' if step.exists else 'does not exist'}."
            if time.monotonic() >= until:
                raise ExpectationFailed("ASSERT_FAILED", problem)
            time.sleep(min(0.2, max(0.0, until - time.monotonic())))

    def _topic_problem(self, step: AssertTopic) -> str | None:
        found = next((t for t in self.kafka.topics(internal=True) if t.name == step.topic), None)
        if found is None:
            return f"Topic {step.topic} does not exist." if step.exists else None
        there = {"PARTITIONS": found.partitions, "REPLICAS": found.replication}
        other = [(n, v) for n, v in step.settings if there[n] != v]
        if step.exists:
            told = ", ".join(f"{n} is {there[n]}, not {v}" for n, v in other)
            return f"Topic {step.topic}: {told}." if other else None
        return None if other else f"Topic {step.topic} exists."

    def _captures(self) -> Captures:
        """What runs captures of databases, made when the first one is asked for."""
        data, service = self.config.data.absolute(), self.config.service_id
        around = CaptureSurroundings(self.kafka.bootstrap, data, service, self.config.hub.partitions)
        return Captures(around, log.info)

    def _declare(self, statement: str) -> None:
        """Run a statement that declares what a source connector writes."""
        self.perform(ksql.compile(statement, self.catalog, None, None, self.schemas, self.defaults))

    def _put_connector(self, connector: Connector) -> None:
        self.catalog = self._journal.put(self.catalog, connector)

    def _drop_connector(self, name: str) -> None:
        self.catalog = self._journal.drop(self.catalog, Connector, name)

    def push(self, query: Transient) -> PushQuery:
        return self.push_queries.open(query)

    def _pushing(self, query: Transient) -> KafkaSource:
        """How a push query reads. Where "from now on" begins is settled here; Spark would look some time later."""
        topics = () if query.from_beginning else {source.topic for source in scans(query.relation)}
        return KafkaSource(
            self.spark,
            self.kafka.bootstrap,
            "earliest" if query.from_beginning else "latest",
            100_000,
            self.config.engine.max_future_ms,
            positions={topic: self.kafka.end_offsets(topic, committed=True) for topic in topics},
        )

    def pull(self, pull: Pull, table: Callable[[Source], pa.Table], interruption: Interruption) -> list[Sequence[Any]]:
        """The rows of a pull query, by Spark; `table` gives those of a table that is kept."""
        batch = PullBatch(self.spark, self.schemas, self.config.serving.max_rows, interruption)
        return batch.answer(pull, topic_reader(self.spark, self.kafka.bootstrap), table)

    def await_read(self, query_id: str, topic: str, offsets: Mapping[int, int], until: float) -> None:
        """Until a query has read the records at these offsets of a topic, and written what it makes of them."""
        while True:
            running = self._queries.get(query_id)
            reached = running.progress.offsets.get(topic, {}) if running is not None else {}
            if all(reached.get(part, 0) > offset for part, offset in offsets.items()):
                return
            if time.monotonic() >= until:
                message = f"The query {query_id} hasn't read these offsets of {topic} in time."
                raise ExternalError("NOT_SEEN_YET", message, hint="Ask again, or give it a later deadline.")
            time.sleep(0.01)

    def _around(self, properties: dict[str, str], profile: str | None = None) -> Surroundings:
        engine = self.config.engine
        suited = profiles.of(profile).statement_settings() if profile else {}
        # A query that runs for good starts at the beginning unless told: what it makes is a fold of the whole log.
        starting = properties.get("auto.offset.reset", "earliest")
        batch = suited.get("max_records_per_batch", engine.max_records_per_batch)
        most = int(properties.get("orion.max.records.per.batch", batch))
        trigger = int(properties.get("orion.trigger.ms", suited.get("trigger_ms", engine.trigger_ms)))
        ahead = int(properties.get("orion.max.future.ms", engine.max_future_ms))
        fast = int(properties.get("orion.fast.batch.ms", engine.fast_batch_ms))
        source = KafkaSource(self.spark, self.kafka.bootstrap, starting, most, ahead)
        freshness = int(properties.get("orion.freshness.ms", engine.freshness_ms))
        return Surroundings(
            self._grounds,
            source,
            self._checkpoints,
            trigger,
            self.schemas,
            freshness,
            fast,
            engine.share_statements,
            self.secrets,
        )

    @property
    def _checkpoints(self) -> Path:
        return self.config.data.absolute() / "checkpoints"

    # ---- looking -----------------------------------------------------------------------------------------------

    def statuses(self) -> list[QueryStatus]:
        """All that runs on Spark: queries, and the tasks of connectors."""
        return self._queries.statuses()

    def all_statuses(self) -> list[QueryStatus]:
        """The same, and captures of databases, which Kafka Connect runs."""
        found = {status.id: status for status in self.statuses()}
        for name in self.catalog.connectors:
            found |= {task.status.id: task.status for task in self.connectors.tasks(name)}
        return list(found.values())

    def spark_plan(self, query_id: str) -> str | None:
        """What Spark has made of a query's last batch; None where there was none since it started."""
        entry = self._queries.get(query_id)
        return None if entry is None else entry.spark_plan()

    def _lag(self, progress: Progress) -> int | None:
        """Records that are there and not read yet."""
        if not progress.offsets:
            return None
        try:
            return sum(
                max(0, end - progress.offsets[topic].get(partition, 0))
                for topic in progress.offsets
                for partition, end in self.kafka.end_offsets(topic, committed=True).items()
            )
        except OrionError:
            return None

    def close(self) -> None:
        self.push_queries.close()
        self._queries.close(self.config.engine.grace_s)
        self._grounds.watch.close()
        self.connectors.close()
        self._writer.close()


def _started_before_journaled(steps: tuple[Step, ...]) -> list[Step]:
    """A query that can't start must leave no source behind, so its start comes before its sink is journaled."""
    return sorted(steps, key=lambda s: isinstance(s, DefineSource))
