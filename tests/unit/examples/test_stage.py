"""What surrounds an example: its settings, its end, and the pipeline it submits."""

from __future__ import annotations

import io
import os
import signal
from pathlib import Path

import pytest
from rich.console import Console

from examples.music.__main__ import pipeline
from examples.stage import Run, Settings, start_pipeline
from examples.topics import in_session, windowed
from orion.errors import ConfigError


def test_settings_have_defaults() -> None:
    assert Settings.read({}, 200.0) == Settings(None, 200.0)
    assert Settings.read({"DEMO_SECONDS": "", "DEMO_RATE": " "}, 200.0) == Settings(None, 200.0)
    assert Settings.read({"DEMO_SECONDS": "45", "DEMO_RATE": "0.5"}, 200.0) == Settings(45.0, 0.5)
    assert Settings.read({"DEMO_RECORDS": "300"}, 200.0) == Settings(None, 200.0, 300)


@pytest.mark.parametrize("text", ["0", "-3", "soon", "inf", "nan"])
def test_settings_refuse_what_is_no_positive_number(text: str) -> None:
    with pytest.raises(ConfigError, match="DEMO_SECONDS"):
        Settings.read({"DEMO_SECONDS": text}, 200.0)


def test_a_run_ends_by_time() -> None:
    assert Run(0.001).over(10.0)
    assert not Run(60.0).over(0.0)
    assert not Run(None).over(0.0)
    assert Run(None).left is None


def test_a_run_ends_by_signal_and_a_second_one_breaks_off() -> None:
    before = signal.getsignal(signal.SIGINT)
    run = Run(None)
    with run.ended_by_signals():
        os.kill(os.getpid(), signal.SIGINT)
        assert run.over(10.0)
        with pytest.raises(KeyboardInterrupt):
            run.end(signal.SIGINT, None)
    assert signal.getsignal(signal.SIGINT) is before


def test_keys_of_windows() -> None:
    assert windowed(b"BR" + (60_000).to_bytes(8, "big")) == ("BR", 60_000)
    assert in_session(b"u1" + (9).to_bytes(8, "big") + (3).to_bytes(8, "big")) == ("u1", 3, 9)


def test_pipeline_takes_any_folder() -> None:
    text = pipeline("/tmp/it's here")
    assert "'path' = '/tmp/it''s here'" in text
    assert "$" not in text


@pytest.mark.parametrize("example", ["music", "trucks", "clicks", "fraud", "orders", "pageviews"])
def test_scripts_are_short_enough_to_read(example: str) -> None:
    script = Path(__file__).parents[3] / "examples" / example / "pipeline.sql"
    assert all(len(row) <= 120 for row in script.read_text(encoding="utf-8").split("\n"))


class Statements:
    """Takes statements and remembers them."""

    def __init__(self) -> None:
        self.taken: list[str] = []

    def execute(self, script: str) -> list[dict[str, object]]:
        self.taken.append(script)
        return []


def test_each_statement_is_announced_before_it_is_started() -> None:
    written, orion = io.StringIO(), Statements()
    start_pipeline(orion, pipeline("/lake"), Console(file=written, width=200))
    told = written.getvalue().splitlines()
    assert told[:3] == [
        "Starting table users (1 of 9) ...",
        "Starting table tracks (2 of 9) ...",
        "Starting stream plays (3 of 9) ...",
    ]
    assert "Starting connector lake (9 of 9) ..." in told
    assert len(orion.taken) == 9
