"""How many schemas by id a registry gives over HTTP on one core; the goal is 2,000 in a second.

`orion registry` runs as a process that has one core, and the questions come from the others, over connections that stay
open. The other side is a server of the same kind on the same core that gives every question the same bytes. The rate is
by the processor time that a server takes, so that others on that core don't count; the rate by the clock is told too.
"""

from __future__ import annotations

import statistics
import sys
from contextlib import closing
from dataclasses import replace

from benchmarks.one_core import Serving, started
from benchmarks.registry_shelf import IDS, answer, bare, fill
from benchmarks.stage import Measured, Stage
from orion.web.server import Server
from orion.web.sockets import bound

_REQUESTS = [f"GET /schemas/ids/{number} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() for number in range(1, IDS + 1)]


def measure(stage: Stage) -> Measured:
    fill(stage)
    command = ("orion", "registry", "--port", "0", "--bootstrap", stage.kafka.bootstrap)
    clock: list[float] = []
    with started(stage, *command) as ours, started(stage, "benchmarks.registry_http") as theirs:
        found = stage.take_turns(
            "registry_http",
            lambda _: _rate(ours, clock, checked=True),
            lambda _: _rate(theirs, []),
            "lookups/s",
            "registry: a schema by its id, over HTTP on one core (by hand: a constant)",
        )
    return replace(found, what=f"{found.what}, {statistics.median(clock[-stage.rounds :]):,.0f} by the clock")


def _rate(server: Serving, clock: list[float], *, checked: bool = False) -> float:
    """Lookups of all ids in a second of the server's processor time; adds those in a second by the clock to `clock`."""
    bodies, rate, by_clock = server.ask(_REQUESTS)
    if checked and any(body != answer(number) for number, body in enumerate(bodies, 1)):
        raise RuntimeError("a schema isn't what was registered")
    clock.append(by_clock)
    return rate


if __name__ == "__main__":
    with closing(bound("127.0.0.1", 0)) as sock:
        print(f"{Server.serve(bare(), sock).url}\n", flush=True)
        sys.stdin.read()
