"""The account at the end: the table has every truck where the broker last heard of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from examples.checks import Check
from examples.trucks.fleet import Report


class LastSeen:
    """The last acknowledged report of each truck. Within a partition acknowledgements come in the order of the log."""

    def __init__(self) -> None:
        self.positions: dict[str, tuple[float, float]] = {}
        self.reports = 0

    def add(self, report: Report) -> None:
        self.positions[report.truck_id] = (report.latitude, report.longitude)
        self.reports += 1


def checks(seen: LastSeen, failed: int, table: Mapping[str, Mapping[str, Any]], unhealthy: int) -> list[Check]:
    """The account: what was sent against the rows of TRUCK_POSITIONS."""
    in_place = sum(
        (row["LATITUDE"], row["LONGITUDE"]) == seen.positions.get(truck_id) for truck_id, row in table.items()
    )
    return [
        Check("reports the broker did not acknowledge", 0, failed),
        Check("trucks in the table", len(seen.positions), len(table)),
        Check("... each where it was seen last", len(seen.positions), in_place),
        Check("reports counted", seen.reports, sum(row["REPORTS"] for row in table.values())),
        Check("queries that don't run or still lag", 0, unhealthy),
    ]
