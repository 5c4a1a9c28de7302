"""Which server commands find from any folder, and what is asked before one is started. No broker."""

from __future__ import annotations

import os
import pty
import select
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from orion.cli import app
from orion.hub import cluster_data
from orion.hub.running import Running

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("ORION_WEB__PORT", "0")


def announce(data: Path) -> None:
    """A server that is said to run, on a port where nobody listens."""
    Running(os.getpid(), "127.0.0.1:1", "http://127.0.0.1:1", "orion", "http://127.0.0.1:1").write(data)


TALKING = [
    ["sql", "-e", "SHOW STREAMS;"],
    ["topics", "list"],
    ["groups", "list"],
    ["dlq", "list"],
    ["consume", "t"],
    ["connectors", "list"],
    ["schemas", "list"],
]


@pytest.mark.parametrize("arguments", TALKING, ids=lambda a: a[0])
def test_every_command_finds_the_only_server_and_says_which(arguments: list[str], tmp_path: Path) -> None:
    announce(tmp_path / "far")
    result = CliRunner().invoke(app, arguments)
    assert result.stderr.startswith(f"using the server at http://127.0.0.1:1 on {tmp_path / 'far'}\n")
    assert result.exit_code == 69, result.output  # nobody listens there
    assert not Path(".orion").exists()


@pytest.mark.parametrize("arguments", TALKING, ids=lambda a: a[0])
@pytest.mark.parametrize("place", ["before", "behind"])
def test_the_data_folder_is_taken_in_both_places(arguments: list[str], place: str, tmp_path: Path) -> None:
    for name in ("a", "b"):
        announce(tmp_path / name)
    data = ["--data", str(tmp_path / "b")]
    result = CliRunner().invoke(app, [*data, *arguments] if place == "before" else [*arguments, *data])
    assert result.exit_code == 69, result.output
    assert "using" not in result.stderr


@pytest.mark.parametrize("arguments", TALKING, ids=lambda a: a[0])
def test_of_several_servers_one_must_be_named(arguments: list[str], tmp_path: Path) -> None:
    for name in ("a", "b"):
        announce(tmp_path / name)
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 4
    assert "error[SEVERAL_SERVERS]: 2 servers run:" in result.stderr
    assert all(str(tmp_path / name) in result.stderr for name in ("a", "b"))
    assert "hint: Say which with --data" in result.stderr


def test_sql_without_a_server_or_a_person_starts_nothing() -> None:
    result = CliRunner().invoke(app, ["sql", "-e", "SHOW STREAMS;"])
    assert result.exit_code == 78
    assert result.stderr == (
        "error[NOT_RUNNING]: No Orion runs on .orion.\n"
        "  hint: start one with `orion up`, or give --start to have one for this command alone\n"
    )
    assert not Path(".orion").exists()


def test_a_person_is_asked_before_a_server_is_started() -> None:
    main, child = pty.openpty()
    command = [sys.executable, "-m", "orion", "sql"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    with subprocess.Popen(command, stdin=child, stdout=child, stderr=child, env=env) as process:
        os.close(child)
        told = b""
        while b"[y/N]" not in told and select.select([main], [], [], 120)[0]:
            told += os.read(main, 4096)
        os.write(main, b"n\n")
        assert process.wait(timeout=120) == 78
    os.close(main)
    assert b"No Orion runs on .orion. Start one for this command? It takes a minute. [y/N]" in told
    assert not Path(".orion").exists()


def test_a_second_server_on_the_folder_hears_of_the_first_before_any_port(tmp_path: Path) -> None:
    announce(tmp_path / "data")
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        cluster_data.claim(tmp_path / "data", "server.lock"),
    ):
        arguments = ["up", "--data", str(tmp_path / "data"), "--port", str(taken.getsockname()[1])]
        result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 4
    assert "error[DATA_IN_USE]" in result.stderr
    assert "http://127.0.0.1:1" in result.stderr
