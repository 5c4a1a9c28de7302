"""Dead letters: what the topics `dlq.NAME` hold, and sending a letter's record back to where it came from, once.

A replay is one transaction: the records in their source topics, and a note for each letter in the topic
`_orion_replayed`. All of it happens or nothing does. Replays of one name share a transactional id: whoever opens it
ends what another left behind and shuts that one out, and only then looks which letters were sent.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaException, Producer

from orion.errors import Conflict, ExternalError, NotFound, hint_nearest
from orion.hub.kafka import Kafka
from orion.hub.kafka_errors import translated
from orion.hub.reader import Reader
from orion.hub.records import Headers, Position, Record

PREFIX = "dlq."
REPLAYED = "_orion_replayed"
ATTEMPT, REPLAYED_FROM = "orion.attempt", "orion.replayed.from"
OURS = "orion."
# What the fast lane says of the record that it writes, be that a dead letter; the rest was said of another one.
OF_LANES = ("orion.id", "orion.rowtime", "orion.seen")
_NOT_SENT_BACK = {"LATE_ROW": "it came too late for a window, and would again"}
_TIMEOUT_S = 30.0
# Readers of committed records wait for an open transaction, so one whose writer was killed ends soon.
_TRANSACTION_MS = 30_000
_LARGEST = 100_000_000  # how large a record may be is for the topic to say


def telling(
    bad: str, source: Mapping[str, Any], own: Sequence[tuple[str, bytes | None]]
) -> list[tuple[str, bytes | None]]:
    """The headers of a letter: those that the record has itself, then what is wrong and where the record stood.

    `bad` is a code, a colon and the reason. A record that was sent again says how often it had failed before.
    """
    code, _, reason = bad.partition(": ")
    before = next((value for name, value in reversed(own) if name == ATTEMPT), None) or b""
    attempt = int(before) + 1 if before.isdigit() else 1
    said = {
        "orion.error.code": code,
        "orion.error.reason": reason,
        "orion.source.topic": source["topic"],
        "orion.source.partition": source["partition"],
        "orion.source.offset": source["offset"],
        "orion.source.timestamp": source["stamp"],
        ATTEMPT: attempt,
    }
    kept = (header for header in own if not header[0].startswith(OURS) or header[0] in OF_LANES)
    return [*kept, *((name, None if told is None else str(told).encode()) for name, told in said.items())]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the record of a letter stood."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"


@dataclass(frozen=True, slots=True)
class Letter:
    """A record that couldn't be used, and what its headers tell of it."""

    record: Record
    replayed: bool = False

    @property
    def id(self) -> str:
        return f"{self.record.topic}/{self.record.partition}/{self.record.offset}"

    @property
    def code(self) -> str:
        return self._told("orion.error.code") or "UNKNOWN"

    @property
    def reason(self) -> str:
        return self._told("orion.error.reason") or ""

    @property
    def attempt(self) -> int:
        """How often the record has failed, with this time."""
        return self._number(ATTEMPT) or 1

    @property
    def timestamp(self) -> int | None:
        """Of the record in its source topic."""
        return self._number("orion.source.timestamp")

    @property
    def origin(self) -> Origin | None:
        topic, partition = self._told("orion.source.topic"), self._number("orion.source.partition")
        offset = self._number("orion.source.offset")
        return Origin(topic, partition, offset) if topic and partition is not None and offset is not None else None

    @property
    def own_headers(self) -> Headers:
        """Those that the record had itself."""
        return tuple((name, value) for name, value in self.record.headers if not name.startswith(OURS))

    @property
    def stays(self) -> str | None:
        """Why it can't be sent back; None: it can."""
        if self.code in _NOT_SENT_BACK:
            return _NOT_SENT_BACK[self.code]
        return None if self.origin else "it was made by the query, and is no record of a source"

    def _told(self, name: str) -> str | None:
        found = [value for header, value in self.record.headers if header == name and value is not None]
        return found[-1].decode(errors="replace") if found else None

    def _number(self, name: str) -> int | None:
        text = self._told(name)
        return int(text) if text is not None and text.lstrip("-").isdecimal() else None


