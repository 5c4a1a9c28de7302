"""The generator of plays: repeatable, with the promised shares, and malformed where it says so."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pytest

from examples.music.catalogue import COUNTRIES, Catalogue
from examples.music.plays import (
    LATE,
    LATEST_MS,
    LEAST_SECONDS,
    MALFORMED,
    SKIPPED,
    SPOILERS,
    Kind,
    Play,
    Plays,
    play_id,
    play_number,
)

NOW = 1_800_000_000_000
COLUMNS: dict[str, type] = {
    "play_id": str, "track_id": str, "title": str, "country": str, "seconds": int, "played_at": int
}  # fmt: skip


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return Catalogue.generate(seed=1, listeners=2_000, tracks=500)


@pytest.fixture(scope="module")
def sample(catalogue: Catalogue) -> list[Play]:
    plays = Plays(catalogue, seed=3)
    return [plays.next(NOW + number) for number in range(30_000)]


def decoded(value: bytes) -> dict[str, Any] | None:
    """The row as the declared columns have it, or none when it doesn't decode."""
    try:
        row = json.loads(value)
    except ValueError:
        return None
    if not isinstance(row, dict) or row.keys() != COLUMNS.keys():
        return None
    return row if all(type(row[name]) is type_ for name, type_ in COLUMNS.items()) else None


def test_same_seed_and_clock_give_the_same_bytes(catalogue: Catalogue, sample: list[Play]) -> None:
    again = Plays(Catalogue.generate(seed=1, listeners=2_000, tracks=500), seed=3)
    assert [again.next(NOW + number) for number in range(500)] == sample[:500]


def test_another_seed_gives_other_plays(catalogue: Catalogue, sample: list[Play]) -> None:
    other = Plays(catalogue, seed=4)
    assert [other.next(NOW + number) for number in range(50)] != sample[:50]


def test_numbers_count_up_and_are_in_the_ids(sample: list[Play]) -> None:
    assert [play.number for play in sample] == list(range(len(sample)))
    rows = [(play.number, decoded(play.value)) for play in sample if play.kind.good]
    assert all(row is not None and play_number(row["play_id"]) == number for number, row in rows)
    assert play_number(play_id(123_456_789_012)) == 123_456_789_012


@pytest.mark.parametrize(("kind", "share"), [(Kind.MALFORMED, MALFORMED), (Kind.SKIPPED, SKIPPED), (Kind.LATE, LATE)])
def test_shares(sample: list[Play], kind: Kind, share: float) -> None:
    seen = sum(play.kind is kind for play in sample) / len(sample)
    assert share * 0.75 < seen < share * 1.25


def test_everything_but_the_malformed_decodes(sample: list[Play]) -> None:
    wrong = [play for play in sample if (decoded(play.value) is None) != (play.kind is Kind.MALFORMED)]
    assert wrong == []


@pytest.mark.parametrize("spoil", SPOILERS)
def test_no_spoiled_play_decodes(spoil: Any, sample: list[Play]) -> None:
    row = decoded(next(play.value for play in sample if play.kind.good))
    assert row is not None
    dice = random.Random(5)
    assert all(decoded(spoil(row, dice)) is None for _ in range(300))


def test_malformed_plays_are_of_every_sort(sample: list[Play]) -> None:
    def sort(value: bytes) -> str:
        try:
            row = json.loads(value)
        except ValueError:
            return "truncated" if value.startswith(b'{"') else "not JSON"
        return "seconds" if isinstance(row["seconds"], str) else "played_at"

    sorts = Counter(sort(play.value) for play in sample if play.kind is Kind.MALFORMED)
    assert set(sorts) == {"truncated", "not JSON", "seconds", "played_at"}


def test_only_skipped_plays_are_short(sample: list[Play]) -> None:
    for play in sample:
        row = decoded(play.value)
        if row is not None:
            assert (row["seconds"] < LEAST_SECONDS) == (play.kind is Kind.SKIPPED)
            assert row["country"].upper() in COUNTRIES


def test_only_late_plays_are_late(sample: list[Play]) -> None:
    for play in sample:
        row = decoded(play.value)
        if row is not None:
            delay = NOW + play.number - row["played_at"]
            assert (5_000 <= delay <= LATEST_MS) if play.kind is Kind.LATE else (0 <= delay <= 500)


def test_listening_is_skewed(sample: list[Play], catalogue: Catalogue) -> None:
    rows = [row for play in sample if (row := decoded(play.value)) is not None]
    tracks = Counter(row["track_id"] for row in rows)
    listeners = Counter(play.key for play in sample)
    for counts, population in ((tracks, len(catalogue.tracks)), (listeners, len(catalogue.listeners))):
        top = sum(count for _, count in counts.most_common(population // 10))
        assert 0.4 < top / sum(counts.values()) < 0.8
        assert counts.most_common(1)[0][1] < 0.1 * sum(counts.values())
