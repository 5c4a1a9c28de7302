"""Plays as clients report them: most of them fine, some late, some hardly a play, some broken on the way."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from examples.music.catalogue import Catalogue, Listener

TOPIC = "plays"
# Shares of all plays; what remains is on time and fine.
MALFORMED, SKIPPED, LATE = 0.01, 0.01, 0.02
# Below this many seconds a play is a skip; `pipeline.sql` filters by the same number.
LEAST_SECONDS = 5
LATEST_MS = 110_000


class Kind(Enum):
    """What becomes of a play; the number is what a ledger keeps of it."""

    ON_TIME = 1
    LATE = 2
    SKIPPED = 3
    MALFORMED = 4

    @property
    def good(self) -> bool:
        """Whether it has to reach the lake."""
        return self in (Kind.ON_TIME, Kind.LATE)


@dataclass(frozen=True, slots=True)
class Play:
    """One report, ready to be sent."""

    number: int
    kind: Kind
    key: bytes
    value: bytes
    topic: str = TOPIC


class Plays:
    """The stream of plays of a catalogue; the same seed and the same clock give the same bytes."""

    def __init__(self, catalogue: Catalogue, seed: int) -> None:
        self._catalogue = catalogue
        self._dice = random.Random(seed)
        self._number = 0

    def next(self, now_ms: int) -> Play:
        """The play that is reported now."""
        kind = self._kind()
        listener = self._catalogue.pick_listener(self._dice)
        report = self._report(kind, listener, now_ms)
        value = self._spoiled(report) if kind is Kind.MALFORMED else _json(report)
        play = Play(self._number, kind, listener.user_id.encode(), value)
        self._number += 1
        return play

    def _kind(self) -> Kind:
        draw = self._dice.random()
        if draw < MALFORMED:
            return Kind.MALFORMED
        if draw < MALFORMED + SKIPPED:
            return Kind.SKIPPED
        return Kind.LATE if draw < MALFORMED + SKIPPED + LATE else Kind.ON_TIME

    def _report(self, kind: Kind, listener: Listener, now_ms: int) -> dict[str, Any]:
        track = self._catalogue.pick_track(self._dice)
        shortest, longest = (0, LEAST_SECONDS - 1) if kind is Kind.SKIPPED else (LEAST_SECONDS, track.seconds)
        delay = self._dice.randint(5_000, LATEST_MS) if kind is Kind.LATE else self._dice.randint(0, 500)
        # One client in ten writes the country in lower case: work for the cleaning.
        country = listener.country.lower() if self._dice.random() < 0.1 else listener.country
        return {
            "play_id": play_id(self._number),
            "track_id": track.track_id,
            "title": track.title,
            "country": country,
            "seconds": self._dice.randint(shortest, longest),
            "played_at": now_ms - delay,
        }

    def _spoiled(self, report: dict[str, Any]) -> bytes:
        return self._dice.choice(SPOILERS)(report, self._dice)


def play_id(number: int) -> str:
    return f"p{number:09d}"


def play_number(text: str) -> int:
    """The number in an id that `play_id` has made."""
    return int(text[1:])


def _json(report: dict[str, Any]) -> bytes:
    return json.dumps(report).encode()


def _truncated(report: dict[str, Any], dice: random.Random) -> bytes:
    """The connection breaks: the closing brace, and maybe more, never arrives."""
    whole = _json(report)
    return whole[: dice.randint(2, len(whole) - 1)]


def _wrong_seconds(report: dict[str, Any], dice: random.Random) -> bytes:
    """A client that writes words where a number belongs."""
    return _json({**report, "seconds": dice.choice(("a while", "three minutes", "n/a"))})


def _wrong_time(report: dict[str, Any], dice: random.Random) -> bytes:
    """A client that nests the time instead of counting milliseconds."""
    return _json({**report, "played_at": {"epoch": report["played_at"]}})


def _not_json(report: dict[str, Any], dice: random.Random) -> bytes:
    """A proxy's error page, a comma-separated line, bytes of a compressed body."""
    line = ",".join(str(value) for value in report.values())
    return dice.choice((b"<html><body>502 Bad Gateway</body></html>", line.encode(), b"\x1f\x8b\x08\x00\xff\xfe"))


SPOILERS: tuple[Callable[[dict[str, Any], random.Random], bytes], ...] = (
    _truncated,
    _wrong_seconds,
    _wrong_time,
    _not_json,
)
