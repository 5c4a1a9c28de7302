"""`orion up` as a process of its own, on a cluster that outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from orion.hub.leash import die_with_parent
from orion.hub.running import Running
from tests.faults.processes import SHORT_LIVED, Process, end, spark_of, tree, wait_until

_START_S = 240.0
_SETTINGS = {
    "ORION_ENGINE__TRIGGER_MS": "400",
    "ORION_ENGINE__MASTER": "local[3]",  # every task has a Python worker, and two cores take long to start many
    "ORION_ENGINE__MEMORY": "1g",
    # Compiling takes longer than these few rows; fifty tasks to read a log of a few lines do, too.
    "ORION_ENGINE__CONF": '{"spark.sql.codegen.wholeStage": "false", "spark.databricks.delta.snapshotPartitions": "1"}',
    "ORION_REGISTRY__ENABLED": "false",
}


@dataclass(frozen=True, slots=True)
class Status:
    id: str  # none for a connector
    state: str
    error: str
    restarts: int


class Server:
    """One server on one data folder."""

    def __init__(self, bootstrap: str, data: Path, service: str, log: Path | None = None) -> None:
        self.bootstrap = bootstrap
        self.data = data
        self.service = service
        self.log = log or data.with_name(f"{data.name}.log")
        self.url = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._met: dict[int, Process] = {}  # every process of this server that was ever seen

    @property
    def pid(self) -> int:
        return 0 if self._process is None else self._process.pid

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def answers(self) -> bool:
        """Whether it is up; one that was refused never is."""
        found = Running.read(self.data)
        self.url = found.url if found is not None and found.pid == self.pid else self.url
        return found is not None and found.pid == self.pid

    def launch(self, *arguments: str) -> None:
        """Begin to start, and don't wait."""
        command = [sys.executable, "-m", "orion", "--data", str(self.data), "up", "--port", "0"]
        command += ["--bootstrap", self.bootstrap, *arguments]
        own = {**_SETTINGS, "ORION_SERVICE_ID": self.service}
        kept = {n: v for n, v in SHORT_LIVED.items() if not n.startswith("ORION_") or n == "ORION_CACHE"}
        harness = os.getpid()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env={**kept, **own},
                start_new_session=True,
                preexec_fn=lambda: die_with_parent(harness),
            )

    def start(self, *arguments: str) -> None:
        self.launch(*arguments)
        wait_until(lambda: self.answers or not self.runs, lambda: f"no server: {self.said()}", _START_S)
        assert self.runs, f"the server ended by itself: {self.said()}"

    def said(self) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-600:].strip() if self.log.exists() else "nothing"

    def family(self) -> list[Process]:
        found = tree(self.pid) if self.runs else []
        self._met.update({p.pid: p for p in found})
        return found

    def drivers(self) -> list[Process]:
        """What has to die for the server to be dead: Spark's driver first, so that it does nothing after the moment."""
        family = self.family()
        return [*spark_of(family), *(p for p in family if p.pid == self.pid)]

    def kill(self) -> None:
        """SIGKILL, driver first. Its Python workers are left to notice by themselves, as in life."""
        for process in self.drivers():
            process.send(signal.SIGKILL)
        if self._process is not None:
            self._process.wait(20)

    def stop(self) -> int:
        """SIGTERM, as an operator does it."""
        self.family()
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(60)

    def clear(self) -> None:
        """Nothing of this server is left, whatever happened."""
        self.family()
        end(self._met.values())
        if self._process is not None:
            self._process.wait(20)

    def sql(self, text: str, timeout: float = 60.0, properties: dict[str, str] | None = None) -> list[dict[str, Any]]:
        asked = {"ksql": text, "streamsProperties": properties or {}}
        answer = httpx.post(f"{self.url}/ksql", json=asked, timeout=timeout)
        assert answer.status_code == 200, f"{text} was answered: {answer.text}"
        told: list[dict[str, Any]] = answer.json()
        return told

    def states(self) -> dict[str, Status]:
        """How each query and connector is doing, by the name of what it writes."""
        queries = self.sql("SHOW QUERIES;", 30)[0]["queries"]
        connectors = self.sql("SHOW CONNECTORS;", 30)[0]["connectors"]
        return {q["sinks"][0]: _status(q) for q in queries} | {c["name"]: _status(c) for c in connectors}


def _status(told: dict[str, Any]) -> Status:
    return Status(str(told.get("id") or ""), str(told["state"]), str(told.get("error") or ""), int(told["restarts"]))
