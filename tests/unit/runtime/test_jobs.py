"""What a query's start does to its checkpoint."""

from __future__ import annotations

from pathlib import Path

from orion.runtime.jobs import sweep


def test_half_written_entries_go_and_whole_ones_stay(tmp_path: Path) -> None:
    offsets = tmp_path / "offsets"
    offsets.mkdir()
    for name in (".1.3f6b.tmp", "..1.3f6b.tmp.crc", "0", ".0.crc"):
        (offsets / name).touch()
    sweep(tmp_path)
    assert sorted(p.name for p in offsets.iterdir()) == [".0.crc", "0"]


def test_without_a_whole_entry_nothing_stays(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    for name in (".0.3f6b.tmp", ".0.crc"):
        (tmp_path / "offsets" / name).touch()
    sweep(tmp_path)
    assert list((tmp_path / "offsets").iterdir()) == []


def test_a_checkpoint_that_is_not_there_yet_is_none_of_its_business(tmp_path: Path) -> None:
    sweep(tmp_path / "none")
