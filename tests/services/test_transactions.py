"""Writing exactly once, below Spark: runs shut each other out, and what a dead writer left open is ended."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from orion.errors import Conflict
from orion.hub import claims, membership, transactions
from orion.hub import kafka as door
from orion.hub.claims import Claim
from orion.hub.kafka import Kafka
from orion.hub.ledger import LEDGER, FastEnd, LedgerNote, list_written_batches, prepare_ledger
from orion.hub.membership import Membership
from orion.hub.transactions import Chunk, Intolerable, Permit, Slot
from orion.plan.tolerance import Tolerance
from tests.scenarios.conftest import everything


@pytest.fixture
def topic(kafka: Kafka, request: pytest.FixtureRequest) -> str:
    """A topic of this test's own; its group has the same name."""
    name = f"tx-{abs(hash(request.node.name)) % 10**8}"
    kafka.create_topic(name, 2)
    kafka.create_topic(f"dlq.{name}", 1)
    prepare_ledger(kafka, 4)
    return name


@pytest.fixture
def first(kafka: Kafka, topic: str) -> Iterator[Membership]:
    member = Membership(kafka, topic, [topic])
    yield member
    member.close()


def chunk(topic: str, *values: bytes, headers: list[transactions.Headers] | None = None) -> Chunk:
    count = len(values)
    times = list(range(1000, 1000 + count))
    return Chunk([topic] * count, list(values), list(values), times, headers, max(map(len, values)) * 2, times[-1])


def permit(kafka: Kafka, topic: str, member: Membership, claims: Path, **more: Any) -> Permit:
    return Permit(kafka.bootstrap, member.group, member.credentials(), "test", claims, topic, f"dlq.{topic}", **more)


def seen(kafka: Kafka, topic: str) -> list[bytes | None]:
    return sorted((record.value for record in everything(kafka, topic)), key=lambda value: value or b"")


def test_records_and_number_stand_together(kafka: Kafka, topic: str, first: Membership, tmp_path: Path) -> None:
    written = transactions.write(permit(kafka, topic, first, tmp_path), Slot(1, 7), [chunk(topic, b"a", b"b")])
    assert (written.counts, written.newest) == ({topic: 2}, 1001)
    assert seen(kafka, topic) == [b"a", b"b"]
    assert [r.timestamp for r in everything(kafka, topic) if r.value == b"b"] == [1001]
    assert list_written_batches(first.read_notes(4)) == {1: 7}


def test_a_slot_that_an_earlier_run_has_written_is_passed_over(
    kafka: Kafka, topic: str, first: Membership, tmp_path: Path
) -> None:
    leave = permit(kafka, topic, first, tmp_path, done=((0, 4),))
    assert transactions.write(leave, Slot(0, 4), [chunk(topic, b"again")]).counts == {}
    transactions.write(leave, Slot(0, 5), [chunk(topic, b"next")])
    transactions.write(leave, Slot(1, 4), [chunk(topic, b"other slot")])
    assert seen(kafka, topic) == [b"next", b"other slot"]


def test_a_slot_without_records_notes_nothing(kafka: Kafka, topic: str, first: Membership, tmp_path: Path) -> None:
    empty = Chunk([], [], [], [], None)
    assert transactions.write(permit(kafka, topic, first, tmp_path), Slot(0, 3), [empty]).counts == {}
    assert list_written_batches(first.read_notes(4)) == {}


RANGES = ({"t": {0: (5, 9)}},)


def test_a_slot_that_has_begun_has_not_written(kafka: Kafka, topic: str, first: Membership, tmp_path: Path) -> None:
    leave = permit(kafka, topic, first, tmp_path, topic_ids=(("t", "id"),))
    transactions.begin_slot(leave, Slot(1, 7, RANGES))
    assert first.read_notes(4) == {1: LedgerNote(7, RANGES, {"t": "id"}, is_begun=True)}
    assert (list_written_batches(first.read_notes(4)), seen(kafka, topic)) == ({}, [])
    transactions.write(leave, Slot(1, 7, RANGES), [chunk(topic, b"letter")])
    assert list_written_batches(first.read_notes(4)) == {1: 7}


