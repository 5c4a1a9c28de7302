"""Which batch a job goes on with without a checkpoint, and what is planted for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from orion.hub.ledger import FastEnd, LedgerNote, narrow_ranges, parse_note
from orion.runtime.checkpoint import Checkpoint
from orion.runtime.checkpoint_planting import (
    BatchPlan,
    BatchUnfinished,
    find_batch_end,
    find_slot_positions,
    plan_anew,
    plan_at_group,
    plan_for_sink,
    plant_checkpoint,
    read_feed_offset,
    read_ranges,
)

RANGES = ({"t": {0: (5, 9), 1: (0, 4)}},)
NOTE = LedgerNote(7, RANGES, {"t": "id"})
BEHIND, AT, PAST = ({"t": dict(enumerate(at))} for at in ((5, 0), (9, 4), (9, 6)))


@pytest.mark.parametrize(
    "note",
    [
        LedgerNote(7),
        NOTE,
        replace(NOTE, is_begun=True),
        LedgerNote(7, feed={"row": 5, "us": 3}),
        LedgerNote(7, fast=FastEnd(12, 3)),
        LedgerNote(7, ({"t": {part: (part, part + 1) for part in range(300)}},)),
    ],
)
def test_a_note_is_read_as_it_was_written(note: LedgerNote) -> None:
    assert parse_note(note.encode()) == note


def test_of_a_note_that_is_too_long_the_ranges_are_left_out() -> None:
    wide = ({"t": {part: (part * 7919**2, part * 7919**3) for part in range(2000)}},)
    assert parse_note(LedgerNote(7, wide, is_begun=True).encode()) == LedgerNote(7, is_begun=True)


def test_a_note_of_an_earlier_version_has_a_number() -> None:
    assert parse_note("7") == LedgerNote(7)


@pytest.mark.parametrize("plan", [plan_anew, plan_for_sink])
@pytest.mark.parametrize("reached", [{}, BEHIND, AT])
def test_the_last_batch_runs_again_over_its_ranges(plan: object, reached: Mapping[str, Mapping[int, int]]) -> None:
    for note in (NOTE, replace(NOTE, is_begun=True)):
        made = plan({1: note, 0: LedgerNote(6)}, reached, ["t"])  # type: ignore[operator]
        assert made == BatchPlan(7, RANGES, is_done=False, topic_ids={"t": "id"})


def test_a_batch_that_the_group_has_passed_is_done() -> None:
    made = plan_for_sink({1: replace(NOTE, is_begun=True)}, PAST, ["t"])
    assert made == BatchPlan(8, ({"t": {0: (9, 9), 1: (6, 6)}},), is_done=True, topic_ids={"t": "id"})


def test_what_the_slots_of_a_wide_topic_have_noted_is_put_together() -> None:
    """The last batch is 7, which partitions 0 and 3 have begun; 1 was in the one before, and 2 had never any rows."""
    notes = {
        0: LedgerNote(7, ({"t": {0: (5, 9)}},), {"t": "id"}, is_begun=True),
        1: LedgerNote(6, ({"t": {1: (2, 4)}},), {"t": "id"}, is_begun=True),
        3: LedgerNote(7, ({"t": {3: (0, 8)}},), {"t": "id"}),
    }
    planned = {0: (5, 9), 1: (4, 4), 2: (6, 6), 3: (0, 8)}
    made = plan_for_sink(notes, {"t": {0: 5, 1: 2, 2: 6, 3: 0}}, ["t"])
    assert made == BatchPlan(7, ({"t": planned},), is_done=False, topic_ids={"t": "id"})
    unknown = {**notes, 2: LedgerNote(7, is_begun=True)}
    assert plan_for_sink(unknown, {"t": {0: 5}}, ["t"]).batch == 1_000_000_007


def test_as_many_ranges_as_a_note_has_fit_into_it() -> None:
    chance = Random(7)
    ranges = {part: (at, at + chance.randrange(10**6)) for part in range(151) if (at := chance.randrange(10**13))}
    wide, fits = {"t": ranges}, {"t": {part: at for part, at in ranges.items() if part < 150}}
    assert parse_note(LedgerNote(7, narrow_ranges((fits,), 3), is_begun=True).encode()).sources == (fits,)
    assert narrow_ranges((wide,), 3) == ({"t": {3: ranges[3]}},)


def test_without_ranges_a_sink_goes_on_under_numbers_that_no_store_knows() -> None:
    at = ({"t": {0: (5, 5), 1: (0, 0)}},)
    assert plan_for_sink({0: LedgerNote(3)}, BEHIND, ["t"]) == BatchPlan(1_000_000_003, at, is_done=True)
    assert plan_for_sink({}, BEHIND, ["t"]) == BatchPlan(1_000_000_000, at, is_done=True)
    with pytest.raises(LookupError):
        plan_anew({0: LedgerNote(3)}, BEHIND, ["t"])


@pytest.mark.parametrize("plan", [plan_anew, plan_at_group, plan_for_sink])
def test_nothing_is_made_of_nothing(plan: object) -> None:
    with pytest.raises(LookupError):
        plan({}, {}, ["t"])  # type: ignore[operator]


def test_the_fast_lane_goes_on_where_its_group_is() -> None:
    notes = {0: LedgerNote(4, fast=FastEnd(1, 3)), 1: LedgerNote(2, RANGES)}
    made = BatchPlan(4, ({"t": {0: (5, 5), 1: (0, 0)}},), is_done=True)
    assert plan_at_group(notes, BEHIND, ["t"]) == made
    assert plan_anew(notes, BEHIND, ["t"]) == made  # its lane was changed since


@pytest.mark.parametrize("batch", [0, 7])
@pytest.mark.parametrize("is_done", [True, False])
def test_what_is_planted_is_trusted_and_read_back(tmp_path: Path, batch: int, is_done: bool) -> None:
    (tmp_path / "orion.json").write_text("of another time")
    plant_checkpoint(tmp_path, BatchPlan(batch, RANGES, is_done), 2)
    checkpoint = Checkpoint(tmp_path)
    checkpoint.verify(batch)
    assert (checkpoint.last_planned, checkpoint.identity) == (batch, None)
    assert checkpoint.last_committed == (batch if is_done else batch - 1 if batch else None)
    assert read_ranges(tmp_path, batch) == RANGES


def test_a_feed_goes_on_behind_what_it_has_read(tmp_path: Path) -> None:
    plan = BatchPlan(7, (), is_done=True, feed={"row": 5, "us": 3})
    plant_checkpoint(tmp_path, plan, 2)
    Checkpoint(tmp_path, topics=False).verify(7)
    assert (read_feed_offset(tmp_path, 7), read_feed_offset(tmp_path, 9)) == ({"row": 5, "us": 3}, None)
    assert read_ranges(tmp_path, 7) == ()


# ---- by slot -------------------------------------------------------------------------------------------------------


def test_each_partition_goes_on_behind_what_its_slot_has_noted() -> None:
    """Slot 0 has written batch 7, slot 1 hasn't: it stands where the group is. Slot 2 wrote last in batch 5."""
    seven = ({"in": {0: (10, 20), 1: (30, 40), 2: (50, 60)}},)
    notes = {0: LedgerNote(7, seven), 2: LedgerNote(5, ({"in": {0: (0, 5), 1: (0, 20), 2: (30, 45)}},))}
    reached = {"in": {0: 10, 1: 30, 2: 50}}
    assert find_slot_positions(notes, reached, {}, "in") == {"in": {0: 20, 1: 30, 2: 50}}


