"""A cluster whose brokers can be killed, frozen and started again, one by one: Orion's own settings, our own hands."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from orion.hub import broker_settings, cluster_data
from orion.hub.cluster_data import HOST, Node
from orion.hub.jars import kafka_classpath
from orion.hub.java import find
from orion.hub.leash import leashed
from tests.faults.processes import SHORT_LIVED, wait_until

_READY_S = 180.0
_GRACE_S = 10.0


class Brokers:
    """Started by `start`, ended by `stop`; each broker is on a leash, so none outlives this process."""

    def __init__(self, folder: Path, count: int) -> None:
        self._lock = cluster_data.claim(folder)
        java, classpath = find(), kafka_classpath()
        described, self.nodes = cluster_data.settle(folder, count, 0, print)
        format_it = broker_settings.format_command(java, classpath, described.cluster_id)
        self._command = broker_settings.broker_command(java, classpath, "512m", None)
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._pids: dict[int, int] = {}
        self.bootstrap = ",".join(f"{HOST}:{node.port}" for node in self.nodes)
        for node in self.nodes:
            broker_settings.write(node, self.nodes)
        making = [subprocess.Popen(format_it, cwd=n.folder, stdout=subprocess.DEVNULL) for n in self.nodes]
        codes = [process.wait(60) for process in making]
        if any(codes):
            raise AssertionError(f"a broker's folder in {folder} can't be made")

    @property
    def numbers(self) -> list[int]:
        return [node.id for node in self.nodes]

    def start(self) -> None:
        for node in self.nodes:
            self._launch(node)
        self.wait_until_well()

    def kill(self, number: int) -> None:
        os.kill(self._pids[number], signal.SIGKILL)
        with self._running.pop(number) as process:  # closes its pipe, too
            process.wait(_GRACE_S)

    def revive(self, number: int) -> None:
        self._launch(next(node for node in self.nodes if node.id == number))

    def freeze(self, number: int) -> None:
        os.kill(self._pids[number], signal.SIGSTOP)

    def thaw(self, number: int) -> None:
        os.kill(self._pids[number], signal.SIGCONT)

    def mend(self) -> None:
        """Every broker runs, whatever a fault that was cut off has left."""
        for node in self.nodes:
            if node.id not in self._running or self._running[node.id].poll() is not None:
                self._launch(node)
            with suppress(ProcessLookupError):
                self.thaw(node.id)

    def wait_until_well(self) -> None:
        """All brokers are counted, and no copy of a partition is behind."""
        wait_until(self._well, "the brokers aren't well", _READY_S)

    def stop(self) -> None:
        for number, process in self._running.items():
            with suppress(ProcessLookupError):
                self.thaw(number)
            if process.stdin is not None:
                process.stdin.close()
        for process in self._running.values():
            try:
                process.wait(_GRACE_S + 5)
            except subprocess.TimeoutExpired:
                process.kill()  # and the broker with it
                process.wait()
        self._running.clear()
        self._lock.close()

    def _launch(self, node: Node) -> None:
        with node.console.open("ab") as console:
            process = subprocess.Popen(
                leashed(_GRACE_S, self._command),
                cwd=node.folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=console,
                env=SHORT_LIVED,
                start_new_session=True,
            )
        assert process.stdout is not None
        with process.stdout as told:
            self._pids[node.id] = int(told.readline() or 0)
        self._running[node.id] = process

    def _well(self) -> bool:
        for number, process in self._running.items():
            assert process.poll() is None, f"broker {number} ended: see {self.nodes[number - 1].folder / 'logs'}"
        quick = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200, "log_level": 0}
        try:
            seen = AdminClient({"bootstrap.servers": self.bootstrap, **quick}).list_topics(timeout=2)
        except KafkaException:
            time.sleep(0.1)
            return False
        partitions = [p for topic in seen.topics.values() for p in topic.partitions.values()]
        return len(seen.brokers) == len(self.nodes) and all(len(p.isrs) == len(p.replicas) for p in partitions)
