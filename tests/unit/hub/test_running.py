"""The file that says which server runs on a data folder."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from orion.hub.running import FILE, Running

HERE = Running(os.getpid(), "127.0.0.1:9092", "http://127.0.0.1:8088", "orion")


@pytest.fixture(autouse=True)
def own_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other test hears of the servers that are said to run here."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    data = tmp_path / "new" / "folder"
    HERE.write(data)
    assert Running.read(data) == HERE
    assert [file.name for file in data.iterdir()] == [FILE]


def test_a_later_server_replaces_the_earlier(tmp_path: Path) -> None:
    HERE.write(tmp_path)
    later = Running(os.getpid(), "127.0.0.1:9093", HERE.url, "other")
    later.write(tmp_path)
    assert Running.read(tmp_path) == later


def test_nothing_runs_without_a_file(tmp_path: Path) -> None:
    assert Running.read(tmp_path) is None
    assert Running.read(tmp_path / "missing") is None


def test_removing_twice_is_fine(tmp_path: Path) -> None:
    HERE.write(tmp_path)
    Running.remove(tmp_path)
    Running.remove(tmp_path)
    assert Running.read(tmp_path) is None


def test_a_process_that_ended_does_not_run(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait(timeout=30)
    Running(process.pid, HERE.bootstrap, HERE.url, "orion").write(tmp_path)
    assert Running.read(tmp_path) is None


def test_a_process_that_waits_for_its_parent_does_not_run(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE) as process:
        Running(process.pid, HERE.bootstrap, HERE.url, "orion").write(tmp_path)
        assert process.stdout is not None
        process.stdout.read()  # ends when the process does, without collecting it
        deadline = time.monotonic() + 30
        while Running.read(tmp_path) is not None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert Running.read(tmp_path) is None


def test_another_process_with_the_same_number_is_not_the_server(tmp_path: Path) -> None:
    HERE.write(tmp_path)
    os.utime(tmp_path / FILE, (0, 0))  # written long before this process began
    assert Running.read(tmp_path) is None


def test_a_broken_file_says_nothing(tmp_path: Path) -> None:
    for text in ("", "{", "[]", '{"pid": 1}', '{"pid": 1, "bootstrap": "", "url": "", "service_id": "", "more": 1}'):
        (tmp_path / FILE).write_text(text)
        assert Running.read(tmp_path) is None
