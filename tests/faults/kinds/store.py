"""Local stores of state, hurt while the server works with them. The changelog topics have what was in them.

Half of them are hurt at any moment, the others when their task has just opened them.
"""

from __future__ import annotations

import mmap
import os
import shutil
import time
from abc import abstractmethod
from contextlib import closing
from pathlib import Path
from random import Random

import lmdb

from tests.faults.checkpoints import Checkpoint
from tests.faults.fault import Fault
from tests.faults.processes import wait_until
from tests.faults.trap import IN_OPEN, Watch
from tests.faults.world import World

_FILE = "data.mdb"
_OPENED_S = 60.0


class _OnStore(Fault):
    takes_s = 25.0

    def strike(self, world: World, chance: Random) -> str:
        hurt = []
        for _ in range(chance.randrange(1, 4)):
            sink = getattr(world.names, chance.choice(["counts", "heavy", "minutes"]))
            stores = world.checkpoint(sink).stores()
            assert stores, f"{sink} has no local store"
            store = chance.choice(stores)
            self.prepare(world, store, chance)
            in_use = chance.random() < 0.5
            if in_use:
                _wait_until_opened(store)
            time.sleep(chance.uniform(0, 0.03 if in_use else 1.0))
            world.struck()
            said = f"{sink}/{store.name}{' in use' if in_use else ''} {self.hurt(store, chance)}"
            hurt.append(said.strip())
            world.feed.more(chance.randrange(50, 200))
            world.glance()
        return ", ".join(hurt)

    def heal(self, world: World) -> None:
        """Nobody does anything: the server has to."""

    def prepare(self, world: World, store: Path, chance: Random) -> None:
        """What has to be done some time before."""

    @abstractmethod
    def hurt(self, store: Path, chance: Random) -> str:
        """Do it to the folder of a task; what there is to say of it."""


class StoreLost(_OnStore):
    name = "store-lost"
    what = "the folder of a task's local store is deleted while the server runs"

    def hurt(self, store: Path, chance: Random) -> str:
        shutil.rmtree(store, ignore_errors=True)  # a task may just make it anew
        return ""


class StoreTruncated(_OnStore):
    """At the end of a page, as a file system loses blocks. LMDB has no checksums: where a page itself is cut while a
    task writes others, nobody can tell."""

    name = "store-truncated"
    what = "a task's local store is cut off at one of its pages while the server runs"

    def hurt(self, store: Path, chance: Random) -> str:
        pages = (store / _FILE).stat().st_size // mmap.PAGESIZE
        left = chance.randrange(0, pages)
        os.truncate(store / _FILE, left * mmap.PAGESIZE)
        return f"to {left} of {pages} pages"


class StoreOfAnotherTime(_OnStore):
    name = "store-of-another-time"
    what = "a task's local store is replaced by a copy that was taken some batches before, while the server runs"

    def __init__(self) -> None:
        self._copy, self._batch = Path(), 0

    def prepare(self, world: World, store: Path, chance: Random) -> None:
        self._batch = Checkpoint(store.parents[2]).done
        self._copy = world.folder / f"store-{time.monotonic_ns()}"
        self._copy.mkdir()
        with lmdb.open(str(store), readonly=True) as env:
            env.copy(str(self._copy))  # a file that is written meanwhile can't be copied as others are
        world.feed.more(chance.randrange(100, 400))

    def hurt(self, store: Path, chance: Random) -> str:
        os.replace(self._copy / _FILE, store / _FILE)
        return f"{Checkpoint(store.parents[2]).done - self._batch} batches old"


def _wait_until_opened(store: Path) -> None:
    with closing(Watch([str(store)], IN_OPEN)) as watch:
        wait_until(
            lambda: any(name == _FILE for _, name in watch.told(0.1)), f"{store} isn't used by anybody", _OPENED_S
        )
