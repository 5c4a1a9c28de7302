"""One fault from the first record to the oracle's word, and a run of several."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

from tests.faults.fault import Fault
from tests.faults.kinds import FAULTS
from tests.faults.stage import Stage

# Every so many seeds one after the other meet every fault, when each has the time for its share.
SHARES = 5
_BEFORE, _AFTER = 100, 50  # records before the fault and after it is healed


@dataclass(frozen=True)
class Result:
    """`recovered_s`: from the fault's end until every output was complete and right. `verdict`: ok, FAILED, skipped."""

    fault: str
    seed: int
    verdict: str
    recovered_s: float = 0.0
    redone: int = 0
    fed: int = 0
    detail: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def order(seed: int) -> tuple[list[str], int]:
    """The faults of a seed and the brokers they need: its share of a shuffled deck first, then what these can have."""
    deck = sorted(name for name, kind in FAULTS.items() if not kind.by_name)
    Random(f"deck {seed // SHARES}").shuffle(deck)
    size = -(-len(deck) // SHARES)
    start = (seed % SHARES) * size
    share = deck[start : start + size]
    count = brokers_for(share)
    return share + [name for name in deck if name not in share and FAULTS[name].brokers <= count], count


def brokers_for(names: list[str]) -> int:
    return max(FAULTS[name].brokers for name in names)


def run(stage: Stage, seed: int, minutes: float, names: list[str], say: Callable[[str], None]) -> Iterator[Result]:
    """Round after round until the time is over; a fault that wouldn't end in time isn't begun."""
    limit = time.monotonic() + minutes * 60
    number, idle = 0, 0
    while idle < len(names):
        name = names[number % len(names)]
        number += 1
        if time.monotonic() + FAULTS[name].takes_s > limit:
            idle += 1
            continue
        idle = 0
        yield once(stage, FAULTS[name](), seed, Random(f"{name} {seed} {number}"), say)


def once(stage: Stage, fault: Fault, seed: int, chance: Random, say: Callable[[str], None]) -> Result:
    """Feed, strike, heal, feed on, and wait for the oracle."""
    if why := fault.impossible():
        return Result(fault.name, seed, "skipped", detail=why)
    detail = "the world was not made"
    began = time.monotonic()
    try:
        world = stage.world()
        detail = "before the fault"
        before, redone, repeated = len(world.feed.acked), world.redone, world.repeated
        world.feed.flow()
        world.feed.more(_BEFORE)
        detail = fault.strike(world, chance)
        healed = time.monotonic()
        fault.heal(world)
        world.feed.more(_AFTER)
        world.feed.pause()
        world.settle()
    except Exception as error:
        (stage.folder / f"{fault.name}.txt").write_text(f"{detail}\n{traceback.format_exc()}")
        stage.spoilt()
        return Result(fault.name, seed, "FAILED", detail=f"{detail}: {error}; evidence is in {stage.folder}")
    seconds = time.monotonic() - healed
    if world.repeated > repeated:
        detail += f"; Kafka itself took {world.repeated - repeated} records of the feed twice"
    say(f"{fault.name}: {detail}; {time.monotonic() - began:.0f} s in all")
    return Result(
        fault.name, seed, "ok", round(seconds, 1), world.redone - redone, len(world.feed.acked) - before, detail
    )
