"""`orion up`: what the command itself does about signals."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from orion.cli import main


def test_ctrl_c_while_the_code_is_loaded_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def pressed(_: int, handler: Callable[[], None]) -> None:
        handler()

    monkeypatch.setattr(signal, "signal", pressed)
    assert main(["--data", str(tmp_path / "data"), "up", "--port", "0"]) == 128 + signal.SIGINT
    assert "stopped before it was up" in capsys.readouterr().err
    assert not (tmp_path / "data").exists()