@dataclass(frozen=True, slots=True)
class Summary:
    """A dead-letter topic in a list. `newest` is the latest timestamp of its records, in milliseconds."""

    name: str
    letters: int = 0
    waiting: int = 0  # not sent back yet
    newest: int | None = None
    code: str | None = None  # the most frequent one


@dataclass(frozen=True, slots=True)
class Repaired:
    """A letter with the value to send back."""

    letter: Letter
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the letters of a replay."""

    sent: tuple[Letter, ...] = ()
    sent_before: tuple[Letter, ...] = ()


@dataclass(frozen=True)
class DeadLetters:
    """The dead letters of a cluster."""

    kafka: Kafka
    _ids: dict[str, str] = field(default_factory=dict, repr=False)

    def names(self) -> list[str]:
        """Whose dead letters there are: of streams and tables that queries write, and of connectors."""
        return list(self._topics())

    def summaries(self) -> list[Summary]:
        """One look at the letters of all names."""
        ids, replayed = self._topics(), self._replayed()
        tallies = {name: _Tally() for name in ids}
        for record in self._records([PREFIX + name for name in ids]) if ids else ():
            letter, name = Letter(record), record.topic.removeprefix(PREFIX)
            tallies[name].add(letter, is_waiting=_note(letter, ids[name]) not in replayed)
        return [tally.summary(name) for name, tally in tallies.items()]

    def read(self, name: str) -> Iterator[Letter]:
        """All letters of a name, each partition in its order."""
        return self._letters(name, self._replayed())

    def replay(self, name: str, repaired: Sequence[Repaired]) -> Outcome:
        """Send records back to where they came from, all or none; those that were sent before are left out."""
        topics = {origin.topic for one in repaired if (origin := one.letter.origin) is not None}
        partitions = {topic: self._partitions(topic) for topic in sorted(topics)}
        self.kafka.create_topic(REPLAYED, 1, config={"cleanup.policy": "compact"}, exist_ok=True)
        topic_id = self._topic_id(name)
        with translated(self.kafka.subject(PREFIX + name)):
            producer = self._opened(name)
            before = self._replayed(settled=True)
            due = [one for one in repaired if _note(one.letter, topic_id) not in before]
            if due:
                self._send(producer, due, topic_id, partitions)
        again = tuple(one.letter for one in repaired if _note(one.letter, topic_id) in before)
        return Outcome(tuple(one.letter for one in due), again)

    # ---- reading -----------------------------------------------------------------------------------------------

    def _topics(self) -> dict[str, str]:
        """The ids of the topics, by the names that they are of."""
        found = (topic for topic in self.kafka.topics() if topic.name.startswith(PREFIX))
        return {topic.name.removeprefix(PREFIX): topic.topic_id for topic in found}

    def _letters(self, name: str, replayed: set[str]) -> Iterator[Letter]:
        topic_id = self._topic_id(name)
        for record in self._records(PREFIX + name):
            letter = Letter(record)
            yield Letter(record, _note(letter, topic_id) in replayed)

    def _topic_id(self, name: str) -> str:
        """A topic that was deleted and made again has other letters under the same offsets: its id tells."""
        if name not in self._ids:
            try:
                self._ids[name] = self.kafka.describe_topic(PREFIX + name).topic.topic_id
            except NotFound:
                known = self.names()
                raise NotFound(
                    "DLQ_NOT_FOUND",
                    f"There are no dead letters of {name}: no topic {PREFIX}{name}.",
                    hint=hint_nearest(name, known) or "`orion dlq list` shows what there is.",
                ) from None
        return self._ids[name]

    def _replayed(self, *, settled: bool = False) -> set[str]:
        """The notes of all letters that were sent back; `settled` waits for replays of other names to come to an end:
        until then, what was committed behind their beginning isn't seen."""
        try:
            end = self.kafka.end_offsets(REPLAYED)[0]
        except NotFound:  # nothing was, ever
            return set()
        return {(record.key or b"").decode() for record in self._records(REPLAYED, end if settled else 0)}

    def _records(self, topic: str | Sequence[str], end: int = 0) -> Iterator[Record]:
        """All committed records. With `end`, a transaction still open before it is waited for, in a single topic."""
        deadline = time.monotonic() + _TIMEOUT_S + _TRANSACTION_MS / 1000
        with Reader(self.kafka, topic, Position("earliest")) as reader:
            while not (reader.at_end and (not end or reader.end(0) >= end)):
                found = reader.read(1000, 0.5)
                yield from found
                if found:
                    deadline = time.monotonic() + _TIMEOUT_S + _TRANSACTION_MS / 1000
                elif time.monotonic() > deadline:
                    raise reader.trouble or ExternalError("DLQ_UNREADABLE", f"{topic} can't be read to its end.")

    # ---- sending back ------------------------------------------------------------------------------------------

    def _partitions(self, topic: str) -> int:
        try:
            return self.kafka.describe_topic(topic).topic.partitions
        except NotFound:
            message = f"The topic {topic}, where the records came from, is gone."
            raise NotFound("SOURCE_TOPIC_GONE", message, hint="Create it again, or leave its letters out.") from None

    def _opened(self, name: str) -> Producer:
        """From here on, no other replay of the same name can commit."""
        settings = {
            "transactional.id": f"orion.dlq.{name}",
            "transaction.timeout.ms": _TRANSACTION_MS,
            "compression.type": "lz4",
            "message.max.bytes": _LARGEST,
        }
        producer = self.kafka.producer(**settings)
        producer.list_topics(REPLAYED, _TIMEOUT_S)  # else the client waits before it asks for its coordinator
        producer.init_transactions(_TIMEOUT_S)
        return producer

    def _send(self, producer: Producer, due: list[Repaired], topic_id: str, partitions: dict[str, int]) -> None:
        now = round(time.time() * 1000)
        try:
            producer.begin_transaction()
            for one in due:
                origin = one.letter.origin
                assert origin is not None, one.letter.id
                _produce(producer, origin.topic, _sent_back(one, partitions[origin.topic]))
                told = {"letter": one.letter.id, "to": origin.topic, "attempt": one.letter.attempt, "at": now}
                note = {"key": _note(one.letter, topic_id).encode(), "value": json.dumps(told).encode()}
                _produce(producer, REPLAYED, note)
            _commit(producer)
        except KafkaException as error:
            if error.args[0].fatal():
                raise Conflict(
                    "REPLAY_TAKEN_OVER",
                    "Another replay of the same letters has started since. Nothing was sent by this one.",
                    hint="Look at `orion dlq list` when it is done.",
                ) from error
            producer.abort_transaction(_TIMEOUT_S)
            raise


