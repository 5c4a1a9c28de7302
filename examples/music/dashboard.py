"""The demo while it runs: a live screen on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live

from examples.music.feed import MusicFeed
from examples.music.panels import plain, render
from examples.music.results import Results
from examples.music.snapshot import Snapshot, Speed, counters, line
from examples.stage import Run
from examples.topics import Follower

if TYPE_CHECKING:
    from orion.web.platform import Platform

REFRESH_S = 0.5
LINE_EVERY_S = 5.0


class Dashboard:
    """Looks at the platform and the result topics, and draws what it sees until the run is over."""

    def __init__(self, platform: Platform, feed: MusicFeed, console: Console, data: str) -> None:
        self._orion = platform.orion
        self._url = platform.url
        self._feed = feed
        self._console = console
        self._data = data
        self._results = Results()
        self._speed = Speed()

    def show(self, run: Run) -> None:
        """Draw until the run is over; on a terminal the screen from before comes back then."""
        follower = Follower(self._orion.kafka, self._results.handlers)
        try:
            if self._console.is_terminal:
                self._live(run, follower)
            else:
                self._lines(run, follower)
        finally:
            follower.close()

    def _live(self, run: Run, follower: Follower) -> None:
        with Live(console=self._console, screen=True, auto_refresh=False) as live:
            self._repeat(run, follower, REFRESH_S, lambda snapshot: self._draw(live, snapshot))

    def _lines(self, run: Run, follower: Follower) -> None:
        self._repeat(run, follower, LINE_EVERY_S, self._print)

    def _repeat(self, run: Run, follower: Follower, every: float, draw: Callable[[Snapshot], None]) -> None:
        self._snapshot(run)  # the first look is what rates are measured from
        while not run.over(every):
            follower.poll()
            self._results.prune()
            draw(self._snapshot(run))

    def _draw(self, live: Live, snapshot: Snapshot) -> None:
        width, height = self._console.size
        live.update(render(snapshot, width, height, self._data), refresh=True)

    def _print(self, snapshot: Snapshot) -> None:
        self._console.print(plain(snapshot), highlight=False, soft_wrap=True)

    def _snapshot(self, run: Run) -> Snapshot:
        sent, statuses = self._feed.sent(), self._orion.queries()
        rates = self._speed.note(time.monotonic(), counters(sent, statuses))
        return Snapshot(
            bootstrap=self._orion.bootstrap,
            url=self._url,
            elapsed=run.elapsed,
            seconds=run.seconds,
            sent=sent,
            rate=rates["plays"],
            queries=tuple(line(status, rates) for status in statuses),
            results=self._results,
        )
