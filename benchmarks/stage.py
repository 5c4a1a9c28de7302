"""What every benchmark stands on: one broker, one warm Spark session, and a way to take turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from orion.config import Engine
from orion.hub.embedded import EmbeddedCluster
from orion.hub.kafka import Kafka
from orion.runtime import session
from orion.runtime.session import Spark

# The JVM compiles for many seconds: what is measured before that is the compiler.
_WARM_UP = 2


@dataclass(frozen=True)
class Measured:
    """Medians over the rounds. `ratio` above 1 means that Orion is the better one."""

    name: str
    orion: float
    baseline: float
    ratio: float
    unit: str
    what: str


@dataclass(frozen=True)
class Stage:
    kafka: Kafka
    spark: Spark
    folder: Path
    rounds: int
    say: Callable[[str], None]

    def take_turns(
        self, name: str, orion: Callable[[int], float], baseline: Callable[[int], float], unit: str, what: str
    ) -> Measured:
        """Each side twice to warm up, then in turn: what the machine does beside falls on both alike.

        The ratio is the median of the rounds' own ratios, so that a slow minute doesn't count on one side only.
        """
        self.say(f"{name}: warming up")
        for number in range(-_WARM_UP, 0):
            orion(number), baseline(number)
        ours: list[float] = []
        theirs: list[float] = []
        for number in range(self.rounds):
            pair = [(orion, ours), (baseline, theirs)]
            for side, results in pair if number % 2 == 0 else reversed(pair):
                results.append(side(number))
            self.say(
                f"{name}: round {number + 1}/{self.rounds}: orion {ours[-1]:,.0f}, baseline {theirs[-1]:,.0f} {unit}"
            )
        ratio = statistics.median(o / b for o, b in zip(ours, theirs, strict=True))
        return Measured(name, statistics.median(ours), statistics.median(theirs), ratio, unit, what)


@contextmanager
def staged(rounds: int, say: Callable[[str], None]) -> Iterator[Stage]:
    with TemporaryDirectory(prefix="orion-bench-") as folder:
        path = Path(folder)
        with EmbeddedCluster.start(path / "kafka", progress=say) as cluster:
            spark = session.start(Engine(), path, say)
            try:
                yield Stage(Kafka(cluster.bootstrap), spark, path, rounds, say)
            finally:
                session.stop(spark)


def seconds_until(condition: Callable[[], bool], deadline_s: float = 300.0) -> float:
    start = time.perf_counter()
    while not condition():
        if time.perf_counter() - start > deadline_s:
            raise TimeoutError("the benchmark's query didn't finish")
        time.sleep(0.01)
    return time.perf_counter() - start
