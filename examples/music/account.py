"""The account at the end: every play that the broker acknowledged is where it belongs, once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from examples.checks import Check
from examples.music.feed import Ledger, Sent
from examples.music.plays import play_number
from examples.stage import unhealthy
from examples.topics import fold, read

if TYPE_CHECKING:
    from orion.app import Orion

DEAD_LETTERS = "dlq.CLEAN_PLAYS"


@dataclass(frozen=True, slots=True)
class Lake:
    """The Delta table: its rows, the different plays in them, and those that have no business there."""

    rows: int
    plays: int
    strangers: int

    @classmethod
    def count(cls, ids: Iterable[str], ledger: Ledger) -> Lake:
        """Hold the table's ids against the ledger of what was acknowledged as good."""
        rows, seen = 0, set()
        for text in ids:
            rows += 1
            seen.add(play_number(text))
        return cls(rows, len(seen), sum(not ledger.is_good(number) for number in seen))


@dataclass(frozen=True, slots=True)
class Found:
    """What is in the results once everything has been read."""

    lake: Lake
    in_country_windows: int
    in_sessions: int
    dead_letters: int
    unhealthy: int


def checks(sent: Sent, found: Found) -> list[Check]:
    """The account: what was sent against what came out."""
    return [
        Check("plays the broker did not acknowledge", 0, sent.failed),
        Check("good plays are rows of the lake", sent.good, found.lake.rows),
        Check("... each of them once", sent.good, found.lake.plays),
        Check("skipped or malformed plays in the lake", 0, found.lake.strangers),
        Check("good plays are counted in the country windows", sent.good, found.in_country_windows),
        Check("good plays are counted in listeners' sessions", sent.good, found.in_sessions),
        Check(f"malformed plays are in {DEAD_LETTERS}", sent.malformed, found.dead_letters),
        Check("queries that don't run or still lag", 0, found.unhealthy),
    ]


def measure(orion: Orion, lake: str, ledger: Ledger) -> Found:
    """Read the lake and the result topics from their beginning to their end."""
    return Found(
        lake=Lake.count(_ids(orion, lake), ledger),
        in_country_windows=_plays(orion, "PLAYS_PER_COUNTRY"),
        in_sessions=_plays(orion, "LISTENER_SESSIONS"),
        dead_letters=sum(1 for _ in read(orion.kafka, DEAD_LETTERS)),
        unhealthy=unhealthy(orion),
    )


def _ids(orion: Orion, lake: str) -> Iterator[str]:
    """The ids in the lake; none when nothing was ever written."""
    if not Path(lake, "_delta_log").is_dir():
        return
    for value in orion.spark.read.format("delta").load(lake).select("PLAY_ID").toArrow().column(0):
        yield value.as_py()


def _plays(orion: Orion, topic: str) -> int:
    return sum(row["PLAYS"] for row in fold(orion.kafka, topic).values())
