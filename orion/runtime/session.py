"""The one Spark session of a process, and the settings every query counts on."""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

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
_LOCAL_FILES = "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_SOCKETS = "spark.python.unix.domain.socket"
# The path of a Unix socket has room for about a hundred bytes, and Spark's names for them take 42.
_LONGEST_SOCKET_FOLDER = 60


def start(engine: Engine, data: Path, progress: Callable[[str], None]) -> SparkSession:
    """Start Spark, or give back the session that runs already."""
    found = java.find()
    if found.home is not None:
        os.environ["JAVA_HOME"] = str(found.home)
    os.environ["PYSPARK_PYTHON"] = _python_for_workers(data)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Each of glibc's arenas keeps what was freed in it, and it makes eight a core: for Arrow's memory that
    # is hundreds of megabytes that nobody uses.
    os.environ.setdefault("MALLOC_ARENA_MAX", "2")
    packages = jars.spark_jars(progress)
    builder = SparkSession.builder.appName("orion").master(_master(engine))
    settings = _settings(engine, data, packages)
    if engine.master.startswith("local") and SparkSession.getActiveSession() is None:
        settings |= _socket_settings(Path(tempfile.gettempdir()))
    for name, value in _merged(settings, engine.conf).items():
        builder = builder.config(name, value)
    # PySpark also logs each SQL error by itself; it reaches the person who asked as an error of Orion's.
    logging.getLogger("SQLQueryContextLogger").disabled = True
    with _stderr_to(data / "logs" / "spark.log"):
        session = builder.getOrCreate()
    _write_files_in_java(session)
    return session


def _write_files_in_java(session: SparkSession) -> None:
    """Have Hadoop write local files without other processes.

    Of each file that it makes it has a process change the mode, and so of the file's checksums: longer than the rest of
    an entry of a checkpoint's logs takes. The file system that is set here does the same by Java's own means. It is set
    in the running JVM, as Spark looks for it before it has its own jars, and the one that was opened before is let go.
    """
    jvm: Any = session._jvm
    hadoop: Any = session.sparkContext._jsc.hadoopConfiguration()
    if hadoop.get("fs.file.impl") != _LOCAL_FILES:
        jvm.org.apache.hadoop.fs.FileSystem.getLocal(hadoop).close()
        hadoop.set("fs.file.impl", _LOCAL_FILES)


def _python_for_workers(data: Path) -> str:
    """The program that Spark starts as Python: workers that it waits for only a while connect before they load."""
    early, program = Path(__file__).with_name("early_worker.py"), data.absolute() / "python-worker"
    text = f"""#!/bin/sh
case "$2" in
  pyspark.sql.streaming.*) exec {shlex.quote(sys.executable)} -P {shlex.quote(str(early))} "$@" ;;
esac
exec {shlex.quote(sys.executable)} "$@"
"""
    try:
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)
        subprocess.run([program, "-c", ""], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):  # a folder whose files may not be run: Python as it is, then
        return sys.executable
    return str(program)


def stop(session: SparkSession) -> None:
    # Its JVM may be gone already, when a signal reached the whole process group.
    sockets = None
    with suppress(Py4JError, ConnectionError):
        sockets = session.conf.get(f"{_SOCKETS}.dir", None)
        session.stop()
    if sockets is not None:
        shutil.rmtree(sockets, ignore_errors=True)


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


def _merged(own: dict[str, str], given: dict[str, str]) -> dict[str, str]:
    """What is given replaces what is our own; options of the JVM come behind ours, and the last of a kind counts."""
    both = {**own, **given}
    if _JAVA_OPTIONS in given:
        both[_JAVA_OPTIONS] = f"{own[_JAVA_OPTIONS]} {given[_JAVA_OPTIONS]}"
    return both


def _java_options() -> str:
    """Bounds for what the JVM has beside its heap, which has one, and memory given back when it isn't needed."""
    logs = Path(__file__).with_name("log4j2.properties")
    return " ".join(
        (
            f"-Dlog4j2.configurationFile={logs.as_uri()}",
            "-Duser.timezone=UTC",
            "-XX:MaxMetaspaceSize=512m",
            "-XX:ReservedCodeCacheSize=192m",
            "-XX:MaxDirectMemorySize=256m",
            # What Spark forgets (a batch's broadcasts, shuffles and blocks) goes when the collector finds it, which
            # looks for it beside the running threads. What lives is a few hundred megabytes: a heap that grew for the
            # sake of fewer collections, as it does on a busy machine, would be mostly garbage.
            "-XX:+UseG1GC",
            "-XX:+ExplicitGCInvokesConcurrent",
            "-XX:GCTimeRatio=4",
            "-XX:+UnlockExperimentalVMOptions",
            "-XX:G1MaxNewSizePercent=40",
            "-XX:MaxHeapFreeRatio=100",
        )
    )


def _socket_settings(folder: Path) -> dict[str, str]:
    """How Spark and its Python workers talk: by Unix sockets in a folder that is this user's alone.

    Over TCP the end of what Spark sends waits until the worker has acknowledged what came before it, and the worker's
    kernel takes 40 ms for that (Nagle's algorithm and delayed acknowledgements): as long as all else in a small batch.
    """
    if len(os.fsencode(folder / "orion-12345678")) > _LONGEST_SOCKET_FOLDER:
        return {}
    return {f"{_SOCKETS}.enabled": "true", f"{_SOCKETS}.dir": tempfile.mkdtemp(prefix="orion-", dir=folder)}


def _retention() -> dict[str, str]:
    """How much Spark remembers of what has been: all of it is for a UI that isn't there, but for a few jobs' tasks."""
    return {
        "spark.ui.retainedJobs": "100",
        "spark.ui.retainedStages": "100",
        "spark.ui.retainedTasks": "1000",
        "spark.ui.retainedDeadExecutors": "1",
        "spark.sql.ui.retainedExecutions": "1",
        "spark.appStateStore.asyncTracking.enable": "false",
        "spark.sql.streaming.numRecentProgressUpdates": "20",
        "spark.sql.maxPlanStringLength": "20000",
        "spark.sql.codegen.cache.maxEntries": "300",
        "spark.cleaner.periodicGC.interval": "2min",
    }


def _settings(engine: Engine, data: Path, packages: list[Path]) -> dict[str, str]:
    return {
        "spark.jars": ",".join(map(str, packages)),
        "spark.driver.memory": engine.memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        _JAVA_OPTIONS: _java_options(),
        **_retention(),
        **({"spark.default.parallelism": str(_tasks())} if engine.master == "local[*]" else {}),
        SLOTS: str(engine.fast_slots),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Queries share the cores evenly; none waits for another's long batch.
        "spark.scheduler.mode": "FAIR",
        "spark.sql.warehouse.dir": str((data / "warehouse").absolute()),
        # Of Spark's own shuffles; keyed operators say theirs. Two cores need no 200.
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
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        # An entry of a checkpoint's logs in a fifth of the time. It may replace one that is there, where the other
        # refuses: that nobody else writes them is seen to by the data folder's lock and the query's group.
        "spark.sql.streaming.checkpointFileManagerClass": _FILES,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.python.worker.reuse": "true",
        # How long a worker waits for Spark's word: on a starved machine it may take its time.
        "spark.python.authenticate.socketTimeout": "300s",
        # A slot is written once a run. A task can see that it is a second attempt, but not that its stage is.
        "spark.stage.maxConsecutiveAttempts": "1",
    }
