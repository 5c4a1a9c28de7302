"""Records that can't be rows, and clocks that are wrong by centuries."""

from __future__ import annotations

from random import Random
from typing import ClassVar

from tests.faults.fault import Fault
from tests.faults.world import World


class PoisonBurst(Fault):
    name = "poison"
    what = "a burst of bad JSON and wrong types among good records"
    takes_s = 12.0
    kinds: ClassVar[tuple[str, ...]] = ("bad JSON", "wrong type")
    most: ClassVar[int] = 400

    def strike(self, world: World, chance: Random) -> str:
        kinds = chance.choices(self.kinds, k=chance.randrange(self.most // 4, self.most))
        for at in range(0, len(kinds), 50):
            world.feed.poisoned(kinds[at : at + 50])
            world.feed.more(10)
        return ", ".join(f"{kinds.count(kind)} {kind}" for kind in self.kinds)

    def heal(self, world: World) -> None:
        world.feed.more(100)  # what comes after poison is good again


class HugePoison(PoisonBurst):
    name = "poison-5MB"
    what = "records of 5 MB that can't be read, on a topic that allows them"
    kinds = ("5 MB",)
    most = 8


class FarFuture(PoisonBurst):
    name = "far-future"
    what = "records with a time in the year 2191, which are dead letters and push no window aside"
    kinds = ("far future", "bad JSON")
    most = 40
