"""The results folded from their topics, and the screen drawn from a snapshot at the sizes it is made for."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace

import pytest
from rich.console import Console

from examples.music.feed import Sent
from examples.music.panels import plain, render
from examples.music.results import Results, Session
from examples.music.snapshot import Line, Snapshot, Speed, counters, line

MINUTE = 60_000
START = 30_000_000 * MINUTE
NAMES = ("clean_plays", "plays_per_country", "listener_sessions", "top_tracks", "heavy_listeners", "lake")


def long(number: int) -> bytes:
    return number.to_bytes(8, "big")


@pytest.fixture
def results() -> Results:
    results = Results()
    on = results.handlers
    on["users"](b"u000001", {"name": "Ana Alves", "country": "BR", "plan": "free"})
    for number in range(5):
        row = {"title": f"Title {number} of a long name", "artist": "The Neon Nomads of Everywhere", "seconds": 200}
        on["tracks"](f"t{number}".encode(), row)
    for number, country in enumerate(("BR", "US", "IN", "DE", "MX", "GB", "FR", "JP")):
        on["PLAYS_PER_COUNTRY"](country.encode() + long(START), {"PLAYS": 12_345 - 1_000 * number, "SECONDS": 1})
        on["PLAYS_PER_COUNTRY"](country.encode() + long(START - MINUTE), {"PLAYS": 50, "SECONDS": 1})
    top = [{"ITEM": f"t{number}", "COUNT": 400 - number} for number in range(5)]
    on["TOP_TRACKS"](b"2027-01-15" + long(START), {"TOP": top})
    for number in range(12):
        user = f"u{number:06d}".encode()
        on["HEAVY_LISTENERS"](user + long(START), {"PLAYS": 20 + number})
        on["LISTENER_SESSIONS"](user + long(START + 9_000) + long(START), {"PLAYS": number, "SECONDS": 1})
    return results


@pytest.fixture
def snapshot(results: Results) -> Snapshot:
    lines = tuple(Line(name, "RUNNING", 200.0, 196.0, 12_345, 40, 0, None, 1_500) for name in NAMES)
    sent = Sent(on_time=9_600, late=200, skipped=100, malformed=100, failed=0)
    return Snapshot("127.0.0.1:49092", "http://127.0.0.1:48088", 23.0, 45.0, sent, 200.0, lines, results)


def drawn(snapshot: Snapshot, width: int, height: int) -> list[str]:
    console = Console(width=width, height=height, file=io.StringIO(), record=True, force_terminal=True)
    console.print(render(snapshot, width, height, ".orion/demo"), height=height)
    return console.export_text().rstrip("\n").split("\n")


def test_the_last_value_of_a_key_counts_and_none_deletes(results: Results) -> None:
    on = results.handlers["PLAYS_PER_COUNTRY"]
    on(b"BR" + long(START), {"PLAYS": 99_999})
    assert results.countries[START, "BR"] == 99_999
    on(b"BR" + long(START), None)
    assert (START, "BR") not in results.countries


def test_sessions_are_told_by_start_and_end(results: Results) -> None:
    assert results.sessions(1) == [Session("u000011", START, START + 9_000, 11)]
    results.handlers["LISTENER_SESSIONS"](b"u000011" + long(START + 9_000) + long(START), None)
    assert results.sessions(1)[0].user_id == "u000010"


def test_heavy_listeners_come_latest_and_heaviest_first(results: Results) -> None:
    results.handlers["HEAVY_LISTENERS"](b"u000000" + long(START + MINUTE), {"PLAYS": 21})
    assert results.listeners(2) == [(START + MINUTE, 21, "u000000"), (START, 31, "u000011")]


@pytest.mark.parametrize(("width", "height"), [(100, 30), (120, 40), (80, 24)])
def test_screen_fits_and_shows_everything(snapshot: Snapshot, width: int, height: int) -> None:
    screen = drawn(snapshot, width, height)
    text = "\n".join(screen)
    assert len(screen) == height
    assert all(len(row) <= width for row in screen)
    for wanted in (*NAMES, "127.0.0.1:49092", "http://127.0.0.1:48088", "00:23 of 00:45", "10,000 plays", "12,345"):
        assert wanted in text
    if height >= 30:
        assert all(f"Title {number}" in text for number in range(5))
        assert "Ana Alves, BR" in text or height == 30


def test_screen_names_the_error_of_a_query(snapshot: Snapshot) -> None:
    broken = replace(snapshot.queries[2], state="ERROR", error="No space left on the device.\nat org.apache")
    text = "\n".join(drawn(replace(snapshot, queries=(*snapshot.queries[:2], broken)), 100, 30))
    assert "ERROR" in text
    assert "No space left" in text


def test_screen_before_anything_has_come(snapshot: Snapshot) -> None:
    empty = replace(snapshot, results=Results(), queries=(), seconds=None, sent=Sent(0, 0, 0, 0, 0))
    assert "nothing yet" in "\n".join(drawn(empty, 100, 30))
    assert "plays 0" in plain(empty)


def test_each_statement_has_its_lag_and_freshness_and_what_is_unknown_is_no_zero(snapshot: Snapshot) -> None:
    unknown = replace(snapshot.queries[0], lag=None, freshness_ms=None, is_warm=False, rate_in=0.0, rate_out=0.0)
    screen = drawn(replace(snapshot, queries=(unknown, *snapshot.queries[1:])), 100, 30)
    first = next(row for row in screen if "clean_plays " in row and "RUNNING" in row).strip("│ ").split()
    assert first == ["clean_plays", "RUNNING", "-", "-", "12,345", "-", "-", "0"]
    second = next(row for row in screen if "plays_per_country" in row and "RUNNING" in row).strip("│ ").split()
    assert second == ["plays_per_country", "RUNNING", "200", "196", "12,345", "40", "1.5", "s", "0"]
    text = plain(replace(snapshot, queries=(unknown, *snapshot.queries[1:])))
    assert "lag not yet known" in text
    assert "fresh -" in text
    # An alert that nothing has set off has no results that could be old.
    silent = replace(unknown, rows_out=0)
    assert "fresh 1.5 s" in plain(replace(snapshot, queries=(silent, *snapshot.queries[1:])))


@pytest.mark.parametrize(("width", "height"), [(100, 30), (80, 24)])
def test_the_screen_says_what_it_waits_for_while_it_warms_up(snapshot: Snapshot, width: int, height: int) -> None:
    cold = [replace(one, is_warm=False, lag=None, freshness_ms=None) for one in snapshot.queries]
    starting = replace(snapshot, results=Results(), queries=tuple(cold))
    text = "\n".join(drawn(starting, width, height))
    assert "warming up: 0 of 6 have done a batch, waiting for clean_plays" in text
    assert "first batch of clean_plays ..." in text
    # Once the rows are clean, the counts are what is waited for.
    later = replace(starting, queries=(snapshot.queries[0], *cold[1:]))
    assert "first batch of plays_per_country ..." in "\n".join(drawn(later, width, height))
    assert "warming up: 1 of 6 have done a batch, waiting for plays_per_country, " in plain(later)
    stopped = replace(starting, queries=(replace(cold[0], state="RESTARTING"), *cold[1:]))
    assert "clean_plays is RESTARTING" in "\n".join(drawn(stopped, width, height))


def test_plain_line_says_what_matters(snapshot: Snapshot) -> None:
    ill = replace(snapshot.queries[0], state="RESTARTING", dead_letters=7)
    text = plain(replace(snapshot, queries=(ill, *snapshot.queries[1:])))
    assert "\n" not in text
    for wanted in (
        "plays 10,000",
        "lag 240",
        "fresh 1.5 s",
        "lake 12,345",
        "dead letters 7",
        "Title 0",
        "clean_plays RESTARTING",
    ):
        assert wanted in text


@dataclass(frozen=True)
class Told:
    id: str
    sink: str
    state: str = "RUNNING"
    rows_in: int = 10
    rows_out: int = 5
    dead_letters: int = 1
    lag: int | None = None
    error: str | None = None
    freshness_ms: int | None = None
    batches: int = 0


def test_lines_are_named_by_what_a_query_makes_or_a_connector_is_called() -> None:
    query, connector = Told("CSAS_CLEAN_PLAYS_3", "CLEAN_PLAYS"), Told("LAKE", "delta")
    assert [line(status, {}).name for status in (query, connector)] == ["clean_plays", "lake"]
    counted = counters(Sent(1, 1, 1, 1, 0), [query])
    assert counted == {"plays": 4, "in CSAS_CLEAN_PLAYS_3": 10, "out CSAS_CLEAN_PLAYS_3": 5}
    assert line(query, {"in CSAS_CLEAN_PLAYS_3": 2.0}).rate_in == 2.0


def test_speed_is_growth_over_the_last_seconds() -> None:
    speed = Speed()
    assert speed.note(0.0, {"plays": 0}) == {"plays": 0.0}
    assert speed.note(1.0, {"plays": 100}) == {"plays": 100.0}
    for second in range(2, 20):
        last = speed.note(float(second), {"plays": 100 + 10 * second, "new": 5})
    assert last == {"plays": 10.0, "new": 0.0}
