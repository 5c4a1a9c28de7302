"""What every example does around its own part: settings from the environment, a platform of its own, an orderly end."""

from __future__ import annotations

import math
import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Protocol

import structlog
from rich.console import Console

from examples.checks import Check, all_hold, show
from orion import ksql
from orion.config import load
from orion.errors import ConfigError, Conflict, OrionError
from orion.hub.running import Running
from orion.log import configure_log, flush_log

if TYPE_CHECKING:
    from orion.app import Orion
    from orion.web.platform import Platform

PATIENCE_S, LOOK_S = 120.0, 10.0
LOG = "demo.log"
# A micro-batch has a price of its own. On two cores, one a second leaves half a dozen queries room to keep up.
TRIGGER_MS = 1_000


@dataclass(frozen=True, slots=True)
class Settings:
    """How long and how fast; without `seconds` an example runs until Ctrl-C.

    `records` is for examples that send a number of records and end.
    """

    seconds: float | None
    rate: float
    records: int | None = None

    @classmethod
    def read(cls, environment: Mapping[str, str], default_rate: float) -> Settings:
        """DEMO_SECONDS, DEMO_RATE and DEMO_RECORDS; an empty one counts as not given."""
        records = _positive(environment, "DEMO_RECORDS")
        return cls(
            _positive(environment, "DEMO_SECONDS"),
            _positive(environment, "DEMO_RATE") or default_rate,
            None if records is None else math.ceil(records),
        )


def _positive(environment: Mapping[str, str], name: str) -> float | None:
    text = environment.get(name, "").strip()
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise ConfigError("INVALID_DEMO_SETTING", f"{name}={text} is not a number above 0.", hint=f"Try {name}=45.")
    return number


class Run:
    """How far an example is, and whether it has to end: its time is up, or somebody says so."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._begin = time.monotonic()
        self._asked = threading.Event()

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._begin

    @property
    def left(self) -> float | None:
        return None if self.seconds is None else max(0.0, self.seconds - self.elapsed)

    def over(self, wait: float) -> bool:
        """Let up to `wait` seconds pass; whether the end has come."""
        left = self.left
        return self._asked.wait(wait if left is None else min(wait, left)) or self.left == 0.0

    def end(self, number: int, frame: FrameType | None) -> None:
        """A signal's handler: the first asks for an orderly end, the next one breaks off."""
        if self._asked.is_set():
            raise KeyboardInterrupt
        self._asked.set()

    @contextmanager
    def ended_by_signals(self) -> Iterator[None]:
        """Ctrl-C and SIGTERM end the run; Spark's own handler would cancel the queries that still must catch up."""
        before = {number: signal.signal(number, self.end) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@contextmanager
def fresh_platform(data: Path, console: Console) -> Iterator[Platform]:
    """A platform on an emptied folder, so that an account at the end counts this run and nothing else."""
    # Imported late: the settings and the folder are checked before Spark's client is loaded.
    from orion.web.platform import running

    if Running.read(data) is not None:
        raise Conflict("DEMO_RUNS", f"An Orion runs on {data}.", hint="Stop it first, or wait for it to end.")
    shutil.rmtree(data, ignore_errors=True)
    config = load(flags={"data": data, "web.port": 0, "engine.trigger_ms": TRIGGER_MS})
    with _logging_to(data / LOG), running(config, _dimly(console)) as platform:
        yield platform


@contextmanager
def _logging_to(path: Path) -> Iterator[None]:
    """Orion's own log lines go to a file: on the screen they would fall between the panels."""
    path.parent.mkdir(parents=True, exist_ok=True)
    before = structlog.get_config()
    with path.open("a", encoding="utf-8") as file:
        configure_log(lambda: file)
        try:
            yield
        finally:
            flush_log()
            structlog.configure(**before)


def _dimly(console: Console) -> Callable[[str], None]:
    return lambda line: console.print(line, style="dim", highlight=False, soft_wrap=True)


class TakesStatements(Protocol):
    """What runs a script; `Orion` does."""

    def execute(self, script: str) -> object: ...


def start_pipeline(orion: TakesStatements, script: str, console: Console) -> None:
    """Run a script's statements, and say which is being started: each has Spark plan and start a query."""
    texts = ksql.split(script)
    for number, text in enumerate(texts, 1):
        console.print(f"Starting {_made_by(text)} ({number} of {len(texts)}) ...", style="dim", highlight=False)
        orion.execute(f"{text};")
    console.print("Each query computes its first batch now: until then its results are empty.", style="dim")


def _made_by(statement: str) -> str:
    """What a CREATE makes, such as `stream clean_plays`."""
    found = re.search(r"CREATE\s+(?:\w+\s+)*?(STREAM|TABLE|CONNECTOR)\s+(\w+)", statement)
    return f"{found[1].lower()} {found[2]}" if found else "the next statement"


def drained(orion: Orion, console: Console) -> bool:
    """Wait until every query has read all there is, for as long as they get on; false when they don't any more."""
    console.print("Waiting for the queries to catch up ...", style="dim")
    before, moved = -1, time.monotonic()
    while not orion.drain(LOOK_S):
        lags = [status.lag for status in orion.queries()]
        left = sum(lag or 0 for lag in lags)
        if left != before:
            before, moved = left, time.monotonic()
        elif time.monotonic() - moved > PATIENCE_S:
            console.print(f"Nothing has moved for {PATIENCE_S:.0f} s.", style="bold red")
            return False
        unknown = sum(lag is None for lag in lags)
        more = f", and of {unknown} queries it isn't known" if unknown else ""
        console.print(f"... {left:,} records to read{more}", style="dim", highlight=False)
    return True


def settled(console: Console, account: Sequence[Check], data: Path) -> int:
    """Print the account; the exit code is 0 only when it balances."""
    show(console, "The account", account)
    if all_hold(account):
        return 0
    console.print(f"What Orion has logged is in {data / LOG}.", highlight=False)
    return 1


def unhealthy(orion: Orion) -> int:
    """How many queries don't run, or haven't read all there is."""
    return sum(status.state != "RUNNING" or status.lag != 0 for status in orion.queries())


def played(example: Callable[[Platform, Settings, Console, Path], int], data: Path, rate: float = 1.0) -> int:
    """Run an example on a fresh platform; its exit code, or that of the error that ends it."""
    console = Console()
    try:
        settings = Settings.read(os.environ, rate)
        with fresh_platform(data, console) as platform:
            return example(platform, settings, console, data)
    except OrionError as error:
        console.print(f"{error.code}: {error.message}", style="bold red", highlight=False, soft_wrap=True)
        if error.hint:
            console.print(error.hint, highlight=False, soft_wrap=True)
        return error.exit_code
    except KeyboardInterrupt:
        console.print("Broken off.", style="bold red")
        return 130
