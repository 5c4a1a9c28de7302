"""Keyed operators run as tasks, the way Kafka Streams runs them: rows are spread over a fixed number of tasks by their
key, and a task takes its rows one after the other in the order of arrival, with state by key.

Spark calls a processor of its own for every key of a batch, which costs more than most rows' work. Here it calls one
for every task, and the task keeps the states of all its keys. What a task knows besides is the time: how far the
stream has come is judged for every row, not once a batch, so a row is late or a window closed exactly when it is.

An operator is plain Python over bytes (see `Operator`): it runs and is tested without Spark.
"""

from __future__ import annotations

import pickle
import struct
from bisect import insort
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from orion.plan.sources import ROWTIME
from orion.runtime import rows
from orion.runtime.workers import settled

KEY, SIDE, ROW, TIME, DATA, LATE = "__key", "__side", "__row", "__rowtime", "__data", "__late"
NO_ROW = "CAST(NULL AS BINARY)"
NO_DATA = "CAST(NULL AS STRUCT<none: BOOLEAN>)"


class Arrived(NamedTuple):
    """A row at an operator's door. `row` is None for a deletion; `data` is what the operator looks into."""

    key: bytes
    row: bytes | None
    time: int
    side: int = 0
    data: tuple[Any, ...] = ()
    order: bytes = b""


class Late(NamedTuple):
    """Rows that came too late for their window: how many; or one, with why, and what its letter tells."""

    rows: int
    why: str | None = None
    row: bytes | None = None


class Made(NamedTuple):
    """A row that leaves an operator: `values` by the operator's own output columns. With `late` it is none of the
    result's: it tells of rows that came too late, beside it."""

    key: bytes
    time: int
    values: tuple[Any, ...]
    late: Late | None = None


class Operator:
    """What a task does with each row. It is sent to Spark's workers, so it pickles and keeps nothing of its own."""

    tells_late: bool = False  # some of what it makes has `late`

    def take(self, row: Arrived, state: State) -> Iterator[Made]:
        raise NotImplementedError

    def end(self, state: State) -> Iterator[Made]:
        """After the last row of a batch; most have told everything by then."""
        return iter(())


class Shelf(Protocol):
    """Where states live between batches."""

    def load(self, key: bytes) -> bytes | None: ...

    def save(self, key: bytes, blob: bytes | None) -> None: ...


_CLOCK = b""


class State:
    """A task's states by key, read once and written once a batch; the stream's time; and what falls due by it."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._held: dict[bytes, Any] = {}
        self._changed: set[bytes] = set()

    def get(self, key: bytes) -> Any:
        if key not in self._held:
            blob = self._shelf.load(key)
            self._held[key] = None if blob is None else pickle.loads(blob)
        return self._held[key]

    def put(self, key: bytes, value: Any) -> None:
        """None: nothing is kept under the key any more."""
        self._held[key] = value
        self._changed.add(key)

    def see(self, time: int) -> int:
        """A row of this time has come; how far the stream is with it, the latest time among its rows."""
        clock = self.get(_CLOCK)
        if clock is None:
            self.put(_CLOCK, (time, []))
            return time
        if time > clock[0]:
            self.put(_CLOCK, (time, clock[1]))
            return time
        return int(clock[0])

    @property
    def now(self) -> int:
        """How far the stream has come; -1 before its first row."""
        clock = self.get(_CLOCK)
        return -1 if clock is None else int(clock[0])

    def schedule(self, when: int, key: bytes, width: int = 1) -> None:
        """Have `key` come out of `due` once time has come that far; `width` is how finely it is kept."""
        bucket = -(-when // max(1, width)) * max(1, width)
        place = b"\x00" + struct.pack(">q", bucket)
        listed = self.get(place)
        if listed is None:
            time, buckets = self.get(_CLOCK) or (-1, [])
            insort(buckets, bucket)
            self.put(_CLOCK, (time, buckets))
            listed = {}
        if key not in listed:
            listed[key] = None
            self.put(place, listed)

    def due(self, until: int) -> list[bytes]:
        """Keys whose time has come, in its order; they are told once."""
        clock = self.get(_CLOCK)
        if clock is None or not clock[1] or clock[1][0] > until:
            return []
        time, buckets = clock
        told: list[bytes] = []
        while buckets and buckets[0] <= until:
            place = b"\x00" + struct.pack(">q", buckets.pop(0))
            told += self.get(place)
            self.put(place, None)
        self.put(_CLOCK, (time, buckets))
        return told

    def flush(self) -> None:
        for key in self._changed:
            value = self._held[key]
            self._shelf.save(key, None if value is None else pickle.dumps(value, protocol=5))
        self._changed.clear()


def run(operator: Operator, arrived: Iterable[Arrived], state: State) -> Iterator[tuple[bytes, Made]]:
    """What the operator makes of a batch's rows, each with its place in the order of arrival."""
    order = b""
    made_at = 0
    for row in arrived:
        order, made_at = row.order, 0
        for made in operator.take(row, state):
            yield order + struct.pack(">I", made_at), made
            made_at += 1
    for made in operator.end(state):
        yield order + struct.pack(">I", made_at), made
        made_at += 1
    state.flush()