def test_a_slot_of_which_dead_letters_stand_does_not_begin_again(
    kafka: Kafka, topic: str, first: Membership, tmp_path: Path
) -> None:
    transactions.write(permit(kafka, topic, first, tmp_path), Slot(1, 7, RANGES), [chunk(topic, b"letter")])
    again = permit(kafka, topic, first, tmp_path, done=tuple(list_written_batches(first.read_notes(4)).items()))
    transactions.begin_slot(again, Slot(1, 7, RANGES))
    assert list_written_batches(first.read_notes(4)) == {1: 7}


def test_a_run_that_was_shut_out_begins_no_batch(kafka: Kafka, topic: str, first: Membership, tmp_path: Path) -> None:
    leave = permit(kafka, topic, first, tmp_path)
    first.leave_notes({0: LedgerNote(3, RANGES, is_begun=True)})
    second = Membership(kafka, topic, [topic])
    try:
        second.credentials()
        with pytest.raises(Conflict, match="Another server has taken over"):
            transactions.begin_slot(leave, Slot(1, 4))
        with pytest.raises(Conflict, match="Another server has taken over"):
            first.leave_notes({0: LedgerNote(4, is_begun=True)})
        assert second.read_notes(4) == {0: LedgerNote(3, RANGES, is_begun=True)}
    finally:
        second.close()


def test_a_note_goes_with_how_far_a_run_is(kafka: Kafka, topic: str, first: Membership) -> None:
    first.credentials()
    note = LedgerNote(5, fast=FastEnd(1_789_000_000_000, 3))
    first.reached({topic: {0: 3, 1: 1}}, note)
    until = time.monotonic() + 20
    while first.read_notes(4) != {0: note}:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert first.read_offsets({topic: 2}) == {topic: {0: 3, 1: 1}}


def test_what_breaks_off_leaves_neither(kafka: Kafka, topic: str, first: Membership, tmp_path: Path) -> None:
    def broken() -> Iterator[Chunk]:
        yield chunk(topic, b"a")
        raise ValueError("the task died")

    leave = permit(kafka, topic, first, tmp_path)
    with pytest.raises(ValueError, match="the task died"):
        transactions.write(leave, Slot(0, 0), broken())
    assert list_written_batches(first.read_notes(4)) == {}
    transactions.write(leave, Slot(0, 0), [chunk(topic, b"again")])
    assert seen(kafka, topic) == [b"again"]


def test_a_run_that_was_shut_out_writes_nothing(kafka: Kafka, topic: str, first: Membership, tmp_path: Path) -> None:
    old = permit(kafka, topic, first, tmp_path)
    transactions.write(old, Slot(0, 0), [chunk(topic, b"a")])
    second = Membership(kafka, topic, [topic])
    try:
        second.credentials()
        with pytest.raises(Conflict, match="taken over") as refused:
            transactions.write(old, Slot(0, 1), [chunk(topic, b"zombie")])
        assert refused.value.code == "TAKEN_OVER"
        transactions.write(permit(kafka, topic, second, tmp_path), Slot(0, 1), [chunk(topic, b"b")])
        assert seen(kafka, topic) == [b"a", b"b"]
        with pytest.raises(Conflict, match="taken over"):
            first.look(20.0)
    finally:
        second.close()


def test_a_note_stands_without_records_and_only_for_the_run_that_has_the_place(
    kafka: Kafka, topic: str, first: Membership, tmp_path: Path
) -> None:
    note = LedgerNote(7, ({topic: {0: (5, 5), 1: (3, 3)}},), {topic: "id"}, edition="0badcafe")
    first.leave_notes({0: note})
    transactions.write(permit(kafka, topic, first, tmp_path, edition="0badcafe"), Slot(1, 8), [chunk(topic, b"a")])
    assert first.read_notes(4) == {0: note, 1: LedgerNote(8, edition="0badcafe")}
    second = Membership(kafka, topic, [topic])
    try:
        second.credentials()
        with pytest.raises(Conflict, match="taken over"):
            first.leave_notes({0: LedgerNote(9, edition="zombie")})
        assert second.read_notes(4)[0] == note
    finally:
        second.close()


