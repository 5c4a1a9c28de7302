"""kill -9 of the driver, at each point around a commit. A moment that was missed is tried for again."""

from __future__ import annotations

import subprocess
import sys
from abc import abstractmethod
from random import Random
from typing import ClassVar

from tests.faults.checkpoints import Checkpoint, pending_batch
from tests.faults.fault import Fault
from tests.faults.processes import wait_until
from tests.faults.trap import Order
from tests.faults.world import World

_TRIES = 2
_SPRINGS_S = 180.0  # batches take seconds while brokers, Spark and feeder share two cores


class _Killed(Fault):
    takes_s = 55.0
    sinks: ClassVar[tuple[str, ...]] = ("clean", "even", "counts", "heavy", "minutes")

    def strike(self, world: World, chance: Random) -> str:
        for attempt in range(1, _TRIES + 1):
            sink = getattr(world.names, chance.choice(self.sinks))
            checkpoint = world.checkpoint(sink)
            before = _end(world, sink)
            saw = _sprung(world, self.order(world, chance, sink, checkpoint))
            hit = self.hit(world, sink, checkpoint, before)
            said = f"{sink} at {saw}: {'hit' if hit else 'missed'}"
            if hit or attempt == _TRIES:
                return said
            world.restart()
        raise AssertionError

    def heal(self, world: World) -> None:
        world.restart()

    @abstractmethod
    def order(self, world: World, chance: Random, sink: str, checkpoint: Checkpoint) -> Order:
        """When to strike."""

    @abstractmethod
    def hit(self, world: World, sink: str, checkpoint: Checkpoint, before: int) -> bool:
        """Whether what is left behind shows that the moment was met; `before` is where the topic ended in peace."""


class KilledBeforeOffsets(_Killed):
    name = "kill-before-offsets"
    what = "kill -9 of the driver while it writes a batch's entry of the offset log"
    sinks = ("clean", "even", "counts", "heavy", "minutes", "lake")

    def order(self, world: World, chance: Random, sink: str, checkpoint: Checkpoint) -> Order:
        return _in_log(world, chance, checkpoint, r"\.\d+\..*\.tmp")

    def hit(self, world: World, sink: str, checkpoint: Checkpoint, before: int) -> bool:
        entries = (name.split(".")[1] for name in checkpoint.half_written())
        return any(number.isdigit() and int(number) > checkpoint.begun for number in entries)


class KilledAfterOffsets(_Killed):
    name = "kill-after-offsets"
    what = "kill -9 of the driver when a batch stands in the offset log and nothing of it is written"
    sinks = ("clean", "even", "counts", "heavy", "minutes", "lake")

    def order(self, world: World, chance: Random, sink: str, checkpoint: Checkpoint) -> Order:
        return _in_log(world, chance, checkpoint, r"\d+")

    def hit(self, world: World, sink: str, checkpoint: Checkpoint, before: int) -> bool:
        return checkpoint.cut_off() is not None


class KilledWhileWriting(_Killed):
    name = "kill-while-writing"
    what = "kill -9 of the driver when the first records of a batch are in the topic, not committed"

    def order(self, world: World, chance: Random, sink: str, checkpoint: Checkpoint) -> Order:
        return _on_arrival(world, chance, sink, checkpoint, committed=False)

    def hit(self, world: World, sink: str, checkpoint: Checkpoint, before: int) -> bool:
        """The trap saw a record that may not have been committed; the workers end its transaction soon after."""
        return checkpoint.cut_off() is not None and _end(world, sink) > before


class KilledAfterTransaction(_Killed):
    name = "kill-after-transaction"
    what = "kill -9 of the driver when a batch is committed in the topic and not in Spark's log"

    def order(self, world: World, chance: Random, sink: str, checkpoint: Checkpoint) -> Order:
        return _on_arrival(world, chance, sink, checkpoint, committed=True)

    def hit(self, world: World, sink: str, checkpoint: Checkpoint, before: int) -> bool:
        return checkpoint.cut_off() is not None and _end(world, sink) > before


class KilledInStateCommit(_Killed):
    name = "kill-in-state-commit"
    what = "kill -9 of the driver when changes of state are pending in a local store, and their batch isn't done"
    sinks = ("counts", "heavy", "minutes")

    def order(self, world: World, chance: Random, sink: str, checkpoint: Checkpoint) -> Order:
        return Order(
            [p.pid for p in world.server.drivers()],
            checkpoint=str(checkpoint.folder),
            stores=[str(folder) for folder in checkpoint.stores()],
            pass_over=chance.randrange(0, 6),
            delay_ms=chance.choice([0.0, 0.0, 2.0, 10.0]),
        )

    def hit(self, world: World, sink: str, checkpoint: Checkpoint, before: int) -> bool:
        batch = checkpoint.cut_off()
        return batch is not None and batch in map(pending_batch, checkpoint.stores())


def _end(world: World, sink: str) -> int:
    """Where a statement's topic ends; a connector has none."""
    return 0 if sink == world.names.lake else sum(world.kafka.end_offsets(sink).values())


def _in_log(world: World, chance: Random, checkpoint: Checkpoint, name: str) -> Order:
    return Order(
        [p.pid for p in world.server.drivers()],
        folders=[str(checkpoint.folder / "offsets")],
        name=name,
        pass_over=chance.randrange(0, 6),
    )


def _on_arrival(world: World, chance: Random, sink: str, checkpoint: Checkpoint, *, committed: bool) -> Order:
    return Order(
        [p.pid for p in world.server.drivers()],
        checkpoint=str(checkpoint.folder),
        bootstrap=world.brokers.bootstrap,
        topic=sink,
        committed=committed,
        pass_over=chance.randrange(0, 4),
        delay_ms=chance.choice([0.0, 0.0, 2.0, 5.0]) if committed else 0.0,
    )


def _sprung(world: World, order: Order) -> str:
    """Lay a trap and wait until it has struck; what it saw."""
    command = [sys.executable, "-m", "tests.faults.trap", order.written()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as trap:
        try:
            assert trap.stdout is not None
            assert trap.stdout.readline().strip() == "ready", "the trap was not laid"
            wait_until(lambda: trap.poll() is not None, "the moment didn't come", _SPRINGS_S)
            saw = trap.stdout.read().strip()
        finally:
            trap.kill()
    world.server.kill()
    return saw
