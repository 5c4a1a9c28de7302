"""The one Spark session of a process."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import DataFrame, Row, SparkSession

from orion.config import Engine
from orion.runtime.java_names import remember_names
from orion.runtime.spark_process import SparkProcess, choose_settings
from orion.runtime.workers import pass_on

# Under names that modules outside of the runtime may use.
Spark: TypeAlias = SparkSession
Frame: TypeAlias = DataFrame
Result: TypeAlias = Row

_PORT, _SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"


@contextmanager
def coming(
    engine: Engine, data: Path, progress: Callable[[str], None], launched: SparkProcess | None = None
) -> Iterator[Future[SparkSession]]:
    """A session that starts while other things do; it is stopped at the end, come up or not."""
    pool = ThreadPoolExecutor(1, thread_name_prefix="orion-spark")
    started = pool.submit(start, engine, data, progress, launched)
    pool.shutdown(wait=False)
    try:
        yield started
    finally:  # one that is wanted no more comes up first: PySpark has no way to give up in order
        if started.exception() is None:
            stop(started.result())


@contextmanager
def archiving_classes(session: SparkSession, calm: Callable[[], bool]) -> Iterator[None]:
    """Meanwhile, see to it that the next start finds this one's classes ready."""
    process = getattr(SparkContext._gateway, "proc", None)
    if not isinstance(process, SparkProcess):
        yield
        return
    jvm: Any = session.sparkContext._jvm
    classpath = str(jvm.java.lang.System.getProperty("java.class.path"))
    with process.classes.archiving(classpath, process.settings["spark.driver.memory"], calm):
        yield


def start(
    engine: Engine, data: Path, progress: Callable[[str], None], launched: SparkProcess | None = None
) -> SparkSession:
    """Start Spark, in the JVM that was `launched` if one was, or give back the session that runs already."""
    # A JVM that has had a session before takes another one.
    process = launched or (SparkProcess.launch(engine, data, progress) if SparkContext._gateway is None else None)
    # PySpark also logs each SQL error by itself; it reaches the person who asked as an error of Orion's.
    logging.getLogger("SQLQueryContextLogger").disabled = True
    builder = SparkSession.builder.appName("orion")
    for name, value in (process.settings if process else choose_settings(engine, data, progress)[0]).items():
        builder = builder.config(name, value)
    if process is not None:
        _connect(process)
    session = builder.getOrCreate()
    threading.Thread(target=_start_workers, args=(session,), name="orion-workers", daemon=True).start()
    return session


def _connect(process: SparkProcess) -> None:
    """Make the JVM the one that PySpark talks to."""
    remember_names()
    try:
        port, secret = process.connection()
    except BaseException:
        process.end()
        raise
    os.environ |= {_PORT: str(port), _SECRET: secret}
    try:
        gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]
    finally:
        del os.environ[_PORT], os.environ[_SECRET]
    gateway.proc = process  # as if PySpark had launched it: its pipe stays open as long as there is a gateway
    SparkContext._ensure_initialized(gateway=gateway)


def _start_workers(session: SparkSession) -> None:
    """Have Spark start what forks its Python workers: the first batches find it, with all that workers load."""
    with suppress(Exception):  # of whatever kind: the session may be stopped meanwhile, and batches start them anyway
        session.range(0, 1, 1, 1).mapInArrow(pass_on, "id long").collect()


def stop(session: SparkSession) -> None:
    # Its JVM may be gone already, when a signal reached the whole process group.
    with suppress(Py4JError, ConnectionError):
        session.stop()
