"""`orion up`: what the command itself does about signals, and about Spark's JVM before anything is loaded."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from orion.cli import main
from orion.hub import cluster_data
from orion.hub.running import LOCK


def test_ctrl_c_while_the_code_is_loaded_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def pressed(_: int, handler: Callable[[], None]) -> None:
        handler()

    monkeypatch.setattr(signal, "signal", pressed)
    assert main(["--data", str(tmp_path / "data"), "up", "--port", "0"]) == 128 + signal.SIGINT
    assert "stopped before it was up" in capsys.readouterr().err
    assert not (tmp_path / "data").exists()


_LAUNCHES = """
import sys
from orion.cli import main
from orion.hub import jars
from orion.runtime.spark_process import SparkProcess

def launch(*_):
    print("launched with PySpark:", "pyspark" in sys.modules)
    raise KeyboardInterrupt

jars.at_hand, SparkProcess.launch = lambda _: True, launch
sys.exit(main(["--data", sys.argv[1], "up", "--port", sys.argv[2]]))
"""


def _up(data: Path, port: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _LAUNCHES, str(data), str(port)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_spark_is_launched_before_the_code_is_loaded(tmp_path: Path) -> None:
    done = _up(tmp_path / "data", 0)
    assert done.stdout == "launched with PySpark: False\n"
    assert "stopped before it was up" in done.stderr


def test_a_server_that_is_refused_launches_no_spark(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = _up(tmp_path / "data", taken.getsockname()[1])
    assert done.stdout == ""
    assert "PORT_TAKEN" in done.stderr
    with cluster_data.claim(tmp_path / "data", LOCK):
        done = _up(tmp_path / "data", 0)
    assert done.stdout == ""
    assert "DATA_IN_USE" in done.stderr
