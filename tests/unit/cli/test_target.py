"""Which cluster a command talks to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orion.cli.target import Options
from orion.errors import ConfigError
from orion.hub.running import Running, bootstrap_of


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ORION_HUB__BOOTSTRAP", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_the_settings_say_which(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("hub: {bootstrap: 'kafka:9092'}")
    Running(os.getpid(), "running:1", "http://x", "orion").write(tmp_path)
    assert bootstrap_of(Options(file, tmp_path).config()) == "kafka:9092"


def test_else_the_server_that_runs_on_the_data_folder(tmp_path: Path) -> None:
    Running(os.getpid(), "running:1", "http://x", "orion").write(tmp_path / "data")
    assert bootstrap_of(Options(data=tmp_path / "data").config()) == "running:1"


def test_else_nothing_runs(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        bootstrap_of(Options(data=tmp_path).config())
    assert raised.value.code == "NOT_RUNNING"


def test_a_missing_file_of_settings_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        Options(tmp_path / "missing.yaml").config()
