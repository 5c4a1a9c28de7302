"""What the fault suite reads out of a local store, and the trap that strikes by it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from orion.runtime.state.local_store import LocalStore, StoreNote, open_store
from orion.runtime.state.state import Change
from tests.faults.checkpoints import Checkpoint, pending_batch
from tests.faults.trap import Order


def test_changes_are_pending_until_they_are_applied(tmp_path: Path) -> None:
    folder = tmp_path / "tasks/0/1"
    _written(folder, lambda store, note: store.restore(note, ()))
    assert Checkpoint(tmp_path).stores() == [folder]
    assert pending_batch(folder) is None
    _written(folder, lambda store, note: store.set_pending(note, [Change(b"\x02k", b"v", None, None)]))
    assert pending_batch(folder) == 7
    _written(folder, lambda store, note: store.apply_pending(note))
    assert pending_batch(folder) is None
    assert pending_batch(tmp_path) is None


def test_a_trap_strikes_when_changes_of_the_batch_under_way_are_pending(tmp_path: Path) -> None:
    folder = tmp_path / "tasks/0/1"
    _written(folder, lambda store, note: store.restore(note, ()))
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets/7").touch()
    told = Order([], checkpoint=str(tmp_path), stores=[str(folder)]).written()
    with subprocess.Popen([sys.executable, "-m", "tests.faults.trap", told], stdout=subprocess.PIPE, text=True) as trap:
        try:
            assert trap.stdout is not None
            assert trap.stdout.readline() == "ready\n"
            _written(folder, lambda store, note: store.apply_pending(note))
            _written(folder, lambda store, note: store.set_pending(note, [Change(b"\x02k", b"v", None, None)]))
            assert trap.stdout.read() == "changes of batch 7 pending in tasks/0/1\n"
        finally:
            trap.kill()


def _written(folder: Path, write: Callable[[LocalStore, StoreNote], None]) -> None:
    store, note = open_store(folder, "log")
    write(store, replace(note, run="r", batch=7))
    store.close()
