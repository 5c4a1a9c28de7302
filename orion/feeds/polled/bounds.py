"""Which rows of a table are new: the SQL that asks how far the next batch goes, and the SQL that reads it.

How far a feed is stands in an offset as Kafka Connect's JDBC source writes it: the last number (`incrementing`), the
last time (`timestamp` in milliseconds, `timestamp_nanos` as the part of its second). Without either nothing was read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from zoneinfo import ZoneInfo

from orion.databases.address import Database, Kind
from orion.databases.tables import mark, quoted

Mode = Literal["bulk", "incrementing", "timestamp", "timestamp+incrementing"]
Offset = dict[str, Any]
Asked = tuple[str, list[object]]  # a statement and its parameters

POLLED = "polled"  # when a batch was asked for, in milliseconds: beside what Kafka Connect knows
_SQLITE_TIME = "%Y-%m-%d %H:%M:%f"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a feed stands: up to a time, in microseconds since 1970, and a number."""

    time_us: int | None = None
    number: int | None = None

    @classmethod
    def of(cls, offset: Mapping[str, Any]) -> Place:
        ms, nanos, number = offset.get("timestamp"), offset.get("timestamp_nanos"), offset.get("incrementing")
        time_us = None
        if ms is not None:
            time_us = int(ms) * 1000 if nanos is None else int(ms) // 1000 * 1_000_000 + int(nanos) // 1000
        return cls(time_us, None if number is None else int(number))

    @property
    def offset(self) -> Offset:
        told: Offset = {}
        if self.number is not None:
            told["incrementing"] = self.number
        if self.time_us is not None:
            told |= {"timestamp": self.time_us // 1000, "timestamp_nanos": self.time_us % 1_000_000 * 1000}
        return told


@dataclass(frozen=True, slots=True)
class Bounds:
    """The columns that tell new rows. `times` are as the statement names them; the first that isn't NULL counts."""

    database: Database
    source: str  # a table's quoted name, or a query in brackets with a name
    mode: Mode
    number: str | None = None
    times: tuple[str, ...] = ()
    zone: str | None = None  # of times that are a clock's reading; None: they are moments

    # ---- statements --------------------------------------------------------------------------------------------

    def ahead(self, start: Place, before_us: int, most: int) -> Asked:
        """Asks for the last of the next `most` rows, and how many they are: its time, its number, their count."""
        told = [*([self._time] if self.times else []), *([self._number] if self.number else [])]
        names = ["t"] * bool(self.times) + ["i"] * bool(self.number)
        columns = ", ".join(f"{spark} AS {name}" for spark, name in zip(told, names, strict=True))
        where, parameters = self._behind(start)
        if self.times:
            where.append(f"{self._time} < {mark(self.database)}")
            parameters.append(self._moment(before_us))
        order = ", ".join(told)
        last = ", ".join(f"{name} DESC" for name in names)
        inner = f"SELECT {columns} FROM {self.source} WHERE {_all(where, told)} ORDER BY {order} LIMIT {most}"
        outer = f"SELECT {', '.join(names)}, COUNT(*) OVER () FROM ({inner}) orion_next ORDER BY {last} LIMIT 1"
        return outer, parameters

    def between(self, columns: str, start: Place, end: Place) -> Asked:
        """Reads the rows behind one place up to and with another."""
        if self.mode == "bulk":
            return f"SELECT {columns} FROM {self.source}", []
        told = [*([self._time] if self.times else []), *([self._number] if self.number else [])]
        where, parameters = self._behind(start)
        until, more = self._up_to(end)
        statement = (
            f"SELECT {columns} FROM {self.source} WHERE {_all([*where, *until], told)} ORDER BY {', '.join(told)}"
        )
        return statement, [*parameters, *more]

    def place(self, row: tuple[Any, ...]) -> tuple[Place, int]:
        """What `ahead` answers."""
        time, *rest = row if self.times else (None, *row)
        number, count = rest if self.number else (None, *rest)
        time_us = None if time is None else self.read_us(time)
        return Place(time_us, None if number is None else int(number)), int(count)

    # ---- conditions --------------------------------------------------------------------------------------------

    def _behind(self, start: Place) -> tuple[list[str], list[object]]:
        sign = mark(self.database)
        if self.times and self.number and start.time_us is not None:
            at = self._moment(start.time_us)
            if start.number is None:
                return [f"{self._time} > {sign}"], [at]
            either = f"({self._time} > {sign} OR ({self._time} = {sign} AND {self._number} > {sign}))"
            return [either], [at, at, start.number]
        if self.times and start.time_us is not None:
            return [f"{self._time} > {sign}"], [self._moment(start.time_us)]
        if self.number and not self.times and start.number is not None:
            return [f"{self._number} > {sign}"], [start.number]
        return [], []

    def _up_to(self, end: Place) -> tuple[list[str], list[object]]:
        sign = mark(self.database)
        if self.times and end.time_us is not None:
            at = self._moment(end.time_us)
            if not self.number:
                return [f"{self._time} <= {sign}"], [at]
            either = f"({self._time} < {sign} OR ({self._time} = {sign} AND {self._number} <= {sign}))"
            return [either], [at, at, end.number]
        return [f"{self._number} <= {sign}"], [end.number]

    @property
    def _number(self) -> str:
        return quoted(self.database, self.number or "")

    @property
    def _time(self) -> str:
        each = [self._told(quoted(self.database, name)) for name in self.times]
        return each[0] if len(each) == 1 else f"COALESCE({', '.join(each)})"

    def _told(self, column: str) -> str:
        """SQLite has no times: they are text in some form, or milliseconds."""
        if self.database.kind is not Kind.SQLITE:
            return column
        number = f"strftime('{_SQLITE_TIME}', {column} / 1000.0, 'unixepoch')"
        return f"CASE WHEN typeof({column}) = 'text' THEN strftime('{_SQLITE_TIME}', {column}) ELSE {number} END"

    # ---- times -------------------------------------------------------------------------------------------------

    def _moment(self, time_us: int) -> object:
        """A time as the database compares it with the column's."""
        moment = _EPOCH + timedelta(microseconds=time_us)
        if self.zone is not None:
            moment = moment.astimezone(ZoneInfo(self.zone)).replace(tzinfo=None)
        if self.database.kind is Kind.SQLITE:
            return moment.isoformat(sep=" ", timespec="milliseconds")[:23]
        if self.database.kind is Kind.MYSQL:
            return moment.replace(tzinfo=None)
        return moment

    def read_us(self, time: object) -> int:
        """A time as the database gives it, in microseconds."""
        found = time if isinstance(time, datetime) else datetime.fromisoformat(str(time))
        if found.tzinfo is None:
            found = found.replace(tzinfo=ZoneInfo(self.zone) if self.zone else UTC)
        return (found - _EPOCH) // timedelta(microseconds=1)


def _all(conditions: list[str], told: list[str]) -> str:
    """All conditions; a row without a number or a time is none that could be told to be new."""
    return " AND ".join([*conditions, *(f"{column} IS NOT NULL" for column in told)])
