"""All engines in turn, and what came of it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.peers.rows import ENGINES, ORION, Peers, Row, make_topics

# The first row of all finds JVMs that have compiled nothing.
WARM_UP, FIRST_WARM_UP = 2, 4


@dataclass(frozen=True)
class Taken:
    """What a run took: the processors' seconds for a million records, and seconds by the clock."""

    processor: float
    wall: float


@dataclass(frozen=True)
class RowResult:
    name: str
    what: str
    records: int
    rounds: Mapping[str, Sequence[Taken]]  # by engine

    def processor(self, engine: str) -> float:
        return statistics.median(taken.processor for taken in self.rounds[engine])

    def wall(self, engine: str) -> float:
        return statistics.median(taken.wall for taken in self.rounds[engine])

    @property
    def ratio(self) -> float:
        """Of the processors' time, the most frugal peer's to Orion's: above 1 Orion takes the least."""
        return min(self.processor(engine) for engine in self.rounds if engine != ORION) / self.processor(ORION)


def take_turns(peers: Peers, row: Row, warm_up: int = WARM_UP) -> RowResult:
    """Each engine to warm up, then all in turn, another one first in each round."""
    peers.stage.say(f"{row.name}: warming up")
    for number in range(warm_up):
        for engine in ENGINES:
            _run(peers, row, engine, number, checked=False)
    rounds: dict[str, list[Taken]] = {engine: [] for engine in ENGINES}
    for number in range(peers.stage.rounds):
        first = number % len(ENGINES)
        for engine in (*ENGINES[first:], *ENGINES[:first]):
            rounds[engine].append(_run(peers, row, engine, warm_up + number))
        told = ", ".join(f"{e} {t[-1].processor:.1f} CPU s a million in {t[-1].wall:.1f} s" for e, t in rounds.items())
        peers.stage.say(f"{row.name}: round {number + 1}/{peers.stage.rounds}: {told}")
    return RowResult(row.name, row.what, row.records, rounds)


def _run(peers: Peers, row: Row, engine: str, number: int, *, checked: bool = True) -> Taken:
    outs = make_topics(peers, row, engine, number)
    before = peers.seconds_of(engine)
    wall = row.runs[engine](outs)
    processor = peers.seconds_of(engine) - before
    if checked:
        row.check(peers.stage.kafka, outs)
    return Taken(processor * 1_000_000 / row.records, wall)
