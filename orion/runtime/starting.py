"""What must hold before a job's stream starts: nothing of an earlier run is left open, its checkpoint can be trusted,
and the topics under it are the ones it knows. What doesn't hold is refused, with what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from orion.errors import Conflict
from orion.hub import claims
from orion.hub.kafka import Kafka
from orion.hub.membership import Membership, prepare_ledger
from orion.plan.partitions import Bond
from orion.runtime.checkpoint import Checkpoint, Identity, sweep
from orion.runtime.inputs import Inputs, Watch, accepted, noted, trouble
from orion.runtime.runs import Run


@dataclass(frozen=True)
class Standing:
    """What a job is to the cluster: a group, the topics it reads if any, and the folder that says how far it is."""

    job: str
    group: str
    checkpoint: Path
    topics: tuple[str, ...]
    scans: int
    bonds: Mapping[str, Bond]
    stateful: bool
    resume: str  # the statement that makes it go on


@dataclass(frozen=True)
class Grounds:
    """The cluster and the machine that jobs start on."""

    kafka: Kafka
    watch: Watch
    service: str
    writers: Path  # where the writers of this machine note their names

    def begin(self, standing: Standing, shuffled: int, *, new: bool, accept: bool) -> Run:
        """A run that may start its stream. `new`: it has none yet. `accept`: what may be accepted is accepted."""
        checkpoint = Checkpoint(standing.checkpoint, bool(standing.topics))
        if not new and not checkpoint.exists:
            # Starting from zero would write everything a second time: somebody has to want that.
            gone = f"Its checkpoint {checkpoint.path} is gone."
            raise Conflict("CHECKPOINT_BROKEN", gone, hint="Drop it and create it again to start anew.")
        sweep(checkpoint.path)
        claims.settle(self.kafka, self.writers)
        seen = self.watch.see(standing.topics)
        most = max((topic.partitions for topic in seen.topics.values()), default=1)
        # A batch has a slot for each partition of what it reads; or for each of its shuffle, and for its dead letters.
        slots = max(most, shuffled + 1) * standing.scans
        room = prepare_ledger(self.kafka, slots)  # before anybody joins, who may subscribe to it
        run = Run(Membership(self.kafka, standing.group, standing.topics), room, checkpoint, self.watch)
        try:
            written = run.membership.written(run.slots)
            if new and not checkpoint.exists and written:
                run.membership.forget(written)
                written = {}
            checkpoint.verify(max(written.values(), default=None))
            run.inputs = self._inputs(standing, checkpoint, accept)
        except BaseException:
            run.close()
            raise
        return run

    def _inputs(self, standing: Standing, checkpoint: Checkpoint, accept: bool) -> Inputs:
        seen = self.watch.see(standing.topics)
        identity = checkpoint.identity
        if identity is None:
            return Inputs(standing.job, noted(standing.topics, seen.topics), standing.bonds, standing.resume)
        cluster = self.kafka.cluster_id()
        if identity.cluster != cluster:
            raise Conflict(
                "OTHER_CLUSTER",
                f"{checkpoint.path} belongs to the Kafka cluster {identity.cluster}, and this one is {cluster}.",
                hint="Give the server the cluster it ran on, or another data folder.",
            )
        inputs = Inputs(standing.job, identity.topics, standing.bonds, standing.resume)
        reached = checkpoint.reached
        found = trouble(inputs, seen.topics, reached, seen.earliest)
        if found is not None and found.acceptable and accept:
            inputs = accepted(inputs, seen.topics, reached, seen.earliest)
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
