"""A query as a job that the supervisor runs, and what jobs of all kinds need of the server."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.sql.streaming.query import StreamingQuery

from orion import profiles
from orion.errors import ExternalError
from orion.hub.client_settings import translated_settings
from orion.hub.transactions import Permit
from orion.plan.partitions import bonds
from orion.plan.relations import Guarantee, Query, is_stateful, looked_up, scans
from orion.plan.tolerance import Tolerance
from orion.runtime import emit
from orion.runtime.checkpoint_planting import plan_anew, plan_fast
from orion.runtime.dataframe import outgoing
from orion.runtime.headers import Seen
from orion.runtime.kafka_source import KafkaSource
from orion.runtime.lanes.exact import ExactLane
from orion.runtime.lanes.fast import FastLane, find_written
from orion.runtime.query_state import QueryState
from orion.runtime.restoring import RestoreWatch
from orion.runtime.runs import Run
from orion.runtime.schemas import Schemas
from orion.runtime.starting import Grounds, Standing
from orion.security.secret_places import SecretPlaces


@dataclass(frozen=True)
class Surroundings:
    """What every job needs of the server."""

    grounds: Grounds
    source: KafkaSource
    checkpoints: Path
    trigger_ms: int
    schemas: Schemas
    fast_batch_ms: int = 60_000
    secrets: SecretPlaces = field(default_factory=SecretPlaces)

    def begin(self, standing: Standing, *, new: bool, accept: bool) -> Run:
        return self.grounds.begin(standing, new=new, accept=accept)

    def permit(self, run: Run, letters: str, topic: str = "") -> Permit:
        """What the workers of a run need to write, once it is a member."""
        on = self.grounds
        run.credentials = run.membership.credentials()
        return Permit(
            on.kafka.bootstrap,
            run.membership.group,
            run.credentials,
            on.service,
            on.writers,
            topic,
            letters,
            limit=on.kafka.record_limit(topic) if topic else 0,
            done=tuple(run.membership.written(run.slots).items()),
            tolerance=run.tolerance,
            topic_ids=tuple((noted.topic, noted.topic_id) for noted in run.inputs.topics),
        )

    def started(self, run: Run, standing: Standing, stream: StreamingQuery) -> Run:
        run.stream, run.spark = stream, self.source.spark
        self.grounds.started(standing, run)
        return run


@dataclass(frozen=True)
class QueryJob:
    query: Query
    around: Surroundings

    @property
    def id(self) -> str:
        return self.query.id

    @property
    def sink(self) -> str:
        return self.query.sink.name

    @property
    def dead_letters(self) -> str:
        return self.query.dead_letters

    @property
    def checkpoint(self) -> Path:
        return self.around.checkpoints / f"{self.query.id}-{self.query.incarnation}"

    @property
    def state(self) -> QueryState:
        around = self.around
        return QueryState(around.grounds.kafka, around.grounds.service, self.query, self.checkpoint / "tasks")

    def forget(self) -> None:
        """Nothing of it is needed any more."""
        shutil.rmtree(self.checkpoint, ignore_errors=True)
        if is_stateful(self.query.relation):
            self.state.drop()

    def standing(self, slots: int | None = None) -> Standing:
        relation = self.query.relation
        whole = looked_up(relation)  # read from their beginning in any case
        is_late = self.around.source.starting == "latest"
        begun = {s.topic for s in scans(relation) if s.name in whole}
        from_end = frozenset(s.topic for s in scans(relation) if is_late and s.topic not in begun)
        return Standing(
            self.id,
            f"{self.around.grounds.service}.{self.id}",
            self.checkpoint,
            tuple(source.topic for source in scans(relation)),
            bonds(relation),
            is_stateful(relation),
            f"RESUME {self.id}",
            slots,
            plan_fast if self.query.guarantee is Guarantee.FAST else plan_anew,
            from_end,
        )

    def start(self, on_written: Callable[[Counter[str]], None], *, new: bool, accept: bool) -> Run:
        around, stateful = self.around, is_stateful(self.query.relation)
        tasks = self.state.task_count(self.state.find()) if stateful else 0
        standing = self.standing(self.state.slot_count(tasks) if stateful else None)
        run = around.begin(standing, new=new, accept=accept)
        run.tolerance = Tolerance.parse(self.query.tolerance)
        try:
            query = around.schemas.bound(self.query)
            source = around.source.over(run.inputs)
            if query.guarantee is Guarantee.FAST:
                return around.started(run, standing, self._start_fast(query, source, run))
            permit = replace(around.permit(run, self.dead_letters, query.sink.topic), checkpoint=self.checkpoint)
            begun = run.checkpoint.last_planned is not None
            spread = self.state.prepare(tasks, dict(permit.done), begun=begun) if stateful else None
            if spread is not None and spread.context is not None:
                permit = replace(permit, changelogs=tuple(log.topic for log in spread.context.changelogs))
                run.restore = RestoreWatch.over(self.id, spread.context)
            frame = outgoing(query, source.reader_of(query.relation), self._seen(query, run), spread)
            if query.profile:
                settings = translated_settings(profiles.of(query.profile).lane_settings())
                permit = replace(permit, settings=tuple(settings.items()), kind=query.profile)
            lane = ExactLane(permit, around.trigger_ms)
            stream = lane.start(frame, self.id, self.checkpoint)
            return around.started(run, standing, stream)
        except BaseException:
            run.close()
            raise

    def _start_fast(self, query: Query, source: KafkaSource, run: Run) -> StreamingQuery:
        """The run is a member of the query's group, as an exact one is, and shows there how far it is."""
        kafka, batch_ms = self.around.grounds.kafka, self.around.fast_batch_ms
        source = replace(source, most_records=0)  # a batch has an end by time alone
        if source.most_ahead_ms:  # records come until then, and a batch's time is that of its beginning
            source = replace(source, most_ahead_ms=source.most_ahead_ms + batch_ms)
        partitions = kafka.describe_topic(query.sink.topic).topic.partitions
        seen = find_written(kafka, query.id, query.sink.topic, run.begin_fast(partitions))
        frame = emit.told(outgoing(query, source.reader_of(query.relation), seen))
        read = [kafka.describe_topic(s.topic).topic.partitions for s in scans(query.relation)]
        lane = FastLane(
            source.bootstrap,
            query.sink.topic,
            partitions,
            query.dead_letters,
            batch_ms,
            sum(read),
            profiles.of(query.profile).lane_settings() if query.profile else {},
        )
        return lane.start(frame, self.id, self.checkpoint)

    def _seen(self, query: Query, run: Run) -> Seen | None:
        """What an exact query has written as a fast one, since that one's last batch; None: it has no such headers."""
        if not query.sink.headed or is_stateful(query.relation):
            return None
        last = run.membership.read_notes(run.slots).get(0)
        fast = None if last is None else last.fast
        return find_written(self.around.grounds.kafka, query.id, query.sink.topic, fast, committed=True)

    def learn(self, error: str) -> bool:
        return self.around.schemas.learn(error)


def is_back(prepare: Callable[[], None]) -> bool:
    """Whether another system that was away is there again; raises ExternalError while it isn't."""
    try:
        prepare()
    except ExternalError:
        raise
    except Exception:  # something else is wrong by now: the next start tells
        return True
    return True
