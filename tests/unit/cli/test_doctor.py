"""What the doctor says about a machine. No broker, no Java started."""

from __future__ import annotations

import json
import os
import shutil
import socket
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from orion.cli import app, doctor
from orion.cli.target import Options
from orion.errors import ConfigError
from orion.hub import java as java_module
from orion.hub.running import Running


class Usage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with Java, without settings, whose jars are nowhere yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ORION_HUB__BOOTSTRAP", raising=False)
    monkeypatch.setenv("ORION_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ORION_WEB__PORT", "0")
    found = java_module.Java(None, Path("/usr/bin/java"), 17)
    monkeypatch.setattr(java_module, "find", lambda: found)


def verdicts(**keywords: str) -> dict[str, str]:
    return {check.name: check.verdict for check in doctor.examine(Options(), **keywords)}


def test_a_machine_without_jars_is_warned() -> None:
    found = verdicts()
    assert found["jars"] == "warn"
    assert {found[name] for name in ("python", "java", "config", "web port", "broker")} == {"ok"}


def test_no_java_fails_with_the_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> java_module.Java:
        raise ConfigError("JAVA_MISSING", "There is no Java.", hint="Install one.")

    monkeypatch.setattr(java_module, "find", missing)
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 1
    assert "fail  java      There is no Java.\n      hint: Install one.\n" in result.stdout


def test_wrong_settings_fail() -> None:
    Path("orion.yaml").write_text("hub: {ports: 1}")
    result = CliRunner().invoke(app, ["doctor", "--json"])
    assert result.exit_code == 1
    last = json.loads(result.stdout)[-1]
    assert (last["name"], last["verdict"]) == ("config", "fail")
    assert last["hint"]


@pytest.mark.parametrize(("free", "verdict"), [(10**8, "fail"), (2 * 10**9, "warn"), (10**11, "ok")])
def test_little_space_is_said(free: int, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda place: Usage(10**12, 10**12 - free, free))
    assert doctor.disk(Path("not/yet/there")).verdict == verdict


@pytest.mark.parametrize(("free", "verdict"), [(10**9, "fail"), (3 * 10**9, "warn"), (10**10, "ok"), (None, "warn")])
def test_little_memory_is_said(free: int | None, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_available_memory", lambda: free)
    assert doctor.memory().verdict == verdict


def test_a_taken_port_fails() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        check = doctor.web_port("127.0.0.1", server.getsockname()[1])
    assert check.verdict == "fail"
    assert check.hint is not None


def test_a_broker_that_should_be_there_and_is_not_fails() -> None:
    assert verdicts(bootstrap="127.0.0.1:1")["broker"] == "fail"


def test_a_server_that_runs_elsewhere_is_no_taken_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setenv("ORION_WEB__PORT", str(port))
        Running(os.getpid(), "127.0.0.1:1", f"http://127.0.0.1:{port}", "orion").write(tmp_path / "far")
        found = {check.name: check for check in doctor.examine(Options())}
    assert "web port" not in found
    assert (found["server"].verdict, str(tmp_path / "far") in found["server"].message) == ("ok", True)
