"""Spark's log of files that were read, as it lies in a checkpoint."""

from __future__ import annotations

import json
from pathlib import Path

from orion.runtime.file_log import read_file_log


def put(file: Path, *lines: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(["v1", *lines]))


def entry(number: int) -> str:
    return json.dumps({"path": f"file:///in/{number}.csv", "timestamp": number, "batchId": number})


def test_what_was_compacted_is_read_once_and_what_is_not_done_is_left_out(tmp_path: Path) -> None:
    log = tmp_path / "sources" / "0"
    for number in range(13):
        put(log / str(number), entry(number))
    put(log / "9.compact", *map(entry, range(10)))
    put(tmp_path / "offsets" / "40", "{}", '{"logOffset":11}')
    assert list(read_file_log(tmp_path, 40)) == [(f"file:///in/{n}.csv", n) for n in range(12)]


def test_what_is_not_there_tells_nothing(tmp_path: Path) -> None:
    assert list(read_file_log(tmp_path, 3)) == []
    put(tmp_path / "offsets" / "3", "{}", '{"row":11}')
    assert list(read_file_log(tmp_path, 3)) == []
