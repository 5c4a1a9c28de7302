"""A worker of Kafka Connect as a child process of Orion, one for all connectors of a server.

It starts when it is first needed and with the plug-ins that are needed: another one, later, restarts it, since Connect
looks for plug-ins only at its start. It runs on a leash (see `orion/hub/leash.py`) and ends with Orion. What connectors
are there and how far they are stands in the cluster's topics, so a worker that was killed is replaced by the next.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from orion.errors import ConfigError, ExternalError, OrionError
from orion.feeds.connect import worker_settings
from orion.feeds.connect.client import ConnectClient
from orion.feeds.connect.worker_settings import Surroundings
from orion.hub.child import Child, Place
from orion.hub.cluster_data import HOST, explained, pick_port
from orion.hub.embedded import HEAP_REFUSED, telling_line
from orion.hub.ivy import Progress
from orion.hub.jars import LATER, connect_classpath, plugin_folder, quiet
from orion.hub.java import find
from orion.hub.kafka import Kafka

READY_SECONDS = 120.0
SHOWN_LINES = 8


class ConnectWorker:
    """Made at once and started by `client`, from any thread; also usable in a `with` statement."""

    def __init__(self, around: Surroundings, progress: Progress = quiet) -> None:
        self.around = around
        self._progress = progress
        self._lock = threading.RLock()
        self._process: _Process | None = None
        self._plugins: set[str] = set()

    @classmethod
    def start(cls, around: Surroundings, plugins: Iterable[str], progress: Progress = quiet) -> ConnectWorker:
        """A worker that runs and has these plug-ins."""
        worker = cls(around, progress)
        worker.client(*plugins)
        return worker

    def client(self, *plugins: str) -> ConnectClient:
        """A client of the worker, which then runs and has the plug-ins: it is started or restarted where it must be.

        A plug-in is a set of `jars.lock`, such as debezium-postgres.
        """
        with self._lock:
            wanted = self._plugins | set(plugins) | (set() if self._process else _remembered(self.around))
            running = self._process is not None and self._process.runs
            if not running or wanted != self._plugins:
                self.stop()
                self._launch(wanted)
            assert self._process is not None
            return self._process.client

    @property
    def pid(self) -> int | None:
        """The worker's own process id, while it runs."""
        process = self._process
        return process.pid if process is not None and process.runs else None

    @property
    def url(self) -> str | None:
        """Where its REST API answers, while it runs."""
        process = self._process
        return process.client.url if process is not None and process.runs else None

    def stop(self) -> None:
        """End the worker, gently at first. May be called again, and `client` starts another."""
        with self._lock:
            if self._process is not None:
                self._process.stop()
                self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _launch(self, plugins: set[str]) -> None:
        around = self.around
        java, classpath = find(), connect_classpath(self._progress)
        folders = {name: plugin_folder(name, self._progress) for name in sorted(plugins)}
        brokers = len(Kafka(around.bootstrap).brokers())
        port = pick_port()
        with explained(around.data):
            _furnish(around, folders)
            settings = worker_settings.worker_properties(around, port, brokers)
            (around.folder / "connect.properties").write_text(worker_settings.as_properties(settings), "ascii")
            (around.folder / "log4j2.properties").write_text(worker_settings.LOGGING, "ascii")
            self._progress("starting Kafka Connect")
            command = worker_settings.worker_command(java, classpath, around.heap)
            process = _Process(around, command, f"http://{HOST}:{port}")
        try:
            process.wait_until_ready()
        except BaseException:
            process.stop()
            raise
        self._process, self._plugins = process, plugins
        _remember(around, plugins)


class _Process:
    """One run of the worker on its leash."""

    def __init__(self, around: Surroundings, command: list[str], url: str) -> None:
        self._around = around
        self.client = ConnectClient(url)
        self._child = Child(Place(around.folder, around.console, around.log), command)
        self.pid = self._child.pid

    @property
    def runs(self) -> bool:
        return self._child.runs

    def wait_until_ready(self) -> None:
        """Until it has read what the cluster knows of its connectors, and takes requests."""
        deadline = time.monotonic() + READY_SECONDS
        while not self.client.is_ready():
            if not self.runs:
                raise self._failure()
            if time.monotonic() > deadline:
                raise ExternalError(
                    "CONNECT_FAILED",
                    f"Kafka Connect didn't answer within {READY_SECONDS:.0f} s. Its last words: {self._last_words()}",
                    hint=f"Its log is {self._around.log}.",
                )
            time.sleep(0.1)

    def stop(self) -> None:
        self.client.close()
        self._child.let_go()
        self._child.wait()

    def _last_words(self) -> str:
        lines = [line.strip() for line in self._child.said().splitlines() if line.strip()]
        return "\n".join(lines[-SHOWN_LINES:]) or "none."

    def _failure(self) -> OrionError:
        """What ended the worker before it was ready."""
        said = self._child.said()
        heap = HEAP_REFUSED.search(said)
        if heap:
            return ConfigError(
                "HEAP_INVALID", f"Java says: {heap[0]}.", hint="Give the heap as Java does, such as 512m or 1g."
            )
        killed = self._child.was_killed
        why = "it was killed from outside" if killed else telling_line(said) or f"exit code {self._child.code}"
        return ExternalError(
            "CONNECT_FAILED",
            f"Kafka Connect ended: {why}. Its last words: {self._last_words()}",
            hint=f"Its log is {self._around.log}.",
        )


def _furnish(around: Surroundings, plugins: dict[str, Path]) -> None:
    """The worker's folders: one with exactly its plug-ins, as links, and one for secrets that only we may read."""
    for folder in (around.plugins, around.secrets, around.log.parent):
        folder.mkdir(parents=True, exist_ok=True)
    around.secrets.chmod(0o700)
    for old in around.plugins.iterdir():
        old.unlink()
    for name, folder in plugins.items():
        os.symlink(folder, around.plugins / name)


def _remembered(around: Surroundings) -> set[str]:
    """The plug-ins of the worker before: its connectors are started again with the next, and need them."""
    try:
        names = json.loads((around.folder / "plugins.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return set()
    return {name for name in names if name in LATER} if isinstance(names, list) else set()


def _remember(around: Surroundings, plugins: set[str]) -> None:
    new = around.folder / "plugins.json.new"
    new.write_text(json.dumps(sorted(plugins)), encoding="utf-8")
    os.replace(new, around.folder / "plugins.json")
