"""What a letter's headers tell, and what is sent back of it. No broker."""

from __future__ import annotations

import time

import pytest

from orion.hub.dead_letters import Letter, Origin, Repaired, _note, _sent_back, _Tally
from orion.hub.records import Record

TOLD = {
    "orion.error.code": "VALUE_UNREADABLE",
    "orion.error.reason": "it isn't JSON",
    "orion.source.topic": "in",
    "orion.source.partition": "3",
    "orion.source.offset": "17",
    "orion.source.timestamp": "1000",
    "orion.attempt": "2",
}


def letter(offset: int = 5, **changed: str | None) -> Letter:
    told = TOLD | {name.replace("_", "."): value for name, value in changed.items()}
    headers = tuple((name, None if value is None else value.encode()) for name, value in told.items())
    return Letter(Record("dlq.OUT", 0, offset, 1000, b"k", b"{", (*headers, ("trace", b"\x01"))))


def test_a_letter_says_what_is_wrong_and_where_it_came_from() -> None:
    one = letter()
    assert (one.id, one.code, one.reason, one.attempt) == ("dlq.OUT/0/5", "VALUE_UNREADABLE", "it isn't JSON", 2)
    assert one.origin == Origin("in", 3, 17)
    assert one.own_headers == (("trace", b"\x01"),)
    assert one.stays is None


def test_a_record_that_is_no_letter_of_ours_is_shown_all_the_same() -> None:
    one = Letter(Record("dlq.OUT", 0, 0, None, None, None))
    assert (one.code, one.reason, one.attempt, one.timestamp, one.origin) == ("UNKNOWN", "", 1, None, None)
    assert one.stays == "it was made by the query, and is no record of a source"


@pytest.mark.parametrize("missing", ["orion_source_topic", "orion_source_partition", "orion_source_offset"])
def test_what_has_no_place_in_a_source_stays(missing: str) -> None:
    without: dict[str, str | None] = {missing: None}
    assert letter(5, **without).stays is not None


def test_a_late_row_stays() -> None:
    assert "too late" in (letter(orion_error_code="LATE_ROW").stays or "")


def test_a_record_goes_back_as_it_was_and_says_that_it_does() -> None:
    assert _sent_back(Repaired(letter(), b"{}"), partitions=4) == {
        "key": b"k",
        "value": b"{}",
        "partition": 3,
        "timestamp": 1000,
        "headers": [("trace", b"\x01"), ("orion.replayed.from", b"dlq.OUT/0/5"), ("orion.attempt", b"2")],
    }
    assert "partition" not in _sent_back(Repaired(letter(), b"{}"), partitions=3)
    assert _sent_back(Repaired(letter(orion_source_timestamp="0"), None), partitions=4)["timestamp"] == 1


def test_a_record_from_the_future_goes_back_with_the_time_it_is() -> None:
    before = round(time.time() * 1000)
    sent = _sent_back(Repaired(letter(orion_source_timestamp="99999999999999"), b"{}"), partitions=4)
    assert before <= sent["timestamp"] <= round(time.time() * 1000)


def test_letters_of_a_topic_made_anew_are_others() -> None:
    notes = {_note(letter(), "id1"), _note(letter(), "id2"), _note(letter(6), "id1")}
    assert len(notes) == 3
    assert _note(letter(), "id1") in notes


def test_a_summary_counts_what_waits_and_names_the_most_frequent_code() -> None:
    tally = _Tally()
    for found, waits in (
        (letter(), True),
        (letter(6, orion_error_code="OTHER"), True),
        (letter(7), True),
        (letter(8), False),
    ):
        tally.add(found, is_waiting=waits)
    summary = tally.summary("OUT")
    assert (summary.letters, summary.waiting, summary.newest, summary.code) == (4, 3, 1000, "VALUE_UNREADABLE")
    assert (_Tally().summary("OUT").newest, _Tally().summary("OUT").code) == (None, None)
