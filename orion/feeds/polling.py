"""A source of Spark's whose offsets are the feed's own: it is asked how far it could go, and reads what lies between.

Spark asks in a Python process that lives as long as the stream, and reads in its workers. The poller travels there with
the class that stands for it, and not among a source's options, which Spark may show.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StructType

Offset = dict[str, Any]


class Session(Protocol):
    """What asks, in the one process that does; it may keep connections and times."""

    def begin(self) -> Offset:
        """Where a stream without a checkpoint begins."""
        ...

    def ahead(self, start: Offset) -> Offset:
        """How far the next batch may read; `start` itself where there is nothing to read, or it isn't time yet."""
        ...

    def close(self) -> None: ...


class Poller(Protocol):
    """Frozen and picklable."""

    @property
    def schema(self) -> str:
        """Of its rows, in Spark's DDL."""
        ...

    def open(self) -> Session: ...

    def read(self, start: Offset, end: Offset) -> Iterator[pa.RecordBatch]:
        """In a worker: the rows behind `start` up to and with `end`; the same each time, if the other side is."""
        ...


def stream(spark: SparkSession, name: str, poller: Poller) -> DataFrame:
    """The poller's rows as a stream; `name` tells it from others of the session."""
    source = _source(f"orion.{name}", poller)
    spark.dataSource.register(source)
    return spark.readStream.format(source.name()).load()


def _source(name: str, poller: Poller) -> type[DataSource]:
    class Polled(DataSource):
        def __init__(self, options: MutableMapping[str, str]) -> None:
            super().__init__(options)

        @classmethod
        def name(cls) -> str:
            return name

        def schema(self) -> StructType | str:
            return poller.schema

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:
            return _Reader(poller)

    return Polled


@dataclass
class _Between(InputPartition):
    start: Offset
    end: Offset


class _Reader(DataSourceStreamReader):
    def __init__(self, poller: Poller) -> None:
        self._poller = poller
        self._session: Session | None = None

    def initialOffset(self) -> Offset:
        return self._asked().begin()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        return self._asked().ahead(start)

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        return [] if json.dumps(start) == json.dumps(end) else [_Between(start, end)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _Between)
        return self._poller.read(partition.start, partition.end)

    def stop(self) -> None:
        if self._session is not None:
            self._session.close()

    def _asked(self) -> Session:
        if self._session is None:
            self._session = self._poller.open()
        return self._session

    def __getstate__(self) -> dict[str, Any]:
        return {"_poller": self._poller, "_session": None}
