"""A Delta table's upkeep: small files made into larger ones, and files that nothing refers to removed.

Each batch adds files, and each merge leaves old ones behind. When it is time, upkeep runs after a batch, in the same
thread, so that it never competes with the table's own writer. When it last ran stands in the table's history, so a
restart changes nothing. What fails is told in the log and tried again when it is time again: rows aren't held up.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import structlog
from pyspark.sql import DataFrame, SparkSession

from orion.sinks.lakehouse.table import FAILURES, Table, first_line, settings

log = structlog.get_logger()

_RECENT = 1000  # entries of the history that are looked through
_OPTIMIZED, _VACUUMED = "OPTIMIZE", "VACUUM END"
_TARGET = ("spark.databricks.delta.optimize.maxFileSize", "spark.databricks.delta.optimize.minFileSize")
_CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"
_LOGGED = "spark.databricks.delta.vacuum.logging.enabled"


@dataclass(frozen=True, slots=True)
class Schedule:
    """0 ms: never."""

    optimize_ms: int
    min_files: int
    target_bytes: int
    vacuum_ms: int
    retention_hours: float


@dataclass
class Upkeep:
    table: Table
    schedule: Schedule
    done_ms: dict[str, int] = field(default_factory=dict)  # when what last ran, once the history was read

    def after_batch(self, session: SparkSession) -> None:
        """Whatever is due."""
        due = (
            (_OPTIMIZED, self.schedule.optimize_ms, self._optimize),
            (_VACUUMED, self.schedule.vacuum_ms, self._vacuum),
        )
        for what, every_ms, work in due:
            if not every_ms:
                continue
            try:
                if self._is_due(what, every_ms, session):
                    self.done_ms[what] = _now_ms()  # a failure waits for its turn, too
                    work(session)
            except FAILURES as error:
                log.warning("delta.upkeep_failed", table=self.table.path, what=what, why=first_line(error))

    def _is_due(self, what: str, every_ms: int, session: SparkSession) -> bool:
        if not self.done_ms:
            self._look_back(session)
        return _now_ms() - self.done_ms[what] >= every_ms

    def _look_back(self, session: SparkSession) -> None:
        """When each last ran; of what never did, when the oldest entry that is looked at was made."""
        history = session.sql(f"DESCRIBE HISTORY {self.table.name} LIMIT {_RECENT}")
        told = history.selectExpr("operation", "unix_millis(timestamp) AS at").collect()
        for what in (_OPTIMIZED, _VACUUMED):
            ran = [row.at for row in told if row.operation == what]
            self.done_ms[what] = max(ran) if ran else min(row.at for row in told)

    def _optimize(self, session: SparkSession) -> None:
        if self._small_files(session) < self.schedule.min_files:
            return
        size = str(self.schedule.target_bytes)
        with settings(session, dict.fromkeys(_TARGET, size)):
            session.sql(f"OPTIMIZE {self.table.name}").collect()

    def _vacuum(self, session: SparkSession) -> None:
        """A shorter time than Delta's own week was asked for by name, so Delta's doubts about it are put aside."""
        with settings(session, {_CHECK: "false", _LOGGED: "true"}):
            session.sql(f"VACUUM {self.table.name} RETAIN {self.schedule.retention_hours} HOURS").collect()

    def _small_files(self, session: SparkSession) -> int:
        """How many files have another to be put together with."""
        jvm: Any = session.sparkContext._jvm
        log_of = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(session._jsparkSession, self.table.path)
        nothing = jvm.scala.Option.empty()
        files = DataFrame(log_of.update(False, nothing, nothing).allFiles().toDF(), session)
        small = files.where(f"size < {self.schedule.target_bytes}").selectExpr("to_json(partitionValues) AS folder")
        (found,) = small.groupBy("folder").count().where("count > 1").selectExpr("coalesce(sum(count), 0)").collect()
        return int(found[0])


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
