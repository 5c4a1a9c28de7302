"""The service's feeds: users and tracks as keyed, compacted topics, and a steady stream of plays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from confluent_kafka import KafkaError, Message

from examples.feed import FLUSH_S, PRODUCER, Feed, send
from examples.music.catalogue import Catalogue
from examples.music.plays import Kind, Play, Plays
from orion.errors import ExternalError
from orion.hub.kafka import Kafka

PARTITIONS = 4
TRACKS = 1_000
# Twenty listeners for each play a second: the pace of one listener stays the same, whatever the rate of the service.
LISTENERS_PER_RATE = 20
FEWEST, MOST = 100, 100_000
COMPACTED = {"cleanup.policy": "compact"}


@dataclass(frozen=True, slots=True)
class Row:
    """A user or a track on its way."""

    topic: str
    key: bytes
    value: bytes


@dataclass(frozen=True, slots=True)
class Sent:
    """What the broker has acknowledged, by kind, and what it hasn't."""

    on_time: int
    late: int
    skipped: int
    malformed: int
    failed: int

    @property
    def good(self) -> int:
        return self.on_time + self.late

    @property
    def total(self) -> int:
        """Plays that are in the log."""
        return self.good + self.skipped + self.malformed


class Ledger:
    """Which play was acknowledged as what: a byte a play, so that hours fit in memory."""

    def __init__(self) -> None:
        self._kinds = bytearray()
        self._counts = dict.fromkeys(Kind, 0)

    def add(self, play: Play) -> None:
        """Note an acknowledged play; they may come in any order."""
        missing = play.number + 1 - len(self._kinds)
        if missing > 0:
            self._kinds.extend(bytes(missing))
        self._kinds[play.number] = play.kind.value
        self._counts[play.kind] += 1

    def is_good(self, number: int) -> bool:
        """Whether a play of that number was acknowledged and belongs in the lake."""
        known = 0 <= number < len(self._kinds) and self._kinds[number]
        return bool(known) and Kind(known).good

    def count(self, kind: Kind) -> int:
        return self._counts[kind]


class MusicFeed:
    """Loads the catalogue, then plays at a rate until it is stopped."""

    def __init__(self, kafka: Kafka, rate: float, seed: int = 7) -> None:
        self.ledger = Ledger()
        self.catalogue = Catalogue.generate(seed, min(MOST, max(FEWEST, round(rate * LISTENERS_PER_RATE))), TRACKS)
        self._kafka = kafka
        self._producer = kafka.producer(**PRODUCER)
        self._feed = Feed(self._producer, Plays(self.catalogue, seed).next, self.ledger.add, rate)

    def load(self) -> None:
        """Make the topics `users` and `tracks` and fill them."""
        self._fill("users", ((listener.user_id, listener.profile) for listener in self.catalogue.listeners))
        self._fill("tracks", ((track.track_id, track.entry) for track in self.catalogue.tracks))
        if self._producer.flush(FLUSH_S):
            raise ExternalError("CATALOGUE_NOT_SENT", "The broker doesn't acknowledge the users and tracks.")

    def start(self) -> None:
        self._feed.start()

    def stop(self) -> Sent:
        """End the plays and say what is in the log; a play that the broker never answers for counts as failed."""
        self._feed.stop()
        return self.sent()

    def sent(self) -> Sent:
        """What is acknowledged so far. Plays under way are neither sent nor failed until the feed has stopped."""
        kinds = {kind: self.ledger.count(kind) for kind in Kind}
        return Sent(
            kinds[Kind.ON_TIME], kinds[Kind.LATE], kinds[Kind.SKIPPED], kinds[Kind.MALFORMED], self._feed.failed
        )

    def _fill(self, topic: str, rows: Iterable[tuple[str, bytes]]) -> None:
        self._kafka.create_topic(topic, PARTITIONS, config=COMPACTED, exist_ok=True)
        for key, value in rows:
            send(self._producer, Row(topic, key.encode(), value), _must_arrive)


def _must_arrive(error: KafkaError | None, message: Message) -> None:
    if error is not None:
        raise ExternalError("CATALOGUE_NOT_SENT", f"The broker refuses a row of {message.topic()}: {error.str()}")
