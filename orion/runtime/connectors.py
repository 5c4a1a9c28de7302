"""Connectors: made, steered and dropped, each as the tasks that the supervisor runs for it.

A sink has a task for each topic, a source one. A capture of a database is run by Kafka Connect and seen to by
`orion.runtime.capturing`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

from orion.errors import ConfigError, Conflict, NotFound, OrionError, UnsupportedError, UserError, hint_nearest
from orion.hub.positions import Standpoint, forget_offsets, offsets_of, set_offsets
from orion.plan.catalog import Catalog
from orion.plan.connectors import Offset
from orion.plan.sources import Connector, Direction, Source, Wanted
from orion.runtime.capturing import Capturing
from orion.runtime.checkpoint import Checkpoint, Distrust
from orion.runtime.feed_job import FeedJob
from orion.runtime.jobs import Surroundings
from orion.runtime.progress import Offsets
from orion.runtime.queries import Queries
from orion.runtime.sink_task import SinkTask
from orion.runtime.starting import Grounds, Standing
from orion.runtime.states import Job, QueryStatus, State
from orion.schema import Column, Role, Scalar
from orion.sinks.warehouses import WAREHOUSES, loading

CAPTURE = "cdc"
_BEGINNING = -2  # to Spark


@dataclass(frozen=True)
class Ground:
    """What connectors need of the engine."""

    queries: Queries
    captures: Capturing
    catalog: Callable[[], Catalog]
    put: Callable[[Connector], None]  # journal it
    drop: Callable[[str], None]
    around: Callable[[str], Surroundings]  # by where a task without a checkpoint begins
    letters: Callable[[str], None]  # make a topic of dead letters
    declare: Callable[[str], None]  # run a statement that declares a stream or table


@dataclass(frozen=True)
class TaskStatus:
    """A connector's task: the topic it reads or writes, and how it is doing."""

    number: int
    topic: str
    status: QueryStatus


class Prepared(Protocol):
    def prepare(self) -> None: ...


class Task(Job, Protocol):
    """What a connector's tasks have in common."""

    @property
    def source(self) -> Source: ...
    @property
    def identity(self) -> str: ...
    @property
    def standing(self) -> Standing: ...
    def opened(self) -> Prepared: ...
    def check(self) -> None: ...


