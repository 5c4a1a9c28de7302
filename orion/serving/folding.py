"""Records of a table's topic to what they do to the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from orion.formats.rows.decoding import Bad, bounds, decoder
from orion.plan.sources import Source, WireSchema
from orion.schema import INTEGRAL, Column, Role, Scalar
from orion.serving.store import Changes, Layout

# What records of the fast lane say of their ROWTIME: see runtime/headers.py.
_TIME = "orion.rowtime"


class Entry(Protocol):
    """A record, wherever it comes from."""

    @property
    def key(self) -> bytes | None: ...

    @property
    def value(self) -> bytes | None: ...

    @property
    def timestamp(self) -> int | None: ...

    @property
    def headers(self) -> tuple[tuple[str, bytes | None], ...]: ...


@dataclass(frozen=True, slots=True)
class Unread:
    """Which of the records is no row, and why."""

    at: int
    reason: str


class Fold:
    """Makes changes of records. What can't be read is left out and told."""

    def __init__(self, source: Source, schema_of: Callable[[int], WireSchema | None]) -> None:
        self.layout = Layout(source)
        self._source = source
        self._keys = decoder(source, Role.KEY, schema_of)
        self._values = decoder(source, Role.VALUE, schema_of)
        self._time = _time_of(source)
        # Whether pull queries know its rows by the first column of their key.
        self._is_looked_up = source.schema.key[0].type in (Scalar.STRING, *INTEGRAL)

    def changes(self, records: Sequence[Entry], positions: dict[int, int]) -> tuple[Changes, list[Unread]]:
        """The changes, and why some records are none. A record without a key is no row, and passes by."""
        known = [(at, r, *self._cut(r.key)) for at, r in enumerate(records) if r.key is not None]
        keys = self._keys([key for _, _, key, _ in known])
        filled = [r.value for _, r, _, _ in known if r.value is not None]
        values = iter(self._values(filled))
        rows: dict[Any, Sequence[Any]] = {}
        gone: set[Any] = set()
        touched: set[Any] = set()
        bad: list[Unread] = []
        for (at, record, _, window), key in zip(known, keys, strict=True):
            value = next(values) if record.value is not None else None
            if isinstance(key, Bad) or isinstance(value, Bad) or not isinstance(key, tuple):
                reason = next((one.reason for one in (key, value) if isinstance(one, Bad)), "its key is null")
                bad.append(Unread(at, reason))
                continue
            identity = key[0] if self.layout.is_plain else record.key
            if identity is None:
                continue
            if self._is_looked_up:
                touched.add(key[0])
            if not isinstance(value, tuple):
                rows.pop(identity, None)
                gone.add(identity)
                continue
            gone.discard(identity)
            rows[identity] = (*key, *window, *value, *self._headers(record), self._time(record, value))
        return Changes(rows, frozenset(gone | rows.keys()), frozenset(touched), positions), bad

    def _cut(self, key: bytes | None) -> tuple[bytes, tuple[int, ...]]:
        assert key is not None
        if self._source.window is None:
            return key, ()
        if len(key) < 8:
            return key, (0, 0)
        body, start, end = bounds(self._source.window, key)
        return body, (start, end)

    def _headers(self, record: Entry) -> list[Any]:
        return [_header(column, record.headers) for column in self._source.schema.headers]


def _header(column: Column, headers: Iterable[tuple[str, bytes | None]]) -> Any:
    if column.header is None:
        return [{"KEY": name, "VALUE": value} for name, value in headers]
    return next((value for name, value in reversed(list(headers)) if name == column.header), None)


def _time_of(source: Source) -> Callable[[Entry, tuple[Any, ...]], int]:
    """What tells a row's ROWTIME."""
    names = [c.name for c in source.schema.value]
    wanted = source.timestamp.column if source.timestamp and source.query_id is None else None
    if wanted in names:
        at = names.index(wanted)
        type_ = source.schema.value[at].type
        if type_ in (Scalar.BIGINT, Scalar.TIMESTAMP):
            unit = 1000 if type_ is Scalar.TIMESTAMP else 1
            return lambda record, value: (value[at] // unit) if value[at] is not None else record.timestamp or 0
    if source.headed:
        return lambda record, _: next((int(v) for n, v in record.headers if n == _TIME and v), record.timestamp or 0)
    return lambda record, _: record.timestamp or 0
