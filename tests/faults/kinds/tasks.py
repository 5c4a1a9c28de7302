"""Queries with state that get another number of tasks while records flow, and a server that is killed on the way."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from random import Random

import httpx

from orion.hub.changelog import ChangelogName, parse_changelog_name
from tests.faults.fault import Fault
from tests.faults.processes import wait_until
from tests.faults.world import World

_DONE_S = 120.0
_MOST_TASKS = 6


class TasksRespread(Fault):
    name = "tasks-respread"
    what = "queries with state get more tasks and fewer, by CREATE OR REPLACE, while records flow"
    takes_s = 50.0

    def __init__(self) -> None:
        self._wanted: dict[str, int] = {}

    def strike(self, world: World, chance: Random) -> str:
        said = []
        for _ in range(chance.randrange(2, 5)):
            sink = _choose_sink(world, chance)
            there = self._wanted.get(sink) or _count_tasks(world, sink)
            tasks = self._wanted[sink] = _choose_tasks(there, chance)
            world.struck()
            said.append(f"{sink} {there} to {tasks}")
            world.replace(sink, {"orion.tasks": str(tasks)})
            if chance.random() < 0.5:  # else the next one begins on the way
                _await_tasks(world, sink, tasks)
            world.feed.more(chance.randrange(20, 150))
            world.glance()
        return ", ".join(said)

    def heal(self, world: World) -> None:
        """Nobody does anything: the server has to."""
        for sink, tasks in self._wanted.items():
            _await_tasks(world, sink, tasks)


class KilledWhileRespreading(Fault):
    """At any moment from when the new changelog is there: while it is filled, before it counts and after."""

    name = "kill-while-respreading"
    what = "kill -9 of the driver while a query's state is spread over another number of tasks"
    takes_s = 70.0

    def __init__(self) -> None:
        self._sink, self._tasks = "", 0

    def strike(self, world: World, chance: Random) -> str:
        self._sink = _choose_sink(world, chance)
        self._tasks = _choose_tasks(_count_tasks(world, self._sink), chance)
        before = _topics(world, self._sink)
        asked = threading.Thread(target=self._ask, args=(world,))
        asked.start()
        try:
            limit = time.monotonic() + _DONE_S
            while not _topics(world, self._sink) - before:  # without a pause: the moment is short
                assert time.monotonic() < limit, "no new changelog was made"
            time.sleep(chance.choice([0.0, 0.005, 0.02, 0.05, 0.1, 0.3]))
            world.server.kill()
        finally:
            asked.join()
        there = _topics(world, self._sink)
        how = "both changelogs were there" if len(there) > 1 else "one changelog was there"
        return f"{self._sink} to {self._tasks}, {how}"

    def _ask(self, world: World) -> None:
        with suppress(httpx.HTTPError, AssertionError):  # the server may be dead before it has answered
            world.replace(self._sink, {"orion.tasks": str(self._tasks)})

    def heal(self, world: World) -> None:
        world.restart()
        _await_tasks(world, self._sink, self._tasks)


def _choose_sink(world: World, chance: Random) -> str:
    sink: str = getattr(world.names, chance.choice(["counts", "heavy", "minutes"]))
    return sink


def _choose_tasks(there: int, chance: Random) -> int:
    """Another number than there is."""
    return chance.choice([tasks for tasks in range(1, _MOST_TASKS + 1) if tasks != there])


def _find(world: World, sink: str) -> list[ChangelogName]:
    service = world.server.service
    named = (parse_changelog_name(service, topic.name) for topic in world.kafka.outlines())
    return [name for name in named if name is not None and name.query == world.ids[sink]]


def _topics(world: World, sink: str) -> set[str]:
    return {name.topic for name in _find(world, sink)}


def _count_tasks(world: World, sink: str) -> int:
    """In peace there is one changelog."""
    [topic] = _topics(world, sink)
    return next(one.partitions for one in world.kafka.outlines() if one.name == topic)


def _await_tasks(world: World, sink: str, tasks: int) -> None:
    """Until there is one changelog, with so many partitions."""

    def is_done() -> bool:
        partitions = {topic.name: topic.partitions for topic in world.kafka.outlines()}
        return [partitions[topic] for topic in _topics(world, sink) if topic in partitions] == [tasks]

    wait_until(is_done, f"{sink} doesn't get {tasks} tasks", _DONE_S)
