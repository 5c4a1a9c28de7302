"""`python -m examples.music`: start everything, play music, show it, account for it."""

from __future__ import annotations

import sys
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from rich.console import Console

from examples.music.account import checks, measure
from examples.music.dashboard import Dashboard
from examples.music.feed import MusicFeed, Sent
from examples.stage import Run, Settings, drained, played, settled, start_pipeline

if TYPE_CHECKING:
    from orion.web.platform import Platform

DATA = Path(".orion/demo")
RATE = 200.0
PIPELINE = Path(__file__).with_name("pipeline.sql")
TRY = (
    "sql -e 'SHOW QUERIES;'",
    "sql -e \"PRINT 'HEAVY_LISTENERS' FROM BEGINNING LIMIT 3;\"",
    "consume dlq.CLEAN_PLAYS --from beginning",
)


def demonstrate(platform: Platform, settings: Settings, console: Console, data: Path) -> int:
    """The demo on a platform that runs: feed, pipeline, dashboard, account.

    The exit code is 0 only when everything produced is accounted for.
    """
    orion = platform.orion
    lake = str((data / "lake" / "plays").resolve())
    feed = MusicFeed(orion.kafka, settings.rate)
    console.print("Loading users and tracks ...", style="dim")
    feed.load()
    start_pipeline(orion, pipeline(lake), console)
    _invite(platform, console, data)
    run = Run(settings.seconds)
    with run.ended_by_signals():
        feed.start()
        try:
            Dashboard(platform, feed, console, str(data)).show(run)
        finally:
            sent = feed.stop()
        _tell(sent, console)
        drained(orion, console)
        return settled(console, checks(sent, measure(orion, lake, feed.ledger)), data)


def pipeline(lake: str) -> str:
    """The script, with the lake's folder in its place."""
    quoted = lake.replace("'", "''")
    return Template(PIPELINE.read_text(encoding="utf-8")).substitute(LAKE=quoted)


def _tell(sent: Sent, console: Console) -> None:
    console.print(
        f"{sent.total:,} plays are in the log: {sent.on_time:,} on time, {sent.late:,} late, "
        f"{sent.skipped:,} skipped within seconds, {sent.malformed:,} malformed.",
        highlight=False,
        soft_wrap=True,
    )


def _invite(platform: Platform, console: Console, data: Path) -> None:
    addresses = f"Orion answers at {platform.url}, Kafka at {platform.orion.bootstrap}."
    console.print(f"The console is at {platform.url}/.", style="bold", highlight=False, soft_wrap=True)
    console.print(f"{addresses} In another shell, try:", highlight=False, soft_wrap=True)
    for command in TRY:
        console.print(f"  orion --data {data} {command}", style="cyan", highlight=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(played(demonstrate, DATA, RATE))
