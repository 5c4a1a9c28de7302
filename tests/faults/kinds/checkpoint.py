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

_SEEN_S = 60.0


class CheckpointTruncated(Fault):
    name = "checkpoint-truncated"
    what = "a file of a checkpoint is cut short while the server is down: refused until it is whole again"
    takes_s = 80.0

    def __init__(self) -> None:
        self._file, self._whole = Path(), b""

    def strike(self, world: World, chance: Random) -> str:
        world.feed.pause()
        world.settle()
        assert world.server.stop() == 0, "the server didn't stop in order"
        names = world.names
        sink = chance.choice([names.clean, names.counts, names.heavy, names.minutes])
        checkpoint = world.checkpoint(sink)
        self._file = chance.choice(_vital(checkpoint))
        self._whole = self._file.read_bytes()
        self._damage(chance)
        before = world.kafka.end_offsets(sink)
        world.feed.flow()
        world.server.start()
        world.feed.more(100)
        shown = self._refused(world, sink)
        assert world.kafka.end_offsets(sink) == before, f"{sink} was written to from a damaged checkpoint"
        return f"{self._file.relative_to(checkpoint.folder)} of {sink}: {shown[:100]}"

    def heal(self, world: World) -> None:
        """What an operator does: the file comes back from a backup, and the server starts again."""
        world.server.kill()
        self._file.write_bytes(self._whole)
        world.restart()

    def _damage(self, chance: Random) -> None:
        self._file.write_bytes(self._whole[: chance.randrange(0, max(1, len(self._whole) // 2))])

    def _refused(self, world: World, sink: str) -> str:
        error = ""

        def shown() -> bool:
            nonlocal error
            states = world.server.states()
            others = {n: s.state for n, s in states.items() if n != sink}
            assert "ERROR" not in others.values(), f"others are hurt too: {others}"
            error = states[sink].error
            return states[sink].state == "ERROR" and bool(error)

        wait_until(shown, lambda: f"{sink} isn't refused: {world.server.states()[sink]}", _SEEN_S)
        return error


class CheckpointMissing(CheckpointTruncated):
    name = "checkpoint-missing"
    what = "a file of a checkpoint is deleted while the server is down: refused until it is back"

    def _damage(self, chance: Random) -> None:
        self._file.unlink()


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
        world.server.kill()
        kept = folder.rename(folder.with_name("checkpoints-kept"))
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.size}", "tmpfs", str(folder)], check=True)
        world.closing(lambda: _unmounted(folder))
        shutil.copytree(kept, folder, dirs_exist_ok=True)
        shutil.rmtree(kept)
        world.restart()

    def heal(self, world: World) -> None:
        """There is room again. The statements go on by themselves; the small disk stays until the world ends."""


def _vital(checkpoint: Checkpoint) -> list[Path]:
    """Files without which nobody can know where the query stands: it must not guess."""
    done = str(checkpoint.done)
    found = [checkpoint.folder / "metadata", checkpoint.folder / "offsets" / done]
    for partition in sorted(checkpoint.state.glob("0/[0-9]*")):
        newest = sorted(partition.rglob("*.changelog"), key=lambda p: int(p.name.split(".")[0].split("_")[0]))
        found += newest[-1:]
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
