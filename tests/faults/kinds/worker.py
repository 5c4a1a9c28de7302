"""Spark's Python workers, which write the batches: one dies, one stops in the middle of a transaction."""

from __future__ import annotations

import signal
import time
from random import Random

from tests.faults.fault import Fault
from tests.faults.processes import Process, wait_until, workers_of
from tests.faults.world import World


class WorkerKilled(Fault):
    name = "kill-worker"
    what = "kill -9 of a Python worker in the middle of a batch"
    takes_s = 20.0

    def strike(self, world: World, chance: Random) -> str:
        killed = 0
        for _ in range(chance.randrange(1, 4)):
            _in_batch(world, chance)
            victim = chance.choice(_workers(world))
            victim.send(signal.SIGKILL)
            world.struck()
            killed += 1
            world.feed.more(chance.randrange(20, 200))
            world.glance()
        return f"{killed} workers"

    def heal(self, world: World) -> None:
        """Nobody does anything: the server has to."""


class WorkerFrozen(Fault):
    name = "freeze-worker"
    what = "SIGSTOP of all Python workers in the middle of a batch, their transactions open"
    takes_s = 45.0
    lasts_s: tuple[float, ...] = (5.0, 15.0, 50.0)  # the last is longer than a group waits for its member

    def __init__(self) -> None:
        self._stopped: list[Process] = []

    def strike(self, world: World, chance: Random) -> str:
        _in_batch(world, chance)
        self._stopped = _workers(world)
        for worker in self._stopped:
            worker.send(signal.SIGSTOP)
        world.struck()
        seconds = chance.choice(self.lasts_s)
        end = time.monotonic() + seconds
        wait_until(lambda: time.monotonic() > end, "", seconds + 10)
        return f"{len(self._stopped)} workers for {seconds:.0f} s"

    def heal(self, world: World) -> None:
        for worker in self._stopped:
            worker.send(signal.SIGCONT)


def _workers(world: World) -> list[Process]:
    found = workers_of(world.server.family())
    assert found, "the server has no Python workers"
    return found


def _in_batch(world: World, chance: Random) -> None:
    """Wait until a batch of one of the statements is under way."""
    sinks = [s for s in world.ids if s != world.names.lake]
    checkpoint = world.checkpoint(chance.choice(sinks))
    wait_until(lambda: checkpoint.cut_off() is not None, "no batch is under way", 60)
    time.sleep(chance.uniform(0, 0.05))
