"""What a checkpoint folder says, and which ones aren't trusted: over folders made as Spark makes them."""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from orion.runtime.checkpoint import Checkpoint, Distrust, Identity, sweep
from orion.runtime.inputs import Input

LAST = 3


def put(file: Path, text: str) -> None:
    """A file with Hadoop's checksums beside it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    content = text.encode()
    file.write_bytes(content)
    sums = [zlib.crc32(content[at : at + 512]).to_bytes(4, "big") for at in range(0, len(content), 512)]
    file.with_name(f".{file.name}.crc").write_bytes(b"crc\0" + (512).to_bytes(4, "big") + b"".join(sums))


def plan(folder: Path, batch: int, *sources: str) -> None:
    conf = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": {"spark.sql.shuffle.partitions": "2"}})
    lines = sources or (json.dumps({"t": {"0": 10 * batch + 5, "1": batch}}),)
    put(folder / "offsets" / str(batch), "\n".join(["v1", conf, *lines]))


def commit(folder: Path, batch: int) -> None:
    put(folder / "commits" / str(batch), 'v1\n{"nextBatchWatermarkMs":0}')


def identity(stateful: bool = True) -> Identity:
    return Identity("CTAS_T_1", "orion", "cluster", stateful, (Input("t", "id", 2, {1: 7}),))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A stateful query that has done its batches 0 to LAST."""
    made = tmp_path / "checkpoint"
    put(made / "metadata", '{"id":"36d8749f-c57c-40bd-b962-d42bf5e3d722"}')
    for batch in range(LAST + 1):
        plan(made, batch)
        commit(made, batch)
    put(made / "tasks/0/0/data.mdb", "a local copy of the state")
    Checkpoint(made).note(identity())
    return made


def refusal(folder: Path, written: int | None = LAST) -> str:
    with pytest.raises(Distrust) as caught:
        Checkpoint(folder).verify(written)
    return str(caught.value).replace(str(folder), "F")


# ---- what it says ----------------------------------------------------------------------------------------------------


def test_how_far_a_query_is(folder: Path) -> None:
    checkpoint = Checkpoint(folder)
    plan(folder, LAST + 1)
    assert (checkpoint.exists, checkpoint.last_planned, checkpoint.last_committed) == (True, LAST + 1, LAST)
    assert checkpoint.offsets(0) == {"t": {0: 5, 1: 0}}
    assert checkpoint.reached == {"t": {0: 35, 1: 3}}
    assert checkpoint.ahead == {"t": {0: 45, 1: 4}}


def test_a_topic_that_is_read_twice_stands_where_its_slower_scan_does(folder: Path) -> None:
    plan(folder, 4, '{"t":{"0":9,"1":2}}', "-", '{"u":{"0":1}}', '{"t":{"0":7,"1":3}}')
    assert Checkpoint(folder).offsets(4) == {"t": {0: 7, 1: 2}, "u": {0: 1}}


def test_the_identity_comes_back_as_it_was_noted(folder: Path) -> None:
    assert Checkpoint(folder).identity == identity()
    Checkpoint(folder).note(identity(stateful=False))
    assert Checkpoint(folder).identity == identity(stateful=False)
    assert not list(folder.glob("*.new"))


def test_a_folder_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "none")
    assert not checkpoint.exists
    assert (checkpoint.identity, checkpoint.last_planned, checkpoint.last_committed) == (None, None, None)
    assert checkpoint.reached == checkpoint.ahead == {}


# ---- what is trusted -------------------------------------------------------------------------------------------------


def test_one_that_never_ran_is_trusted(tmp_path: Path) -> None:
    Checkpoint(tmp_path / "none").verify(None)
    (tmp_path / "offsets").mkdir()
    Checkpoint(tmp_path).verify(None)


def test_one_that_was_started_and_had_nothing_to_read_is_trusted(tmp_path: Path) -> None:
    put(tmp_path / "metadata", '{"id":"x"}')
    Checkpoint(tmp_path).verify(None)
    Checkpoint(tmp_path).note(identity())
    Checkpoint(tmp_path).verify(None)


def test_one_that_stopped_between_batches_or_within_one_is_trusted(folder: Path) -> None:
    for written in (None, 0, LAST):
        Checkpoint(folder).verify(written)
    plan(folder, LAST + 1)
    Checkpoint(folder).verify(LAST)
    Checkpoint(folder).verify(LAST + 1)


def test_one_that_stopped_within_its_first_batch_is_trusted(tmp_path: Path) -> None:
    put(tmp_path / "metadata", '{"id":"x"}')
    plan(tmp_path, 0)
    Checkpoint(tmp_path).note(identity())
    Checkpoint(tmp_path).verify(None)
    Checkpoint(tmp_path).verify(0)


def test_what_spark_does_not_need_may_be_gone(folder: Path) -> None:
    (folder / "offsets/0").write_bytes(b"")
    (folder / "commits/0").unlink()
    Checkpoint(folder).verify(LAST)


