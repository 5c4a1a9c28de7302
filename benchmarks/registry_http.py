"""How many schemas by id a registry gives over HTTP on one core; the goal is 2,000 in a second.

`orion registry` runs as a process that has one core, and the questions come from the others, over connections that stay
open. The other side is a server of the same kind on the same core that gives every question the same bytes. The rate is
by the processor time that a server takes, so that others on that core don't count; the rate by the clock is told too.
"""

from __future__ import annotations

import os
import re
import selectors
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from benchmarks.registry_shelf import IDS, answer, bare, fill
from benchmarks.stage import Measured, Stage, seconds_until
from orion.web.server import Server, bound

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


def measure(stage: Stage) -> Measured:
    fill(stage)
    command = ("orion", "registry", "--port", "0", "--bootstrap", stage.kafka.bootstrap)
    clock: list[float] = []
    with _started(stage, *command) as ours, _started(stage, "benchmarks.registry_http") as theirs:
        found = stage.take_turns(
            "registry_http",
            lambda _: _rate(ours, clock, checked=True),
            lambda _: _rate(theirs, []),
            "lookups/s",
            "registry: a schema by its id, over HTTP on one core (by hand: a constant)",
        )
    return replace(found, what=f"{found.what}, {statistics.median(clock[-stage.rounds :]):,.0f} by the clock")


@contextmanager
def _started(stage: Stage, *module: str) -> Iterator[Serving]:
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


def _rate(server: Serving, clock: list[float], *, checked: bool = False) -> float:
    """Lookups of all ids in a second of the server's processor time; adds those in a second by the clock to `clock`."""
    with ExitStack() as stack:
        stack.enter_context(_on(os.sched_getaffinity(0) - {_first_core()}))
        connections = [
            stack.enter_context(socket.create_connection(server.address, timeout=_ANSWER_S))
            for _ in range(_CONNECTIONS)
        ]
        start, processor = time.perf_counter(), server.processor_s()
        bodies = _all_bodies(connections)
        taken, processor = time.perf_counter() - start, server.processor_s() - processor
    if checked and any(bodies[number] != answer(number) for number in range(1, IDS + 1)):
        raise RuntimeError("a schema isn't what was registered")
    clock.append(IDS / taken)
    return IDS / processor


def _all_bodies(connections: list[socket.socket]) -> dict[int, bytes]:
    """The answers for all ids; every connection has a question under way until there are no more."""
    bodies: dict[int, bytes] = {}
    numbers = iter(range(1, IDS + 1))
    with selectors.DefaultSelector() as selector:
        for connection, number in zip(connections, numbers, strict=False):
            _ask(connection, number)
            selector.register(connection, selectors.EVENT_READ, number)
        while len(bodies) < IDS:
            ready = selector.select(_ANSWER_S)
            if not ready:
                raise TimeoutError("the server doesn't answer")
            for key, _ in ready:
                connection = cast(socket.socket, key.fileobj)
                bodies[key.data] = _body(connection)
                if (number := next(numbers, 0)) != 0:
                    _ask(connection, number)
                    selector.modify(connection, selectors.EVENT_READ, number)
    return bodies


def _ask(connection: socket.socket, number: int) -> None:
    connection.sendall(f"GET /schemas/ids/{number} HTTP/1.1\r\nHost: registry\r\n\r\n".encode())


def _body(connection: socket.socket) -> bytes:
    said = b""
    while (end := said.find(b"\r\n\r\n")) < 0 or len(said) < end + 4 + _length(said[:end]):
        part = connection.recv(65536)
        if not part:
            raise RuntimeError("the server hung up")
        said += part
    if not said.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(said.decode())
    return said[end + 4 :]


def _length(head: bytes) -> int:
    found = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
    return int(found[1]) if found else 0


if __name__ == "__main__":
    with closing(bound("127.0.0.1", 0)) as sock:
        print(f"{Server.serve(bare(), sock).url}\n", flush=True)
        sys.stdin.read()
