"""Answers to look-ups that were just given, until the row they hang on changes.

A look-up costs DuckDB some hundred microseconds whatever it finds; an answer that is at hand costs none of them. The
feed drops what it changes before anybody is told that the change is in.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

from orion.plan.steps import Pull
from orion.serving.pull import Pulled

_MOST_ROWS = 20  # of an answer that is kept
Version = int


class HotRows:
    """At most `size` answers; the oldest go first."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._versions: Counter[str] = Counter()
        # By table and key, the answers to all statements that look it up, each with its plan: so that lives as long.
        self._answers: dict[tuple[str, Hashable], dict[tuple[Hashable, ...], tuple[Pull, Pulled]]] = {}

    def get(self, pull: Pull, parameters: list[Any]) -> Pulled | None:
        found = self._answers.get((pull.reads[0].name, parameters[0]))
        held = None if found is None else found.get((id(pull), *parameters))
        return None if held is None else held[1]

    def version(self, pull: Pull) -> Version:
        """To be asked for before the answer is looked up that `put` is given."""
        return self._versions[pull.reads[0].name]

    def put(self, pull: Pull, parameters: list[Any], answer: Pulled, version: Version) -> None:
        """Keep an answer, unless its table has changed since."""
        if not self._size or len(answer.values) > _MOST_ROWS:
            return
        table = pull.reads[0].name
        with self._lock:
            if self._versions[table] != version:
                return
            while len(self._answers) >= self._size:
                self._answers.pop(next(iter(self._answers)))
            answers = self._answers.setdefault((table, parameters[0]), {})
            if len(answers) >= _MOST_ROWS:
                answers.clear()
            answers[id(pull), *parameters] = (pull, answer)

    def drop(self, table: str, keys: Iterable[Hashable] | None = None) -> None:
        """Forget the answers about keys that have changed; without any about the whole table."""
        with self._lock:
            self._versions[table] += 1
            for key in [k for t, k in self._answers if t == table] if keys is None else keys:
                self._answers.pop((table, key), None)
