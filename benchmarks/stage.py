"""What every benchmark stands on: one broker, one warm Spark session, and a way to take turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.processor_time import read_processor_seconds
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
    processor: tuple[float, float] | None = None  # Spark's seconds for a million records, Orion's and the other side's


@dataclass(frozen=True)
class Stage:
    kafka: Kafka
    spark: Spark
    folder: Path
    rounds: int
    say: Callable[[str], None]

    def take_turns(
        self,
        name: str,
        orion: Callable[[int], float],
        baseline: Callable[[int], float],
        unit: str,
        what: str,
        records: int = 0,
    ) -> Measured:
        """Each side twice to warm up, then in turn: what the machine does beside falls on both alike.

        The ratio is the median of the rounds' own ratios, so that a slow minute doesn't count on one side only. With
        the number of `records` that each side moves, the processors' time that Spark takes for them is told as well.
        """
        self.say(f"{name}: warming up")
        for number in range(-_WARM_UP, 0):
            orion(number), baseline(number)
        ours, theirs = Turns(orion), Turns(baseline)
        for number in range(self.rounds):
            for side in (ours, theirs) if number % 2 == 0 else (theirs, ours):
                side.play(number, self.spark)
            self.say(
                f"{name}: round {number + 1}/{self.rounds}: orion {ours.results[-1]:,.0f}, "
                f"baseline {theirs.results[-1]:,.0f} {unit}; "
                f"Spark's processor seconds {ours.seconds[-1]:.1f} and {theirs.seconds[-1]:.1f}"
            )
        ratio = statistics.median(o / b for o, b in zip(ours.results, theirs.results, strict=True))
        processor = (ours.seconds_a_million(records), theirs.seconds_a_million(records)) if records else None
        return Measured(
            name, statistics.median(ours.results), statistics.median(theirs.results), ratio, unit, what, processor
        )


@dataclass(frozen=True)
class Turns:
    """What one side of a contest came to in each round, and what it took of the processors' time."""

    measure: Callable[[int], float]
    results: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def play(self, number: int, spark: Spark) -> None:
        before = read_processor_seconds(spark)
        self.results.append(self.measure(number))
        self.seconds.append(read_processor_seconds(spark) - before)

    def seconds_a_million(self, records: int) -> float:
        return statistics.median(self.seconds) * 1_000_000 / records


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
