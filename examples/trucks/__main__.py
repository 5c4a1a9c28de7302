"""`python -m examples.trucks`: start everything, drive, show the fleet, account for it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from examples.feed import PRODUCER, Feed
from examples.stage import Run, Settings, drained, played, settled, start_pipeline, unhealthy
from examples.topics import fold
from examples.trucks.account import LastSeen, checks
from examples.trucks.fleet import Fleet
from examples.trucks.screen import Screen

if TYPE_CHECKING:
    from orion.web.platform import Platform

DATA = Path(".orion/trucks")
RATE = 20.0
PIPELINE = Path(__file__).with_name("pipeline.sql")


def demonstrate(platform: Platform, settings: Settings, console: Console, data: Path) -> int:
    """The demo on a platform that runs: pipeline, feed, screen, account."""
    orion = platform.orion
    start_pipeline(orion, PIPELINE.read_text(encoding="utf-8"), console)
    seen = LastSeen()
    feed = Feed(orion.kafka.producer(**PRODUCER), Fleet(seed=7).next, seen.add, settings.rate)
    run = Run(settings.seconds)
    with run.ended_by_signals():
        feed.start()
        try:
            Screen(orion, seen, console).show(run)
        finally:
            feed.stop()
        drained(orion, console)
        table = {key.decode(): row for key, row in fold(orion.kafka, "TRUCK_POSITIONS").items()}
        return settled(console, checks(seen, feed.failed, table, unhealthy(orion)), data)


if __name__ == "__main__":
    sys.exit(played(demonstrate, DATA, RATE))
