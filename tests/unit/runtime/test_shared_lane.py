"""What a shared stream's workers tell of each statement, and what each notes of a batch."""

from __future__ import annotations

import json

from orion.runtime.lanes.shared import narrow_to_starts, read_tallies


def test_tallies_of_all_slots_add_up() -> None:
    observed = {
        "0": json.dumps({"0": [5, 1, 1, "bad at 3", 1000], "1": [7, 0, 0, None, 900]}),
        "1": json.dumps({"0": [2, 0, 0, None, 1200]}),
        "2": None,
    }
    first = {"records": 7, "letters": 1, "errors": 1, "example": "bad at 3", "newest": 1200}
    assert read_tallies(observed, 0) == first
    assert read_tallies(observed, 1) == {"records": 7, "letters": 0, "errors": 0, "newest": 900}
    assert read_tallies(observed, 2) == {}
    assert read_tallies(None, 0) == {}


def test_a_statement_notes_what_it_reads_itself() -> None:
    """Of partition 0 it has read a part before, of 1 all there is and more, of 2 nothing."""
    sources = ({"in": {0: (0, 100), 1: (0, 100), 2: (0, 100)}},)
    assert narrow_to_starts(sources, {"in": {0: 40, 1: 150}}) == ({"in": {0: (40, 100), 1: (150, 150), 2: (0, 100)}},)
