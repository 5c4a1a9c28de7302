"""The fleet while it drives: a live table on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.table import Table

from examples.stage import Run
from examples.topics import Follower
from examples.trucks.account import LastSeen

if TYPE_CHECKING:
    from orion.app import Orion

REFRESH_S = 0.5
LINE_EVERY_S = 5.0


class Screen:
    """Follows the table's topic and draws the fleet until the run is over."""

    def __init__(self, orion: Orion, seen: LastSeen, console: Console) -> None:
        self._orion = orion
        self._seen = seen
        self._console = console
        self._rows: dict[str, Any] = {}

    def show(self, run: Run) -> None:
        follower = Follower(self._orion.kafka, {"TRUCK_POSITIONS": self._take})
        try:
            if self._console.is_terminal:
                self._live(run, follower)
            else:
                self._lines(run, follower)
        finally:
            follower.close()

    def _take(self, key: bytes, row: Any) -> None:
        self._rows[key.decode()] = row

    def _live(self, run: Run, follower: Follower) -> None:
        with Live(console=self._console, screen=True, auto_refresh=False) as live:
            while not run.over(REFRESH_S):
                follower.poll()
                live.update(fleet(self._rows, self._title(run), self._console.height), refresh=True)

    def _lines(self, run: Run, follower: Follower) -> None:
        while not run.over(LINE_EVERY_S):
            follower.poll()
            self._console.print(self._title(run), highlight=False, soft_wrap=True)

    def _title(self, run: Run) -> str:
        lags = [status.lag for status in self._orion.queries()]
        known = [lag for lag in lags if lag is not None]
        lag = f"{sum(known):,}" if known and len(known) == len(lags) else "not yet known"
        counted = sum(row["REPORTS"] for row in self._rows.values())
        return (
            f"{run.elapsed:.0f} s · {self._seen.reports:,} reports sent · {counted:,} counted · lag {lag} · "
            f"{len(self._rows)} trucks"
        )


def fleet(rows: dict[str, Any], title: str, height: int) -> Panel:
    """The table of positions, as many trucks as the terminal has lines for."""
    table = Table(box=None, expand=True, pad_edge=False, header_style="dim")
    table.add_column("truck")
    for name in ("latitude", "longitude", "reports"):
        table.add_column(name, justify="right")
    for truck_id, row in sorted(rows.items())[: max(1, height - 3)]:
        table.add_row(truck_id, f"{row['LATITUDE']:.4f}", f"{row['LONGITUDE']:.4f}", f"{row['REPORTS']:,}")
    return Panel(table, title=f"Orion · trucks · {title}", title_align="left", box=box.ROUNDED, border_style="cyan")