class Connectors:
    def __init__(self, ground: Ground) -> None:
        self._on = ground

    @property
    def _grounds(self) -> Grounds:
        """The cluster that all of them are on."""
        return self._on.around("earliest").grounds

    # ---- their life --------------------------------------------------------------------------------------------

    def check(self, connector: Connector) -> None:
        """Raises what `create` would, as far as that can be known without making anything, here or there."""
        if connector.plugin == CAPTURE:
            self._on.captures.check(connector)
        elif connector.direction is Direction.SOURCE and not connector.sources:
            self._target(connector)
        else:
            for job in self.tasks_of(connector):
                job.check()

    def create(self, connector: Connector) -> str:
        """Check the other side and start; what is wrong is raised, and leaves nothing."""
        if connector.plugin == CAPTURE:
            return self._capture(connector)
        if connector.direction is Direction.SOURCE and not connector.sources:
            connector = self._declared(connector)
        jobs = self.tasks_of(connector)
        for job in jobs:
            job.opened().prepare()
        self._on.letters(f"dlq.{connector.name}")
        self._start(jobs, paused=connector.wanted is not Wanted.RUNNING)
        self._on.put(connector)
        return f"Created connector {connector.name}"

    def replace(self, connector: Connector) -> str:
        """Give a connector other options. Tasks of topics that it has had go on from where they are."""
        before = self.get(connector.name)
        meant = replace(connector, number=before.number, starting=before.starting)
        if meant.plugin == CAPTURE:
            return self._capture(meant, "Replaced")
        if meant.direction is Direction.SOURCE and not meant.sources:
            meant = replace(meant, sources=before.sources)
        jobs = {job.identity: job for job in self.tasks_of(meant)}
        for job in jobs.values():
            job.opened().prepare()
        there = {job.identity: job for job in self.tasks_of(before)}
        for identity, old in there.items():
            self._on.queries.remove(old.id, keep=identity in jobs)
        paused = meant.wanted is not Wanted.RUNNING
        self._start([job for identity, job in jobs.items() if identity not in there], paused=paused)
        for identity, job in jobs.items():
            if identity in there:
                self._on.queries.restore(job, paused=paused, outside=True)
        self._on.put(meant)
        return f"Replaced connector {meant.name}"

    def restore(self, connector: Connector) -> None:
        if connector.plugin == CAPTURE:
            self._on.captures.restore(connector)
        for job in self.tasks_of(connector):
            self._on.queries.restore(job, paused=connector.wanted is not Wanted.RUNNING, outside=True)

    def drop(self, name: str) -> str:
        connector, left = self.get(name), []
        if connector.plugin == CAPTURE:
            left = self._on.captures.drop(name)
        for job in self.tasks_of(connector):
            self._on.queries.remove(job.id)
        if connector.direction is Direction.SOURCE and connector.plugin != CAPTURE:
            grounds = self._grounds
            forget_offsets(grounds.kafka, grounds.service, name)
        self._on.drop(name)
        return " ".join([f"Connector {name} was dropped.", *left])

    def steer(self, name: str, wanted: Wanted) -> str:
        connector = self.get(name)
        if connector.plugin == CAPTURE:
            self._on.captures.steer(name, wanted)
        for job in self.tasks_of(connector):
            if wanted is Wanted.RUNNING:
                self._on.queries.resume(job.id)
            else:
                self._on.queries.pause(job.id)
        self._on.put(replace(connector, wanted=wanted))
        return f"Connector {name} {'resumed' if wanted is Wanted.RUNNING else wanted.lower()}."

    def restart(self, name: str, *, only_failed: bool = False, task: int | None = None) -> None:
        """Start tasks again: all, those that failed, or one."""
        connector, failed = self.get(name), (State.ERROR, State.FAILING, State.RESTARTING)
        if connector.plugin == CAPTURE:
            if not only_failed or self._on.captures.status(name).state in failed:
                self._on.captures.restart(name)
            return
        for number, job in enumerate(self.tasks_of(connector)):
            entry = self._on.queries.get(job.id)
            if entry is None or entry.state is State.PAUSED or task not in (None, number):
                continue
            if not only_failed or entry.state in failed:
                self._on.queries.restart(job.id)

    def altered(self, source: Source) -> None:
        """A source has other columns now: its connectors go on with those, from where they are."""
        for connector in list(self._on.catalog().connectors.values()):
            if not any(s.name == source.name for s in connector.sources):
                continue
            sources = tuple(source if s.name == source.name else s for s in connector.sources)
            if sources == connector.sources:
                continue
            changed = replace(connector, sources=sources)
            for job in self.tasks_of(changed):
                entry = self._on.queries.get(job.id)
                if entry is not None and entry.state is State.PAUSED:
                    entry.job = job
                else:
                    self._on.queries.restart(job.id, job)
            self._on.put(changed)

    def _start(self, jobs: Iterable[Task], *, paused: bool) -> None:
        started: list[str] = []
        try:
            for job in jobs:
                if paused:
                    self._grounds.announce(job.standing.group)
                self._on.queries.start(job, paused=paused)
                started.append(job.id)
        except BaseException:
            for name in started:
                self._on.queries.remove(name)
            raise

    def _declared(self, connector: Connector) -> Connector:
        """The connector, with a stream over its topic: declared by what the other side says of its columns."""
        target = self._target(connector)
        if isinstance(target, Source):
            return replace(connector, sources=(target,))
        name, statement = target
        self._on.declare(statement)
        return replace(connector, sources=(self._on.catalog().sources[name],))

    def _target(self, connector: Connector) -> Source | tuple[str, str]:
        """What a source writes: the stream over its topic or, where there is none, one's name and declaration."""
        feed = FeedJob(connector, self._on.around("earliest")).opened()
        topic = feed.topic
        if not topic:
            raise ConfigError(
                "INVALID_CONNECTOR", f"Connector {connector.name}: 'topic' is missing.", hint="It names what it writes."
            )
        there = next((s for s in self._on.catalog().sources.values() if s.topic == topic and not s.query_id), None)
        if there is not None:
            return there
        feed.prepare()
        columns = feed.columns()
        if columns is None:
            raise ConfigError(
                "INVALID_CONNECTOR",
                f"No stream or table is declared over the topic {topic}, and {connector.plugin} doesn't know columns.",
                hint=f"CREATE STREAM ... WITH (KAFKA_TOPIC='{topic}', ...) first.",
            )
        name = re.sub(r"\W", "_", topic).upper()
        if name in self._on.catalog().sources:
            raise Conflict("SOURCE_EXISTS", f"{name} is there already, over another topic than {topic}.")
        return name, _declaration(name, topic, columns.columns, dict(connector.options))

    def _capture(self, connector: Connector, done: str = "Created") -> str:
        """Make a capture, and declare the tables that it brings, as far as their names are free."""
        capture = self._on.captures.check(connector)
        wanted = dict(connector.options).get("declare.tables", "true").lower() != "false"
        told, kafka = [], self._grounds.kafka
        for table in capture.tables if wanted else ():
            topic = capture.topics[table.name]
            if any(source.topic == topic for source in self._on.catalog().sources.values()):
                continue
            try:
                text = capture.declaration(table.name)
                new = capture.new_topic(table.name)
                kafka.create_topic(topic, new.partitions, new.replication, new.settings, exist_ok=True)
                self._on.declare(text)
            except UserError as error:
                told.append(f"{table.name} is not declared: {error.message}")
        self._on.captures.create(connector, capture)
        self._on.put(connector)
        return " ".join([f"{done} connector {connector.name}", *told])

    # ---- where they stand --------------------------------------------------------------------------------------

    def offsets(self, name: str) -> list[Offset]:
        """How far it is in each partition of what it reads."""
        connector = self.get(name)
        if connector.plugin == CAPTURE:
            return self._on.captures.offsets(name)
        if connector.direction is Direction.SOURCE:
            grounds = self._grounds
            there = offsets_of(grounds.kafka, grounds.service, name)
            return [Offset(one.partition, one.offset) for one in there]
        return [
            Offset({"kafka_topic": topic, "kafka_partition": partition}, {"kafka_offset": offset})
            for topic, at in sorted(self._reached(name).items())
            for partition, offset in sorted(at.items())
        ]

    def _reached(self, name: str) -> Offsets:
        found: Offsets = {}
        for job in self.tasks_of(self.get(name)):
            entry = self._on.queries.get(job.id)
            reached = dict(entry.progress.offsets) if entry is not None else {}
            found |= reached or self._last_reached(job)
        return found

    def _last_reached(self, job: Task) -> Offsets:
        """How far a task is that hasn't run yet: by its checkpoint, or by its group where that tells nothing."""
        with suppress(Distrust):
            if reached := Checkpoint(job.checkpoint).reached:
                return reached
        found: Offsets = {}
        with suppress(NotFound):
            for part in self._grounds.kafka.describe_group(job.standing.group).progress:
                if part.topic in job.standing.topics and part.committed is not None:
                    found.setdefault(part.topic, {})[part.partition] = part.committed
        return found

    def move(self, name: str, offsets: Sequence[Offset] | None) -> None:
        """Have a stopped connector go on elsewhere: at offsets, where they are given, or at the beginning.

        It gets a new identity, so that nothing it has noted about the old place is held against the new one.
        """
        connector = self.get(name)
        if connector.wanted is not Wanted.STOPPED:
            raise Conflict("NOT_STOPPED", f"Connector {name} must be stopped before its offsets change.")
        if connector.plugin == CAPTURE:
            raise UserError(
                "INVALID_OFFSETS",
                f"Connector {name} is a capture: Debezium keeps where it stands.",
                hint="Drop it and create it again to read everything anew.",
            )
        starting = ""
        if connector.direction is Direction.SOURCE:
            grounds = self._grounds
            if offsets is None:
                forget_offsets(grounds.kafka, grounds.service, name)
            else:  # others stay, such as those of other files
                set_offsets(grounds.kafka, grounds.service, name, [Standpoint(o.partition, o.at) for o in offsets])
        elif offsets is not None:
            starting = json.dumps(self._moved(connector, _places(name, offsets)))
        for job in self.tasks_of(connector):
            self._on.queries.remove(job.id)
        moved = replace(connector, number=self._on.catalog().version, starting=starting)
        self._start(self.tasks_of(moved), paused=True)
        self._on.put(moved)

    def _moved(self, connector: Connector, wanted: Offsets) -> Offsets:
        """Where each partition begins, of which Spark has to be told all: as it is wanted, else where it stands."""
        kafka, reached = self._grounds.kafka, self._reached(connector.name)
        found: Offsets = {}
        for topic in (s.topic for s in connector.sources):
            beginning = dict.fromkeys(kafka.earliest_offsets(topic), _BEGINNING)
            found[topic] = beginning | dict(reached.get(topic, {})) | dict(wanted.get(topic, {}))
            wrong = set(found[topic]) - set(beginning)
            if wrong:
                told = f"The topic {topic} has no partition {min(wrong)}: it has {len(beginning)}."
                raise UserError("INVALID_OFFSETS", told)
        strange = next((topic for topic in wanted if topic not in found), None)
        if strange is not None:
            known = hint_nearest(strange, list(found)) or f"It reads {', '.join(found)}."
            raise UserError("INVALID_OFFSETS", f"Connector {connector.name} reads no topic {strange}.", hint=known)
        return found

    # ---- looking -----------------------------------------------------------------------------------------------

    def get(self, name: str) -> Connector:
        known = self._on.catalog().connectors
        if name not in known:
            raise NotFound("NOT_FOUND", f"There is no connector {name}.", hint=hint_nearest(name, list(known)))
        return known[name]

    def tasks(self, name: str) -> list[TaskStatus]:
        connector = self.get(name)
        if connector.plugin == CAPTURE:
            return [TaskStatus(0, ", ".join(self._on.captures.topics(name)), self._on.captures.status(name))]
        found = []
        for number, job in enumerate(self.tasks_of(connector)):
            entry = self._on.queries.get(job.id)
            if entry is not None:
                found.append(TaskStatus(number, job.source.topic, entry.status()))
        return found

    def topics(self, name: str) -> list[str]:
        connector = self.get(name)
        if connector.plugin == CAPTURE:
            return self._on.captures.topics(name)
        return [source.topic for source in connector.sources]

    def loads(self, name: str) -> dict[str, str]:
        """How warehouses load what the connector stages, by the warehouse's name; nothing where it stages nothing."""
        found: dict[str, list[str]] = {}
        for job in self.tasks_of(self.get(name)):
            opened = job.opened()
            stage = getattr(opened, "stage", None)
            if stage is None or not isinstance(job, SinkTask):
                continue
            for warehouse in WAREHOUSES:
                with suppress(UnsupportedError):
                    found.setdefault(warehouse, []).append(loading(warehouse, job.layout, stage))
        return {warehouse: "\n\n".join(texts) for warehouse, texts in found.items()}

    def tasks_of(self, connector: Connector) -> list[Task]:
        """The jobs that the supervisor runs for it."""
        if connector.plugin == CAPTURE:
            return []
        if connector.direction is Direction.SOURCE:
            return [FeedJob(connector, self._on.around("earliest"))]
        return [SinkTask(connector, self._on.around(_beginning(connector, s.topic)), s) for s in connector.sources]

    def identities(self) -> set[str]:
        """What the groups of all tasks are called by."""
        found: set[str] = set()
        for connector in self._on.catalog().connectors.values():
            with suppress(OrionError):
                found |= {job.identity for job in self.tasks_of(connector)}
        return found

    def close(self) -> None:
        self._on.captures.close()


