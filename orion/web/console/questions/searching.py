"""Looking through a topic's records, a bounded while at a time: what was found, how far it looked, and going on.

Records come in the order of their time over all partitions, as far as times go up within each. Partitions are read in
windows, each next one larger, and always those whose edge could still have what comes next. Of a key that is asked for,
the partition that Kafka's hash sends it to is looked through first.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from orion.app import Orion
from orion.errors import OrionError, UserError
from orion.formats.rows.fitting import fit
from orion.formats.rows.reading import Row
from orion.formats.rows.writing import key_of
from orion.hub.kafka import Kafka
from orion.hub.partitioning import partition_of
from orion.hub.reader import Reader
from orion.hub.records import Position
from orion.plan.sources import Source
from orion.schema import Role
from orion.web.console.questions.decoding import Decoded, Decoder
from orion.web.console.questions.filtering import Wish, wanted_key
from orion.web.console.questions.records import MOST, From, decoder_of, source_over

_LONGEST_S = 8.0
_WITHOUT_ANY_S = 24.0  # a client that has only just connected has shown nothing yet
_MOST_SCANNED = 200_000
_BATCH = 500
_PLAIN = ("KAFKA", "JSON", "DELIMITED")  # formats whose bytes of a key follow from its value alone
_UNFIT = (OrionError, ValueError, TypeError, ArithmeticError, LookupError)

Bounds = tuple[int, int]  # the first offset, and the one behind the last


@dataclass(frozen=True, slots=True)
class Extent:
    """A partition with what of it was looked through."""

    partition: int
    whole: Bounds
    looked: tuple[Bounds, ...]
    is_own: bool = False  # where the key goes that is asked for

    @property
    def total(self) -> int:
        return self.whole[1] - self.whole[0]

    @property
    def count(self) -> int:
        return sum(end - start for start, end in self.looked)


@dataclass(frozen=True, slots=True)
class Found:
    """Records that fit, in order; how many were looked at, and where."""

    records: tuple[Decoded, ...]
    scanned: int
    extents: tuple[Extent, ...]
    is_done: bool  # there is nothing more to find

    @property
    def total(self) -> int:
        """Offsets there are; some may hold no record, such as marks of transactions."""
        return sum(extent.total for extent in self.extents)

    @property
    def looked(self) -> int:
        return sum(extent.count for extent in self.extents)

    @property
    def own(self) -> tuple[int, ...]:
        return tuple(extent.partition for extent in self.extents if extent.is_own)


class Way:
    """One partition's part of a search, forwards or, from its end, backwards."""

    def __init__(self, partition: int, whole: Bounds, *, backwards: bool) -> None:
        self.partition, self.whole, self.backwards = partition, (whole[0], max(whole)), backwards
        self.edge = self.whole[1 if backwards else 0]  # up to here windows were taken
        self.rest: Bounds | None = None  # of the window that is being looked through
        self.stamp: int | None = None  # the time of the records at the edge
        self._step = 0

    @property
    def is_done(self) -> bool:
        return self.rest is None and self.edge == self.whole[0 if self.backwards else 1]

    @property
    def looked(self) -> tuple[Bounds, ...]:
        first, end = self.whole
        at, high = self.rest or (self.edge, self.edge)
        found = ((self.edge, at), (high, end)) if self.backwards else ((first, at),)
        return tuple((start, stop) for start, stop in found if stop > start)

    def could_have(self, last: int | None) -> bool:
        """Whether it may have a record that comes before the one at this time."""
        if self.is_done or self.rest is not None or last is None or self.stamp is None:
            return not self.is_done
        return self.stamp >= last if self.backwards else self.stamp <= last

    def window(self, first_step: int) -> Bounds:
        """What is to be looked through next: what is left of the last window, or a larger one."""
        if self.rest is None:
            self._step = self._step * 3 or first_step
            first, end = self.whole
            if self.backwards:
                low = max(first, self.edge - self._step)
                self.rest, self.edge = (low, self.edge), low
            else:
                high = min(end, self.edge + self._step)
                self.rest, self.edge = (self.edge, high), high
        return self.rest

    def note_record(self, offset: int, stamp: int | None) -> bool:
        """Note a record of the window; whether it is one."""
        if self.rest is None:
            return False
        at, high = self.rest
        is_inside = at <= offset < high
        if is_inside and stamp is not None and (not self.backwards or at == self.edge):
            self.stamp = stamp
        self.rest = (offset + 1, high) if offset + 1 < high else None
        return is_inside

    def end_window(self) -> None:
        """What is left of the window holds no records."""
        self.rest = None


@dataclass(frozen=True, slots=True)
class Quest:
    """What is looked for, and where."""

    topic: str
    start: From
    wish: Wish


def search_of(orion: Orion, wanted: Quest) -> Search:
    """A search by what is declared over the topic, and by the registry."""
    topic = wanted.topic
    return Search(orion.kafka, wanted, decoder_of(orion, topic), source_over(orion, topic))


