"""Checkpoints that are damaged, and a disk under them that is full."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from random import Random

from tests.faults.checkpoints import Checkpoint
from tests.faults.fault import Fault
from tests.faults.processes import wait_until
from tests.faults.world import World


class CheckpointTruncated(Fault):
    name = "checkpoint-truncated"
    what = "a file of a query's or the sink's checkpoint is cut short while the server is down: it is made anew"
    takes_s = 80.0

    def strike(self, world: World, chance: Random) -> str:
        how = _down(world, chance)
        names = world.names
        sink = chance.choice([names.clean, names.counts, names.heavy, names.minutes, names.lake])
        checkpoint = world.checkpoint(sink)
        file = chance.choice(_vital(checkpoint))
        self._damage(file, chance)
        return f"{file.relative_to(checkpoint.folder)} of {sink}, {how}"

    def heal(self, world: World) -> None:
        """Nobody puts anything back: the server has to start, and to do."""
        world.come_back()

    def _damage(self, file: Path, chance: Random) -> None:
        os.truncate(file, chance.randrange(0, max(1, file.stat().st_size // 2)))


class CheckpointMissing(CheckpointTruncated):
    name = "checkpoint-missing"
    what = "a file of a query's or the sink's checkpoint is deleted while the server is down: it is made anew"

    def _damage(self, file: Path, chance: Random) -> None:
        file.unlink()


class DataLost(Fault):
    """All that queries and the sink have on disk is gone: their checkpoints and the local stores of state."""

    name = "data-lost"
    what = "the folder of all checkpoints and local stores is emptied while the server is down"
    takes_s = 80.0

    def strike(self, world: World, chance: Random) -> str:
        how = _down(world, chance)
        lost = list((world.server.data / "checkpoints").iterdir())
        for folder in lost:
            shutil.rmtree(folder)
        return f"{len(lost)} checkpoints, {how}"

    def heal(self, world: World) -> None:
        """Nobody puts anything back: the server has to start, and to do."""
        world.come_back()


class DiskFull(Fault):
    name = "disk-full"
    what = "the disk of the checkpoints is full (a real one: ENOSPC) for some seconds"
    takes_s = 90.0
    size = "400m"

    def impossible(self) -> str:
        if os.geteuid() != 0:
            return "needs root: a small disk has to be mounted"
        probe = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True)
        return "" if probe.returncode == 0 else "nothing can be mounted here"

    def strike(self, world: World, chance: Random) -> str:
        folder = world.server.data / "checkpoints"
        if not folder.is_mount():
            self._move_to_small_disk(world, folder)
        world.feed.more(50)
        ballast = folder / "ballast"
        free = _filled(ballast)
        hurt: dict[str, str] = {}

        def noticed() -> bool:
            hurt.update({n: s.error for n, s in world.server.states().items() if s.state != "RUNNING" and s.error})
            world.glance()
            return len(hurt) >= 2

        wait_until(noticed, "no statement says that the disk is full", 60)
        world.feed.more(chance.randrange(50, 500))
        ballast.unlink()
        return f"{free >> 20} MB filled, {len(hurt)} statements hurt: {next(iter(hurt.values()))[:80]}"

    def _move_to_small_disk(self, world: World, folder: Path) -> None:
        world.server.clear()  # a copy of a local store that is written meanwhile would be torn
        kept = folder.rename(folder.with_name("checkpoints-kept"))
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.size}", "tmpfs", str(folder)], check=True)
        world.closing(lambda: _unmounted(folder))
        shutil.copytree(kept, folder, dirs_exist_ok=True)
        shutil.rmtree(kept)
        world.restart()

    def heal(self, world: World) -> None:
        """There is room again. The statements go on by themselves; the small disk stays until the world ends."""


def _down(world: World, chance: Random) -> str:
    """End the server, so or so, and count what was cut off while it can still be seen. Records flow on."""
    in_order = chance.random() < 0.5
    if in_order:
        world.feed.pause()
        world.settle()
        assert world.server.stop() == 0, "the server didn't stop in order"
    else:
        world.server.clear()  # with its workers, so that nothing is written after the damage
    world.cut_off()
    world.feed.flow()
    return "stopped in order" if in_order else "killed"


def _vital(checkpoint: Checkpoint) -> list[Path]:
    """Files without which Spark doesn't know where the query stands."""
    planned, done = str(checkpoint.begun), str(checkpoint.done)
    folder = checkpoint.folder
    found = [folder / "metadata", folder / "offsets" / planned, folder / "commits" / done]
    return [file for file in found if file.exists() and file.stat().st_size > 0]


def _filled(ballast: Path) -> int:
    """Write until nothing more goes in; how much that was."""
    block, written = b"\0" * (1 << 20), 0
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        for size in (len(block), 4096, 1):
            with suppress(OSError):
                while True:
                    written += file.write(block[:size])
    return written


def _unmounted(folder: Path) -> None:
    subprocess.run(["umount", "--lazy", str(folder)], check=False)
