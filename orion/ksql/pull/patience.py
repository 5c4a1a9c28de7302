"""What a session says of a pull query's wait: which records must be seen, and how long at most."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from orion.errors import UserError

SEEN, DEADLINE = "orion.pull.seen", "orion.pull.deadline.ms"
DEADLINE_S = 10.0
Offsets = Mapping[str, Mapping[int, int]]  # by topic and partition


def patience(properties: Mapping[str, Any]) -> tuple[Offsets | None, float]:
    """The offsets, and the deadline in seconds."""
    deadline_s = float(properties[DEADLINE]) / 1000 if DEADLINE in properties else DEADLINE_S
    return offsets(str(properties[SEEN])) if SEEN in properties else None, deadline_s


def offsets(text: str) -> Offsets:
    try:
        told = json.loads(text)
        return {topic: {int(part): int(at) for part, at in parts.items()} for topic, parts in told.items()}
    except (ValueError, AttributeError, TypeError):
        hint = """Write offsets by topic and partition: '{"topic": {"0": 42}}'."""
        raise UserError("INVALID_PROPERTY", "These are no offsets.", hint=hint) from None


_LONGEST = 10_000  # characters: looking for a longer one among those that are known costs more than it saves


def is_plain(statement: str, properties: Mapping[str, Any]) -> bool:
    """Whether nothing but the text says what a pull query means and when it may be answered."""
    if len(statement) > _LONGEST or "${" in statement:
        return False
    return not properties or not any(name.startswith(("ksql.query.pull.", "orion.pull.")) for name in properties)
