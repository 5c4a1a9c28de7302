"""State records of one operator on their way from one number of tasks to another.

A record goes to the task that its key's rows go to from then on (`Operator.row_key`). Those that are a task's own, such
as its clock, go to each task that takes over keys of it, and are made one where keys come from several.

Of `before` tasks and `after` tasks, i and j have keys in common only if they are alike modulo the greatest common
divisor of the two numbers. So a task begins with the latest clock of those that its keys come from: a window that was
closed to a key stays closed. And where the number is multiplied, no row is late that wasn't before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import gcd
from typing import Any, NamedTuple

from orion.runtime.operators.key_hash import find_tasks
from orion.runtime.operators.placing import find_placed_task
from orion.runtime.operators.tasks import Operator
from orion.runtime.state.places import CLOCK, parse_place
from orion.runtime.state.values import decode, encode
from orion.schema import Scalar

StateRecord = tuple[bytes, bytes | None]


class MovedRecord(NamedTuple):
    """A record with the task that it belongs to."""

    task: int
    place: bytes
    blob: bytes | None


@dataclass
class Rekeying:
    """Takes what the tasks of an operator know, each from its first record to its last, and says whose it will be."""

    operator: Operator
    before: int
    after: int
    placed: Scalar | None = None  # the type of keys that go where Kafka puts them
    # Of records that are the tasks' own, by place: what each task has there.
    _own: dict[bytes, dict[int, bytes]] = field(default_factory=dict)

    def move(self, task: int, records: Sequence[StateRecord]) -> list[MovedRecord]:
        """Some records of a task, in their order; its own are kept back for `merge_own`."""
        keys: list[bytes] = []
        moved: list[StateRecord] = []
        row_key = self.operator.row_key
        for place, blob in records:
            key = None if place == CLOCK else row_key(parse_place(place))
            if key is None:
                self._keep(task, place, blob)
            else:
                keys.append(key)
                moved.append((place, blob))
        return [MovedRecord(to, *record) for to, record in zip(self._find_tasks(keys), moved, strict=True)]

    def _find_tasks(self, keys: list[bytes]) -> list[int]:
        if self.placed is not None:
            return [find_placed_task(key, self.placed, self.after) for key in keys]
        tasks: list[int] = find_tasks(keys, self.after).tolist()
        return tasks

    def _keep(self, task: int, place: bytes, blob: bytes | None) -> None:
        known = self._own.setdefault(place, {})
        if blob is None:
            known.pop(task, None)
        else:
            known[task] = blob

    def merge_own(self) -> Iterator[MovedRecord]:
        """What each task has of its own to begin with, when all records were taken."""
        alike = gcd(self.before, self.after)
        for place, known in self._own.items():
            for task in range(self.after):
                values = [decode(blob)[0] for old, blob in known.items() if old % alike == task % alike]
                if values:
                    yield MovedRecord(task, place, encode(self._merge(place, values)))

    def _merge(self, place: bytes, values: list[Any]) -> Any:
        return max(values) if place == CLOCK else self.operator.merge_own(values)
