"""Operators that pass whole rows on, a row at a time."""

from __future__ import annotations

import pytest

from orion.plan.sources import Window, WindowKind
from orion.runtime.operators.rowwise import First
from orion.runtime.operators.tasks import InputRow, LateRows
from tests.unit.runtime.test_joins import made

WINDOW = Window(WindowKind.TUMBLING, 10, 10, 5)


@pytest.mark.parametrize("batch", [1, 3])
def test_of_equal_rows_the_first_of_a_window_passes_and_late_ones_are_told(batch: int) -> None:
    rows = [InputRow(b"a", b"r", time) for time in (1, 2, 11, 15, 3)]
    found = made(First(WINDOW), rows, batch=batch)
    assert [(m.time, m.values) for m in found if m.late is None] == [(1, (b"r", False)), (11, (b"r", False))]
    assert [m.late for m in found if m.late is not None] == [LateRows(1)]


def test_a_late_row_that_is_kept_has_its_reason_and_what_its_letter_tells() -> None:
    rows = [InputRow(b"a", b"r", time, data=(b"letter",)) for time in (15, 3)]
    (late,) = [m.late for m in made(First(WINDOW, keeps_late=True), rows) if m.late is not None]
    assert (late.rows, late.row) == (1, b"letter")
    assert "to 1970-01-01T00:00:00.010Z was closed" in (late.why or "")
