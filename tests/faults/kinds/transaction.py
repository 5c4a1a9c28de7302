"""A producer elsewhere leaves its transaction open: readers of committed records stand still until it times out."""

from __future__ import annotations

from random import Random

from tests.faults.fault import Fault
from tests.faults.processes import wait_until
from tests.faults.world import World


class InputTransactionHung(Fault):
    name = "hung-transaction"
    what = "a transaction left open on the input topic until the broker ends it"
    takes_s = 40.0

    def strike(self, world: World, chance: Random) -> str:
        seconds = chance.choice([3, 6, 10])
        topic = world.names.input
        producer = world.feed.hang(chance.randrange(10, 200), seconds * 1000)
        held = world.kafka.end_offsets(topic, committed=True)
        world.feed.more(150)
        stuck = [p for p, end in world.kafka.end_offsets(topic, committed=True).items() if end == held[p]]
        assert stuck, "the open transaction holds nothing back"
        wait_until(lambda: self._over(world), "the broker doesn't end the transaction", 60)
        del producer
        return f"partitions {stuck} for {seconds} s and until the broker looks"

    def _over(self, world: World) -> bool:
        """No partition's committed end stays behind what is there, seen with the feed going on."""
        before = world.kafka.end_offsets(world.names.input)
        world.feed.more(50)
        after = world.kafka.end_offsets(world.names.input, committed=True)
        return all(after[p] >= end for p, end in before.items())

    def heal(self, world: World) -> None:
        """The broker has done it."""
