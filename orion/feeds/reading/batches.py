"""What a worker makes of the files it is handed: Arrow, for Spark to go on with."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Literal

import pyarrow as pa

from orion.arrow import arrow_type
from orion.feeds import frames
from orion.feeds.reading.columns import Block, parquet_blocks
from orion.feeds.reading.entries import Entry, Found
from orion.feeds.reading.lines import Dialect, csv_lines, json_lines
from orion.hub.positions import key_of, written
from orion.plan.sources import ROWTIME
from orion.schema import Column, quote, spark_type

# How the offsets in Kafka name a file, and what they say of it.
FILE, MODIFIED = "file", "modified"

Format = Literal["csv", "json", "parquet"]
Batches = Iterator[pa.RecordBatch]
_ROWS = 5000


@dataclass(frozen=True, slots=True)
class Reading:
    """How files become rows. A row brings its columns as they are known then: of CSV as text, of JSON not at all."""

    format: Format
    wanted: tuple[Column, ...]
    dialect: Dialect
    connector: str = ""  # in whose name it notes which files were read
    file_time: bool = False  # a row's time is its file's, and not that of reading it

    @property
    def given(self) -> tuple[str, ...]:
        """The columns that it gives by itself, in Spark's DDL."""
        match self.format:
            case "json":
                return ()
            case "csv":
                return tuple(f"{quote(column.name)} STRING" for column in self.wanted)
            case "parquet":
                return tuple(f"{quote(column.name)} {spark_type(column.type)}" for column in self.wanted)

    @property
    def schema(self) -> str:
        beside = (f"{name} {type_}" for name, type_ in frames.BESIDE.items())
        return ", ".join((*self.given, f"{ROWTIME} BIGINT", *beside))

    def __call__(self, listed: Batches) -> Batches:
        """In a worker: the files of a batch, the oldest first."""
        now = time.time_ns() // 1_000_000
        for found in sorted(_found(listed), key=lambda file: (file.modified_ms, file.address)):
            yield from self._of(found, found.modified_ms if self.file_time else now)
            yield self._note(found, now)

    def _of(self, found: Found, at: int) -> Batches:
        match self.format:
            case "json":
                yield from self._entries(json_lines(found), found, at)
            case "csv":
                yield from self._entries(csv_lines(found, self.dialect, [c.name for c in self.wanted]), found, at)
            case "parquet":
                for block in parquet_blocks(found, self.wanted):
                    yield self._block(block, found, at)

    def _entries(self, entries: Iterator[Entry], found: Found, at: int) -> Batches:
        width = len(self.given)
        none = (None,) * width
        while some := list(islice(entries, _ROWS)):
            cells = zip(*(entry.cells if entry.bad is None and width else none for entry in some), strict=True)
            own = [pa.array(cell, pa.string()) for cell in cells]
            yield self._batch(own, [e.bad for e in some], [e.raw for e in some], (found, at, [e.number for e in some]))

    def _block(self, block: Block, found: Found, at: int) -> pa.RecordBatch:
        bad = [_coded(reason) for reason in block.rows.bad]
        numbers = [block.first + row for row in range(len(bad))]
        return self._batch(block.rows.arrays, bad, block.raws, (found, at, numbers))

    def _note(self, found: Found, at: int) -> pa.RecordBatch:
        """That a file was read, as a record of the offsets' topic."""
        told = (
            [arrow_type(column.type) for column in self.wanted]
            if self.format == "parquet"
            else [pa.string()] * len(self.given)
        )
        key, value = key_of(self.connector, {FILE: found.path}), written({MODIFIED: found.modified_ms})
        made = self._batch([pa.nulls(1, type_) for type_ in told], [frames.NOTE], [value], (found, at, [0]))
        return made.set_column(
            made.schema.get_field_index(frames.RAW_KEY), frames.RAW_KEY, pa.array([key], pa.binary())
        )

    def _batch(
        self,
        own: list[pa.Array],
        bad: Sequence[str | None],
        raws: Sequence[bytes | None],
        where: tuple[Found, int, list[int]],
    ) -> pa.RecordBatch:
        found, at, numbers = where
        rows = len(bad)
        beside = {
            ROWTIME: pa.array([at] * rows, pa.int64()),
            frames.BAD: pa.array(bad, pa.string()),
            frames.RAW_KEY: pa.nulls(rows, pa.binary()),
            frames.RAW_VALUE: pa.array(raws, pa.binary()),
            frames.PLACE: pa.array([found.path] * rows, pa.string()),
            frames.NUMBER: pa.array(numbers, pa.int64()),
        }
        names = [column.name for column in self.wanted] if self.given else []
        return pa.RecordBatch.from_arrays([*own, *beside.values()], names=[*names, *beside])


def _coded(reason: str | None) -> str | None:
    if reason is None or reason.startswith("FILE_"):
        return reason
    return f"{frames.UNREADABLE}: {reason}"


def _found(listed: Batches) -> Iterator[Found]:
    rows = chain.from_iterable(batch.to_pylist() for batch in listed)
    return (Found(row["path"], row["modified"], row.get("content")) for row in rows)
