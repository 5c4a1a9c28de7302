"""The fleet's journey, and its account on made-up numbers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from examples.checks import all_hold
from examples.trucks.account import LastSeen, checks
from examples.trucks.fleet import TRUCKS, Fleet


def journey(reports: int) -> LastSeen:
    fleet, seen = Fleet(seed=1), LastSeen()
    for _ in range(reports):
        seen.add(fleet.next(0))
    return seen


def table(seen: LastSeen) -> dict[str, dict[str, Any]]:
    share, rest = divmod(seen.reports, len(seen.positions))
    return {
        truck_id: {"LATITUDE": latitude, "LONGITUDE": longitude, "REPORTS": share + (rest if number == 0 else 0)}
        for number, (truck_id, (latitude, longitude)) in enumerate(seen.positions.items())
    }


def test_same_seed_gives_the_same_journey() -> None:
    one, two = Fleet(seed=1), Fleet(seed=1)
    assert [one.next(0) for _ in range(100)] == [two.next(9) for _ in range(100)]


def test_trucks_report_in_turn_and_move_a_little() -> None:
    fleet = Fleet(seed=1)
    first = [fleet.next(0) for _ in range(TRUCKS)]
    second = [fleet.next(0) for _ in range(TRUCKS)]
    assert len({report.truck_id for report in first}) == TRUCKS
    for before, after in zip(first, second, strict=True):
        assert before.truck_id == after.truck_id
        assert 0 < abs(before.latitude - after.latitude) + abs(before.longitude - after.longitude) < 0.03


def test_reports_are_keyed_by_truck_and_carry_the_position() -> None:
    report = Fleet(seed=1).next(0)
    assert report.key == b"truck-01"
    assert json.loads(report.value) == {
        "truck_id": "truck-01",
        "latitude": report.latitude,
        "longitude": report.longitude,
    }


def test_account_balances() -> None:
    seen = journey(105)
    assert all_hold(checks(seen, 0, table(seen), 0))


@pytest.mark.parametrize("column", ["LATITUDE", "LONGITUDE", "REPORTS"])
def test_account_sees_a_wrong_row(column: str) -> None:
    seen = journey(105)
    rows = table(seen)
    rows["truck-03"][column] += 1
    assert [check.ok for check in checks(seen, 0, rows, 0)].count(False) == 1


def test_account_sees_a_missing_truck() -> None:
    seen = journey(105)
    rows = table(seen)
    del rows["truck-03"]
    assert not all_hold(checks(seen, 0, rows, 0))
