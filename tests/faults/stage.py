"""Where faults happen: a folder for evidence, brokers that stay, and a world that is made anew when one was spoilt."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.faults.brokers import Brokers
from tests.faults.world import World


class Stage:
    def __init__(self, seed: int, brokers: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"orion-faults-{seed}-"))
        self._seed = seed
        self._worlds = 0
        self._world: World | None = None
        self._keep = False
        self.brokers = Brokers(self.folder / "kafka", brokers)
        try:
            self.brokers.start()
        except BaseException:
            self.brokers.stop()
            raise

    def world(self) -> World:
        if self._world is None:
            self._worlds += 1
            name = f"w{self._worlds}"
            self._world = World(self.folder / name, self.brokers, name, self._seed)
        return self._world

    def spoilt(self) -> None:
        """What this world shows is evidence now; the next fault gets another one."""
        self._keep = True
        world, self._world = self._world, None
        if world is not None:
            world.close()
        self.brokers.mend()
        self.brokers.wait_until_well()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._world is not None:
                self._world.close()
        finally:
            self.brokers.stop()
            if not self._keep and error is None:
                shutil.rmtree(self.folder, ignore_errors=True)