def _declaration(name: str, topic: str, columns: Iterable[Column], options: Mapping[str, str]) -> str:
    """CREATE STREAM over a topic that a feed is to write."""
    formats = {"KEY_FORMAT": options.get("key.format", "KAFKA"), "VALUE_FORMAT": options.get("value.format", "JSON")}
    said = {"KAFKA_TOPIC": f"'{topic}'", **{n: f"'{v}'" for n, v in formats.items()}}
    said["PARTITIONS"] = options.get("partitions", "1")
    listed = ", ".join(
        f"`{c.name}` {'STRING' if c.type is Scalar.STRING else c.type}{' KEY' if c.role is Role.KEY else ''}"
        for c in columns
    )
    properties = ", ".join(f"{n} = {v}" for n, v in said.items())
    return f"CREATE STREAM `{name}` ({listed}) WITH ({properties});".replace("VARCHAR(STRING)", "STRING")


def _places(name: str, offsets: Iterable[Offset]) -> Offsets:
    """Offsets of a sink, by topic and partition. One without a place is that of the beginning."""
    found: Offsets = {}
    try:
        for one in offsets:
            topic, partition = str(one.partition["kafka_topic"]), int(one.partition["kafka_partition"])
            found.setdefault(topic, {})[partition] = _BEGINNING if one.at is None else int(one.at["kafka_offset"])
    except (KeyError, ValueError, TypeError):
        raise UserError(
            "INVALID_OFFSETS",
            f"Connector {name} is a sink: its offsets are by kafka_topic, kafka_partition and kafka_offset.",
        ) from None
    return found


def _beginning(connector: Connector, topic: str) -> str:
    """Where a task begins that has no checkpoint: Spark takes places of the topic that it reads, and of no other."""
    places = json.loads(connector.starting) if connector.starting else {}
    return json.dumps({topic: places[topic]}) if topic in places else "earliest"


def standing(tasks: Iterable[TaskStatus], wanted: Wanted) -> tuple[str, str | None]:
    """A connector's state, and what is wrong: that of the task that is worst off."""
    worst = [State.ERROR, State.FAILING, State.RESTARTING, State.WAITING, State.STARTING]
    worst += [State.RESTORING, State.PAUSING, State.RUNNING, State.PAUSED]
    found = sorted((t.status for t in tasks), key=lambda s: worst.index(State(s.state)))
    if wanted is not Wanted.RUNNING and (not found or found[0].state != State.ERROR):
        return wanted.value, None
    return (found[0].state, found[0].error) if found else (State.ERROR.value, "It has no tasks.")
