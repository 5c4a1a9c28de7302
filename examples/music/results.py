"""The live results, folded from the topics that the queries write."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import nlargest
from typing import Any

from examples.topics import Handler, in_session, windowed

KEEP_MS = 600_000
_PRUNE_OVER = 20_000


@dataclass(frozen=True, slots=True)
class Session:
    """One sitting of a listener, as far as it goes."""

    user_id: str
    start: int
    end: int
    plays: int


class Results:
    """What the dashboard shows. Windows older than ten minutes are forgotten once there are many."""

    def __init__(self) -> None:
        self.countries: dict[tuple[int, str], int] = {}
        self.charts: dict[int, list[tuple[str, int]]] = {}
        self.heavy: dict[tuple[int, str], int] = {}
        self._sessions: dict[tuple[int, int, str], int] = {}
        self._titles: dict[str, str] = {}
        self._names: dict[str, str] = {}

    @property
    def handlers(self) -> dict[str, Handler]:
        """Who takes the records of which topic."""
        return {
            "users": self._user,
            "tracks": self._track,
            "PLAYS_PER_COUNTRY": self._country,
            "TOP_TRACKS": self._chart,
            "HEAVY_LISTENERS": self._listener,
            "LISTENER_SESSIONS": self._session,
        }

    def title(self, track_id: str) -> str:
        return self._titles.get(track_id, track_id)

    def name(self, user_id: str) -> str:
        return self._names.get(user_id, user_id)

    def minutes(self) -> tuple[int | None, int | None]:
        """The starts of the last minute that has plays and of the one before."""
        known = sorted({start for start, _ in self.countries}, reverse=True)[:2]
        return (known[0] if known else None, known[1] if len(known) > 1 else None)

    def chart(self) -> tuple[int | None, list[tuple[str, int]]]:
        """The last minute's most played tracks."""
        last = max(self.charts, default=None)
        return last, self.charts[last] if last is not None else []

    def sessions(self, most: int) -> list[Session]:
        """The longest of the sessions that are still going on, or ended last."""
        newest = nlargest(most * 20, self._sessions.items())
        found = [Session(user, start, end, plays) for (end, start, user), plays in newest]
        return nlargest(most, found, key=lambda session: (session.plays, session.end))

    def listeners(self, most: int) -> list[tuple[int, int, str]]:
        """Minute, plays and user of the heavy listeners, the latest minute first and in it the heaviest."""
        return nlargest(most, ((start, plays, user) for (start, user), plays in self.heavy.items()))

    def _user(self, key: bytes, row: Any) -> None:
        if row is not None:
            self._names[key.decode()] = f"{row['name']}, {row['country']}"

    def _track(self, key: bytes, row: Any) -> None:
        if row is not None:
            self._titles[key.decode()] = f"{row['title']} · {row['artist']}"

    def _country(self, key: bytes, row: Any) -> None:
        country, start = windowed(key)
        _put(self.countries, (start, country), None if row is None else row["PLAYS"])

    def _chart(self, key: bytes, row: Any) -> None:
        _, start = windowed(key)
        entries = None if row is None else [(entry["ITEM"], entry["COUNT"]) for entry in row["TOP"]]
        _put(self.charts, start, entries)

    def _listener(self, key: bytes, row: Any) -> None:
        user, start = windowed(key)
        _put(self.heavy, (start, user), None if row is None else row["PLAYS"])

    def _session(self, key: bytes, row: Any) -> None:
        user, start, end = in_session(key)
        _put(self._sessions, (end, start, user), None if row is None else row["PLAYS"])

    def prune(self) -> None:
        """Forget what nobody will see again."""
        _prune(self.countries)
        _prune(self.heavy)
        _prune(self._sessions)


def _put(rows: dict[Any, Any], key: Any, value: Any) -> None:
    """A changelog's step: a value replaces, none deletes."""
    if value is None:
        rows.pop(key, None)
    else:
        rows[key] = value


def _prune(rows: dict[Any, Any]) -> None:
    """Keys begin with their window's time."""
    if len(rows) > _PRUNE_OVER:
        newest = max(key[0] for key in rows)
        for key in [key for key in rows if key[0] < newest - KEEP_MS]:
            del rows[key]
