"""Which folder a row goes to: Kafka Connect's partitioners, over a column of rows at a time.

A folder is a function of the row alone, never of when it is written or what else is in the batch: a batch that runs
again gives each row the same one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from orion.arrow import arrow_type
from orion.schema import Array, Map, Scalar, SqlType, Struct
from orion.sinks.objects.patterns import Pattern
from orion.sinks.objects.values import NUMBERS, shown_as
from orion.sinks.store import TIME

Millis = npt.NDArray[np.int64]

# What stands for NULL and for no text, to every program that reads folders as columns.
NOTHING = "__HIVE_DEFAULT_PARTITION__"
_SPECIAL = re.compile(r"[\x00-\x1f\x7f\"#%'*/:=?\\{}\[\]^]")
_EPOCH = datetime(1970, 1, 1)
_QUARTER = 900_000  # no zone changes its clocks within a quarter of an hour


@dataclass(frozen=True, slots=True)
class Path:
    """A column, or a field inside of it."""

    steps: tuple[str, ...]
    type: SqlType

    @property
    def name(self) -> str:
        return ".".join(self.steps)

    def of(self, rows: pa.RecordBatch) -> pa.Array:
        found = rows.column(rows.schema.get_field_index(self.steps[0]))
        for step in self.steps[1:]:
            found = pc.struct_field(found, step)
        return found


class Partitioner(Protocol):
    def folders(self, rows: pa.RecordBatch, times: Millis, partition: int) -> pa.Array:
        """For each row the folder it goes to, as text."""
        ...


@dataclass(frozen=True, slots=True)
class ByPartition:
    """Kafka's own partitions."""

    def folders(self, rows: pa.RecordBatch, times: Millis, partition: int) -> pa.Array:
        return pa.repeat(f"partition={partition}", rows.num_rows)


@dataclass(frozen=True, slots=True)
class ByField:
    fields: tuple[Path, ...]
    delimiter: str

    def folders(self, rows: pa.RecordBatch, times: Millis, partition: int) -> pa.Array:
        parts = [self._folders(field, rows) for field in self.fields]
        return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, self.delimiter)

    def _folders(self, field: Path, rows: pa.RecordBatch) -> pa.Array:
        each = pc.cast(field.of(rows), arrow_type(field.type, NUMBERS)).dictionary_encode()
        text = shown_as(field.type)
        names = [f"{field.name}={NOTHING}"]
        names += [f"{field.name}={escaped(text(value)) or NOTHING}" for value in each.dictionary.to_pylist()]
        return pa.array(names, pa.string()).take(pc.add(pc.fill_null(each.indices, -1), 1))


@dataclass(frozen=True, slots=True)
class ByTime:
    pattern: Pattern
    duration_ms: int
    zone: str

    def folders(self, rows: pa.RecordBatch, times: Millis, partition: int) -> pa.Array:
        local = times + _offsets(times, ZoneInfo(self.zone))
        floors, places = np.unique(local // self.duration_ms * self.duration_ms, return_inverse=True)
        names = [self.pattern.write(_EPOCH + timedelta(milliseconds=int(floor))) for floor in floors]
        return pa.array(names, pa.string()).take(pa.array(places))


def _offsets(times: Millis, zone: ZoneInfo) -> Millis:
    """How far the zone's clocks are ahead of UTC, in ms."""
    quarters, places = np.unique(times // _QUARTER, return_inverse=True)
    offsets = [_ahead(int(quarter) * _QUARTER, zone) for quarter in quarters]
    return np.array(offsets, np.int64)[places]


def _ahead(at: int, zone: ZoneInfo) -> int:
    ahead = (_EPOCH.replace(tzinfo=UTC) + timedelta(milliseconds=at)).astimezone(zone).utcoffset() or timedelta()
    return ahead // timedelta(milliseconds=1)


def escaped(text: str) -> str:
    """A text as the name of one folder, as Hive and Spark write it; never a way out of the folder above."""
    if text in (".", ".."):
        return text.replace(".", "%2E")
    return _SPECIAL.sub(lambda found: f"%{ord(found[0]):02X}", text)


def is_foldable(type_: SqlType) -> bool:
    return not isinstance(type_, Array | Map | Struct) and type_ is not Scalar.BYTES


# ---- times -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Clock:
    """Which time a row has: of its record, of a field, or of the batch's first writing."""

    field: Path | None = None
    is_wall: bool = False
    wall_ms: int = 0

    def at(self, wall_ms: int) -> Clock:
        return replace(self, wall_ms=wall_ms)

    def read(self, rows: pa.RecordBatch) -> tuple[Millis, npt.NDArray[np.bool_]]:
        """Each row's time in ms, and which rows have one."""
        if self.is_wall:
            return np.full(rows.num_rows, self.wall_ms, np.int64), np.ones(rows.num_rows, np.bool_)
        found = self._millis(rows)
        there = np.asarray(found.is_valid().to_numpy(zero_copy_only=False), np.bool_)
        return np.asarray(pc.fill_null(found, 0).to_numpy(zero_copy_only=False), np.int64), there

    def _millis(self, rows: pa.RecordBatch) -> pa.Array:
        if self.field is None:
            return rows.column(rows.schema.get_field_index(TIME))
        values = self.field.of(rows)
        match self.field.type:
            case Scalar.STRING:
                each = values.dictionary_encode()
                read = pa.array([_instant(text) for text in each.dictionary.to_pylist()], pa.int64())
                return read.take(each.indices)
            case Scalar.TIMESTAMP | Scalar.DATE:
                return pc.cast(pc.cast(values, pa.timestamp("ms", "UTC"), safe=False), pa.int64())
            case _:
                return pc.cast(values, pa.int64())


def has_time(type_: SqlType) -> bool:
    return type_ in (Scalar.STRING, Scalar.TIMESTAMP, Scalar.DATE, Scalar.INTEGER, Scalar.BIGINT)


def _instant(text: str) -> int | None:
    """A time as ISO 8601 writes it, in UTC where it names no zone."""
    try:
        read = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    read = read if read.tzinfo else read.replace(tzinfo=UTC)
    return (read - _EPOCH.replace(tzinfo=UTC)) // timedelta(milliseconds=1)
