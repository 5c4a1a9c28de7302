"""The account on made-up numbers: it balances only when every play is in its place once."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from examples.checks import Check, all_hold, show
from examples.music.account import Found, Lake, checks
from examples.music.feed import Ledger, Sent
from examples.music.plays import Kind, Play, play_id

SENT = Sent(on_time=90, late=4, skipped=3, malformed=2, failed=0)
FOUND = Found(Lake(rows=94, plays=94, strangers=0), in_country_windows=94, in_sessions=94, dead_letters=2, unhealthy=0)


def test_balances_when_everything_is_in_its_place() -> None:
    assert all_hold(checks(SENT, FOUND))


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        (SENT, replace(FOUND, lake=Lake(rows=93, plays=93, strangers=0))),
        (SENT, replace(FOUND, lake=Lake(rows=95, plays=94, strangers=0))),
        (SENT, replace(FOUND, lake=Lake(rows=94, plays=93, strangers=0))),
        (SENT, replace(FOUND, lake=Lake(rows=94, plays=94, strangers=1))),
        (SENT, replace(FOUND, in_country_windows=97)),
        (SENT, replace(FOUND, in_sessions=90)),
        (SENT, replace(FOUND, dead_letters=1)),
        (SENT, replace(FOUND, dead_letters=3)),
        (SENT, replace(FOUND, unhealthy=1)),
        (replace(SENT, failed=1), FOUND),
    ],
    ids=[
        "lost",
        "twice",
        "one for another",
        "stranger",
        "windows",
        "sessions",
        "dlq short",
        "dlq over",
        "ill",
        "unsent",
    ],
)
def test_one_wrong_number_is_enough(sent: Sent, found: Found) -> None:
    assert not all_hold(checks(sent, found))


def test_an_empty_account_proves_nothing() -> None:
    assert not all_hold([])


def test_lake_is_held_against_the_ledger() -> None:
    ledger = Ledger()
    for number, kind in enumerate([Kind.ON_TIME, Kind.LATE, Kind.SKIPPED, Kind.MALFORMED]):
        ledger.add(Play(number, kind, b"", b""))
    ids = [play_id(number) for number in (0, 1, 1, 2, 77)]
    assert Lake.count(ids, ledger) == Lake(rows=5, plays=4, strangers=2)


def test_show_prints_the_verdict_and_each_line() -> None:
    console = Console(width=100, record=True, file=io.StringIO())
    show(console, "The account", [Check("apples", 1_000, 1_000), Check("pears", 0, 7)])
    text = console.export_text()
    assert "1,000" in text
    assert "NO" in text
    assert "1 of 2 lines differ" in text
