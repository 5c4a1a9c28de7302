"""Records of a topic: where to look, how they are read, and those that come. `searching` looks through those there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from orion.app import Orion
from orion.errors import UserError
from orion.hub.reader import Reader
from orion.hub.records import Position
from orion.plan.sources import Source
from orion.web.console.questions.decoding import Decoded, Decoder
from orion.web.console.questions.filtering import Wish

MOST = 100
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


def decoder_of(orion: Orion, topic: str) -> Decoder:
    """By what is declared over the topic, and by the registry."""
    return Decoder(orion.engine.schemas.shown, source_over(orion, topic))


def source_over(orion: Orion, topic: str) -> Source | None:
    return next((s for s in orion.engine.catalog.sources.values() if s.topic == topic), None)


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
