"""Jobs for a supervisor, whose streams fail when told; and time that passes when told."""

from __future__ import annotations

import json
import shutil
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from orion.errors import Conflict, ExternalError
from orion.plan.sharing import SharedWork
from orion.runtime.restoring import RestoreWatch
from orion.runtime.runs import Run


@dataclass
class Clock:
    now: float = 1000.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@dataclass
class FakeStream:
    """A stream as Spark names its parts."""

    isActive: bool = True
    under_way: bool = True  # a batch is
    failure: Exception | None = None
    recentProgress: list[Any] = field(default_factory=list)

    @property
    def lastProgress(self) -> Any:
        return self.recentProgress[-1] if self.recentProgress else None

    @property
    def status(self) -> dict[str, Any]:
        return {"isDataAvailable": self.under_way}

    def exception(self) -> Exception | None:
        return self.failure

    def stop(self) -> None:
        self.isActive = False

    def fail(self, text: str) -> None:
        self.isActive, self.failure = False, RuntimeError(text)

    def report(self, batch: int, rows: int, **at: Any) -> None:
        told = {"runId": str(id(self)), "batchId": batch, "numInputRows": rows, **at}
        self.recentProgress.append(SimpleNamespace(json=json.dumps(told)))


@dataclass
class FakeRun:
    """A run as its supervisor sees it; `lost` is what the next look ends with."""

    stream: FakeStream
    lost: Conflict | None = None
    final: Conflict | None = None
    reached_: list[Any] = field(default_factory=list)
    judged: list[tuple[int, int, str]] = field(default_factory=list)
    intolerable: Conflict | None = None
    draining: bool = False
    idle: bool = True
    warning: str | None = None
    endless: bool = False
    freshness_ms: int | None = None
    is_prelude: bool = False
    is_shared: bool = False
    evaluation: None = None
    pace: None = None
    announce: Callable[[], str | None] = lambda: None
    awaited: bool = False
    checkpoint: Any = field(default_factory=lambda: SimpleNamespace(reached={}))
    closed: bool = False
    restore: RestoreWatch | None = None
    membership: Any = field(default_factory=lambda: SimpleNamespace(group="orion.CSAS_O_1"))

    def look(self) -> None:
        if self.lost is not None:
            raise self.lost

    def reached(self, offsets: Any, done: Any) -> None:
        self.reached_.append(offsets)

    def judge(self, good: int, errors: int, example: str) -> None:
        self.judged.append((good, errors, example))
        if self.intolerable is not None:
            raise self.intolerable

    def verdict(self, failure: BaseException | None) -> Conflict | None:
        return self.final

    def drain(self) -> bool:
        self.draining = True
        return self.idle

    def await_tasks(self) -> None:
        self.awaited = True

    def close(self) -> None:
        self.closed = True


@dataclass
class FakeJob:
    checkpoint: Path
    id: str = "CSAS_O_1"
    sink: str = "O"
    dead_letters: str = "dlq.O"
    shared_work: SharedWork | None = None
    refuses: Exception | None = None  # what the next starts end with
    waits_for: threading.Event | None = None  # what a start takes until
    away: ExternalError | None = None  # what keeps questions from being answered
    streams: list[FakeStream] = field(default_factory=list)
    runs: list[FakeRun] = field(default_factory=list)
    started: list[tuple[bool, bool]] = field(default_factory=list)  # new, accept
    on_written: Callable[[Counter[str]], None] = print

    def start(self, on_written: Callable[[Counter[str]], None], *, new: bool, accept: bool) -> Run:
        self.started.append((new, accept))
        if self.waits_for is not None:
            self.waits_for.wait(30)
        if self.refuses is not None:
            raise self.refuses
        self.on_written = on_written
        self.streams.append(FakeStream())
        self.runs.append(FakeRun(self.streams[-1]))
        return cast(Run, self.runs[-1])

    def forget(self) -> None:
        shutil.rmtree(self.checkpoint, ignore_errors=True)

    def learn(self, error: str) -> bool:
        if self.away is not None:
            raise self.away
        return "schema?" in error
