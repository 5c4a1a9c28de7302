"""Two servers on one statement: the second takes over or is refused, never both. And one that is away for long."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from tests.faults.fault import Fault
from tests.faults.processes import Process, wait_until
from tests.faults.server import Server
from tests.faults.world import World

_BOTH_S = 15.0  # how long two servers are watched, once both are up


class SecondServerOnFolder(Fault):
    name = "second-server"
    what = "a second server of the same service on the same data folder"
    takes_s = 20.0

    def __init__(self) -> None:
        self._second: Server | None = None

    def strike(self, world: World, chance: Random) -> str:
        second = self._second = self._made(world)
        world.closing(second.clear)
        second.launch()
        wait_until(lambda: second.answers or not second.runs, lambda: f"no verdict: {second.said()}", 120)
        return self._watched(world, second) if second.runs else _refusal(second)

    def heal(self, world: World) -> None:
        """One goes away, the other serves: the one whose statements run."""
        second = self._second
        assert second is not None
        if second.runs and _running(second):
            world.server.clear()
            world.server = second
        else:
            second.clear()
            if not world.server.runs:
                world.restart()

    def _made(self, world: World) -> Server:
        log = world.folder / f"second-{time.monotonic_ns()}.log"
        return Server(world.brokers.bootstrap, world.server.data, world.server.service, log)

    def _watched(self, world: World, second: Server) -> str:
        """Both are up: each statement may run on one of them only, from some moment on."""
        end = time.monotonic() + _BOTH_S
        both: set[str] = set()

        def over() -> bool:
            both.clear()
            both.update(_running(world.server) & _running(second))
            return time.monotonic() > end

        wait_until(over, "the servers don't answer", _BOTH_S + 60)
        assert not both, f"both servers run {sorted(both)}"
        return f"took over {len(_running(second))} statements"


class SecondServerOnCopy(SecondServerOnFolder):
    name = "second-server-copy"
    what = "a second server of the same service on a copy of the data folder that is as new as the first one's"
    takes_s = 80.0

    def strike(self, world: World, chance: Random) -> str:
        """Records come in again when the second is on its way: an older copy would be refused for being old."""
        world.feed.pause()
        world.settle()
        second = self._second = self._made(world)
        world.closing(second.clear)
        second.launch()
        wait_until(lambda: second.answers or not second.runs, lambda: f"no verdict: {second.said()}", 120)
        world.feed.flow()
        world.feed.more(chance.randrange(50, 200))
        return self._watched(world, second) if second.runs else _refusal(second)

    def _made(self, world: World) -> Server:
        copy = world.folder / f"copy-{time.monotonic_ns()}"
        _copy(world, copy)
        return Server(world.brokers.bootstrap, copy, world.server.service)


class ZombieServer(SecondServerOnCopy):
    name = "zombie-server"
    what = "a server stands still (SIGSTOP), another one starts on a copy of its folder, the first wakes up"
    takes_s = 90.0

    def strike(self, world: World, chance: Random) -> str:
        with _asleep(world.server):
            second = self._second = self._made(world)
            world.closing(second.clear)
            second.launch()
            wait_until(lambda: second.answers or not second.runs, lambda: f"no verdict: {second.said()}", 120)
            world.feed.more(chance.randrange(50, 400))
        return self._watched(world, second) if second.runs else _refusal(second)


class ServerFrozen(Fault):
    name = "freeze-server"
    what = "a server stands still (SIGSTOP) until its groups have forgotten it, and wakes up"
    takes_s = 100.0
    by_name = True
    lasts_s = 60.0  # its sessions end after 45

    def strike(self, world: World, chance: Random) -> str:
        end = time.monotonic() + self.lasts_s
        with _asleep(world.server):
            wait_until(lambda: time.monotonic() > end, "time stands still", self.lasts_s + 60)
        return f"for {self.lasts_s:.0f} s"

    def heal(self, world: World) -> None:
        pass


@contextmanager
def _asleep(server: Server) -> Iterator[None]:
    """All of a server's processes stand still."""
    family: list[Process] = server.family()
    for process in reversed(family):
        process.send(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in family:
            process.send(signal.SIGCONT)


def _refusal(second: Server) -> str:
    return f"refused: {second.said().splitlines()[0][:100]}"


def _running(server: Server) -> set[str]:
    """The statements that run on a server; none when it is gone."""
    if not server.runs:
        return set()
    return {name for name, status in server.states().items() if status.state == "RUNNING"}


def _copy(world: World, copy: object) -> None:
    """As a backup takes it, while the server works: files that vanish meanwhile are not there."""
    shutil.copytree(
        world.server.data,
        str(copy),
        ignore=shutil.ignore_patterns("server.json", "*.lock", "*.tmp", "*.tmp.crc"),
        copy_function=_copied,
        dirs_exist_ok=True,
    )


def _copied(source: str, target: str) -> str:
    try:
        return str(shutil.copy2(source, target))
    except FileNotFoundError:
        return target
