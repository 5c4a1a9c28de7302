"""What must hold before a job's stream starts: nothing of an earlier run is left open, its checkpoint can be trusted,
and the topics under it are the ones it knows.

A checkpoint that can't be trusted is made anew from what stands in Kafka. What else doesn't hold is refused, with what
to do.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from pathlib import Path

import structlog

from orion.errors import Conflict
from orion.hub import claims
from orion.hub.kafka import Kafka
from orion.hub.kafka_errors import translated
from orion.hub.ledger import LedgerNote, Ranges, prepare_ledger
from orion.hub.membership import Membership, read_run_name, taken_over
from orion.plan.partitions import Bond
from orion.runtime.checkpoint import Checkpoint, Distrust, Identity, sweep
from orion.runtime.checkpoint_planting import (
    BatchPlan,
    Notes,
    Reached,
    Replan,
    find_batch_end,
    find_slot_positions,
    plan_anew,
    plant_checkpoint,
    read_ranges,
)
from orion.runtime.inputs import Input, Inputs, Seen, Watch, accepted, noted, trouble
from orion.runtime.progress import Offsets
from orion.runtime.runs import Run

log = structlog.get_logger()


class _Begin(Enum):
    """Where a job begins for which there is no plan."""

    BY_ITSELF = "it knows"
    UNKNOWN = "nothing tells"


_UNKNOWN = _Begin.UNKNOWN


@dataclass(frozen=True)
class Standing:
    """What a job is to the cluster: a group, the topics it reads if any, and the folder that says how far it is."""

    job: str
    group: str
    checkpoint: Path
    topics: tuple[str, ...]  # one for each scan
    bonds: Mapping[str, Bond]
    stateful: bool
    resume: str  # the statement that makes it go on
    slots: int | None = None  # into how many a batch is cut; None: one for each partition that is read
    replan: Replan = plan_anew  # how its next batch is found without a checkpoint
    from_end: frozenset[str] = frozenset()  # topics of which it reads what comes after it was made


@dataclass(frozen=True)
class PositionedRun:
    """A run that is to go on in a stream with others: from where on it reads, and the last batch that it has noted."""

    run: Run
    positions: Offsets
    batch: int


@dataclass(frozen=True)
class Grounds:
    """The cluster and the machine that jobs start on."""

    kafka: Kafka
    watch: Watch
    service: str
    writers: Path  # where the writers of this machine note their names
    shuffle_partitions: int = 1  # the session's
    own_runs: dict[str, set[str]] = field(default_factory=dict)  # by group, the names of this server's runs

    def begin(self, standing: Standing, *, new: bool, accept: bool) -> Run:
        """A run that may start its stream. `new`: it has none yet. `accept`: what may be accepted is accepted."""
        run, seen = self._join(standing, accept=accept)
        try:
            known = self._stand(standing, run, seen, new=new)
            run.inputs = self._inputs(standing, run.checkpoint, seen, known, accept)
        except BaseException:
            run.close()
            raise
        return run

    def begin_shared(self, standing: Standing) -> PositionedRun:
        """A run that may go on in a stream with others. Where each slot of the job is a partition of its one topic, it
        stands where that slot has written last, whatever batches there were; where slots are tasks, at the end of a
        batch. Raises LookupError where that isn't known."""
        run, seen = self._join(standing)
        try:
            run.membership.credentials()  # what runs elsewhere writes no more, so that the notes are the last
            notes = run.membership.read_notes(run.slots)
            reached = run.membership.read_offsets(_partitions(seen))
            # One that has done a batch, and of which Kafka tells nothing, isn't at its beginning.
            begun = run.checkpoint.begun_at if run.checkpoint.last_planned is None else {}
            topic = standing.topics[0]
            if standing.stateful:
                positions = find_batch_end(notes, reached, begun, topic, standing.slots or 1)
            else:
                positions = find_slot_positions(notes, reached, begun, topic)
            identity = run.checkpoint.identity
            known = noted(standing.topics, seen.topics) if identity is None else identity.topics
            if any(topic.skipped for topic in known):
                raise LookupError("it goes on over a gap")
            run.inputs = Inputs(standing.job, known, standing.bonds, standing.resume)
            found = trouble(run.inputs, seen.topics, positions, seen.earliest)
            if found is not None and found.fatal:
                raise found.error
        except Distrust as error:
            run.close()
            raise LookupError(str(error)) from error
        except BaseException:
            run.close()
            raise
        return PositionedRun(run, positions, max((note.batch for note in notes.values()), default=-1))

    def _join(self, standing: Standing, *, accept: bool = False) -> tuple[Run, Seen]:
        """A run that is a member of the job's group, or about to be, and what its topics are now. One of which another
        server has had a run since this one's last is refused, unless somebody asks for it: they would take it from each
        other for ever."""
        if not accept:
            self._refuse_taken_over(standing.group)
        checkpoint = Checkpoint(standing.checkpoint, bool(standing.topics))
        sweep(checkpoint.path)
        end_abandoned = partial(claims.settle, self.kafka, self.writers)
        end_abandoned()
        seen = self.watch.see(standing.topics)
        most = max((topic.partitions for topic in seen.topics.values()), default=1)
        slots = most * max(1, len(standing.topics)) if standing.slots is None else standing.slots
        room = prepare_ledger(self.kafka, slots)  # before anybody joins, who may subscribe to it
        membership = Membership(self.kafka, standing.group, standing.topics, end_abandoned)
        self.own_runs.setdefault(standing.group, set()).add(membership.name)
        return Run(membership, room, checkpoint, self.watch), seen

    def _refuse_taken_over(self, group: str) -> None:
        known = self.own_runs.get(group)
        if not known:
            return
        with translated(self.kafka.subject(group=group)):
            last = read_run_name(self.kafka, group)
        if last and last not in known:
            raise taken_over(group)

    def announce(self, group: str) -> None:
        """Have a group know of a job that will start later: what no group knows has been forgotten."""
        prepare_ledger(self.kafka, 1)
        membership = Membership(self.kafka, group, ())
        self.own_runs.setdefault(group, set()).add(membership.name)
        try:
            membership.credentials()
        finally:
            membership.close()

    def _stand(self, standing: Standing, run: Run, seen: Seen, *, new: bool) -> tuple[Input, ...] | None:
        """See to a checkpoint that can be trusted; what is known of the topics where it had to be made anew."""
        if new and not run.checkpoint.exists:
            return self._stand_new(standing, run, seen)
        has_earlier_run = run.membership.has_earlier_run()
        if has_earlier_run:
            # One elsewhere may write on until this one has its place: only then its notes are the last.
            run.membership.credentials()
        try:
            self._check(run.checkpoint, _of_batches(run.membership.read_notes(run.slots)))
            return None
        except Distrust as damage:
            if new:  # what somebody else has left there
                return self._begin_anew(standing, run, seen, str(damage), new=True)
            return self._make_anew(standing, run, seen, (str(damage), has_earlier_run))

    def _stand_new(self, standing: Standing, run: Run, seen: Seen) -> tuple[Input, ...] | None:
        notes = run.membership.read_notes(run.slots)
        if notes or standing.from_end or run.membership.read_offsets(_partitions(seen)):
            ends = {topic: self.kafka.end_offsets(topic) for topic in standing.from_end}
            run.membership.forget(notes, {**seen.earliest, **ends})
        plan = _find_plan(standing, {}, {})
        return self._plant(standing, plan, seen, "the job is new") if isinstance(plan, BatchPlan) else None

    def _check(self, checkpoint: Checkpoint, notes: Notes) -> None:
        """Raise Distrust unless the folder is this job's as Kafka knows it."""
        if not checkpoint.exists:
            raise Distrust(f"{checkpoint.path} is gone.")
        checkpoint.verify(max((note.batch for note in notes.values() if note.batch >= 0), default=None))
        identity = checkpoint.identity
        if identity is not None and identity.cluster != (cluster := self.kafka.cluster_id()):
            raise Distrust(f"{checkpoint.path} belongs to the Kafka cluster {identity.cluster}, and this is {cluster}.")
        last = max(notes.values(), key=lambda note: (note.batch, bool(note.sources)), default=None)
        if last is not None and not _agree(read_ranges(checkpoint.path, last.batch), last.sources):
            raise Distrust(f"{checkpoint.path} has other offsets for batch {last.batch} than were read in it.")

    def _make_anew(self, standing: Standing, run: Run, seen: Seen, why: tuple[str, bool]) -> tuple[Input, ...]:
        """Make the checkpoint anew from what stands in Kafka; raises Conflict where that tells nothing.

        `why`: what is wrong with it, and whether the group knows of an earlier run.
        """
        damage, has_earlier_run = why
        notes = _of_batches(run.membership.read_notes(run.slots))
        reached = run.membership.read_offsets(_partitions(seen))
        plan = _find_plan(standing, notes, reached)
        if isinstance(plan, BatchPlan):
            return self._plant(standing, plan, seen, damage)
        # A run that is refused gives the group no name: the next one would be taken for one that has only to begin.
        if plan is _UNKNOWN and (notes or reached or not has_earlier_run):
            raise self._position_lost(standing, damage)
        return self._begin_anew(standing, run, seen, damage)  # no batch was done, or it knows by itself

    def _begin_anew(
        self, standing: Standing, run: Run, seen: Seen, damage: str, *, new: bool = False
    ) -> tuple[Input, ...]:
        notes = run.membership.read_notes(run.slots)
        gone = notes if new else _of_batches(notes)
        if of_batches := [slot for slot, note in gone.items() if note.fast is None]:
            run.membership.forget(of_batches)
        shutil.rmtree(standing.checkpoint, ignore_errors=True)
        log.info("checkpoint begun anew", query=standing.job, reason=damage)
        return noted(standing.topics, seen.topics)

    def _plant(self, standing: Standing, plan: BatchPlan, seen: Seen, reason: str) -> tuple[Input, ...]:
        plant_checkpoint(standing.checkpoint, plan, self.shuffle_partitions)
        log.info("checkpoint made anew", query=standing.job, batch=plan.batch, reason=reason)
        there = {known.topic: known for known in noted(standing.topics, seen.topics)}
        ends = {topic: len(ranges) for source in plan.sources for topic, ranges in source.items()}
        ids = {name: known.topic_id for name, known in there.items()} | dict(plan.topic_ids)
        return tuple(Input(topic, ids.get(topic, ""), partitions) for topic, partitions in ends.items())

    def _position_lost(self, standing: Standing, damage: str) -> Conflict:
        """The error for a job that has run, and of which nothing tells where: from zero it would write everything a
        second time."""
        try:
            identity = Checkpoint(standing.checkpoint).identity
        except Distrust:
            identity = None
        if identity is not None and identity.cluster != self.kafka.cluster_id():
            hint = "Give the server the cluster it ran on, or another data folder."
            return Conflict("OTHER_CLUSTER", f"{damage} Nothing is known there of {standing.job}.", hint=hint)
        return Conflict(
            "POSITION_LOST",
            f"How far {standing.job} is isn't known any more: its checkpoint doesn't tell, and its consumer group "
            f"{standing.group} doesn't either. {damage}",
            hint="Put its checkpoint back if there is a copy that is as new as Kafka's data. Otherwise drop it and "
            "create it again: it then begins anew, and writes once more what it has written.",
        )

    def _inputs(
        self, standing: Standing, checkpoint: Checkpoint, seen: Seen, known: tuple[Input, ...] | None, accept: bool
    ) -> Inputs:
        """What is read, held against the cluster. `known` is what is known of it where the checkpoint isn't asked."""
        identity = checkpoint.identity if known is None else None
        if identity is None and known is None:
            return Inputs(standing.job, noted(standing.topics, seen.topics), standing.bonds, standing.resume)
        topics = known if identity is None else identity.topics
        inputs = Inputs(standing.job, topics or (), standing.bonds, standing.resume)
        reached = checkpoint.reached
        found = trouble(inputs, seen.topics, reached, seen.earliest)
        if found is not None and found.acceptable and accept:
            inputs = accepted(inputs, seen.topics, reached, seen.earliest)
            if identity is not None:
                checkpoint.note(replace(identity, topics=inputs.topics))
        elif found is not None and found.fatal:
            raise Conflict(found.code, found.message, hint=found.hint)
        return inputs

    def started(self, standing: Standing, run: Run) -> None:
        """Note whose folder it is, now that Spark has made it its own."""
        checkpoint = Checkpoint(standing.checkpoint)
        if checkpoint.identity is None:
            checkpoint.note(
                Identity(standing.job, self.service, self.kafka.cluster_id(), standing.stateful, run.inputs.topics)
            )


def _find_plan(standing: Standing, notes: Notes, reached: Reached) -> BatchPlan | _Begin:
    try:
        return standing.replan(notes, reached, standing.topics) or _Begin.BY_ITSELF
    except LookupError:
        return _UNKNOWN


def _agree(planned: tuple[Ranges, ...], noted: tuple[Ranges, ...]) -> bool:
    """Whether a batch reads what was noted of it, as far as both are known. A note may have a part of it alone."""
    both = zip(planned, noted, strict=False)
    pairs = ((source.get(topic, {}), ranges) for source, told in both for topic, ranges in told.items())
    return all(there.get(part) == at for there, ranges in pairs for part, at in ranges.items())


def _of_batches(notes: Mapping[int, LedgerNote]) -> dict[int, LedgerNote]:
    """Without those of a query whose state was re-spread before its first batch."""
    return {slot: note for slot, note in notes.items() if note.batch >= 0 or note.fast is not None}


def _partitions(seen: Seen) -> dict[str, int]:
    return {name: topic.partitions for name, topic in seen.topics.items()}