def test_a_record_that_its_topic_does_not_take_is_a_dead_letter(
    kafka: Kafka, topic: str, first: Membership, tmp_path: Path
) -> None:
    leave = permit(kafka, topic, first, tmp_path, limit=2_000)
    transactions.write(leave, Slot(0, 0), [chunk(topic, b"a", b"x" * 1_500, b"c")])
    assert seen(kafka, topic) == [b"a", b"c"]
    [letter] = everything(kafka, f"dlq.{topic}")
    headers = dict(letter.headers)
    assert (letter.value, headers["orion.error.code"]) == (b"x" * 1_500, b"RECORD_TOO_LARGE")
    assert b"takes 2000" in (headers["orion.error.reason"] or b"")


def test_where_no_dead_letter_may_be_nothing_is_written(
    kafka: Kafka, topic: str, first: Membership, tmp_path: Path
) -> None:
    leave = permit(kafka, topic, first, tmp_path, tolerance=Tolerance(0.0))
    told: list[transactions.Headers] = [[("orion.error.code", b"VALUE_UNREADABLE"), ("orion.source.offset", b"4")]]
    with pytest.raises(Intolerable, match=r"VALUE_UNREADABLE at .*/4"):
        transactions.write(leave, Slot(0, 0), [chunk(topic, b"a"), chunk(f"dlq.{topic}", b"bad", headers=told)])
    assert (seen(kafka, topic), everything(kafka, f"dlq.{topic}"), list_written_batches(first.read_notes(4))) == (
        [],
        [],
        {},
    )


def _hang(leave: Permit, topic: str, ready: str) -> None:
    """Another process: its transaction is open when it is killed."""

    def chunks() -> Iterator[Chunk]:
        yield chunk(topic, b"lost")
        Path(ready).touch()
        time.sleep(600)

    transactions.write(leave, Slot(0, 0), chunks())


@contextmanager
def hanging_writer(leave: Permit, topic: str, ready: Path) -> Iterator[BaseProcess]:
    """Another process that has a transaction open; it is gone in the end, whatever happens."""
    process = multiprocessing.get_context("spawn").Process(target=_hang, args=(leave, topic, str(ready)))
    process.start()
    try:
        until = time.monotonic() + 60
        while not ready.exists():
            assert time.monotonic() < until
            time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.join()


def test_what_a_killed_writer_left_open_is_ended_by_the_next_run(
    kafka: Kafka, topic: str, first: Membership, tmp_path: Path
) -> None:
    folder = tmp_path / "writers"
    with hanging_writer(permit(kafka, topic, first, folder), topic, tmp_path / "ready"):
        assert claims.settle(kafka, folder) == 0  # it lives
    assert claims.settle(kafka, folder) == 1
    second = Membership(kafka, topic, [topic])
    try:
        assert list_written_batches(second.read_notes(4)) == {}
        transactions.write(permit(kafka, topic, second, folder), Slot(0, 0), [chunk(topic, b"once")])
        assert seen(kafka, topic) == [b"once"]
    finally:
        second.close()


