"""Changes of state on their way from the operator that made them to the writer of their slot: many in one value. How
many rows came too late for the operator goes the same way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgpack

from orion.runtime.state.state import Change

_MOST_BYTES = 1 << 20


class ChangelogRecords(NamedTuple):
    """Records for one partition of an operator's changelog."""

    operator: int
    task: int
    places: list[bytes]
    blobs: list[bytes | None]
    late: int = 0  # rows that came too late


def pack_changes(operator: int, task: int, changes: list[Change], late: int = 0) -> Iterator[bytes]:
    places: list[bytes] = []
    blobs: list[bytes | None] = []
    size = 0
    for change in changes:
        places.append(change.place)
        blobs.append(change.blob)
        size += len(change.place) + len(change.blob or b"")
        if size > _MOST_BYTES:
            yield msgpack.packb((operator, task, places, blobs))
            places, blobs, size = [], [], 0
    if places or late:
        yield msgpack.packb((operator, task, places, blobs, late))


def unpack_changes(packed: bytes) -> ChangelogRecords:
    told: Any = msgpack.unpackb(packed)
    return ChangelogRecords(*told)
