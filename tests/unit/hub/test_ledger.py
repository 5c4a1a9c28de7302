"""Notes of slots: what is written is what is read, and an edition is never left out."""

from __future__ import annotations

import pytest

from orion.hub.ledger import LedgerNote, parse_note

IDS = {"PLAYS": "Ju7mQzXqT3mhoWl0rP0GQw"}


@pytest.mark.parametrize("edition", ["", "0badcafe"])
@pytest.mark.parametrize("partitions", [0, 2, 200])
def test_a_note_is_read_as_it_was_written(partitions: int, edition: str) -> None:
    sources = ({"PLAYS": {part: (part, part + 5) for part in range(partitions)}},) if partitions else ()
    note = LedgerNote(7, sources, IDS if sources else {}, edition=edition)
    assert parse_note(note.encode()) == note


def test_a_note_that_would_be_too_long_keeps_its_edition() -> None:
    ranges = {part: (part * 7919 * 10**9, part * 104_729 * 10**9 + 1) for part in range(900)}
    note = LedgerNote(7, ({"PLAYS": ranges},), IDS, edition="0badcafe")
    assert parse_note(note.encode()) == LedgerNote(7, edition="0badcafe")


def test_notes_of_earlier_versions_are_of_the_first_edition() -> None:
    assert parse_note("7") == LedgerNote(7)
    assert parse_note('{"v":1,"batch":7}') == LedgerNote(7)
