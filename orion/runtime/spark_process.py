"""Spark's JVM, from its launch until PySpark is connected to it, and the settings that every query counts on.

It is launched without PySpark, which takes as long to load as the JVM takes to come up: who starts a server launches it
first. The settings are those of the session (orion.runtime.session), too.
"""

from __future__ import annotations

import atexit
import os
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from orion.config import Engine
from orion.errors import ExternalError
from orion.hub import jars, java
from orion.runtime.spark_classes import SparkClasses, spark_home

# The session's own word for how many slots fast statements may hold together.
SLOTS = "spark.orion.fastSlots"
_FILES = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_CLASSPATH, _JARS = "spark.driver.extraClassPath", "spark.jars"
_LOOK_S = 0.02
_SOCKETS = "spark.python.unix.domain.socket"
# The path of a Unix socket has room for about a hundred bytes, and Spark's names for them take 42.
_LONGEST_SOCKET_FOLDER = 60


class SparkProcess:
    """The JVM of Spark's driver. It ends when the pipe that is its standard input is closed: by `end`, or with this
    process in whatever way."""

    def __init__(self, settings: dict[str, str], classes: SparkClasses, log: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="orion-spark-"))
        atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
        self.settings, self.classes, self._log = {**choose_sockets(settings, self._folder), **settings}, classes, log
        self._told = self._folder / "connection"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                [spark_home() / "bin" / "spark-submit", *_arguments(self.settings)],
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=file,
                env={**os.environ, "SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self._told)},
                preexec_fn=_ignore_interrupts,
            )

    @classmethod
    def launch(cls, engine: Engine, data: Path, progress: Callable[[str], None]) -> SparkProcess:
        """Begin to start the JVM; what PySpark is to know goes into this process's environment."""
        settings, classes = choose_settings(engine, data, progress)
        if classes.java.home is not None:
            os.environ["JAVA_HOME"] = str(classes.java.home)
        os.environ["PYSPARK_PYTHON"] = _python_for_workers(data)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        # Each of glibc's arenas keeps what was freed in it, and it makes eight a core: for Arrow's memory that
        # is hundreds of megabytes that nobody uses.
        os.environ.setdefault("MALLOC_ARENA_MAX", "2")
        return cls(settings, classes, data / "logs" / "spark.log")

    def connection(self) -> tuple[int, str]:
        """The port on which PySpark finds it and what it has to say there, once it is up."""
        while not self._told.exists():
            if self._process.poll() is not None:
                hint = f"Its log is {self._log}."
                raise ExternalError(
                    "SPARK_FAILED", f"Spark ended with exit code {self._process.returncode}.", hint=hint
                )
            time.sleep(_LOOK_S)
        told = self._told.read_bytes()
        port, length = struct.unpack("!ii", told[:8])
        self._told.unlink()
        return port, told[8 : 8 + length].decode()

    @property
    def pid(self) -> int:
        """Of the JVM, which Spark's launcher becomes."""
        return self._process.pid

    def end(self) -> None:
        """Let it end; may be called again."""
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._process.stdin is not None:
            self._process.stdin.close()


def choose_settings(engine: Engine, data: Path, progress: Callable[[str], None]) -> tuple[dict[str, str], SparkClasses]:
    """Spark's settings as this machine and the user want them, and the classes that its JVM finds ready."""
    found, packages = java.find(), jars.spark_jars(progress)
    classes = SparkClasses.find(found, packages, data)
    return _merged(_settings(engine, data, packages, classes), engine.conf), classes


def choose_sockets(settings: dict[str, str], folder: Path) -> dict[str, str]:
    """How Spark and Python workers on its own machine talk: by Unix sockets in a folder that is this user's alone.

    Over TCP the end of what Spark sends waits until the worker has acknowledged what came before it, and the worker's
    kernel takes 40 ms for that (Nagle's algorithm and delayed acknowledgements): as long as all else in a small batch.
    """
    if not _is_alone(settings.get("spark.master", "")) or len(os.fsencode(folder)) > _LONGEST_SOCKET_FOLDER:
        return {}
    return {f"{_SOCKETS}.enabled": "true", f"{_SOCKETS}.dir": str(folder)}


def _is_alone(master: str) -> bool:
    """Whether executors are in the driver's own JVM."""
    return re.fullmatch(r"local(\[.*\])?", master) is not None


def _ignore_interrupts() -> None:
    """Between fork and exec: a Ctrl-C is for Orion, which ends Spark in order."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _arguments(settings: dict[str, str]) -> list[str]:
    wanted = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    return [*wanted, *shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))]


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


def _master(engine: Engine) -> str:
    """All cores, and no fewer than eight tasks: one that writes waits for the broker more than it computes.

    Besides, fast statements have slots that they may hold for good.
    """
    return f"local[{_tasks() + engine.fast_slots}]" if engine.master == "local[*]" else engine.master


def _tasks() -> int:
    return max(8, os.cpu_count() or 1)


def _merged(own: dict[str, str], given: dict[str, str]) -> dict[str, str]:
    """What is given replaces what is our own; options of the JVM come behind ours, and the last of a kind counts. Jars
    come behind ours as well."""
    both = {**own, **given}
    for name, between in ((_JAVA_OPTIONS, " "), (_CLASSPATH, ":"), (_JARS, ",")):
        if name in own and name in given:
            both[name] = f"{own[name]}{between}{given[name]}"
    return both


def _java_options(classes: SparkClasses) -> str:
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
            *classes.options,
        )
    )


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


def _packages(engine: Engine, packages: list[Path]) -> dict[str, str]:
    """The driver finds the jars as it finds its own, so that their classes lie in the archive too; executors elsewhere
    are sent them."""
    found = {_CLASSPATH: ":".join(map(str, packages))}
    # Of each local file that it makes Hadoop has a process change the mode, and so of the file's checksums: longer than
    # the rest of an entry of a checkpoint's logs takes. This file system does the same by Java's own means.
    in_java = {"spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem"}
    return {**found, **(in_java if _is_alone(engine.master) else {_JARS: ",".join(map(str, packages))})}


def _settings(engine: Engine, data: Path, packages: list[Path], classes: SparkClasses) -> dict[str, str]:
    return {
        "spark.master": _master(engine),
        **_packages(engine, packages),
        "spark.driver.memory": engine.memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        _JAVA_OPTIONS: _java_options(classes),
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
        # Compiling a whole stage takes twice as long as compiling its projections one by one, and pays for large
        # batches alone (orion.runtime.evaluation).
        "spark.sql.codegen.wholeStage": "false",
        # What holds for a row by a filter is found at each planning anew, and used for nothing but joins.
        "spark.sql.constraintPropagation.enabled": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        # An entry of a checkpoint's logs in a fifth of the time. It may replace one that is there, where the other
        # refuses: that nobody else writes them is seen to by the data folder's lock and the query's group.
        "spark.sql.streaming.checkpointFileManagerClass": _FILES,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.python.worker.reuse": "true",
        "spark.python.daemon.module": "orion.runtime.worker_daemon",
        # How long a worker waits for Spark's word: on a starved machine it may take its time.
        "spark.python.authenticate.socketTimeout": "300s",
        # A slot is written once a run. A task can see that it is a second attempt, but not that its stage is.
        "spark.stage.maxConsecutiveAttempts": "1",
    }
