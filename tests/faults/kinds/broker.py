"""Brokers that die or stop answering."""

from __future__ import annotations

import time
from random import Random

from tests.faults.fault import Fault
from tests.faults.processes import wait_until
from tests.faults.world import World


class _OnBrokers(Fault):
    brokers = 3

    def __init__(self) -> None:
        self.away: list[int] = []

    def heal(self, world: World) -> None:
        for number in self.away:
            world.brokers.revive(number)
        world.brokers.wait_until_well()
        world.feed.transactions = True


class BrokerKilled(_OnBrokers):
    name = "kill-broker"
    what = "kill -9 of one broker of three, started again after some seconds"
    takes_s = 25.0

    def strike(self, world: World, chance: Random) -> str:
        world.feed.transactions = False
        number = chance.choice(world.brokers.numbers)
        world.brokers.kill(number)
        self.away = [number]
        seconds = last_for(world, chance.uniform(1, 7))
        return f"broker {number} for {seconds:.0f} s"


class AllBrokersKilled(_OnBrokers):
    name = "kill-all-brokers"
    what = "kill -9 of all brokers within a second, started again after some seconds"
    takes_s = 40.0

    def strike(self, world: World, chance: Random) -> str:
        world.feed.transactions = False
        order = chance.sample(world.brokers.numbers, len(world.brokers.numbers))
        for number in order:
            world.brokers.kill(number)
            self.away.append(number)
            time.sleep(chance.uniform(0, 0.4))
        seconds = last_for(world, chance.uniform(1, 6))
        return f"brokers {order} for {seconds:.0f} s"


class BrokerFrozen(_OnBrokers):
    name = "freeze-broker"
    what = "SIGSTOP of one broker of three for 30 s, its connections open"
    takes_s = 55.0
    lasts_s = 30.0

    def strike(self, world: World, chance: Random) -> str:
        world.feed.transactions = False
        number = chance.choice(world.brokers.numbers)
        world.brokers.freeze(number)
        try:
            last_for(world, self.lasts_s)
        finally:
            world.brokers.thaw(number)
        return f"broker {number} for {self.lasts_s:.0f} s"


def last_for(world: World, seconds: float) -> float:
    """Let the fault last, and see what the server does meanwhile."""
    world.struck()
    end = time.monotonic() + seconds

    def over() -> bool:
        world.glance()
        return time.monotonic() > end

    wait_until(over, "the server doesn't answer", seconds + 60)
    return seconds