def test_what_is_abandoned_while_a_run_waits_for_it_is_ended(
    kafka: Kafka, topic: str, first: Membership, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(membership, "_ASKED_S", 1.0)
    folder = tmp_path / "writers"
    ended: list[int] = []
    with hanging_writer(permit(kafka, topic, first, folder), topic, tmp_path / "ready") as process:

        def end_abandoned() -> None:
            process.kill()
            process.join()
            ended.append(claims.settle(kafka, folder))

        second = Membership(kafka, topic, [topic], end_abandoned)
        try:
            assert list_written_batches(second.read_notes(4)) == {}
            assert ended[0] == 1
        finally:
            second.close()


def test_a_transaction_that_a_living_writer_can_not_end_is_left_to_the_next_run(
    kafka: Kafka, topic: str, first: Membership, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class BrokerIsAway(Producer):
        def abort_transaction(self, timeout: float = -1) -> None:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    def broken() -> Iterator[Chunk]:
        yield chunk(topic, b"lost")
        raise ValueError("the batch has failed")

    monkeypatch.setattr(door, "Producer", BrokerIsAway)
    leave = permit(kafka, topic, first, tmp_path)
    with pytest.raises(ValueError, match="failed"):
        transactions.write(leave, Slot(0, 0), broken())
    monkeypatch.undo()
    assert claims.settle(kafka, tmp_path) == 1
    assert list_written_batches(first.read_notes(4)) == {}
    transactions.write(leave, Slot(0, 0), [chunk(topic, b"once")])
    assert seen(kafka, topic) == [b"once"]
    assert list_written_batches(first.read_notes(4)) == {0: 0}


def test_those_that_share_a_slot_each_have_their_note(
    kafka: Kafka, topic: str, first: Membership, tmp_path: Path
) -> None:
    """One of them has written the slot before: of it nothing is written again."""
    second = Membership(kafka, f"{topic}-beside", [topic])
    done = Membership(kafka, f"{topic}-done", [topic])
    try:
        members = [(permit(kafka, topic, one, tmp_path), Slot(0, 3, RANGES)) for one in (first, second)]
        members.append((permit(kafka, topic, done, tmp_path, done=((0, 3),)), Slot(0, 3, RANGES)))
        rows = [replace(chunk(topic, value), member=n) for n, value in ((0, b"a"), (2, b"again"), (0, b"b"))]
        written = transactions.write_shared(members, rows)
        assert [dict(one.counts) for one in written] == [{topic: 2}, {}, {}]
        assert seen(kafka, topic) == [b"a", b"b"]
        assert first.read_notes(4) == {0: LedgerNote(3, RANGES)}
        assert (second.read_notes(4), done.read_notes(4)) == ({}, {})  # they had nothing to write
    finally:
        second.close()
        done.close()


def test_one_that_was_shut_out_ends_the_transaction_of_all_and_is_named(
    kafka: Kafka, topic: str, first: Membership, tmp_path: Path
) -> None:
    old = Membership(kafka, f"{topic}-beside", [topic])
    members = [(permit(kafka, topic, one, tmp_path), Slot(0, 3, RANGES)) for one in (first, old)]
    new = Membership(kafka, f"{topic}-beside", [topic])
    try:
        new.credentials()
        with pytest.raises(Conflict, match=f"has taken over {topic}-beside"):
            transactions.write_shared(members, [replace(chunk(topic, b"x"), member=n) for n in (0, 1)])
        assert seen(kafka, topic) == []
        assert first.read_notes(4) == {}
    finally:
        old.close()
        new.close()


def test_a_name_that_was_used_before_starts_without_a_past(
    kafka: Kafka, topic: str, first: Membership, tmp_path: Path
) -> None:
    transactions.write(permit(kafka, topic, first, tmp_path), Slot(2, 9), [chunk(topic, b"a")])
    first.forget(list_written_batches(first.read_notes(4)))
    assert list_written_batches(first.read_notes(4)) == {}


def test_how_far_a_run_is_shows_in_its_group(kafka: Kafka, topic: str, first: Membership) -> None:
    first.credentials()
    first.reached({topic: {0: 3, 1: 0}})
    until = time.monotonic() + 20
    while not any(p.committed == 3 for p in kafka.describe_group(topic).progress if p.topic == topic):
        assert time.monotonic() < until
        time.sleep(0.05)
    detail = kafka.describe_group(topic)
    assert (detail.group.state, len(detail.members)) == ("stable", 1)


def test_two_living_writers_never_share_a_name(tmp_path: Path) -> None:
    one, two = Claim(tmp_path, "orion"), Claim(tmp_path, "orion")
    assert one.transactional_id("") != two.transactional_id("")
    assert one.transactional_id("latency") == f"{one.transactional_id('')}.latency"


def test_the_ledger_grows_with_the_slots(kafka: Kafka) -> None:
    before = prepare_ledger(kafka, 1)
    assert prepare_ledger(kafka, before + 1) == before * 2 + 1
    assert kafka.describe_topic(LEDGER).topic.partitions == (before + 1) * 2
