"""The topic of a statement's state: the broker that leads a partition of it dies.

Its task can neither commit a batch nor read its state there until another broker leads. Half the time its local store
is deleted as well, so that it has to.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from random import Random

from confluent_kafka import KafkaException

from orion.hub.changelog import parse_changelog_name, write_query
from tests.faults.fault import Fault
from tests.faults.kinds.broker import last_for
from tests.faults.processes import wait_until
from tests.faults.world import World


class ChangelogLeaderKilled(Fault):
    name = "kill-changelog-leader"
    what = "kill -9 of the broker of three that leads a partition of a statement's changelog, started again later"
    takes_s = 30.0
    brokers = 3

    def __init__(self) -> None:
        self._away: int | None = None

    def strike(self, world: World, chance: Random) -> str:
        sink = getattr(world.names, chance.choice(["counts", "heavy", "minutes"]))
        topic = _find_changelog(world, world.ids[sink])
        task = chance.randrange(world.kafka.describe_topic(topic).topic.partitions)
        leader = _leader_of(world, topic, task)
        assert leader is not None, f"{topic}/{task} has no leader in peace"
        world.feed.transactions = False
        world.brokers.kill(leader)
        self._away = leader
        said = f"{sink}/{task}, led by broker {leader}"
        if chance.random() < 0.5:
            store = world.checkpoint(sink).folder / "tasks" / "0" / str(task)
            shutil.rmtree(store, ignore_errors=True)  # the task may just make it anew
            said += ", its local store deleted"
        world.struck()
        seconds = last_for(world, chance.uniform(3, 12))
        others = [number for number in world.brokers.numbers if number != leader]
        wait_until(lambda: _leader_of(world, topic, task) in others, f"nobody else leads {topic}/{task}", 60)
        return f"{said}, for {seconds:.0f} s"

    def heal(self, world: World) -> None:
        if self._away is not None:
            world.brokers.revive(self._away)
        world.brokers.wait_until_well()
        world.feed.transactions = True


def _find_changelog(world: World, query: str) -> str:
    """The changelog of a query's only operator."""
    named = (parse_changelog_name(world.server.service, topic.name) for topic in world.kafka.topics(internal=True))
    found = [name.topic for name in named if name is not None and name.query == write_query(query)]
    assert len(found) == 1, f"changelogs of {query}: {found}"
    return found[0]


def _leader_of(world: World, topic: str, partition: int) -> int | None:
    """The number of the broker, as those that answer know it; None while there is none, or none that is known."""
    with suppress(KafkaException):
        seen = world.kafka.admin.list_topics(topic, timeout=2).topics[topic]
        return seen.partitions[partition].leader if partition in seen.partitions else None
    return None
