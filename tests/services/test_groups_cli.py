"""Consumer groups: the four ways of committing, lag and resets, on a real broker."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from orion.hub.kafka import Kafka
from orion.hub.reader import Commit, Reader
from orion.hub.records import Position, Record
from tests.services.conftest import PATIENCE, Orion

NOON = 1_767_268_800_000
MODES: tuple[Commit, ...] = ("auto", "sync", "async", "async-sync")


@pytest.fixture
def filled(orion: Orion, topic: str) -> str:
    """Ten records, a second apart, in partition 0."""
    lines = "".join(f'{{"n": {n}, "at": {NOON + n * 1000}}}\n' for n in range(10))
    orion("produce", topic, "--partition", "0", "--timestamp-field", "at", stdin=lines)
    return topic


def read(reader: Reader, count: int, until: Callable[[Callable[[], bool]], None]) -> list[Record]:
    got: list[Record] = []

    def enough() -> bool:
        got.extend(reader.read(count - len(got), 0.2))
        return len(got) == count

    until(enough)
    return got


def committed(kafka: Kafka, group: str) -> int | None:
    return {part.partition: part.committed for part in kafka.describe_group(group).progress}.get(0)


@pytest.mark.parametrize("mode", MODES)
def test_a_group_goes_on_where_it_was(orion: Orion, filled: str, mode: str) -> None:
    def some(*flags: str) -> list[int]:
        ran = orion("consume", filled, "--group", filled, "--commit", mode, "--json", *flags)
        return [record["value"]["n"] for record in ran.lines]

    assert some("--max", "4") == [0, 1, 2, 3]
    assert orion("groups", "describe", filled, "--json").document["lag"] == 6
    assert some() == [4, 5, 6, 7, 8, 9]
    assert some() == []


def test_a_sync_commit_is_there_when_it_returns(kafka: Kafka, filled: str, until: Callable[..., None]) -> None:
    with Reader(kafka, filled, Position("earliest"), group=filled, commit="sync") as reader:
        reader.shown(read(reader, 3, until))
        reader.commit()
        assert committed(kafka, filled) == 3


@pytest.mark.parametrize(("mode", "after"), [("auto", 5), ("sync", 5), ("async", 3), ("async-sync", 5)])
def test_what_close_commits(kafka: Kafka, filled: str, until: Callable[..., None], mode: Commit, after: int) -> None:
    reader = Reader(kafka, filled, Position("earliest"), group=filled, commit=mode)
    reader.shown(read(reader, 3, until))
    reader.commit()
    if mode != "auto":
        until(lambda: committed(kafka, filled) == 3)
    reader.shown(read(reader, 2, until))
    reader.close()
    assert committed(kafka, filled) == after
    assert reader.failed_commits == 0


@pytest.mark.parametrize("mode", MODES)
def test_what_was_read_but_not_shown_is_read_again(
    kafka: Kafka, filled: str, until: Callable[..., None], mode: Commit
) -> None:
    with Reader(kafka, filled, Position("earliest"), group=filled, commit=mode) as reader:
        reader.shown(read(reader, 4, until)[:2])
        reader.commit()
    with Reader(kafka, filled, Position("earliest"), group=filled, commit=mode) as reader:
        assert read(reader, 1, until)[0].offset == 2


def test_a_second_member_takes_over_where_the_first_had_come(
    kafka: Kafka, orion: Orion, topic: str, until: Callable[..., None]
) -> None:
    """Partitions move while the first reads on: with async-sync what it has shown is not shown again."""
    orion("produce", topic, stdin="".join(f"{n}\n" for n in range(300)))
    seen: list[tuple[int, int]] = []
    readers = [Reader(kafka, topic, Position("earliest"), group=topic, commit="async-sync")]

    def turn() -> bool:
        for reader in readers:
            records = reader.read(7, 0.05)
            reader.shown(records)
            seen.extend((record.partition, record.offset) for record in records)
            reader.commit()
        return len(readers) == 2 and all(reader.at_end for reader in readers)

    until(lambda: turn() or len(seen) >= 50)
    readers.append(Reader(kafka, topic, Position("earliest"), group=topic, commit="async-sync"))
    until(turn)
    for reader in readers:
        reader.close()
    assert len(seen) == len(set(seen)) == 300
    assert kafka.describe_group(topic).lag == 0


def test_a_new_group_can_begin_at_the_end(orion: Orion, filled: str) -> None:
    assert orion("consume", filled, "--group", filled, "--from", "end", "--no-follow").out == ""
    assert len(orion("consume", filled, "--group", f"{filled}-2", "--from", "beginning").out.splitlines()) == 10


def test_groups_are_listed_and_described(orion: Orion, filled: str) -> None:
    orion("consume", filled, "--group", filled, "--max", "4")
    assert [filled, "empty", "classic"] in orion("groups", "list").rows
    described = orion("groups", "describe", filled, "--json").document
    assert (described["state"], described["members"], described["lag"]) == ("empty", [], 6)
    first = described["partitions"][0]
    assert (first["topic"], first["partition"], first["committed"], first["end"], first["lag"]) == (filled, 0, 4, 10, 6)
    assert f"{filled}\t0\t4\t10\t6\t-" in orion("groups", "describe", filled).out


def test_a_group_nobody_knows_is_not_found(orion: Orion, filled: str) -> None:
    orion("consume", filled, "--group", filled, "--max", "1")
    ran = orion("groups", "describe", f"{filled}x", code=3)
    assert "error[GROUP_NOT_FOUND]" in ran.err
    assert f"Did you mean {filled}?" in ran.err
    orion("groups", "reset", f"{filled}x", filled, "--to", "earliest", "--yes", code=3)


@pytest.mark.parametrize(
    ("to", "offset"),
    [
        ("earliest", 0),
        ("latest", 10),
        ("offset:7", 7),
        ("offset:99", 10),
        (f"time:{NOON + 2500}", 3),
        ("time:2027-01-01T00:00:00Z", 10),
        ("shift:-2", 2),
        ("shift:+3", 7),
        ("shift:-99", 0),
        ("shift:99", 10),
    ],
)
def test_a_group_is_moved(orion: Orion, kafka: Kafka, filled: str, to: str, offset: int) -> None:
    orion("consume", filled, "--group", filled, "--max", "4")
    dry = orion("groups", "reset", filled, filled, "--to", to, "--dry-run", "--json").document
    assert committed(kafka, filled) == 4
    done = orion("groups", "reset", filled, filled, "--to", to, "--yes", "--json").document
    assert dry == done
    assert done[0] == {"topic": filled, "partition": 0, "before": 4, "after": offset}
    assert committed(kafka, filled) == offset
    rest = orion("consume", filled, "--group", filled, "--json").lines
    assert [record["value"]["n"] for record in rest] == list(range(offset, 10))


def test_moving_a_group_is_asked_for_first(orion: Orion, kafka: Kafka, filled: str) -> None:
    orion("consume", filled, "--group", filled, "--max", "4")
    assert "error[CONFIRMATION_NEEDED]" in orion("groups", "reset", filled, filled, "--to", "latest", code=2).err
    assert committed(kafka, filled) == 4


def test_a_group_in_use_is_not_moved(
    orion: Orion,
    kafka: Kafka,
    filled: str,
    process: Callable[..., subprocess.Popen[str]],
    until: Callable[[Callable[[], bool]], None],
) -> None:
    follower = process("consume", filled, "--follow", "--group", filled, "--commit", "sync")
    assert follower.stdout is not None
    for _ in range(10):
        assert follower.stdout.readline()
    until(lambda: committed(kafka, filled) == 10)
    described = orion("groups", "describe", filled, "--json").document
    assert described["state"] == "stable"
    assert [len(member["partitions"]) for member in described["members"]] == [3]
    assert described["members"][0]["id"] in orion("groups", "describe", filled).out
    ran = orion("groups", "reset", filled, filled, "--to", "earliest", "--yes", code=4)
    assert "error[GROUP_ACTIVE]" in ran.err
    follower.terminate()
    follower.communicate(timeout=PATIENCE)
    orion("groups", "reset", filled, filled, "--to", "earliest", "--yes")
    assert committed(kafka, filled) == 0


def test_a_group_whose_topic_is_gone_is_still_answered_for(orion: Orion, kafka: Kafka, name: str) -> None:
    kafka.create_topic(name, 1)
    orion("produce", name, stdin="1\n")
    orion("consume", name, "--group", name)
    kafka.delete_topic(name)
    ran = orion("groups", "describe", name, code=None)  # Kafka forgets the offsets when it gets round to it
    assert "lag\t0\n" in ran.out if ran.code == 0 else "error[GROUP_NOT_FOUND]" in ran.err
