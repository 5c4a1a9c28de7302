"""Where a query keeps its state: changelog topics, a partition a task, and local copies of them on this machine."""

from __future__ import annotations

import shutil
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from orion.errors import Conflict, OrionError
from orion.hub.changelog import Changelog, changelog_name, create_changelogs, delete_changelogs, find_changelogs
from orion.hub.kafka import Kafka
from orion.plan.relations import Query, has_own_slots, operator_count, scans
from orion.runtime.operators.spread import Spread
from orion.runtime.state.task_store import StateContext


@dataclass(frozen=True)
class QueryState:
    """The state of one incarnation of a query."""

    kafka: Kafka
    service: str
    query: Query
    folder: Path  # of the local copies: scratch

    @property
    def names(self) -> list[str]:
        query, count = self.query, operator_count(self.query.relation)
        return [changelog_name(self.service, query.id, query.incarnation, number) for number in range(count)]

    def find(self) -> dict[str, Changelog]:
        """The changelogs that there are."""
        return find_changelogs(self.kafka, self.names)

    def task_count(self, found: dict[str, Changelog]) -> int:
        """Over how many tasks the operators spread: as it was when the state was made, as the statement says, or as
        many as the widest topic that is read has partitions."""
        if found:
            return next(iter(found.values())).partitions
        topics = self.kafka.present([source.topic for source in scans(self.query.relation)])
        return self.query.tasks or max((topic.partitions for topic in topics.values()), default=1)

    def slot_count(self, tasks: int) -> int:
        return tasks if has_own_slots(self.query.relation) else 1

    def prepare(self, tasks: int, written: dict[int, int], *, begun: bool) -> Spread:
        """How the operators of a run are to run.

        `written` has the last batch of each slot that has written any; `begun` is whether any batch was planned.
        """
        found, names = self.find(), self.names
        missing = [name for name in names if name not in found]
        if missing and (written or begun):
            raise Conflict(
                "STATE_LOST",
                f"The state of {self.query.id} is gone: there is no topic {missing[0]}, though it has read its topics.",
                hint="Drop it and create it again: it then reads its topics from their start.",
            )
        if missing:
            found = create_changelogs(self.kafka, names, tasks)
        context = StateContext(
            str(self.folder),
            uuid.uuid4().hex,
            self.kafka.bootstrap,
            tuple(found[name] for name in names),
            tuple(written.items()),
            one_slot=not has_own_slots(self.query.relation),
        )
        return Spread(tasks, context, self.query.by_partitioner)

    def drop(self) -> None:
        """Nothing is left of it. Topics that can't be deleted now stay: nobody reads them again."""
        shutil.rmtree(self.folder, ignore_errors=True)
        with suppress(OrionError):
            delete_changelogs(self.kafka, self.names)