class Search:
    """Each `look` goes on from where the last one stopped; asked from one thread at a time."""

    def __init__(self, kafka: Kafka, wanted: Quest, decode: Decoder, source: Source | None) -> None:
        topic, start, wish = wanted.topic, wanted.start, wanted.wish
        self._kafka, self._topic, self._wish = kafka, topic, wish
        self._decode = decode
        self._backwards = start.place == "newest"
        ends = kafka.end_offsets(topic, committed=True)
        if start.partition is not None and start.partition not in ends:
            raise UserError("INVALID_PARTITION", f"{topic} has partitions 0 to {len(ends) - 1}, not {start.partition}.")
        place = Position("earliest") if self._backwards else Position.parse(start.place)
        first = kafka.offsets(topic, place)
        self._ways = [
            Way(p, (first[p], end), backwards=self._backwards)
            for p, end in sorted(ends.items())
            if start.partition in (None, p)
        ]
        own = own_partition(wish, source, len(ends)) if start.partition is None else None
        self._own = [way for way in self._ways if way.partition == own]
        self._found: list[Decoded] = []
        self._shown = self.scanned = 0

    def look(self, most: int = MOST) -> Found:
        """Look for so many more, and no longer than some seconds."""
        wanted = self._shown + most
        budget = _Budget(self.scanned)
        goes_on = bool(self._own) and all(way.is_done for way in self._own)
        if not goes_on:
            self._advance(self._own or self._ways, wanted, budget)
        # What its own partition has of a key is very likely all there is: whoever wants to know asks for the others.
        if goes_on or (self._own and not self._found and all(way.is_done for way in self._own)):
            self._advance(self._ways, wanted, budget)
        self._found.sort(key=_when, reverse=self._backwards)
        self._shown = min(wanted, len(self._found))
        is_done = all(way.is_done for way in self._ways) and self._shown == len(self._found)
        return Found(tuple(self._found[: self._shown]), self.scanned, self._extents(), is_done)

    def _extents(self) -> tuple[Extent, ...]:
        return tuple(Extent(way.partition, way.whole, way.looked, way in self._own) for way in self._ways)

    def _advance(self, ways: Sequence[Way], wanted: int, budget: _Budget) -> None:
        # Marks of transactions take offsets, too.
        step = max(20, wanted - self._shown) * 5 // 4
        while not budget.is_spent(self.scanned):
            self._found.sort(key=_when, reverse=self._backwards)
            last = self._found[wanted - 1].record.timestamp if len(self._found) >= wanted else None
            due = [way for way in ways if way.could_have(last)]
            if not due:
                return
            self._read(due, step, budget)

    def _read(self, ways: Sequence[Way], step: int, budget: _Budget) -> None:
        """Look through a window of each."""
        by_partition = {way.partition: way for way in ways}
        starts = {way.partition: way.window(step)[0] for way in ways}
        with Reader(self._kafka, self._topic, Position("latest"), partitions=sorted(starts)) as reader:
            for place in reader.assignment:
                reader.seek(place, starts[place[1]])
            while any(way.rest for way in ways) and not budget.is_spent(self.scanned):
                for record in reader.read(_BATCH, 0.3):
                    if by_partition[record.partition].note_record(record.offset, record.timestamp):
                        self.scanned += 1
                        one = self._decode(record)
                        self._found += [one] if self._wish.holds(one) else []
                if reader.at_end:
                    for way in ways:
                        way.end_window()
            if reader.trouble is not None and any(way.rest for way in ways):
                raise reader.trouble


class _Budget:
    """How long one look may take, and how much it may read."""

    def __init__(self, scanned: int) -> None:
        self._before, self._began = scanned, time.monotonic()

    def is_spent(self, scanned: int) -> bool:
        new, passed = scanned - self._before, time.monotonic() - self._began
        return new >= _MOST_SCANNED or passed > (_LONGEST_S if new else _WITHOUT_ANY_S)


def find(orion: Orion, topic: str, start: From, wish: Wish, most: int = MOST) -> Found:
    """One look: the first records from a place that fit or, of the newest, the last ones."""
    return search_of(orion, Quest(topic, start, wish)).look(most)


def own_partition(wish: Wish, source: Source | None, partitions: int) -> int | None:
    """Where records go whose key a wish is about; None where it is about none, or its bytes aren't known."""
    names = {"KEY", "ROWKEY", *(c.name for c in source.columns(Role.KEY))} if source else {"KEY", "ROWKEY"}
    wanted = wanted_key(wish.where, names)
    key = None if wanted is None else _bytes_of(wanted, source)
    return None if key is None else partition_of(key, partitions)


def _bytes_of(wanted: Any, source: Source | None) -> bytes | None:
    if source is None:
        return str(wanted).encode()
    columns = source.columns(Role.KEY)
    if len(columns) != 1 or source.window is not None or source.key.format not in _PLAIN:
        return None
    try:
        return key_of(source, Row({columns[0].name: fit(columns[0].type)(wanted)}))
    except _UNFIT:
        return None


def _when(one: Decoded) -> tuple[int, int, int]:
    return (one.record.timestamp or 0, one.record.partition, one.record.offset)