def test_local_copies_of_the_state_may_be_damaged_or_gone(folder: Path) -> None:
    (folder / "tasks/0/0/data.mdb").write_bytes(b"")
    Checkpoint(folder).verify(LAST)
    shutil.rmtree(folder / "tasks")
    Checkpoint(folder).verify(LAST)


def test_files_without_checksums_are_taken_as_they_are(folder: Path) -> None:
    for file in folder.rglob(".*.crc"):
        file.unlink()
    Checkpoint(folder).verify(LAST)


# ---- what isn't trusted ----------------------------------------------------------------------------------------------


def lose(name: str) -> Callable[[Path], None]:
    def act(folder: Path) -> None:
        if (folder / name).is_dir():
            shutil.rmtree(folder / name)
        else:
            (folder / name).unlink()

    return act


def empty(name: str) -> Callable[[Path], None]:
    def act(folder: Path) -> None:
        (folder / name).write_bytes(b"")

    return act


def halve(name: str, checksum: bool = False) -> Callable[[Path], None]:
    def act(folder: Path) -> None:
        file = folder / name
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
        if not checksum:
            file.with_name(f".{file.name}.crc").unlink()

    return act


def change(folder: Path) -> None:
    file = folder / "offsets/3"
    file.write_text(file.read_text().replace("35", "45"))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lose("metadata"), "F/metadata is gone"),
        (empty("metadata"), "F/metadata is empty"),
        (halve("metadata"), "F/metadata is cut off"),
        (empty("orion.json"), "F/orion.json isn't what Orion wrote"),
        (lose("offsets"), "F/offsets holds nothing, though batch 3 is done"),
        (lose("offsets/3"), "F has lost entries: the last batch that was planned is 2"),
        (lose("offsets/2"), "F/offsets/2 is gone"),
        (empty("offsets/3"), "F/offsets/3 is empty"),
        (empty("offsets/2"), "F/offsets/2 is empty"),
        (halve("offsets/3"), "F/offsets/3 is cut off"),
        (halve("offsets/3", checksum=True), "F/offsets/3 doesn't match its checksum"),
        (change, "F/offsets/3 doesn't match its checksum"),
        (lose("commits"), "F has lost entries: the last batch that was planned is 3, and no batch is done"),
        (empty("commits/3"), "F/commits/3 is empty"),
        (halve("commits/3"), "F/commits/3 is cut off"),
    ],
)
def test_damage_is_not_trusted_by_name(folder: Path, damage: Callable[[Path], None], said: str) -> None:
    damage(folder)
    assert said in refusal(folder)


@pytest.mark.parametrize("kept", [["v1"], ["v1", '{"conf":{}}'], ["v1", "[]", "{}"], ["v1", "{}", "5"], ["one", "{}"]])
def test_entries_that_are_not_offsets_are_not_trusted(folder: Path, kept: list[str]) -> None:
    put(folder / "offsets/3", "\n".join(kept))
    assert "F/offsets/3 " in refusal(folder)


def test_a_commit_without_its_second_line_is_not_trusted(folder: Path) -> None:
    put(folder / "commits/3", "v1")
    assert "F/commits/3 is cut off" in refusal(folder)


def test_more_than_the_last_commit_can_not_be_missing(folder: Path) -> None:
    (folder / "commits/3").unlink()
    Checkpoint(folder).verify(LAST)
    (folder / "commits/2").unlink()
    assert "the last batch that is done is 1" in refusal(folder)


def test_a_folder_that_is_gone_is_not_trusted_when_the_ledger_knows_better(folder: Path) -> None:
    shutil.rmtree(folder)
    assert "F is gone, though batch 3 has been written" in refusal(folder)


def test_an_emptied_folder_is_not_trusted_by_what_else_is_known(folder: Path) -> None:
    for log in ("offsets", "commits"):
        shutil.rmtree(folder / log)
    assert "F/offsets holds nothing, though batch 3 has been written" in refusal(folder)
    Checkpoint(folder).verify(
        None
    )  # state is written with the ledger's own entry: where that is none, a copy says nothing


def test_an_older_copy_is_not_trusted(folder: Path) -> None:
    said = refusal(folder, LAST + 1)
    assert "F is older than what the query has written: it ends with batch 3, and batch 4 has been written" in said


# ---- what a stop in the middle of a write leaves ---------------------------------------------------------------------


def test_half_written_entries_go_and_whole_ones_stay(tmp_path: Path) -> None:
    offsets = tmp_path / "offsets"
    offsets.mkdir()
    for name in (".1.3f6b.tmp", "..1.3f6b.tmp.crc", "0", ".0.crc", ".1.crc"):
        (offsets / name).touch()
    sweep(tmp_path)
    assert sorted(p.name for p in offsets.iterdir()) == [".0.crc", "0"]


def test_without_a_whole_entry_nothing_stays(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    for name in (".0.3f6b.tmp", ".0.crc"):
        (tmp_path / "offsets" / name).touch()
    sweep(tmp_path)
    assert list((tmp_path / "offsets").iterdir()) == []


def test_a_checkpoint_that_is_not_there_yet_is_none_of_its_business(tmp_path: Path) -> None:
    sweep(tmp_path / "none")
