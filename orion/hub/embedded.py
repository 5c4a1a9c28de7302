"""A real Kafka cluster as child processes of Orion: one broker, or three with replication.

Each broker is Apache Kafka in KRaft mode, broker and controller in one, behind a leash (see `leash.py`) that ends it
when Orion ends. `EmbeddedCluster.start` returns when the cluster answers; `stop` returns when its processes are gone.
"""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from orion.errors import ConfigError, Conflict, ExternalError, OrionError
from orion.hub import broker_settings, cluster_data
from orion.hub.child import Child, Place
from orion.hub.class_archive import keep_archive
from orion.hub.cluster_data import HOST, Node
from orion.hub.ivy import Progress
from orion.hub.jars import kafka_classpath, quiet
from orion.hub.java import Java, find

READY_SECONDS = 60.0
ATTEMPTS = 3  # to start on ports that weren't asked for
ENDED_BY_TERM = (128 + signal.SIGTERM, 0)
LOG_ENTRY = re.compile(r"[\d-]+ [\d:.]+ (?P<level>[A-Z]+) (?P<text>.+?)(?: \([\w$]+\))?$")
HEAP_REFUSED = re.compile(
    r"^(?:Invalid|Too small) \w+ heap.*|^Initial heap size set to a larger.*|^.*exceeds the maximum representable size",
    re.MULTILINE,
)
EXCEPTION = re.compile(r"(?:Caused by: |Exception in thread \S+ )?(?:[\w$]+\.)+(?P<text>[\w$]+(?:Exception|Error): .+)")