def in_order_of_arrival(found: Iterable[Arrived]) -> list[Arrived]:
    """Rows as they would have come from their partitions read together: each partition in its own order, and the
    partition whose next row is oldest goes first. See rows.ORDER for what the bytes say."""
    ordered = sorted(found, key=lambda row: row.order[8:])
    reached: dict[bytes, bytes] = {}
    ranked: list[tuple[bytes, int]] = []
    for at, row in enumerate(ordered):
        lane = row.order[8:16]
        reached[lane] = max(reached.get(lane, b""), row.order[:8])
        ranked.append((reached[lane], at))
    return [ordered[at] for _, at in sorted(ranked)]


@dataclass(frozen=True)
class Spread:
    """How many tasks an operator has. Fixed for the life of a query: its state lies with them."""

    tasks: int

    def apply(self, frame: DataFrame, operator: Operator, output: Mapping[str, str]) -> DataFrame:
        """Run the operator over what `arriving` makes.

        Out come KEY, TIME, rows.ORDER and the operator's own columns (`output`: their names and Spark's types); of one
        that tells of late rows LATE too, which `late.told` takes away again.
        """
        task = f"pmod(hash({KEY}), {self.tasks}) AS __task" if self.tasks > 1 else "0 AS __task"
        spread = frame.selectExpr("*", task)
        columns = {KEY: "BINARY", TIME: "BIGINT", rows.ORDER: "BINARY", **output}
        columns |= {LATE: "STRUCT<rows: BIGINT, why: STRING, row: BINARY>"} if operator.tells_late else {}
        schema = ", ".join(f"{name} {type_}" for name, type_ in columns.items())
        processor = Task(operator, tuple(output))
        return spread.groupBy("__task").transformWithState(processor, schema, "Update", "None")


def arriving(frame: DataFrame, key: str, row: str = NO_ROW, *, side: str = "0", data: str = NO_DATA) -> DataFrame:
    """A frame's rows as an operator takes them; `key`, `row`, `side` and `data` are Spark SQL."""
    time = TIME if TIME in frame.columns else ROWTIME
    return frame.selectExpr(
        f"{key} AS {KEY}", f"{side} AS {SIDE}", f"{row} AS {ROW}", f"{time} AS {TIME}", f"{data} AS {DATA}", rows.ORDER
    )


def kept(row: str) -> str:
    """The Spark SQL of a row, and of nothing where it is deleted."""
    return f"CASE WHEN NOT {rows.DELETED} THEN {row} END"


class Task(StatefulProcessor):
    """Spark's side of a task."""

    def __init__(self, operator: Operator, names: tuple[str, ...]) -> None:
        self.operator = operator
        self.names = names

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.shelf = _MapShelf(handle.getMapState("states", "key BINARY", "blob BINARY"))

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        arrived = in_order_of_arrival(_arrived(row) for row in rows)
        tells_late = self.operator.tells_late
        make = Row(KEY, TIME, _ORDER, *self.names, *((LATE,) if tells_late else ()))
        for order, made in run(self.operator, arrived, State(self.shelf)):
            beside = (made.late,) if tells_late else ()
            yield make(made.key, made.time, order, *made.values, *beside)

    def close(self) -> None:
        settled()


_ORDER = rows.ORDER


def _arrived(row: Any) -> Arrived:
    data = row[DATA]
    found = () if data is None else tuple(data.values())
    return Arrived(row[KEY], row[ROW], row[TIME], row[SIDE], found, row[_ORDER])


class _MapShelf:
    """Spark's map state. Each call crosses to the JVM, so it is asked once for a key and a batch."""

    def __init__(self, states: Any) -> None:
        self._states = states

    def load(self, key: bytes) -> bytes | None:
        found = self._states.getValue((key,))
        return None if found is None else bytes(found[0])

    def save(self, key: bytes, blob: bytes | None) -> None:
        if blob is None:
            self._states.removeKey((key,))
        else:
            self._states.updateValue((key,), (blob,))
