"""The fault suite's own parts: an oracle that can say no, traps that strike, seeds that meet every fault."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orion.hub.records import Record
from tests.faults.checkpoints import Checkpoint
from tests.faults.feed import START_MS, Fed, Poison
from tests.faults.kinds import FAULTS
from tests.faults.oracle import WINDOW_MS, Names, Oracle
from tests.faults.runner import SHARES, order
from tests.faults.trap import Order

WINDOW = START_MS - START_MS % WINDOW_MS
NAMES = Names("w")


@dataclass
class Told:
    acked: list[Fed] = field(default_factory=list)
    poison: list[Poison] = field(default_factory=list)


class Desk:
    """Two records of one key, one that the filter drops, one dead letter; the outputs as they must be."""

    def __init__(self, folder: Path) -> None:
        self.told = Told(
            [Fed("k1", 0, 5, START_MS), Fed("k1", 1, 7, START_MS), Fed("k1", 2, -1, START_MS)],
            [Poison("bad JSON", 0, 9)],
        )
        self.records = [
            record(NAMES.clean, "k1", SEQ=0),
            record(NAMES.clean, "k1", SEQ=1),
            record(NAMES.counts, "k1", N=2, S=12),
            Record(NAMES.minutes, 0, 0, 0, b"k1" + WINDOW.to_bytes(8), b'{"N": 3}'),
            letter(NAMES.clean, 9),
            letter(NAMES.minutes, 9),
            record(NAMES.odd, "k1", SEQ=0),
            record(NAMES.odd, "k1", SEQ=1),
        ]
        self.lake = folder
        self.oracle = Oracle(NAMES, self.told, folder)
        self.put([0, 1])

    def put(self, numbers: list[int]) -> None:
        """A commit of the lake with these rows of the key."""
        log = self.lake / "_delta_log"
        log.mkdir(exist_ok=True)
        version = len(list(log.iterdir()))
        pq.write_table(pa.table({"K": ["k1"] * len(numbers), "SEQ": numbers}), self.lake / f"{version}.parquet")
        (log / f"{version:020}.json").write_text(json.dumps({"add": {"path": f"{version}.parquet"}}))


def record(topic: str, key: str, **columns: int) -> Record:
    return Record(topic, 0, 0, 0, key.encode(), json.dumps(columns).encode())


def fed(number: int) -> Record:
    return Record(NAMES.input, 0, number, 0, b"k1", json.dumps({"seq": number, "v": 0}).encode())


def letter(name: str, offset: int) -> Record:
    headers = (("orion.source.partition", b"0"), ("orion.source.offset", str(offset).encode()))
    return Record(f"dlq.{name}", 0, 0, 0, b"k1", b"{", headers)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_what_must_be_is_taken(desk: Desk) -> None:
    assert desk.oracle.look(desk.records) == ""
    assert desk.oracle.wrong == []


@pytest.mark.parametrize("missing", range(8))
def test_anything_missing_is_told(desk: Desk, missing: int) -> None:
    del desk.records[missing]
    assert desk.oracle.look(desk.records) != ""


def test_what_comes_later_is_waited_for(desk: Desk) -> None:
    assert desk.oracle.look(desk.records[:1]) != ""
    assert desk.oracle.look(desk.records[1:]) == ""


@pytest.mark.parametrize("again", range(8))
def test_nothing_may_come_twice(desk: Desk, again: int) -> None:
    desk.oracle.look([*desk.records, desk.records[again]])
    assert len(desk.oracle.wrong) > 0


@pytest.mark.parametrize(
    "stranger",
    [
        record(NAMES.clean, "k1", SEQ=10_000_001),  # of a transaction that was aborted
        record(NAMES.clean, "k2", SEQ=0),
        letter(NAMES.clean, 10),
    ],
)
def test_nothing_is_made_up(desk: Desk, stranger: Record) -> None:
    desk.oracle.look([*desk.records, stranger])
    assert len(desk.oracle.wrong) > 0


def test_a_table_without_dead_letters_has_none(desk: Desk) -> None:
    assert desk.oracle.look([*desk.records, letter(NAMES.counts, 9)]) != ""


def test_rows_of_a_key_stay_in_order(desk: Desk) -> None:
    desk.records[:2] = reversed(desk.records[:2])
    desk.oracle.look(desk.records)
    assert desk.oracle.wrong == [f"{NAMES.clean}: k1 0 comes after 1"]


def test_a_row_of_the_lake_is_there_once(desk: Desk) -> None:
    desk.put([1])
    desk.oracle.look(desk.records)
    assert "the lake" in desk.oracle.wrong[0]


def test_what_the_log_has_twice_is_twice_in_all(desk: Desk) -> None:
    log = [fed(0), fed(1), Record(NAMES.input, 0, 9, 0, b"k1", b"{"), fed(2), fed(1), fed(2)]
    assert desk.oracle.take_log(log) == desk.oracle.take_log(log) == 2
    assert desk.oracle.look(desk.records) != ""
    again = [record(NAMES.clean, "k1", SEQ=1), record(NAMES.odd, "k1", SEQ=1), record(NAMES.counts, "k1", N=3, S=19)]
    desk.put([1])
    windows = Record(NAMES.minutes, 0, 0, 0, b"k1" + WINDOW.to_bytes(8), b'{"N": 5}')
    assert desk.oracle.look([*again, windows]) == ""
    assert desk.oracle.wrong == []


def test_poison_that_the_log_has_twice_has_two_letters(desk: Desk) -> None:
    assert desk.oracle.take_log([fed(0), fed(1), fed(2), *(Record(NAMES.input, 0, n, 0, b"k1", b"{") for n in (9, 12))])
    assert desk.oracle.look([*desk.records, letter(NAMES.clean, 12), letter(NAMES.minutes, 12)]) == ""
    assert desk.oracle.wrong == []


def test_what_was_acknowledged_and_is_not_in_the_log_is_told(desk: Desk) -> None:
    desk.oracle.take_log([fed(0), fed(2)])
    assert "lost 1 acknowledged" in desk.oracle.wrong[0]


def test_a_wrong_sum_is_told(desk: Desk) -> None:
    desk.records[2] = record(NAMES.counts, "k1", N=2, S=13)
    assert NAMES.counts in desk.oracle.look(desk.records)


# ---- moments -------------------------------------------------------------------------------------------------------


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"]) as process:
        yield process
        process.kill()


def test_a_trap_kills_at_the_named_moment(tmp_path: Path, victim: subprocess.Popen[bytes]) -> None:
    told = Order([victim.pid], folders=[str(tmp_path)], name=r"\d+", pass_over=1).written()
    command = [sys.executable, "-m", "tests.faults.trap", told]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as trap:
        try:
            assert trap.stdout is not None
            assert trap.stdout.readline() == "ready\n"
            (tmp_path / ".7.tmp").touch()
            (tmp_path / "7").touch()
            (tmp_path / ".7.tmp").rename(tmp_path / "8")
            assert trap.stdout.read() == "8\n"
            assert victim.wait(10) == -9
        finally:
            trap.kill()


def test_rows_of_a_batch_are_read_from_the_offset_log(tmp_path: Path) -> None:
    for log in ("offsets", "commits"):
        (tmp_path / log).mkdir()
    (tmp_path / "offsets" / "3").write_text('v1\n{"batchWatermarkMs":0}\n{"t":{"0":10,"1":4}}\n{"t":{"0":10,"1":4}}')
    (tmp_path / "offsets" / "4").write_text('v1\n{"batchWatermarkMs":0}\n{"t":{"0":15,"1":4}}\n{"t":{"0":15,"1":4}}')
    (tmp_path / "commits" / "3").touch()
    (tmp_path / "offsets" / ".5.abc.tmp").touch()
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.cut_off() == 4
    assert checkpoint.rows(4) == 5
    assert checkpoint.half_written() == [".5.abc.tmp"]


def test_seeds_one_after_the_other_meet_every_fault() -> None:
    deck = {name for name, kind in FAULTS.items() if not kind.by_name}
    for first in range(0, 20, SHARES):
        size = -(-len(deck) // SHARES)
        met = {name for seed in range(first, first + SHARES) for name in order(seed)[0][:size]}
        assert met == deck
