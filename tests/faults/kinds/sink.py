"""A sink that can't be written for a while."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

from tests.faults.fault import Fault
from tests.faults.processes import wait_until
from tests.faults.world import World


class SinkDown(Fault):
    name = "sink-down"
    what = "the Delta table's folder is gone and a file stands in its place; the other statements must not notice"
    takes_s = 45.0
    lasts_s: tuple[float, ...] = (5.0, 20.0, 60.0)

    def strike(self, world: World, chance: Random) -> str:
        world.feed.more(50)
        self._away(world).mkdir()
        world.lake.rename(self._away(world) / "table")
        world.lake.write_text("a disk that isn't mounted")
        seconds = chance.choice(self.lasts_s)
        end = time.monotonic() + seconds
        said = ""

        def over() -> bool:
            nonlocal said
            states = world.server.states()
            said = states[world.names.lake].error or said
            well = {name: s.state for name, s in states.items() if name != world.names.lake}
            assert set(well.values()) == {"RUNNING"}, f"the sink's fault reaches others: {well}"
            return time.monotonic() > end and bool(said)

        wait_until(over, "the sink doesn't say what is wrong with it", seconds + 30)
        world.glance()
        return f"for {seconds:.0f} s: {said[:80]}"

    def heal(self, world: World) -> None:
        world.lake.unlink()
        (self._away(world) / "table").rename(world.lake)
        self._away(world).rmdir()

    def _away(self, world: World) -> Path:
        return world.folder / "lake-away"
