"""A record, and a place in a log to read from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Message

from orion.errors import UserError

Headers = tuple[tuple[str, bytes | None], ...]
Place = tuple[str, int]  # a topic and one of its partitions
Kind = Literal["earliest", "latest", "offset", "time", "shift"]


@dataclass(frozen=True, slots=True)
class Record:
    """One record as the log holds it; `timestamp` is in milliseconds, none where the broker has none."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers = ()

    @classmethod
    def of(cls, message: Message) -> Record:
        """The record in a message of the client that carries no error."""
        kind, timestamp = message.timestamp()
        return cls(
            topic=message.topic() or "",
            partition=_known(message.partition()),
            offset=_known(message.offset()),
            timestamp=None if kind == TIMESTAMP_NOT_AVAILABLE else timestamp,
            key=message.key(),
            value=message.value(),
            headers=_headers(message),
        )


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A record to send; the broker gives it what it leaves out."""

    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    timestamp: int | None = None
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """Where the broker has put a record; with acks 0 it doesn't say, and the offset is -1."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None

    @classmethod
    def of(cls, message: Message) -> Receipt:
        """Of a message that has been delivered."""
        kind, timestamp = message.timestamp()
        return cls(
            topic=message.topic() or "",
            partition=_known(message.partition()),
            offset=max(-1, _known(message.offset())),
            timestamp=None if kind == TIMESTAMP_NOT_AVAILABLE else timestamp,
        )


@dataclass(frozen=True, slots=True)
class Position:
    """Where in every partition of a topic: an end of it, an offset, a time, or a step from where a group is."""

    kind: Kind
    value: int = 0

    @classmethod
    def parse(cls, text: str) -> Position:
        """`earliest|beginning`, `latest|end`, `offset:N`, `time:ISO-or-milliseconds`, `shift:N`."""
        word, _, rest = text.strip().partition(":")
        if word in ("earliest", "beginning") and not rest:
            return cls("earliest")
        if word in ("latest", "end") and not rest:
            return cls("latest")
        if word == "time" and rest:
            return cls("time", milliseconds(rest))
        if word == "offset" and rest.isdecimal():
            return cls("offset", int(rest))
        if word == "shift" and rest.lstrip("+-").isdecimal():
            return cls("shift", _integer(rest, text))
        raise _unclear(text)


def milliseconds(text: str) -> int:
    """Epoch milliseconds of a number of them or of an ISO 8601 time; a time without a zone is UTC."""
    if text.isdecimal():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UserError(
            "INVALID_TIME",
            f"{text!r} is not a time.",
            hint="Write 2026-01-31T12:00:00Z or milliseconds since 1970.",
        ) from error
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1000)


def _integer(digits: str, text: str) -> int:
    try:
        return int(digits)
    except ValueError:
        raise _unclear(text) from None


def _unclear(text: str) -> UserError:
    return UserError(
        "INVALID_POSITION",
        f"{text!r} is not a place in a topic.",
        hint="Write earliest, latest, offset:N, time:2026-01-31T12:00:00Z or, for a group, shift:-N.",
    )


def _known(number: int | None) -> int:
    # The stubs allow none, because a message that failed to be sent has no offset; one that was read always has.
    return -1 if number is None else number


def _headers(message: Message) -> Headers:
    headers = message.headers() or []
    pairs = headers.items() if isinstance(headers, dict) else headers
    return tuple((name, value.encode() if isinstance(value, str) else value) for name, value in pairs)