def test_the_group_may_be_behind_what_is_written() -> None:
    notes = {1: LedgerNote(3, ({"in": {0: (0, 9), 1: (0, 8)}},))}
    assert find_slot_positions(notes, {"in": {0: 4}}, {}, "in") == {"in": {0: 4, 1: 8}}


def test_a_job_that_has_done_nothing_stands_where_it_began() -> None:
    assert find_slot_positions({}, {}, {"in": {0: 12}}, "in") == {"in": {0: 12}}


@pytest.mark.parametrize(
    "notes",
    [{}, {0: LedgerNote(4)}, {0: LedgerNote(4, ({"in": {0: (1, 2)}},), fast=FastEnd(1, 1))}],
    ids=["nothing", "no ranges", "fast"],
)
def test_where_that_is_not_told_it_is_not_guessed(notes: dict[int, LedgerNote]) -> None:
    with pytest.raises(LookupError):
        find_slot_positions(notes, {}, {}, "in")


# ---- jobs whose slots are tasks ----------------------------------------------------------------------------------


def test_a_batch_that_all_tasks_have_noted_has_ended() -> None:
    """The group may know of it a moment later."""
    notes = {0: NOTE, 1: NOTE}
    for reached in ({}, BEHIND, AT):
        assert find_batch_end(notes, reached, {}, "t", 2) == AT
    assert find_batch_end(notes, PAST, {}, "t", 2) == PAST


def test_so_has_one_that_the_group_is_behind() -> None:
    """Tasks that have nothing to write note nothing."""
    assert find_batch_end({1: NOTE}, AT, {}, "t", 2) == AT
    assert find_batch_end({0: LedgerNote(6), 1: NOTE}, PAST, {}, "t", 2) == PAST


@pytest.mark.parametrize("reached", [{}, BEHIND, {"t": {0: 9}}])
def test_one_that_a_task_may_not_have_written_is_to_be_done_first(reached: Mapping[str, Mapping[int, int]]) -> None:
    for notes in ({1: NOTE}, {0: LedgerNote(6, RANGES), 1: NOTE}):
        with pytest.raises(BatchUnfinished):
            find_batch_end(notes, reached, {}, "t", 2)


def test_without_a_batch_it_stands_where_it_began() -> None:
    assert find_batch_end({}, {}, {"t": {0: 3}}, "t", 2) == {"t": {0: 3}}
    assert find_batch_end({}, {"t": {0: 5}}, {"t": {0: 3, 1: 0}}, "t", 2) == {"t": {0: 5, 1: 0}}


@pytest.mark.parametrize("note", [LedgerNote(7), replace(NOTE, fast=FastEnd(12, 3)), replace(NOTE, sources=RANGES * 2)])
def test_what_a_batch_read_must_be_known(note: LedgerNote) -> None:
    with pytest.raises(LookupError):
        find_batch_end({0: note, 1: note}, AT, {}, "t", 2)
    with pytest.raises(LookupError, match="isn't known"):
        find_batch_end({}, {}, {}, "t", 2)
