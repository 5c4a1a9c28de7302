"""A run lets the batch under way end, and no more than that one."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from orion.errors import Conflict, ExternalError
from orion.hub.ledger import FastEnd, LedgerNote
from orion.hub.membership import taken_over
from orion.plan.tolerance import Tolerance
from orion.runtime.checkpoint import Checkpoint
from orion.runtime.checkpoint_planting import BatchPlan, plant_checkpoint
from orion.runtime.inputs import Input, Inputs, Watch
from orion.runtime.runs import Drained, Run


@dataclass
class Stream:
    isActive: bool = True
    done: int | None = None
    busy: bool = True

    @property
    def lastProgress(self) -> Any:
        return None if self.done is None else SimpleNamespace(batchId=self.done)

    @property
    def status(self) -> dict[str, bool]:
        return {"isTriggerActive": self.busy}


@dataclass
class Group:
    group: str = "orion.Q"
    lost: Conflict | None = None
    shown: bytes = b"1"
    notes: list[Any] = field(default_factory=list)

    def leave_notes(self, notes: dict[int, LedgerNote]) -> None:
        self.look()
        self.notes.append(notes)

    def reached(self, offsets: Any, note: LedgerNote | None) -> None:
        self.notes.append(note)

    def look(self, patience: float = 0.0) -> None:
        if self.lost is not None:
            raise self.lost

    def credentials(self) -> bytes:
        return self.shown


def run(stream: Stream | None, **more: Any) -> Run:
    unused = cast(Any, None)
    return Run(cast(Any, Group()), 1, unused, unused, stream=cast(Any, stream), **more)


@pytest.mark.parametrize("done", [None, 7])
def test_it_has_drained_when_the_batch_under_way_has_ended(done: int | None) -> None:
    stream = Stream(done=done)
    ending = run(stream)
    assert [ending.drain(), ending.drain()] == [False, False]
    stream.done = 8  # and the next one runs already
    assert ending.drain()


def test_nobody_waits_for_a_batch_that_is_not_there() -> None:
    assert run(Stream(busy=False)).drain()
    assert run(Stream(isActive=False)).drain()
    assert run(None).drain()


def test_nobody_waits_for_an_endless_batch() -> None:
    assert run(Stream(), endless=True).drain()


def test_a_sink_takes_no_batch_after_the_end() -> None:
    ending = run(Stream())
    ending.admit()
    ending.drain()
    with pytest.raises(Drained):
        ending.admit()


def test_a_sink_takes_no_batch_of_a_run_that_was_shut_out() -> None:
    late = run(Stream())
    cast(Any, late.membership).lost = taken_over("orion.Q")
    with pytest.raises(Conflict, match="taken over"):
        late.admit()
    verdict = late.verdict(None)
    assert verdict is not None
    assert verdict.code == "TAKEN_OVER"


@pytest.mark.parametrize(
    "told",
    [taken_over("orion.Q").message, "This instance has been fenced by a newer instance"],
    ids=["run", "producer"],
)
def test_a_worker_that_was_refused_ends_the_run_for_good_where_another_has_its_place(told: str) -> None:
    late = run(Stream(), credentials=b"1")
    cast(Any, late.membership).lost = taken_over("orion.Q")
    verdict = late.verdict(RuntimeError(f"in a worker: {told}"))
    assert verdict is not None
    assert verdict.code == "TAKEN_OVER"


def test_one_that_was_refused_since_the_group_had_forgotten_the_run_starts_again() -> None:
    back = run(Stream(), credentials=b"1")
    cast(Any, back.membership).shown = b"2"  # it has joined again
    assert back.verdict(RuntimeError(taken_over("orion.Q").message)) is None


def test_too_many_dead_letters_end_it_and_none_is_too_many_where_all_are_borne() -> None:
    strict = run(Stream(), tolerance=Tolerance.parse("1%"))
    with pytest.raises(Conflict) as raised:
        strict.judge(1000, 900)
    assert raised.value.code == "NOT_TOLERATED"
    assert strict.verdict(None) is raised.value
    run(Stream()).judge(0, 10**6)


RANGES = ({"t": {0: (5, 9)}},)


@pytest.fixture
def noting(tmp_path: Path) -> Run:
    """The run of a sink that has batch 7 planned."""
    plant_checkpoint(tmp_path, BatchPlan(7, RANGES, is_done=False), 1)
    made = run(None, inputs=Inputs("Q", (Input("t", "id", 1),)))
    made.checkpoint = Checkpoint(tmp_path)
    return made


def test_a_batch_is_noted_before_it_is_written(noting: Run) -> None:
    noting.begin_batch(7, {})
    assert cast(Group, noting.membership).notes == [{0: LedgerNote(7, RANGES, {"t": "id"}, is_begun=True)}]


def test_of_a_wide_topic_each_partition_has_a_note(noting: Run) -> None:
    wide: dict[int, tuple[int, int]] = dict.fromkeys(range(200), (5, 9))
    plant_checkpoint(noting.checkpoint.path, BatchPlan(8, ({"t": wide},), is_done=False), 1)
    noting.begin_batch(8, {3: 8})
    (notes,) = cast(Group, noting.membership).notes
    assert set(notes) == set(range(200)) - {3}
    assert notes[7] == LedgerNote(8, ({"t": {7: (5, 9)}},), {"t": "id"}, is_begun=True)


def test_a_batch_of_which_dead_letters_stand_is_noted_already(noting: Run) -> None:
    noting.begin_batch(7, {0: 7, 1: 6})
    assert cast(Group, noting.membership).notes == []


def test_a_run_whose_place_is_taken_begins_no_batch(noting: Run) -> None:
    cast(Group, noting.membership).lost = taken_over("orion.Q")
    with pytest.raises(Conflict):
        noting.begin_batch(7, {})
    assert noting.verdict(RuntimeError("a callback failed")) is not None


def test_the_end_of_a_batch_is_noted_of_the_fast_lane_alone(noting: Run) -> None:
    noting.reached({}, (7, 99))
    noting.outputs = 3
    noting.reached({}, None)
    noting.reached({}, (7, 99))
    assert cast(Group, noting.membership).notes == [None, None, LedgerNote(7, fast=FastEnd(99, 3))]


def test_a_checkpoint_that_is_damaged_under_a_run_has_it_started_again(noting: Run) -> None:
    class Asking:
        def look(self, inputs: Inputs, ahead: Any) -> None:
            ahead()

    noting.watch = cast(Watch, Asking())
    noting.look()
    (noting.checkpoint.path / "offsets" / "7").write_text("v1")
    with pytest.raises(ExternalError) as caught:
        noting.look()
    assert caught.value.code == "CHECKPOINT_LOST"
