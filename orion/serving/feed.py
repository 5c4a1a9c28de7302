"""Keeps one table up with its topic: a thread that reads committed records and folds them in."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import duckdb
import structlog

from orion.errors import ExternalError, NotFound, OrionError
from orion.hub.kafka import Kafka
from orion.hub.reader import Reader
from orion.hub.records import Position
from orion.plan.sources import Source, WireSchema
from orion.serving.folding import Fold
from orion.serving.hot import HotRows
from orion.serving.intake import Intake
from orion.serving.last_rows import LastRows
from orion.serving.store import BadRecord, Store

log = structlog.get_logger()

_BATCH = 10_000
_POLL_S = 0.25
_LOOK_S = 5.0  # how often it is looked whether the topic is still the same, with as many partitions
_AGAIN_S, _MOST_AGAIN_S = 1.0, 60.0  # how soon a feed that failed is tried again: at first, and at last
_SHOWN_BAD = 20  # bad records that a status has, the newest


@dataclass(frozen=True)
class TableStatus:
    """How a table is doing, for people and programs."""

    name: str
    topic: str
    state: str  # BUILDING until it has once been up with its topic, then RUNNING; ERROR: it is tried again, see `error`
    rows: int | None  # None: its rows can't be read
    lag: int | None  # records of the topic that aren't in it yet; None: the broker doesn't say
    age_s: float | None  # seconds since it was last known to be up with its topic
    bad_records: int
    error: str | None
    last_bad: tuple[BadRecord, ...] = ()  # the newest first


class Feed:
    def __init__(
        self,
        source: Source,
        store: Store,
        kafka: Kafka,
        schema_of: Callable[[int], WireSchema | None],
        at_hand: tuple[HotRows, LastRows],
    ) -> None:
        self.source = source
        self._store, self._kafka, self._schema_of = store, kafka, schema_of
        self._at_hand = at_hand
        self._changed = threading.Condition()
        self._positions: dict[int, int] = {}
        self._up: float | None = None  # when it was last up with its topic
        self._error: str | None = None
        self._made = False  # there is a table, with rows or without
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"table {source.name}", daemon=True)
        self._thread.start()

    # ---- for those who ask -------------------------------------------------------------------------------------

    @property
    def is_built(self) -> bool:
        """Whether it has once been up with its topic."""
        return self._up is not None

    def await_built(self, until: float) -> None:
        """Until it has once been up with its topic; raises where that takes too long."""
        if self.is_built:
            return
        with self._changed:
            if self._changed.wait_for(lambda: self.is_built, max(0.0, until - time.monotonic())):
                return
        raise ExternalError(
            "TABLE_BUILDING",
            f"The table {self.source.name} is still being read from its topic"
            + (f": {self._error}" if self._error else "."),
            retry_after=1.0,
        )

    @property
    def error(self) -> str | None:
        """Why it doesn't follow its topic at the moment, if it doesn't."""
        return self._error

    def warning(self) -> str | None:
        """What those should know who are given its rows as they are."""
        error = self._error
        if error is None:
            return None
        since = "" if self._up is None else f" since {time.monotonic() - self._up:.0f} s"
        return f"The table {self.source.name} has stopped following its topic{since}, its rows may be old: {error}"

    def settled(self, until: float) -> bool:
        """Whether it is built by then, or has something wrong with it."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self.is_built or self._error is not None, max(0.0, until - time.monotonic())
            )

    def await_offsets(self, offsets: Mapping[int, int], until: float) -> None:
        """Until the records at these offsets of its topic are in the table."""

        def there() -> bool:
            return all(self._positions.get(part, 0) > offset for part, offset in offsets.items())

        with self._changed:
            if not self._changed.wait_for(there, max(0.0, until - time.monotonic())):
                raise ExternalError(
                    "NOT_SEEN_YET",
                    f"The table {self.source.name} hasn't seen these offsets of {self.source.topic} in time.",
                    hint="Ask again, or give it a later deadline.",
                    retry_after=1.0,
                )

    def status(self) -> TableStatus:
        name, state = self.source.name, "ERROR" if self._error else "BUILDING" if self._up is None else "RUNNING"
        age = None if self._up is None else time.monotonic() - self._up
        rows, bad, last = self._counted()
        return TableStatus(name, self.source.topic, state, rows, self._lag(), age, bad, self._error, last)

    def _counted(self) -> tuple[int | None, int, tuple[BadRecord, ...]]:
        """Its rows, its bad records and the last of these, as far as the database tells."""
        name = self.source.name
        try:
            rows = self._store.count(self.source) if self._made else 0
            return rows, self._store.count_bad(name), tuple(self._store.bad_records(name, _SHOWN_BAD))
        except duckdb.Error:
            return None, 0, ()

    def _lag(self) -> int | None:
        try:
            ends = self._kafka.end_offsets(self.source.topic, committed=True)
        except OrionError:
            return None
        return sum(max(0, end - self._positions.get(part, 0)) for part, end in ends.items())

    def close(self) -> None:
        self._closed.set()
        self._thread.join(timeout=10)

    # ---- the thread --------------------------------------------------------------------------------------------

    def _run(self) -> None:
        failures = 0
        while not self._closed.is_set():
            try:
                self._follow()
                failures = 0
            except Exception as error:  # whatever it is: the table goes on when it is over
                if self._closed.is_set():
                    return
                told = error.message if isinstance(error, OrionError) else f"{type(error).__name__}: {error}"
                if told != self._error:
                    log.warning("table falls behind", table=self.source.name, reason=told)
                failures = failures + 1 if self._error else 1
                self._error = told
                with self._changed:
                    self._changed.notify_all()
                self._closed.wait(min(_AGAIN_S * 2 ** min(failures - 1, 10), _MOST_AGAIN_S))

    def _follow(self) -> None:
        """Read on until the topic is another one or has other partitions."""
        topic, generation = self._topic(), self._store.generation
        fold = Fold(self.source, self._schema_of)
        intake = Intake(fold, self._store, self._at_hand)
        with self._changed:
            self._positions = self._store.opened(self.source, topic[0])
            self._made = True
        hot, last = self._at_hand
        hot.drop(self.source.name)
        last.open(fold.layout, self._store)
        with Reader(self._kafka, self.source.topic, Position("earliest")) as reader:
            for part, following in self._positions.items():
                with suppress(OrionError):
                    reader.seek((self.source.topic, part), following)
            looked = time.monotonic()
            while not self._closed.is_set():
                self._step(reader, intake)
                if self._store.generation != generation:
                    return
                if time.monotonic() - looked > _LOOK_S:
                    looked = time.monotonic()
                    if self._topic() != topic:
                        return

    def _topic(self) -> tuple[str, int]:
        found = self._kafka.present([self.source.topic]).get(self.source.topic)
        if found is None:
            raise NotFound("TOPIC_MISSING", f"The topic {self.source.topic} is gone.")
        return found.topic_id, found.partitions

    def _step(self, reader: Reader, intake: Intake) -> None:
        records = reader.read(_BATCH, _POLL_S)
        reached = {record.partition: record.offset + 1 for record in records}
        if records:
            intake.put(records)
        if reader.at_end:  # what is behind the last record is no record: the marks of transactions
            reached |= {part: max(reader.end(part), reached.get(part, 0)) for _, part in reader.assignment}
        if reached or reader.at_end:
            with self._changed:
                self._positions = {**self._positions, **reached}
                self._error = None
                if reader.at_end:
                    self._up = time.monotonic()
                self._changed.notify_all()
