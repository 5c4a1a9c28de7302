"""A server as a process that has one core, asked from the others over connections that stay open.

The rate is by the processor time that the server takes, so that others on that core don't count.
"""

from __future__ import annotations

import os
import re
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from benchmarks.stage import Stage, seconds_until

_CONNECTIONS = 8
_START_S = 60.0
_ANSWER_S = 30.0


@dataclass(frozen=True)
class Serving:
    """A server's process."""

    pid: int
    address: tuple[str, int]

    def processor_s(self) -> float:
        """The time that all its threads have had a core."""
        user, system = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def ask(self, requests: Sequence[bytes]) -> tuple[list[bytes], float, float]:
        """The bodies of all answers, and how many there were in a second of the server's time and of the clock."""
        with ExitStack() as stack:
            stack.enter_context(_on(os.sched_getaffinity(0) - {_first_core()}))
            connections = [
                stack.enter_context(socket.create_connection(self.address, timeout=_ANSWER_S))
                for _ in range(_CONNECTIONS)
            ]
            start, processor = time.perf_counter(), self.processor_s()
            bodies = _all_bodies(connections, requests)
            taken, processor = time.perf_counter() - start, self.processor_s() - processor
        return bodies, len(requests) / processor, len(requests) / taken


@contextmanager
def started(stage: Stage, *module: str) -> Iterator[Serving]:
    """A server as a process on the first core, which prints its URL."""
    out = stage.folder / f"{module[0]}.out"
    command = [sys.executable, "-m", *module]
    # A process starts on the cores of the thread that starts it.
    with out.open("wb") as file, _on({_first_core()}):
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        process = subprocess.Popen(command, stdout=file, stdin=subprocess.PIPE, env=environment)
    try:
        seconds_until(lambda: _address(out) is not None or process.poll() is not None, _START_S)
        address = _address(out)
        if address is None:
            raise RuntimeError(f"{module[0]} didn't start")
        yield Serving(process.pid, address)
    finally:
        process.terminate()
        process.communicate(timeout=_START_S)


def _address(out: Path) -> tuple[str, int] | None:
    found = re.search(r"http://([\w.]+):(\d+)\s", out.read_text())
    return (found[1], int(found[2])) if found else None


def _first_core() -> int:
    return min(os.sched_getaffinity(0))


@contextmanager
def _on(cores: set[int]) -> Iterator[None]:
    """This thread on some cores for a while."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores or before)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _all_bodies(connections: list[socket.socket], requests: Sequence[bytes]) -> list[bytes]:
    """The answers; every connection has a question under way until there are no more."""
    bodies: dict[int, bytes] = {}
    numbers = iter(range(len(requests)))
    with selectors.DefaultSelector() as selector:
        for connection, number in zip(connections, numbers, strict=False):
            connection.sendall(requests[number])
            selector.register(connection, selectors.EVENT_READ, number)
        while len(bodies) < len(requests):
            ready = selector.select(_ANSWER_S)
            if not ready:
                raise TimeoutError("the server doesn't answer")
            for key, _ in ready:
                connection = cast(socket.socket, key.fileobj)
                bodies[key.data] = _body(connection)
                if (number := next(numbers, -1)) >= 0:
                    connection.sendall(requests[number])
                    selector.modify(connection, selectors.EVENT_READ, number)
    return [bodies[number] for number in range(len(requests))]


def _body(connection: socket.socket) -> bytes:
    said = b""
    while (end := said.find(b"\r\n\r\n")) < 0 or not _is_whole(said[:end], said[end + 4 :]):
        part = connection.recv(65536)
        if not part:
            raise RuntimeError("the server hung up")
        said += part
    if not said.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(said.decode())
    return _joined(said[end + 4 :]) if _is_chunked(said[:end]) else said[end + 4 :]


def _is_whole(head: bytes, body: bytes) -> bool:
    if _is_chunked(head):
        return body.endswith(b"0\r\n\r\n")
    found = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
    return len(body) >= (int(found[1]) if found else 0)


def _is_chunked(head: bytes) -> bool:
    return b"transfer-encoding: chunked" in head.lower()


def _joined(body: bytes) -> bytes:
    """What is in the chunks."""
    joined = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size, 16)
        joined, body = joined + rest[:length], rest[length + 2 :]
    return joined
