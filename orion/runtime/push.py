"""Push queries: a stream whose rows go to the one who asked, as plain JSON values, until they have enough or leave."""

from __future__ import annotations

import json
import queue
import shutil
import tempfile
import threading
import uuid
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from orion.errors import ExternalError
from orion.plan.relations import Named, Transient
from orion.runtime import rows
from orion.runtime.dataframe import build
from orion.runtime.kafka_source import KafkaSource
from orion.runtime.schemas import Schemas
from orion.schema import Scalar, SqlType, quote

# A reader that falls this many rows behind holds its own query up, and no other.
_MOST_WAITING = 10_000
_JSON = "map('ignoreNullFields', 'false', 'timestampFormat', \"yyyy-MM-dd'T'HH:mm:ss.SSS\")"


class PushQuery:
    """An iterator of rows, each a list in the order of `columns`. Close it to end the stream."""

    def __init__(self, query: Transient, source: KafkaSource, trigger_ms: int, schemas: Schemas) -> None:
        self.id = f"transient_{query.source}_{uuid.uuid4().hex[:12]}"
        self.columns: tuple[Named, ...] = query.columns
        self._limit = query.limit
        self._given = 0
        self._waiting: queue.Queue[list[Any]] = queue.Queue(_MOST_WAITING)
        self._closed = threading.Event()
        self._checkpoint = Path(tempfile.mkdtemp(prefix="orion-push-"))
        self._query, self._source, self._schemas, self._trigger_ms = query, source, schemas, trigger_ms
        self._stream = self._start()

    def _start(self) -> StreamingQuery:
        relation = self._schemas.bound_relation(self._query.relation)
        frame = build(relation, self._source.reader_of(relation), self._query.tasks)
        shown = ", ".join(f"'{n}', {_shown(quote(c.name), c.expr.type)}" for n, c in enumerate(self.columns))
        bad = f"{rows.BAD} IS NULL AND " if rows.BAD in frame.columns else ""
        frame = frame.where(f"{bad}NOT {rows.DELETED}").selectExpr(f"to_json(named_struct({shown}), {_JSON}) AS row")
        return (
            frame.writeStream.outputMode("update")
            .option("checkpointLocation", str(self._checkpoint))
            .trigger(processingTime=f"{self._trigger_ms} milliseconds")
            .foreachBatch(self._take)
            .start()
        )

    def _take(self, batch: DataFrame, _: int) -> None:
        for row in batch.toLocalIterator():
            values = list(json.loads(row[0], parse_float=Decimal).values())
            while not self._closed.is_set():
                try:
                    self._waiting.put(values, timeout=0.5)
                    break
                except queue.Full:
                    continue

    def poll(self, timeout: float) -> list[Any] | None:
        """The next row, or None when none came in time. Raises what stopped the stream."""
        try:
            row = self._waiting.get(timeout=timeout)
            self._given += 1
            return row
        except queue.Empty:
            if not self._stream.isActive and not self._closed.is_set() and self._waiting.empty():
                self._go_on(self._stream.exception())
            return None

    def _go_on(self, failure: BaseException | None) -> None:
        """After a stop: from where it was, if it stopped to ask for a schema that is known by now."""
        try:
            if self._schemas.learn(str(failure)):
                self._stream = self._start()
                return
        except ExternalError as error:
            if error.code == "SCHEMA_AWAITED":
                return  # the next look asks again
            raise
        raise ExternalError("PUSH_QUERY_FAILED", f"The query stopped: {failure}.") from failure

    @property
    def is_done(self) -> bool:
        """Whether the reader has all it asked for, or left."""
        return self._closed.is_set() or (self._limit is not None and self._given >= self._limit)

    def __iter__(self) -> Iterator[list[Any]]:
        while not self.is_done:
            row = self.poll(0.25)
            if row is not None:
                yield row

    def close(self) -> None:
        self._closed.set()
        self._stream.stop()
        shutil.rmtree(self._checkpoint, ignore_errors=True)

    def __enter__(self) -> PushQuery:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _shown(value: str, type_: SqlType) -> str:
    if type_ is Scalar.TIME:
        return f"date_format(timestamp_millis({value}), 'HH:mm:ss.SSS')"
    return value
