"""A schema held against the versions before it, as a subject's settings say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orion.registry import contracts
from orion.registry.compatibility import levels, reserved
from orion.registry.compatibility.finding import Finding
from orion.registry.compatibility.levels import Level
from orion.registry.library import Library
from orion.registry.records import Version
from orion.registry.schemas import Parsed, Schema

_LONGEST_SHOWN = 10_000
_MOST_SHOWN = 100


@dataclass(frozen=True)
class Conflict:
    """The version that a schema can't follow, and why."""

    version: Version
    level: Level
    found: tuple[Finding, ...]

    def messages(self) -> list[str]:
        """In the words of Confluent's registry, the first reason first."""
        text = self.version.schema.text
        shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
        return [
            *(str(one) for one in self.found[:_MOST_SHOWN]),
            f"{{oldSchemaVersion: {self.version.version}}}",
            f"{{oldSchema: '{shown}'}}",
            f"{{compatibility: '{self.level}'}}",
        ]


class Comparison:
    """Remembers what came of it: to compare may take long, and is done before the registry gives a turn and in it."""

    def __init__(self, new: Parsed, config: Callable[[], Mapping[str, Any]], library: Library) -> None:
        self._new = new
        self._config = config
        self._library = library
        # An earlier schema is known by its identity, and kept so that no other can have the same.
        self._known: dict[tuple[Level, bool, int], tuple[Parsed, list[Finding]]] = {}

    def conflict(self, schema: Schema, earlier: Sequence[Version]) -> Conflict | None:
        """Where there are groups, only versions of the same are held against each other."""
        config = self._config()
        level = levels.level(config["compatibilityLevel"])
        group = config.get("compatibilityGroup")
        if group:
            mine = contracts.properties(schema).get(group)
            earlier = [one for one in earlier if contracts.properties(one.schema).get(group) == mine]
        lenient = config.get("compatibilityPolicy") == "LENIENT"
        for one in levels.compared(level, earlier):
            found = self._findings(level, lenient, self._library.parsed(one.schema, one.subject))
            found = found + reserved.check(self._new, contracts.reserved(schema), contracts.reserved(one.schema))
            if found:
                return Conflict(one, level, tuple(found))
        return None

    def _findings(self, level: Level, lenient: bool, old: Parsed) -> list[Finding]:
        key = (level, lenient, id(old))
        if key not in self._known:
            self._known[key] = (old, levels.conflicts(level, self._new, old, lenient=lenient))
        return self._known[key][1]