@dataclass
class _Tally:
    """What a summary is made of."""

    waiting: int = 0
    newest: int | None = None
    codes: Counter[str] = field(default_factory=Counter)

    def add(self, letter: Letter, *, is_waiting: bool) -> None:
        self.waiting += is_waiting
        self.codes[letter.code] += 1
        self.newest = max(self.newest or 0, letter.record.timestamp or 0)

    def summary(self, name: str) -> Summary:
        most = self.codes.most_common(1)
        return Summary(name, self.codes.total(), self.waiting, self.newest, most[0][0] if most else None)


def _note(letter: Letter, topic_id: str) -> str:
    """Under what key it is noted that a letter was sent back."""
    return f"{letter.record.topic}/{topic_id}/{letter.record.partition}/{letter.record.offset}"


def _sent_back(one: Repaired, partitions: int) -> dict[str, Any]:
    """The record as it was, with another value; it goes to its old partition, where rows of its key are."""
    letter = one.letter
    origin = letter.origin
    assert origin is not None
    headers = [*letter.own_headers, (REPLAYED_FROM, letter.id.encode()), (ATTEMPT, str(letter.attempt).encode())]
    made: dict[str, Any] = {"key": letter.record.key, "value": one.value, "headers": headers}
    if origin.partition < partitions:
        made["partition"] = origin.partition
    if letter.timestamp is not None:
        # 0 is "now" to the client, and a time that is still to come would make the record a letter again.
        made["timestamp"] = min(max(1, letter.timestamp), round(time.time() * 1000))
    return made


def _produce(producer: Producer, topic: str, record: dict[str, Any]) -> None:
    while True:
        try:
            return producer.produce(topic, **record)
        except BufferError:
            producer.poll(0.1)


def _commit(producer: Producer) -> None:
    producer.commit_transaction(_TIMEOUT_S)
