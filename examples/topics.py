"""Reading result topics: up to where they end now, or for as long as the example runs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from orion.errors import ExternalError, NotFound
from orion.hub.kafka import Kafka
from orion.hub.reader import Reader
from orion.hub.records import Position, Record

_LONG = 8
_BATCH = 5_000
_PATIENCE_S = 60.0
_BEGINNING = Position("earliest")

Handler = Callable[[bytes, Any], None]


def read(kafka: Kafka, topic: str) -> Iterator[Record]:
    """Every committed record a topic holds, up to its end; nothing for a topic that isn't there."""
    try:
        reader = Reader(kafka, topic, _BEGINNING)
    except NotFound:
        return
    deadline = time.monotonic() + _PATIENCE_S
    with reader:
        while not reader.at_end:
            if time.monotonic() > deadline:
                raise ExternalError("TOPIC_TOO_SLOW", f"{topic} isn't read to its end within {_PATIENCE_S:.0f} s.")
            yield from reader.read(_BATCH, 1.0)


def fold(kafka: Kafka, topic: str) -> dict[bytes, Any]:
    """A table's topic as the table: the last JSON value of each key, without the deleted ones."""
    rows: dict[bytes, Any] = {}
    for record in read(kafka, topic):
        key = record.key or b""
        if record.value is None:
            rows.pop(key, None)
        else:
            rows[key] = json.loads(record.value)
    return rows


class Follower:
    """Hands every record of some topics, old and new, to the topic's handler: its key, and its value from JSON."""

    def __init__(self, kafka: Kafka, handlers: Mapping[str, Handler]) -> None:
        self._readers = [(Reader(kafka, topic, _BEGINNING), handler) for topic, handler in handlers.items()]

    def poll(self) -> None:
        """Hand over what has come since the last time."""
        for reader, handler in self._readers:
            for record in reader.read(_BATCH, 0.0):
                handler(record.key or b"", None if record.value is None else json.loads(record.value))

    def close(self) -> None:
        for reader, _ in self._readers:
            reader.close()


def windowed(key: bytes) -> tuple[str, int]:
    """The text and the window's start in the key of a tumbling or hopping window."""
    return key[:-_LONG].decode(), int.from_bytes(key[-_LONG:], "big")


def in_session(key: bytes) -> tuple[str, int, int]:
    """The text, the start and the end in a session's key."""
    end, start = key[-2 * _LONG : -_LONG], key[-_LONG:]
    return key[: -2 * _LONG].decode(), int.from_bytes(start, "big"), int.from_bytes(end, "big")
