"""How far a task is with reading its changelog, told to the server by a small file.

A task runs in a worker of Spark's, which tells the driver nothing before its batch has ended; to make a large state
anew may take minutes. So it writes a file beside the local stores, twice a second at most: whoever reads it sees one
report or the next, never half of one. Each task has one file, which stays with the last report of its last catch-up.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

_FOLDER = "restores"  # beside the folders of the operators, which are numbers
_EVERY_MS = 500
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """What a task told last. Offsets, because how many records there are between two isn't known before they are read;
    compaction and the marks of transactions make them fewer."""

    run: str
    operator: int
    task: int
    begun_ms: int
    told_ms: int
    first: int = 0  # the offset that it reads from
    position: int = 0  # it has everything before
    end: int | None = None  # it is to have everything before; None: a transaction is still open there
    records: int = 0  # that it has read
    is_done: bool = False
    v: int = _FORMAT


class RestoreReporter:
    """The task's side. A report that can't be written is left out: no batch fails for it."""

    def __init__(self, folder: str, run: str, operator: int, task: int) -> None:
        now = _now_ms()
        self._path = Path(folder) / _FOLDER / f"{operator}-{task}.json"
        self._last = RestoreReport(run, operator, task, now, now)
        self._write(self._last)

    def begin(self, first: int, end: int) -> None:
        """It is known now from where to where it reads."""
        self._tell(replace(self._last, first=first, position=first, end=end))

    def advance(self, position: int, records: int) -> None:
        """So many records more, up to there."""
        self._tell(replace(self._last, position=position, records=self._last.records + records))

    def finish(self) -> None:
        """All of it is in the store."""
        done = replace(self._last, position=self._last.end or 0, is_done=True, told_ms=_now_ms())
        self._last = done
        self._write(done)

    def _tell(self, report: RestoreReport) -> None:
        """Those between two that are written are kept here: the next one has their records, too."""
        now, self._last = _now_ms(), report
        if now - report.told_ms >= _EVERY_MS:
            self._last = replace(report, told_ms=now)
            self._write(self._last)

    def _write(self, report: RestoreReport) -> None:
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            beside = self._path.with_suffix(".new")
            beside.write_text(json.dumps(asdict(report)))
            os.replace(beside, self._path)


def read_reports(folder: Path, run: str) -> list[RestoreReport]:
    """What the tasks of a run have told so far, those of all operators."""
    found = []
    with suppress(OSError):
        for file in (folder / _FOLDER).iterdir():
            if file.suffix == ".json" and (report := _read_report(file)) is not None and report.run == run:
                found.append(report)
    return found


def last_report_ns(folder: Path) -> int | None:
    """When the last report was put there, whichever run's."""
    with suppress(OSError):
        return (folder / _FOLDER).stat().st_mtime_ns
    return None


def _read_report(file: Path) -> RestoreReport | None:
    with suppress(OSError, ValueError, TypeError):
        told = json.loads(file.read_text())
        return RestoreReport(**told) if told.get("v") == _FORMAT else None
    return None


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
