"""Push queries: streams whose rows go to those who ask, as plain JSON values, until they have enough or leave.

Readers of the same rows share one stream: the same relation without state, from now on. What begins at the beginning
or keeps a state, such as a count, gives each reader something else, and so each has a stream of its own.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from orion.errors import ExternalError, OrionError
from orion.plan.fingerprint import meaning
from orion.plan.relations import Named, Transient, is_stateful
from orion.runtime import rows
from orion.runtime.broadcast import Broadcast, Reader, Shares
from orion.runtime.dataframe import build
from orion.runtime.kafka_source import KafkaSource
from orion.runtime.operators.spread import Spread
from orion.runtime.schemas import Schemas
from orion.runtime.state.task_store import StateContext
from orion.runtime.streaming_batch import BATCH
from orion.schema import Scalar, SqlType, quote

_TRIGGER_MS = 100
_CHUNK = 500
_ASK_AGAIN_S = 0.5
_LOOK_S = 0.2
_INITIALIZING = "Initializing"  # what Spark's status of a stream begins with before it looks at its sources
_JSON = "map('ignoreNullFields', 'false', 'timestampFormat', \"yyyy-MM-dd'T'HH:mm:ss.SSS\")"


class PushQuery:
    """An iterator of rows, each a list in the order of `columns`. Close it to leave the stream."""

    def __init__(self, query: Transient, reader: Reader, leave: Callable[[], None]) -> None:
        self.id = f"transient_{query.source}_{uuid.uuid4().hex[:12]}"
        self.columns: tuple[Named, ...] = query.columns
        self.reader = reader  # rows as JSON texts, for those who pass them on
        self._leave = leave
        self._closed = threading.Event()

    def poll(self, timeout: float) -> list[Any] | None:
        """The next row, or None when none came in time. Raises what stopped the stream."""
        self.reader.wait(timeout)
        found = self.reader.take(1)
        return row_of(found[0]) if found else None

    @property
    def has_begun(self) -> bool:
        """Whether Spark reads the topics yet; a stream that is new takes seconds to get there."""
        return self.reader.has_begun

    @property
    def is_done(self) -> bool:
        """Whether the reader has all it asked for, or left."""
        return self._closed.is_set() or self.reader.is_done

    def __iter__(self) -> Iterator[list[Any]]:
        while not self.is_done:
            row = self.poll(0.25)
            if row is not None:
                yield row

    def close(self) -> None:
        if not self._closed.is_set():
            self._closed.set()
            self._leave()

    def __enter__(self) -> PushQuery:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class PushQueries:
    """All push queries of a server. `source_of` says how the topics of one are read."""

    def __init__(self, source_of: Callable[[Transient], KafkaSource], schemas: Schemas) -> None:
        self._source_of = source_of
        self._schemas = schemas
        self._shares = Shares()
        self._open: dict[str, PushQuery] = {}

    def open(self, query: Transient) -> PushQuery:
        own = query.from_beginning or is_stateful(query.relation)
        reader = Reader(query.limit)
        leave = self._shares.join(uuid.uuid4() if own else meaning(query), reader, lambda to: self._start(query, to))

        def close() -> None:
            self._open.pop(opened.id, None)
            leave()

        opened = PushQuery(query, reader, close)
        self._open[opened.id] = opened
        return opened

    def get(self, query_id: str) -> PushQuery | None:
        return self._open.get(query_id)

    def _start(self, query: Transient, to: Broadcast) -> PushStream:
        return PushStream(query, self._source_of(query), self._schemas, to, self._shares.failed)

    @property
    def streams(self) -> int:
        """How many run: fewer than there are queries, where they share."""
        return len(self._shares)

    def close(self) -> None:
        self._shares.close()


class PushStream:
    """A stream of Spark's whose rows go to a broadcast."""

    def __init__(
        self,
        query: Transient,
        source: KafkaSource,
        schemas: Schemas,
        to: Broadcast,
        failed: Callable[[Broadcast, OrionError], None],
    ) -> None:
        self._query, self._source, self._schemas, self._to, self._failed = query, source, schemas, to, failed
        self._stopped = threading.Event()
        self._checkpoint = Path(tempfile.mkdtemp(prefix="orion-push-"))
        try:
            self._stream = self._start()
        except BaseException:
            shutil.rmtree(self._checkpoint, ignore_errors=True)
            raise
        threading.Thread(target=self._watch, name=f"push {query.source}", daemon=True).start()

    def _start(self) -> StreamingQuery:
        relation = self._schemas.bound_relation(self._query.relation)
        # State lies beside the checkpoint, and goes with it.
        spread = Spread(self._query.tasks or 1, StateContext(str(self._checkpoint / "tasks"), run=""))
        frame = build(relation, self._source.reader_of(relation), spread)
        return (
            as_json(frame, self._query.columns)
            .writeStream.outputMode("update")
            .option("checkpointLocation", str(self._checkpoint))
            .trigger(processingTime=f"{_TRIGGER_MS} milliseconds")
            .foreachBatch(self._take)
            .start()
        )

    def _take(self, batch: DataFrame, number: int) -> None:
        # Jobs of this thread aren't the stream's own to Spark.
        batch.sparkSession.sparkContext.setLocalProperty(BATCH, str(number))
        texts = (one_line(row[0]) for row in batch.toLocalIterator())
        while not self._stopped.is_set() and (chunk := list(islice(texts, _CHUNK))):
            self._to.give(chunk)

    def _watch(self) -> None:
        """Wait for the stream's end. One that stopped to ask for a schema that is known by now goes on."""
        self._await_start()
        while True:
            try:
                self._stream.awaitTermination()
                failure: Exception | None = None
            except StreamingQueryException as error:
                failure = error
            if self._stopped.is_set():
                return
            try:
                self._go_on(failure)
            except OrionError as error:
                self._failed(self._to, error)
                return
            except Exception as error:
                self._failed(self._to, ExternalError("PUSH_QUERY_FAILED", f"The query stopped: {error}."))
                return

    def _await_start(self) -> None:
        while not self._stopped.wait(_LOOK_S) and self._stream.isActive:
            if not self._stream.status["message"].startswith(_INITIALIZING):
                self._to.announce_start()
                return

    def _go_on(self, failure: Exception | None) -> None:
        while not self._stopped.is_set():
            try:
                known = self._schemas.learn(str(failure))
            except ExternalError as error:
                if error.code != "SCHEMA_AWAITED":
                    raise
                self._stopped.wait(_ASK_AGAIN_S)
                continue
            if not known:
                raise ExternalError("PUSH_QUERY_FAILED", f"The query stopped: {failure}.") from failure
            self._stream = self._start()
            if self._stopped.is_set():  # by now: who stopped it saw the stream before
                self._stream.stop()
            return

    def stop(self) -> None:
        self._stopped.set()
        self._stream.stop()
        shutil.rmtree(self._checkpoint, ignore_errors=True)


