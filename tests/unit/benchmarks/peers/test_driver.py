"""What is said to a peer's JVM, and what it answers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarks.peers import driver
from benchmarks.peers.driver import Driver, PeerFailure
from orion.errors import ConfigError


def test_a_command_is_one_line_of_words() -> None:
    assert driver.word_command(["start", 7, Path("/a"), "linger.ms=0"]) == "start 7 /a linger.ms=0\n"
    for wrong in ("two words", "", "two\nlines"):
        with pytest.raises(ValueError, match="no spaces"):
            driver.word_command(["start", wrong])


def test_what_went_wrong_is_raised(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("out of memory")
    assert driver.read_answer("ok started 2\n", log) == "started 2"
    assert driver.read_answer("ok\n", log) == ""
    with pytest.raises(PeerFailure, match=r"^no job: x$"):
        driver.read_answer("error no job: x\n", log)
    with pytest.raises(PeerFailure, match="has ended: out of memory"):
        driver.read_answer("", log)


def test_a_driver_is_asked_line_by_line(tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(["sed", "-u", "s/^/ok heard /"], stdin=pipe, stdout=pipe, text=True) as echo:
        asked = Driver(echo, tmp_path / "log")
        assert [asked.ask("status", n) for n in (1, 2)] == ["heard status 1", "heard status 2"]
        assert echo.stdin is not None
        echo.stdin.close()


def test_a_missing_compiler_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError) as told:
        driver.find_compiler()
    assert told.value.code == "JAVA_COMPILER_MISSING"
    assert "jdk" in (told.value.hint or "")
