"""Flink SQL, as `java/FlinkDriver.java` runs it: a session cluster in one warm JVM, parallelism 2.

Exactly once (a checkpoint a second, and Kafka's transactions) unless a row says otherwise. State is on the heap, as it
is by default, and copied into each checkpoint. Objects are reused, aggregates work by mini-batches where latency isn't
measured, and the producer's settings are those of the side by hand. A job has reached the end of its topics when it has
ended, which it does once its last checkpoint has committed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.peers.driver import Driver, start_driver
from benchmarks.peers.jars import bring_jars
from benchmarks.stage import Stage

_MAIN = "FlinkDriver"
# What Flink asks for on a Java that keeps its internals to itself.
_OPENED = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.math",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.text",
    "java.base/java.time",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/sun.net.util",
)
_OPTIONS = ("-Xmx1536m", "-Xms1536m", *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED))
CHECKPOINT_MS, QUICK_CHECKPOINT_MS = 1_000, 100
_SETTINGS = {"parallelism.default": "2", "pipeline.object-reuse": "true"}
BULK = {
    **_SETTINGS,
    "execution.checkpointing.interval": f"{CHECKPOINT_MS}ms",
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "500ms",
    "table.exec.mini-batch.size": "20000",
}
QUICK = {
    **_SETTINGS,
    "execution.checkpointing.interval": f"{QUICK_CHECKPOINT_MS}ms",
    "execution.buffer-timeout.interval": "5ms",
}


@dataclass
class Flink:
    driver: Driver
    folder: Path
    started: int = field(default=0)

    def run(self, statements: Sequence[str]) -> float:
        """Seconds from the start of statements until their jobs have ended."""
        begun = time.perf_counter()
        with self.runs(statements, BULK) as name:
            self.driver.ask("await", name)
            return time.perf_counter() - begun

    @contextmanager
    def runs(self, statements: Sequence[str], settings: Mapping[str, str]) -> Iterator[str]:
        """Statements while their jobs run."""
        self.started += 1
        name = f"script-{self.started}"
        script = self.folder / f"{name}.sql"
        script.write_text("\n;;\n".join(statements), "utf-8")
        self.driver.ask("start", name, script, *(f"{key}={value}" for key, value in settings.items()))
        try:
            yield name
        finally:
            self.driver.ask("stop", name)


@contextmanager
def start_flink(stage: Stage) -> Iterator[Flink]:
    jars, folder = bring_jars("flink", stage.say), stage.folder / "flink"
    with start_driver(_MAIN, jars, _OPTIONS, [str(folder)], folder, stage.say) as driver:
        yield Flink(driver, folder)
