"""Under which names the writers of a machine write, so that what a dead one left open can be ended.

A worker process takes the lowest number that no living one holds: a lock on a file, which the kernel gives back when
the process ends in whatever way. Its transactional ids are made of that number and noted in the file. Whoever comes
after finds the files of the dead, and ends the transactions that may still be open under their ids.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import socket
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from confluent_kafka import Producer

from orion.hub.kafka import Kafka
from orion.hub.kafka_errors import Subject, translated

_INIT_S = 30.0


class Claim:
    """A number that is this process's own for as long as it lives."""

    def __init__(self, folder: Path, prefix: str) -> None:
        folder = _writable(folder)
        # Folders of the same machine are told apart by their path: a copy of one is not the same server.
        place = hashlib.sha256(str(folder).encode()).hexdigest()[:8]
        number = 0
        while (taken := _locked(folder / str(number))) is None:
            number += 1
        self._file = taken
        self._stem = f"{prefix}.{socket.gethostname()}.{place}.{number}"
        self._ids: set[str] = set()

    def transactional_id(self, kind: str) -> str:
        """The id of this process's producer of a kind, noted before it is used."""
        made = f"{self._stem}.{kind}" if kind else self._stem
        if made not in self._ids:
            os.write(self._file, f"{made}\n".encode())
            self._ids.add(made)
        return made

    def release(self) -> None:
        """Give the number back with what is open under its ids: whoever comes next ends that."""
        os.close(self._file)


def settle(kafka: Kafka, folder: Path) -> int:
    """End the transactions that dead writers of this machine left open; how many ids were looked after."""
    if not folder.is_dir():
        return 0
    dead = [(path, lock) for path in folder.iterdir() if (lock := _locked(path)) is not None]
    try:
        ids = [line for path, _ in dead for line in path.read_text().splitlines()]
        if ids:
            with ThreadPoolExecutor(max_workers=8, thread_name_prefix="orion-settle") as pool:
                list(pool.map(lambda name: opened(kafka, {"transactional.id": name}), ids))
        for path, _ in dead:
            path.unlink(missing_ok=True)
    finally:
        for _, lock in dead:
            os.close(lock)
    return len(ids)


def opened(kafka: Kafka, settings: dict[str, str | int]) -> Producer:
    """A producer that is alone under its transactional id: what others had open there has ended."""
    quick: dict[str, str | int] = {
        # The client waits half of this before it connects to a broker it has just heard of.
        "reconnect.backoff.ms": 20,
        # A transaction right behind another one is told to come back in a moment.
        "retry.backoff.ms": 10,
    }
    with translated(Subject(kafka.bootstrap)):
        made = kafka.producer(**(quick | settings))
        # Knowing the cluster first: else the producer waits about half a second before it asks for its coordinator.
        made.list_topics(timeout=_INIT_S)
        made.init_transactions(_INIT_S)
    return made


def _locked(path: Path) -> int | None:
    """The open file, locked; nothing when another process holds it."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return None
        # Between opening and locking, its owner may have died and somebody have removed it.
        if _is_there(path, file):
            return file
        os.close(file)


def _is_there(path: Path, file: int) -> bool:
    try:
        return path.stat().st_ino == os.fstat(file).st_ino
    except FileNotFoundError:
        return False


def _writable(folder: Path) -> Path:
    """The folder, or one of the machine's own where a worker runs far from the server."""
    for place in (folder, Path(tempfile.gettempdir()) / f"orion-{os.getuid()}" / "writers"):
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(place, os.W_OK):
            return place
    raise PermissionError(f"neither {folder} nor {tempfile.gettempdir()} can be written")
