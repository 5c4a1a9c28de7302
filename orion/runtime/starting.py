"""What must hold before a job's stream starts: nothing of an earlier run is left open, its checkpoint can be trusted,
and the topics under it are the ones it knows.

The checkpoint of a query that is written exactly once is made anew where it can't be trusted. What else doesn't hold is
refused, with what to do.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from orion.errors import Conflict
from orion.hub import claims
from orion.hub.kafka import Kafka
from orion.hub.ledger import LedgerNote, prepare_ledger
from orion.hub.membership import Membership
from orion.plan.partitions import Bond
from orion.runtime.checkpoint import Checkpoint, Identity, sweep
from orion.runtime.checkpoint_planting import plan_anew, plant_checkpoint
from orion.runtime.inputs import Input, Inputs, Seen, Watch, accepted, noted, trouble
from orion.runtime.runs import Run

log = structlog.get_logger()


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
    is_exact: bool = False  # its slots note what they read, so that its checkpoint can be made anew


@dataclass(frozen=True)
class Grounds:
    """The cluster and the machine that jobs start on."""

    kafka: Kafka
    watch: Watch
    service: str
    writers: Path  # where the writers of this machine note their names
    shuffle_partitions: int = 1  # the session's

    def begin(self, standing: Standing, *, new: bool, accept: bool) -> Run:
        """A run that may start its stream. `new`: it has none yet. `accept`: what may be accepted is accepted."""
        checkpoint = Checkpoint(standing.checkpoint, bool(standing.topics))
        if not (new or checkpoint.exists or standing.is_exact):
            raise lack_checkpoint(checkpoint)
        sweep(checkpoint.path)
        claims.settle(self.kafka, self.writers)
        seen = self.watch.see(standing.topics)
        most = max((topic.partitions for topic in seen.topics.values()), default=1)
        slots = most * max(1, len(standing.topics)) if standing.slots is None else standing.slots
        room = prepare_ledger(self.kafka, slots)  # before anybody joins, who may subscribe to it
        run = Run(Membership(self.kafka, standing.group, standing.topics), room, checkpoint, self.watch)
        try:
            known = self._stand(standing, run, seen, new=new)
            run.inputs = self._inputs(standing, checkpoint, seen, known, accept)
        except BaseException:
            run.close()
            raise
        return run

    def _stand(self, standing: Standing, run: Run, seen: Seen, *, new: bool) -> tuple[Input, ...] | None:
        """See to a checkpoint that can be trusted; what is known of the topics where it had to be made anew."""
        checkpoint, notes = run.checkpoint, run.membership.read_notes(run.slots)
        written = _of_batches(notes)
        if new and not checkpoint.exists:
            if notes or run.membership.read_offsets(_partitions(seen)):
                run.membership.forget(notes, seen.earliest)
            return None
        try:
            if not checkpoint.exists:
                raise lack_checkpoint(checkpoint)
            checkpoint.verify(max((note.batch for note in written.values()), default=None))
            self._refuse_foreign(checkpoint)
            return None
        except Conflict as error:
            if not standing.is_exact:
                raise
            return self._plant(standing, run, seen, error)

    def _refuse_foreign(self, checkpoint: Checkpoint) -> None:
        identity = checkpoint.identity
        if identity is not None and identity.cluster != (cluster := self.kafka.cluster_id()):
            raise Conflict(
                "OTHER_CLUSTER",
                f"{checkpoint.path} belongs to the Kafka cluster {identity.cluster}, and this one is {cluster}.",
                hint="Give the server the cluster it ran on, or another data folder.",
            )

    def _plant(self, standing: Standing, run: Run, seen: Seen, damage: Conflict) -> tuple[Input, ...]:
        """Make the checkpoint anew from what stands in Kafka; raises the damage where that doesn't tell enough."""
        has_earlier_run = run.membership.has_earlier_run()
        # A run elsewhere may write on until this one has its place: only then its notes are the last.
        run.membership.credentials()
        notes = _of_batches(run.membership.read_notes(run.slots))
        reached = run.membership.read_offsets(_partitions(seen))
        if not notes and not reached:
            if not has_earlier_run:
                raise damage  # the group has forgotten all there was to know
            shutil.rmtree(standing.checkpoint, ignore_errors=True)  # no batch was done: it begins
            return noted(standing.topics, seen.topics)
        try:
            plan = plan_anew(notes, reached, list(standing.topics))
        except LookupError:
            raise damage from None
        plant_checkpoint(standing.checkpoint, plan, self.shuffle_partitions)
        log.info("checkpoint made anew", query=standing.job, batch=plan.batch, reason=damage.message)
        there = {known.topic: known for known in noted(standing.topics, seen.topics)}
        ends = {topic: len(ranges) for source in plan.sources for topic, ranges in source.items()}
        ids = {name: known.topic_id for name, known in there.items()} | dict(plan.topic_ids)
        return tuple(Input(topic, ids.get(topic, ""), partitions) for topic, partitions in ends.items())

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


def lack_checkpoint(checkpoint: Checkpoint) -> Conflict:
    """The error for a job that has run and finds nothing of it: from zero it would write everything a second time."""
    gone = f"Its checkpoint {checkpoint.path} is gone."
    return Conflict("CHECKPOINT_BROKEN", gone, hint="Drop it and create it again to start anew.")


def _of_batches(notes: Mapping[int, LedgerNote]) -> dict[int, LedgerNote]:
    """Without those of a query whose state was re-spread before its first batch."""
    return {slot: note for slot, note in notes.items() if note.batch >= 0}


def _partitions(seen: Seen) -> dict[str, int]:
    return {name: topic.partitions for name, topic in seen.topics.items()}
