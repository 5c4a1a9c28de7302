"""The one Spark session of a process, and the settings every query counts on."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, Row, SparkSession

from orion.config import Engine
from orion.hub import jars, java
from orion.runtime.lanes.fast import SLOTS

# Under names that modules outside of the runtime may use.
Spark: TypeAlias = SparkSession
Frame: TypeAlias = DataFrame
Result: TypeAlias = Row

_FILES = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def start(engine: Engine, data: Path, progress: Callable[[str], None]) -> SparkSession:
    """Start Spark, or give back the session that runs already."""
    found = java.find()
    if found.home is not None:
        os.environ["JAVA_HOME"] = str(found.home)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    packages = jars.spark_jars(progress)
    builder = SparkSession.builder.appName("orion").master(_master(engine))
    for name, value in (_settings(engine, data, packages) | engine.conf).items():
        builder = builder.config(name, value)
    # PySpark also logs each SQL error by itself; it reaches the person who asked as an error of Orion's.
    logging.getLogger("SQLQueryContextLogger").disabled = True
    with _stderr_to(data / "logs" / "spark.log"):
        session = builder.getOrCreate()
    # Asking for the streams registers the coordinator of state stores, which a stateful batch needs as well.
    session.streams.active  # noqa: B018
    return session


def stop(session: SparkSession) -> None:
    # Its JVM may be gone already, when a signal reached the whole process group.
    with suppress(Py4JError, ConnectionError):
        session.stop()


@contextmanager
def _stderr_to(log: Path) -> Iterator[None]:
    """Spark's JVM keeps the standard error it is born with: its chatter goes to a file, not over the terminal."""
    log.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.flush()
    kept = os.dup(2)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _master(engine: Engine) -> str:
    """All cores, and no fewer than eight tasks: one that writes waits for the broker more than it computes.

    Besides, fast statements have slots that they may hold for good.
    """
    return f"local[{_tasks() + engine.fast_slots}]" if engine.master == "local[*]" else engine.master


def _tasks() -> int:
    return max(8, os.cpu_count() or 1)


def _settings(engine: Engine, data: Path, packages: list[Path]) -> dict[str, str]:
    logs = Path(__file__).with_name("log4j2.properties")
    return {
        "spark.jars": ",".join(map(str, packages)),
        "spark.driver.memory": engine.memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={logs.as_uri()} -Duser.timezone=UTC",
        **({"spark.default.parallelism": str(_tasks())} if engine.master == "local[*]" else {}),
        SLOTS: str(engine.fast_slots),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Queries share the cores evenly; none waits for another's long batch.
        "spark.scheduler.mode": "FAIR",
        "spark.sql.warehouse.dir": str((data / "warehouse").absolute()),
        # The number of state partitions is part of a query's checkpoint, and two cores need no 200.
        "spark.sql.shuffle.partitions": str(engine.shuffle_partitions),
        # A wrong value is NULL in the row, as in ksqlDB, not the end of the query.
        "spark.sql.ansi.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        # Names arrive as ksqlDB means them, in upper case unless quoted: two that differ in case are two.
        "spark.sql.caseSensitive": "true",
        "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
        # Streams re-plan each batch: adaptive execution costs more there than it finds.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.streaming.stateStore.providerClass": _ROCKSDB,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        # An entry of a checkpoint's logs in a fifth of the time. It may replace one that is there, where the other
        # refuses: that nobody else writes them is seen to by the data folder's lock and the query's group.
        "spark.sql.streaming.checkpointFileManagerClass": _FILES,
        "spark.sql.streaming.numRecentProgressUpdates": "20",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.python.worker.reuse": "true",
        # A slot is written once a run. A task can see that it is a second attempt, but not that its stage is.
        "spark.stage.maxConsecutiveAttempts": "1",
    }
