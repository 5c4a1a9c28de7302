"""Threads that Spark starts for each Python worker of its driver, and never ends.

Each time a source connector starts, Spark makes a factory for one worker, and with it a thread that would end idle
workers of that factory. It has none that it could end, and loops for as long as the JVM lives: a thread and what it
refers to for each, for good.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

_NAME = "Idle Worker Monitor for"


def end_idle_monitors(spark: SparkSession) -> int:
    """End those of factories that have made a single worker by themselves; how many. Others see to many workers."""
    ended = 0
    with suppress(Py4JError, ConnectionError):
        for monitor, needed in idle_monitors(spark):
            if not needed:
                monitor.interrupt()  # it sleeps between two looks, and that ends it
                ended += 1
    return ended


def idle_monitors(spark: SparkSession) -> list[tuple[Any, bool]]:
    """The threads, and whether each has workers to see to."""
    monitors = [thread for thread in _threads(spark) if thread.getName().startswith(_NAME)]
    return [(monitor, bool(_factory_of(monitor).useDaemonEnabled())) for monitor in monitors]


def _threads(spark: SparkSession) -> list[Any]:
    gateway: Any = spark.sparkContext._gateway
    group = gateway.jvm.java.lang.Thread.currentThread().getThreadGroup()
    while group.getParent() is not None:
        group = group.getParent()
    room = gateway.new_array(gateway.jvm.java.lang.Thread, 2 * group.activeCount())
    return [room[index] for index in range(group.enumerate(room, True))]


def _factory_of(thread: Any) -> Any:
    """The factory whose inner class the thread is of."""
    return thread.getClass().getField("$outer").get(thread)
