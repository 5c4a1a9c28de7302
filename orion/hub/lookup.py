"""Single records of a topic, by where they stand."""

from __future__ import annotations

import time
from collections.abc import Iterable

from orion.hub.kafka import Kafka
from orion.hub.reader import Reader
from orion.hub.records import Place, Position, Record

_PATIENCE_S = 30.0


def records_at(kafka: Kafka, place: Place, offsets: Iterable[int]) -> dict[int, Record]:
    """Those of the records that are still there, by offset."""
    topic, partition = place
    found: dict[int, Record] = {}
    with Reader(kafka, topic, Position("earliest"), partitions=[partition], isolation="read_uncommitted") as reader:
        for offset in sorted(set(offsets)):
            if offset not in found:
                found |= _from(reader, place, offset)
    return found


def _from(reader: Reader, place: Place, offset: int) -> dict[int, Record]:
    """The record at an offset and some behind it, which are probably asked for next; none where it is gone."""
    reader.seek(place, offset)
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end:
        came = [record for record in reader.read(500, 0.2) if record.offset >= offset]
        if came:
            return {record.offset: record for record in came}
        if reader.at_end:
            break
    return {}
