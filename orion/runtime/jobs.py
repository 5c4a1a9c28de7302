"""A query as a job that the supervisor runs, and what jobs of all kinds need of the server."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from pyspark.sql.streaming.query import StreamingQuery

from orion import profiles
from orion.errors import ExternalError
from orion.hub.changelog import FIRST_EDITION, Editions
from orion.hub.client_settings import translated_settings
from orion.hub.ledger import list_written_batches
from orion.hub.transactions import Permit
from orion.plan.partitions import bonds
from orion.plan.relations import Guarantee, Query, is_stateful, looked_up, scans
from orion.plan.sharing import SharedWork, why_alone
from orion.plan.tolerance import Tolerance
from orion.runtime import emit
from orion.runtime.checkpoint_planting import plan_anew, plan_fast
from orion.runtime.dataframe import outgoing
from orion.runtime.evaluation import Evaluation
from orion.runtime.headers import Seen
from orion.runtime.kafka_source import KafkaSource
from orion.runtime.lanes.exact import ExactLane
from orion.runtime.lanes.fast import FastLane, find_written
from orion.runtime.operators.spread import Spread
from orion.runtime.pacing import StreamPace
from orion.runtime.progress import Offsets
from orion.runtime.query_state import QueryState, StateEdition
from orion.runtime.respreading import Respreading
from orion.runtime.restoring import RestoreWatch
from orion.runtime.runs import Run
from orion.runtime.schemas import Schemas
from orion.runtime.starting import Grounds, PositionedRun, Standing
from orion.security.secret_places import SecretPlaces


@dataclass(frozen=True)
class Surroundings:
    """What every job needs of the server."""

    grounds: Grounds
    source: KafkaSource
    checkpoints: Path
    trigger_ms: int
    schemas: Schemas
    freshness_ms: int = 1_000  # how old results may get before batches are made as often as can be
    fast_batch_ms: int = 60_000
    shares: bool = True  # statements with the same source run as one stream
    secrets: SecretPlaces = field(default_factory=SecretPlaces)

    def begin(self, standing: Standing, *, new: bool, accept: bool) -> Run:
        return self.grounds.begin(standing, new=new, accept=accept)

    def permit(self, run: Run, letters: str, topic: str = "") -> Permit:
        """What the workers of a run need to write, once it is a member."""
        on = self.grounds
        run.credentials = run.membership.credentials()
        notes = run.membership.read_notes(run.slots)
        return Permit(
            on.kafka.bootstrap,
            run.membership.group,
            run.credentials,
            on.service,
            on.writers,
            topic,
            letters,
            limit=on.kafka.record_limit(topic) if topic else 0,
            edition=notes[0].edition if 0 in notes else FIRST_EDITION,
            done=tuple(list_written_batches(notes).items()),
            tolerance=run.tolerance,
            topic_ids=tuple((noted.topic, noted.topic_id) for noted in run.inputs.topics),
        )

    def count_behind(self, run: Run, positions: Offsets) -> int:
        """How many records a run has to read that stands there."""
        partitions = {known.topic: known.partitions for known in run.inputs.topics}
        if not partitions:
            return 0
        try:
            ends = self.grounds.kafka.committed_ends_of(partitions)
        except ExternalError:
            return 0
        return sum(
            end - positions.get(topic, {}).get(part, 0) for topic, parts in ends.items() for part, end in parts.items()
        )

    def started(self, run: Run, standing: Standing, stream: StreamingQuery) -> Run:
        run.stream, run.spark = stream, self.source.spark
        run.evaluation = None if run.endless else Evaluation(stream, self.count_behind(run, run.checkpoint.reached))
        if run.inputs.names and self.trigger_ms and not run.endless and not run.is_prelude:
            run.pace = StreamPace(stream, run.spark, self.trigger_ms, self.freshness_ms)
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

    @cached_property
    def shared_work(self) -> SharedWork | None:
        """What other statements need to have in common with it to run in one stream; None: it runs in its own."""
        around = self.around
        if not around.shares or why_alone(self.query) is not None:
            return None
        source = around.source
        settings = (around.trigger_ms, around.freshness_ms, source.most_records, source.most_ahead_ms)
        return SharedWork.of(self.query, *settings)

    def join(self) -> Candidate:
        """A run that may go on in a stream with others; raises LookupError where it has to start by itself."""
        found = self.state.find() if is_stateful(self.query.relation) else None
        start = self.around.grounds.begin_shared(self._standing_with(found))
        try:
            start.run.tolerance = Tolerance.parse(self.query.tolerance)
            permit = self._with_profile(self.around.permit(start.run, self.dead_letters, self.query.sink.topic))
            if found is None:
                return Candidate(self, start, permit)
            edition = self.state.find_whole(found, permit.edition)
            return Candidate(self, start, *self._prepare_state(start.run, permit, edition))
        except BaseException:
            start.run.close()
            raise

    def _standing_with(self, found: Editions | None) -> Standing:
        """`found` has the changelogs of a query with state."""
        return self.standing(None if found is None else self.state.most_slots(found))

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
        found = self.state.find() if is_stateful(self.query.relation) else None
        standing = self._standing_with(found)
        run = self.around.begin(standing, new=new, accept=accept)
        run.tolerance = Tolerance.parse(self.query.tolerance)
        try:
            if self.query.guarantee is Guarantee.FAST:
                query = self.around.schemas.bound(self.query)
                stream: StreamingQuery | None = self._start_fast(query, self.around.source.over(run.inputs), run)
            else:
                stream = self._start_exact(run, found)
            return run if stream is None else self.around.started(run, standing, stream)
        except BaseException:
            run.close()
            raise

    def _start_exact(self, run: Run, found: Editions | None) -> StreamingQuery | None:
        """Start what the run is for; None: that is no stream of Spark's. `found` has the changelogs of a query with
        state."""
        query = self.around.schemas.bound(self.query)
        # Asked before this run has given its own name.
        forgotten = bool((found or {}).keys() - {FIRST_EDITION}) and not run.membership.has_earlier_run()
        permit = self._permit(run, query)
        edition = None if found is None else self._stand(run, permit, found, forgotten=forgotten)
        spread = None
        if edition is not None:
            permit, spread = self._prepare_state(run, permit, edition)
        read = self.around.source.over(run.inputs).reader_of(query.relation)
        frame = outgoing(query, read, self._seen(query, run), spread)
        lane = ExactLane(permit, self.around.trigger_ms)
        if edition is None or spread is None or query.tasks in (0, edition.tasks):
            return lane.start(frame, self.id, self.checkpoint)
        run.is_prelude = True
        if run.checkpoint.last_planned != run.checkpoint.last_committed:
            return lane.finish(frame, self.id, self.checkpoint)
        work = Respreading(run, self.state, spread, edition, query.tasks)
        run.stream, run.announce = work.start(), work.describe
        return None

    def _prepare_state(self, run: Run, permit: Permit, edition: StateEdition) -> tuple[Permit, Spread]:
        """What workers need to write changes of state, and how operators run over it."""
        spread = self.state.spread(edition, permit.done)
        if spread.context is not None:
            run.restore = RestoreWatch.over(self.id, spread.context)
        logs = tuple(log.topic for log in edition.changelogs)
        return replace(permit, changelogs=logs, edition=edition.name), spread

    def _permit(self, run: Run, query: Query) -> Permit:
        permit = replace(self.around.permit(run, self.dead_letters, query.sink.topic), checkpoint=self.checkpoint)
        return self._with_profile(permit)

    def _with_profile(self, permit: Permit) -> Permit:
        profile = self.query.profile
        if not profile:
            return permit
        settings = translated_settings(profiles.of(profile).lane_settings())
        return replace(permit, settings=tuple(settings.items()), kind=profile)

    def _stand(self, run: Run, permit: Permit, found: Editions, *, forgotten: bool) -> StateEdition:
        """The changelogs that the run goes on with; what was left behind beside them is removed."""
        begun = run.checkpoint.last_planned is not None or any(batch >= 0 for _, batch in permit.done)
        told = None if forgotten and not permit.edition else permit.edition
        edition = self.state.stand(found, told, begun=begun)
        if self.state.slot_count(edition.tasks) > run.slots:
            raise ExternalError("STATE_MOVED", f"The state of {self.id} was just spread anew.", retry_after=1.0)
        self.state.remove_others(found, edition)
        return edition

    def _start_fast(self, query: Query, source: KafkaSource, run: Run) -> StreamingQuery:
        """The run is a member of the query's group, as an exact one is, and shows there how far it is."""
        kafka, batch_ms = self.around.grounds.kafka, self.around.fast_batch_ms
        source = replace(source, most_records=0, waits=True)  # a batch has an end by time alone
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


@dataclass(frozen=True)
class Candidate:
    """A query that is about to go on in a stream with others. `spread`: how its operators run, if it has any."""

    job: QueryJob
    start: PositionedRun
    permit: Permit
    spread: Spread | None = None


def is_back(prepare: Callable[[], None]) -> bool:
    """Whether another system that was away is there again; raises ExternalError while it isn't."""
    try:
        prepare()
    except ExternalError:
        raise
    except Exception:  # something else is wrong by now: the next start tells
        return True
    return True
