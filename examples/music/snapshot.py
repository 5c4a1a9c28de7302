"""One moment of the demo: what the feed has sent, how each query does, and the results so far."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from examples.music.feed import Sent
from examples.music.results import Results

_OVER_S = 5.0


class Status(Protocol):
    """What a query tells about itself; `orion.queries()` gives these."""

    @property
    def id(self) -> str: ...
    @property
    def sink(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def rows_in(self) -> int: ...
    @property
    def rows_out(self) -> int: ...
    @property
    def dead_letters(self) -> int: ...
    @property
    def lag(self) -> int | None: ...
    @property
    def freshness_ms(self) -> int | None: ...
    @property
    def batches(self) -> int: ...
    @property
    def error(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Line:
    """A query as the dashboard shows it. What isn't known is None, not 0."""

    name: str
    state: str
    rate_in: float
    rate_out: float
    rows_out: int
    lag: int | None
    dead_letters: int
    error: str | None
    freshness_ms: int | None = None
    is_warm: bool = True  # its first batch is done


@dataclass(frozen=True, slots=True)
class Snapshot:
    bootstrap: str
    url: str
    elapsed: float
    seconds: float | None
    sent: Sent
    rate: float
    queries: tuple[Line, ...]
    results: Results

    @property
    def lag(self) -> int | None:
        """What all queries have still to read; unknown where it isn't known of one."""
        known = [line.lag for line in self.queries if line.lag is not None]
        return sum(known) if known and len(known) == len(self.queries) else None

    @property
    def cold(self) -> list[str]:
        """The queries whose first batch isn't done: no result of theirs can be there."""
        return [line.name for line in self.queries if not line.is_warm]

    @property
    def dead_letters(self) -> int:
        return sum(line.dead_letters for line in self.queries)


class Speed:
    """Rates of counters that only grow, over the last few seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, dict[str, int]]] = deque()

    def note(self, now: float, counters: dict[str, int]) -> dict[str, float]:
        """Take the counters' values now; each one's growth a second, 0 for what has no past yet."""
        self._seen.append((now, counters))
        while len(self._seen) > 2 and self._seen[1][0] <= now - _OVER_S:
            self._seen.popleft()
        then, before = self._seen[0]
        span = now - then
        return {
            name: max(0.0, (count - before.get(name, count)) / span) if span > 0 else 0.0
            for name, count in counters.items()
        }


def counters(sent: Sent, statuses: Sequence[Status]) -> dict[str, int]:
    """Everything whose rate is shown, by name."""
    found = {"plays": sent.total}
    for status in statuses:
        found[f"in {status.id}"] = status.rows_in
        found[f"out {status.id}"] = status.rows_out
    return found


def line(status: Status, rates: dict[str, float]) -> Line:
    """A query's status with its rates."""
    return Line(
        name=_name(status),
        state=status.state,
        rate_in=rates.get(f"in {status.id}", 0.0),
        rate_out=rates.get(f"out {status.id}", 0.0),
        rows_out=status.rows_out,
        lag=status.lag,
        dead_letters=status.dead_letters,
        error=status.error,
        freshness_ms=status.freshness_ms,
        is_warm=status.batches > 0,
    )


def _name(status: Status) -> str:
    """What it makes: a query's id holds its stream or table, while a connector's id is its own name."""
    return (status.sink if status.sink in status.id else status.id).lower()
