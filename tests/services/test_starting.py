"""What a job's stream starts from: over a real cluster, with checkpoints made by hand."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import pytest

from orion.errors import Conflict
from orion.hub import transactions
from orion.hub.kafka import Kafka
from orion.hub.ledger import FastEnd, LedgerNote, Ranges
from orion.hub.transactions import Permit, Slot
from orion.runtime.checkpoint import Checkpoint
from orion.runtime.checkpoint_planting import (
    BatchPlan,
    plan_fast,
    plan_for_sink,
    plant_checkpoint,
    read_ranges,
)
from orion.runtime.inputs import Watch
from orion.runtime.jobs import Surroundings
from orion.runtime.kafka_source import KafkaSource
from orion.runtime.runs import Run
from orion.runtime.schemas import Schemas
from orion.runtime.starting import Grounds, Standing


@dataclass
class Stand:
    """A job that reads a topic of two partitions."""

    grounds: Grounds
    standing: Standing
    folder: Path

    @property
    def topic(self) -> str:
        return self.standing.topics[0]

    def ranges(self, first: int, end: int) -> tuple[Ranges, ...]:
        return ({self.topic: {0: (first, end), 1: (first, end)}},)

    def begin(self, *, new: bool = False, **changed: object) -> Run:
        return self.grounds.begin(replace(self.standing, **changed), new=new, accept=False)  # type: ignore[arg-type]

    def begin_slot(self, run: Run, slot: Slot) -> None:
        credentials = run.membership.credentials()
        permit = Permit(self.grounds.kafka.bootstrap, run.membership.group, credentials, "test", self.folder, "", "")
        transactions.begin_slot(permit, slot)

    def refusal(self) -> Conflict:
        with pytest.raises(Conflict) as caught:
            self.begin().close()
        return caught.value


@pytest.fixture
def stand(kafka: Kafka, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Stand]:
    topic = f"starting-{abs(hash(request.node.name)) % 10**8}"
    kafka.create_topic(topic, 2)
    grounds = Grounds(kafka, Watch(kafka), "test", tmp_path / "writers")
    standing = Standing("JOB", topic, tmp_path / "checkpoint", (topic,), {}, False, "", replan=plan_for_sink)
    yield Stand(grounds, standing, tmp_path / "claims")
    kafka.delete_topic(topic)


def test_what_the_group_has_forgotten_is_refused_however_often_it_is_tried(stand: Stand) -> None:
    assert [stand.refusal().code for _ in range(2)] == ["POSITION_LOST"] * 2


def test_what_another_server_has_taken_over_is_not_taken_back_by_itself(stand: Stand) -> None:
    first = stand.begin(new=True)
    first.membership.credentials()
    other = Grounds(stand.grounds.kafka, stand.grounds.watch, "test", stand.folder)
    second = other.begin(stand.standing, new=True, accept=False)
    second.membership.credentials()
    first.close()
    assert stand.refusal().code == "TAKEN_OVER"
    second.membership.look()  # and it hasn't noticed
    third = stand.grounds.begin(stand.standing, new=True, accept=True)
    third.membership.credentials()
    with pytest.raises(Conflict, match="taken over"):
        until_told(second)
    for run in (second, third):
        run.close()


def until_told(run: Run) -> None:
    """Look until the group has said that another has its place."""
    end = time.monotonic() + 20.0
    while time.monotonic() < end:
        run.membership.look(0.1)


def test_a_job_that_was_announced_begins(stand: Stand) -> None:
    stand.grounds.announce(stand.standing.group)
    run = stand.begin()
    assert (run.checkpoint.exists, run.inputs.names) == (False, (stand.topic,))
    run.close()


def test_a_batch_that_was_begun_is_planned_again(stand: Stand) -> None:
    run = stand.begin(new=True)
    stand.begin_slot(run, Slot(1, 7, stand.ranges(0, 5)))
    run.membership.reached({stand.topic: {0: 0, 1: 0}})
    run.close()
    run = stand.begin()
    assert (run.checkpoint.last_planned, run.checkpoint.last_committed) == (7, 6)
    assert read_ranges(run.checkpoint.path, 7) == stand.ranges(0, 5)
    run.close()


def test_a_slot_that_has_begun_may_write_its_dead_letters_in_the_next_run(stand: Stand) -> None:
    run = stand.begin(new=True)
    stand.begin_slot(run, Slot(1, 7, stand.ranges(0, 5)))
    run.close()
    run = stand.begin()
    around = Surroundings(stand.grounds, cast(KafkaSource, None), stand.folder, 0, Schemas(None))
    assert around.permit(run, "letters").done == ()
    run.close()


def test_a_folder_with_other_offsets_for_the_batch_at_hand_is_made_anew(stand: Stand) -> None:
    run = stand.begin(new=True)
    stand.begin_slot(run, Slot(0, 7, stand.ranges(0, 5)))
    run.close()
    plant_checkpoint(stand.standing.checkpoint, BatchPlan(7, stand.ranges(0, 9), is_done=False), 1)
    run = stand.begin()
    assert read_ranges(run.checkpoint.path, 7) == stand.ranges(0, 5)
    run.close()


def test_a_fast_query_begins_again_before_its_first_batch_has_ended_and_goes_on_after_that(stand: Stand) -> None:
    run = stand.begin(new=True, replan=plan_fast)
    begun = run.begin_fast(3)
    assert begun is None
    run.close()
    run = stand.begin(replan=plan_fast)
    assert not run.checkpoint.exists
    first = run.begin_fast(3)
    assert first is not None
    assert first.partitions == 3
    run.membership.credentials()
    run.membership.leave_notes({0: LedgerNote(4, fast=FastEnd(99, 3))})
    run.membership.forget([], {stand.topic: {0: 2, 1: 3}})
    run.close()
    run = stand.begin(replan=plan_fast)
    assert (run.checkpoint.last_committed, run.checkpoint.reached) == (4, {stand.topic: {0: 2, 1: 3}})
    assert run.begin_fast(3) == FastEnd(99, 3)
    run.close()


def test_a_query_that_reads_what_comes_knows_from_where_on(stand: Stand, kafka: Kafka) -> None:
    run = stand.begin(new=True, from_end=frozenset({stand.topic}))
    run.close()
    run = stand.begin()
    assert run.checkpoint.reached == {stand.topic: kafka.end_offsets(stand.topic)}
    run.close()


def test_a_folder_of_another_cluster_is_refused_where_nothing_is_known_of_the_job(stand: Stand) -> None:
    folder = stand.standing.checkpoint
    plant_checkpoint(folder, BatchPlan(7, stand.ranges(0, 5), is_done=True), 1)
    topics = [{"topic": stand.topic, "topic_id": "x", "partitions": 2, "skipped": {}}]
    identity = {"query": "JOB", "service": "test", "cluster": "elsewhere", "stateful": False, "topics": topics}
    (folder / "orion.json").write_text(json.dumps(identity))
    assert [stand.refusal().code for _ in range(2)] == ["OTHER_CLUSTER"] * 2
    run = stand.begin(new=True)  # one that was made here has nothing to do with it
    assert not Checkpoint(folder).exists
    run.close()
    shutil.rmtree(folder, ignore_errors=True)
