"""Positions and times as people write them."""

from __future__ import annotations

import pytest

from orion.errors import UserError
from orion.hub.records import Position, milliseconds


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("earliest", Position("earliest")),
        ("beginning", Position("earliest")),
        ("latest", Position("latest")),
        ("end", Position("latest")),
        ("offset:12", Position("offset", 12)),
        ("time:1700000000000", Position("time", 1_700_000_000_000)),
        ("time:2026-01-01T00:00:00Z", Position("time", 1_767_225_600_000)),
        ("shift:-3", Position("shift", -3)),
        ("shift:+3", Position("shift", 3)),
    ],
)
def test_a_position_is_read(text: str, position: Position) -> None:
    assert Position.parse(text) == position


@pytest.mark.parametrize(
    "text", ["", "start", "offset", "offset:", "offset:-1", "offset:x", "shift:--1", "end:3", "time:"]
)
def test_what_is_no_position_is_refused(text: str) -> None:
    with pytest.raises(UserError) as raised:
        Position.parse(text)
    assert raised.value.code == "INVALID_POSITION"


def test_a_time_without_a_zone_is_utc() -> None:
    assert milliseconds("2026-01-01T00:00:00.250") == milliseconds("2026-01-01T01:00:00.250+01:00") == 1_767_225_600_250


def test_what_is_no_time_is_refused() -> None:
    with pytest.raises(UserError) as raised:
        milliseconds("yesterday")
    assert raised.value.code == "INVALID_TIME"