class EmbeddedCluster:
    """The running brokers of one data folder. Made by `start`, also usable in a `with` statement."""

    def __init__(self, data: Path, lock: IO[str]) -> None:
        self._data = data
        self._lock = lock
        self._brokers: list[_Broker] = []
        self._archive: tuple[Path, Path] | None = None  # where broker 1 writes its classes, and where they belong
        self.bootstrap = ""

    @classmethod
    def start(
        cls,
        data: Path,
        *,
        brokers: int = 1,
        port: int = 0,
        preferred: int = 0,
        heap: str = "512m",
        progress: Progress = quiet,
    ) -> EmbeddedCluster:
        """Run the cluster of a data folder, which is made when it is new, and wait until it answers."""
        data = data.absolute()
        cluster = cls(data, cluster_data.claim(data))
        try:
            java, classpath = find(), kafka_classpath(progress)
            for left in reversed(range(ATTEMPTS)):
                described, nodes = cluster_data.settle(data, brokers, port, progress, preferred)
                progress(f"starting Kafka with {brokers} broker{'s' * (brokers > 1)}")
                try:
                    cluster._run(nodes, described.cluster_id, java, classpath, heap)
                    break
                except ConfigError as error:
                    # Another process took a port after it was found to be free: the next attempt finds another one.
                    if error.code != "PORT_TAKEN" or port or not left:
                        raise
                    cluster._end_brokers()
        except BaseException:
            cluster.stop()
            raise
        return cluster

    def _run(self, nodes: Sequence[Node], cluster_id: str, java: Java, classpath: Sequence[Path], heap: str) -> None:
        with cluster_data.explained(self._data):
            for node in nodes:
                broker_settings.write(node, nodes)
            self._format(nodes, broker_settings.format_command(java, classpath, cluster_id))
            self._launch(nodes, java, classpath, heap)
        self._wait_until_ready(cluster_id)

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the brokers, in order."""
        return tuple(broker.pid for broker in self._brokers)

    def check(self) -> None:
        """Raise what ended a broker, if one has ended."""
        for broker in self._brokers:
            if not broker.runs:
                raise broker.failure(self._data)

    def stop(self) -> None:
        """End the brokers, gently at first. May be called again."""
        self._end_brokers()
        self._lock.close()

    def _end_brokers(self) -> None:
        for broker in self._brokers:
            broker.let_go()
        codes = [broker.wait() for broker in self._brokers]
        self._brokers.clear()
        if self._archive is not None and codes and codes[0] in ENDED_BY_TERM and self._archive[0].exists():
            with suppress(OSError):  # without it the next start is slower, no more
                keep_archive(*self._archive)
        self._archive = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _format(self, nodes: Sequence[Node], command: list[str]) -> None:
        """Give every new broker its data folder, all at the same time."""

        def begin(node: Node) -> subprocess.Popen[str]:
            return subprocess.Popen(
                command, cwd=node.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )

        running = [(node, begin(node)) for node in nodes if not node.is_formatted]
        for node, process in running:
            said, _ = process.communicate()
            if process.returncode != 0:
                raise _failed(node, said, self._data, f"exit code {process.returncode}")

    def _launch(self, nodes: Sequence[Node], java: Java, classpath: Sequence[Path], heap: str) -> None:
        archive = broker_settings.broker_archive(java, classpath)
        for node in nodes:
            writes = node.id == 1 and not archive.exists()
            written = node.folder / "classes.jsa"
            written.unlink(missing_ok=True)
            if writes:
                self._archive = (written, archive)
            command = broker_settings.broker_command(java, classpath, heap, written.name if writes else None)
            self._brokers.append(_Broker(node, command))
        self.bootstrap = ",".join(f"{HOST}:{node.port}" for node in nodes)

    def _wait_until_ready(self, cluster_id: str) -> None:
        """Until every broker takes connections and the cluster, not another one on its ports, counts all of them."""
        deadline = time.monotonic() + READY_SECONDS
        ports = [broker.node.port for broker in self._brokers]
        while not all(_answers(port) for port in ports):
            self._go_on_waiting(deadline)
        quick = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200, "log_level": 0}
        client = AdminClient({"bootstrap.servers": self.bootstrap, **quick})
        while _count(client, cluster_id) < len(self._brokers):
            self._go_on_waiting(deadline)

    def _go_on_waiting(self, deadline: float) -> None:
        self.check()
        if time.monotonic() > deadline:
            log = self._brokers[0].node.log
            raise ExternalError(
                "BROKER_FAILED", f"Kafka didn't answer within {READY_SECONDS:.0f} s.", hint=f"Its log is {log}."
            )
        time.sleep(0.02)


class _Broker:
    """One broker process on its leash."""

    def __init__(self, node: Node, command: list[str]) -> None:
        self.node = node
        self._child = Child(Place(node.folder, node.console, node.log), command)
        self.pid = self._child.pid
        node.pid_file.write_text(f"{self.pid}\n", encoding="utf-8")

    @property
    def runs(self) -> bool:
        return self._child.runs

    def let_go(self) -> None:
        self._child.let_go()

    def wait(self) -> int:
        """The exit code, once the broker has ended."""
        code = self._child.wait()
        self.node.pid_file.unlink(missing_ok=True)
        return code

    def failure(self, data: Path) -> OrionError:
        """What ended the broker: its log of this run, else what its JVM said, else its exit code."""
        said = "it was killed from outside" if self._child.was_killed else self._child.said()
        return _failed(self.node, said, data, f"exit code {self._child.code}")


def _failed(node: Node, said: str, data: Path, otherwise: str) -> OrionError:
    """The error behind what a broker said before it ended."""
    if "Address already in use" in said or "Address in use" in said:
        return cluster_data.port_taken(node.port)
    if "No space left on device" in said:
        return cluster_data.disk_full(data)
    if "Failed to acquire lock on file" in said:
        return Conflict(
            "DATA_IN_USE", f"An earlier broker still runs on {node.folder}.", hint="End it and start again."
        )
    heap = HEAP_REFUSED.search(said)
    if heap:
        return ConfigError(
            "HEAP_INVALID", f"Java says: {heap[0]}.", hint="Give hub.heap as Java does, such as 512m or 1g."
        )
    why = telling_line(said) or otherwise
    return ExternalError("BROKER_FAILED", f"Broker {node.id} ended: {why}.", hint=f"Its log is {node.log}.")


def telling_line(said: str) -> str | None:
    """The line that says why: the innermost exception of the last error in a log, or the error's own text.

    What comes before the first entry of the log is the JVM's own voice; there the last line tells.
    """
    why: str | None = None
    level = "JVM"
    for line in said.splitlines():
        entry, exception = LOG_ENTRY.match(line), EXCEPTION.match(line)
        if entry:
            level = entry["level"]
            why = entry["text"] if level in ("ERROR", "FATAL") else why
        elif exception and level in ("JVM", "ERROR", "FATAL"):
            why = exception["text"]
        elif level == "JVM" and line.strip() and not line.startswith(("\t", " ")):
            why = line.strip()
    return why.rstrip(".") if why else None


def _answers(port: int) -> bool:
    try:
        with socket.create_connection((HOST, port), timeout=1):
            return True
    except OSError:
        return False


def _count(client: AdminClient, cluster_id: str) -> int:
    """How many brokers of this cluster are there."""
    try:
        return len(client.list_topics(timeout=1).brokers) if client.cluster_id(timeout=1) == cluster_id else 0
    except KafkaException:
        return 0