# What JSON may hold as it is, and some clients take for the end of a line.
_LINE_ENDS = {ord(end): f"\\u{ord(end):04x}" for end in "\x85\u2028\u2029"}


def one_line(text: str) -> str:
    """JSON that is one line for everybody."""
    return text if text.isascii() else text.translate(_LINE_ENDS)


def row_of(text: str) -> list[Any]:
    """The values of a row that was written by `as_json`."""
    values: list[Any] = json.loads(text, parse_float=Decimal)
    return values


def as_json(frame: DataFrame, columns: tuple[Named, ...]) -> DataFrame:
    """The rows that there are, each as one JSON array in the column `row`."""
    bad = f"{rows.BAD} IS NULL AND " if rows.BAD in frame.columns else ""
    return frame.where(f"{bad}NOT {rows.DELETED}").selectExpr(f"{_array(columns)} AS row")


def _array(columns: tuple[Named, ...]) -> str:
    """Spark SQL that writes a row as one JSON array. Each value is written as the one field of an object."""
    values = ", ".join(f"to_json(named_struct('v', {_shown(quote(c.name), c.expr.type)}), {_JSON})" for c in columns)
    return f"concat('[', array_join(transform(array({values}), v -> substr(v, 6, length(v) - 6)), ','), ']')"


def _shown(value: str, type_: SqlType) -> str:
    if type_ is Scalar.TIME:
        return f"date_format(timestamp_millis({value}), 'HH:mm:ss.SSS')"
    return value
