"""Examples of a fixed length: a script, records in acts, and what the results must be then, by a loop in Python.

An act is sent as fast as it goes, and the next one starts when every query has read it. So a join meets its table as it
was at that moment, on every run. Time is the records' own: the same seed gives the same hours, whenever they are sent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from examples.checks import Check
from examples.feed import PRODUCER, send_all
from examples.stage import Settings, drained, played, settled, unhealthy

if TYPE_CHECKING:
    from orion.app import Orion
    from orion.hub.kafka import Kafka
    from orion.web.platform import Platform

BEGIN_MS = 1_767_225_600_000  # 2026-01-01, midnight


@dataclass(frozen=True, slots=True)
class Fact:
    """A row to send: its key and a JSON object, or no value at all where a table's row is deleted."""

    topic: str
    name: str
    row: dict[str, Any] | None

    @property
    def key(self) -> bytes:
        return self.name.encode()

    @property
    def value(self) -> bytes | None:
        return None if self.row is None else json.dumps(self.row).encode()


Act = Sequence[Fact]


@dataclass(frozen=True, slots=True)
class Example:
    """`acts` makes about as many records as it is told; `checks` holds the results against what was sent."""

    name: str
    acts: Callable[[int], Sequence[Act]]
    checks: Callable[[Kafka, Sequence[Act]], list[Check]]
    records: int = 2_000

    @property
    def pipeline(self) -> str:
        return (Path(__file__).parent / self.name / "pipeline.sql").read_text(encoding="utf-8")

    def account(self, orion: Orion, console: Console, records: int) -> list[Check]:
        """Run the script, send the acts, and hold the results against them."""
        console.print("Starting the pipeline ...", style="dim")
        orion.execute(self.pipeline)
        acts, failed = self.acts(records), 0
        producer = orion.kafka.producer(**PRODUCER)
        for act in acts:
            failed += send_all(producer, act)
            topics = ", ".join(dict.fromkeys(fact.topic for fact in act))
            console.print(f"{len(act):,} records to {topics}", highlight=False, soft_wrap=True)
            drained(orion, console)
        return [
            Check("records the broker did not acknowledge", 0, failed),
            *self.checks(orion.kafka, acts),
            Check("queries that don't run or still lag", 0, unhealthy(orion)),
        ]

    def main(self) -> int:
        """Run on a platform of its own; the exit code is 0 only when every check holds."""

        def demonstrate(platform: Platform, settings: Settings, console: Console, data: Path) -> int:
            account = self.account(platform.orion, console, settings.records or self.records)
            return settled(console, account, data)

        return played(demonstrate, Path(".orion") / self.name)
