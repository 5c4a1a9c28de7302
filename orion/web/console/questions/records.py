"""Records of a topic: some from a place, those that come, and one more."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from orion.app import Orion
from orion.errors import UserError
from orion.hub.reader import Reader
from orion.hub.records import Position
from orion.web.console.questions.decoding import Decoded, Decoder
from orion.web.console.questions.filtering import Wish

MOST = 100
_LONGEST_S = 8.0
_MOST_SCANNED = 200_000
_BATCH = 500


@dataclass(frozen=True, slots=True)
class From:
    """Where to look: a partition or all, and a place in them. `newest` counts back from the end."""

    partition: int | None = None
    place: str = "newest"  # newest, earliest, offset:N, time:...

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Self:
        """What an address says; raises UserError for what is no place."""
        part = query.get("partition", "")
        if part and not part.isdecimal():
            raise UserError("INVALID_PARTITION", f"{part!r} is not a partition.", hint="Write a number from 0.")
        place = query.get("from", "newest") or "newest"
        if place != "newest":
            Position.parse(place)
        return cls(int(part) if part else None, place)


@dataclass(frozen=True, slots=True)
class Found:
    """Records that fit, how many were looked at, and whether the end was reached."""

    records: tuple[Decoded, ...]
    scanned: int
    at_end: bool


def decoder_of(orion: Orion, topic: str) -> Decoder:
    """By what is declared over the topic, and by the registry."""
    engine = orion.engine
    source = next((s for s in engine.catalog.sources.values() if s.topic == topic), None)
    return Decoder(engine.schemas.shown, source)


def find(orion: Orion, topic: str, start: From, wish: Wish, most: int = MOST) -> Found:
    """The first records from a place that fit or, of the newest, the last ones; no longer than some seconds."""
    scan = _Scan(orion, topic, start, wish)
    if start.place == "newest":
        return scan.newest(most)
    return scan.onward(orion.kafka.offsets(topic, Position.parse(start.place)), most)


class _Scan:
    """Looks through ranges of a topic's partitions, with a bound on how long and how much."""

    def __init__(self, orion: Orion, topic: str, start: From, wish: Wish) -> None:
        self._kafka, self._topic, self._wish = orion.kafka, topic, wish
        self._decode = decoder_of(orion, topic)
        ends = orion.kafka.end_offsets(topic, committed=True)
        if start.partition is not None and start.partition not in ends:
            raise UserError("INVALID_PARTITION", f"{topic} has partitions 0 to {len(ends) - 1}, not {start.partition}.")
        self._ends = {p: end for p, end in ends.items() if start.partition in (None, p)}
        self._until = time.monotonic() + _LONGEST_S
        self.scanned = 0

    @property
    def _spent(self) -> bool:
        return time.monotonic() > self._until or self.scanned >= _MOST_SCANNED

    def onward(self, begin: Mapping[int, int], most: int) -> Found:
        """From a place to the end, or until there are enough."""
        found, at_end = self._within({p: begin[p] for p in self._ends}, self._ends, most)
        return Found(tuple(sorted(found, key=_when)[:most]), self.scanned, at_end)

    def newest(self, most: int) -> Found:
        """From the end backwards, further each time, until there are enough."""
        first = self._kafka.earliest_offsets(self._topic)
        found: list[Decoded] = []
        high, back = dict(self._ends), most + most // 4  # marks of transactions take offsets, too
        while any(high[p] > first[p] for p in high) and len(found) < most and not self._spent:
            low = {p: max(first[p], at - back) for p, at in high.items()}
            found += self._within(low, high)[0]
            high, back = low, back * 3
        return Found(tuple(sorted(found, key=_when, reverse=True)[:most]), self.scanned, True)

    def _within(
        self, low: Mapping[int, int], high: Mapping[int, int], most: int | None = None
    ) -> tuple[list[Decoded], bool]:
        """What fits from `low` up to `high`, and whether all of that was looked at."""
        found: list[Decoded] = []
        waiting = {p for p, at in low.items() if at < high[p]}
        if not waiting:
            return found, True
        with Reader(self._kafka, self._topic, Position("latest"), partitions=sorted(waiting)) as reader:
            for place in reader.assignment:
                reader.seek(place, low[place[1]])
            while waiting and not self._spent and (most is None or len(found) < most):
                for record in reader.read(_BATCH, 0.3):
                    if record.offset >= high[record.partition] - 1:
                        waiting.discard(record.partition)
                    if record.offset < high[record.partition]:
                        self.scanned += 1
                        one = self._decode(record)
                        found += [one] if self._wish.holds(one) else []
                if reader.at_end:  # what is left are marks of transactions
                    waiting.clear()
        return found, not waiting


def _when(one: Decoded) -> tuple[int, int, int]:
    return (one.record.timestamp or 0, one.record.partition, one.record.offset)


class Tail:
    """What comes from now on. `look` is asked again and again, from one thread at a time."""

    def __init__(self, orion: Orion, topic: str, partition: int | None, wish: Wish) -> None:
        self._decode, self._wish = decoder_of(orion, topic), wish
        partitions = [] if partition is None else [partition]
        self._reader = Reader(orion.kafka, topic, Position("latest"), partitions=partitions)

    def look(self) -> list[Decoded]:
        came = [self._decode(record) for record in self._reader.read(_BATCH, 0.2)]
        return [one for one in came if self._wish.holds(one)][-MOST:]

    def close(self) -> None:
        self._reader.close()
