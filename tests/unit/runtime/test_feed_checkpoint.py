"""The checkpoint of a feed: offsets of its own kind, and the log of a source that follows a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from orion.runtime.checkpoint import Checkpoint, Distrust, sweep
from orion.runtime.progress import Progress


def write(folder: Path, offset: str, batch: int = 0) -> Checkpoint:
    for log in ("offsets", "commits"):
        (folder / log).mkdir(exist_ok=True)
    (folder / "metadata").write_text('{"id":"x"}')
    (folder / "offsets" / str(batch)).write_text(f'v1\n{{"batchWatermarkMs":0}}\n{offset}')
    (folder / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    return Checkpoint(folder, topics=False)


def test_offsets_of_its_own_kind_are_trusted(tmp_path: Path) -> None:
    checkpoint = write(tmp_path, '{"incrementing": 5, "polled": 1}')
    checkpoint.verify(0)
    assert checkpoint.reached == {}


def test_an_entry_that_is_cut_off_is_not(tmp_path: Path) -> None:
    checkpoint = write(tmp_path, '{"incrementing": 5, "pol')
    with pytest.raises(Distrust, match="cut off"):
        checkpoint.verify(0)


def test_a_folder_that_is_followed_needs_its_log(tmp_path: Path) -> None:
    checkpoint = write(tmp_path, '{"logOffset":3}')
    with pytest.raises(Distrust, match="lacks the files of batch 3"):
        checkpoint.verify(0)
    log = tmp_path / "sources" / "0"
    log.mkdir(parents=True)
    (log / "3").touch()
    checkpoint.verify(0)
    (log / "3").rename(log / "3.compact")
    checkpoint.verify(0)


def test_what_a_stop_left_of_that_log_is_swept(tmp_path: Path) -> None:
    log = tmp_path / "sources" / "0"
    log.mkdir(parents=True)
    for name in ("3", ".3.crc", ".4.crc", ".4.5f3c.tmp"):
        (log / name).touch()
    sweep(tmp_path)
    assert sorted(file.name for file in log.iterdir()) == [".3.crc", "3"]


def test_reports_of_a_feed_tell_no_topics() -> None:
    progress = Progress()
    progress.take({"runId": "a", "batchId": 1, "numInputRows": 4, "sources": [{"endOffset": {"row": 4, "us": 1}}]})
    assert (progress.rows_in, progress.offsets) == (4, {})
