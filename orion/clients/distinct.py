"""Dropping what Orion's fast lane has written twice, by the id that it gives each record.

An id is `QUERY/TOPIC/PARTITION/OFFSET/N`: the N-th record that a query made of the record at that offset. A query that
crashes begins again some way back and writes some records again, under the ids they had.

One partition of the output holds the records that a query made of one source partition in the order of their offsets,
since one task makes them and one idempotent producer sends them, in order. So what is at or below the highest id that a
partition has shown is a repeat. The order is held by output partition: two of them are read at different speeds, so the
highest id of one says nothing about the other. There is one way around the order: a request that fails while those
behind it are under way leaves a gap, which the next attempt fills from behind. So the last ids are remembered one by
one, and only what is older than all of them is judged by order alone.

It holds for one life of a consumer: partitions that come to it anew are read without a memory, and so are those it was
moved in. A source topic that is deleted and made again counts from 0 again; its query must be a new one by then.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from orion.hub.records import Place

HEADER = "orion.id"
REMEMBERED = 10_000  # ids a source partition; more than a producer has under way at once

Number = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Id:
    """Which record of which query this is."""

    query: str
    topic: str
    partition: int
    offset: int
    index: int

    @classmethod
    def parse(cls, text: str) -> Id | None:
        """None for what is no such id: somebody else's header of that name."""
        parts = text.rsplit("/", 4)
        if len(parts) != 5 or not all(part.isascii() and part.isdecimal() for part in parts[2:]):
            return None
        return cls(parts[0], parts[1], int(parts[2]), int(parts[3]), int(parts[4]))


@dataclass(slots=True)
class _Seen:
    """The ids that one output partition has shown of one source partition."""

    most: int
    order: deque[Number] = field(default_factory=deque)
    known: set[Number] = field(default_factory=set)
    forgotten: Number = (-1, -1)  # the highest that isn't remembered by itself any more

    def add(self, number: Number) -> bool:
        """Whether it is new."""
        if number in self.known or number <= self.forgotten:
            return False
        self.known.add(number)
        self.order.append(number)
        if len(self.order) > self.most:
            gone = self.order.popleft()
            self.known.discard(gone)
            self.forgotten = max(self.forgotten, gone)
        return True


class Distinct:
    """What has been shown so far, a bounded number of ids for each pair of output and source partition."""

    def __init__(self, most: int = REMEMBERED) -> None:
        self._most = most
        self._seen: dict[Place, dict[tuple[str, str, int], _Seen]] = {}

    def new(self, place: Place, text: str | None) -> bool:
        """Whether a record in this place is no repeat; one without an id never is."""
        found = None if text is None else Id.parse(text)
        if found is None:
            return True
        sources = self._seen.setdefault(place, {})
        seen = sources.setdefault((found.query, found.topic, found.partition), _Seen(self._most))
        return seen.add((found.offset, found.index))

    def forget(self, place: Place) -> None:
        """The partition is read from elsewhere, or by somebody else."""
        self._seen.pop(place, None)
