"""How entries that an older Orion wrote become today's: a file for each step from one format to the next.

A step is a pure function over what JSON holds. It knows none of today's classes, so that what it makes of an old entry
stays the same, however those change; an import contract holds it to that. A new format is a new step at the end, and a
folder of golden journals beside the ones that are there (`tests/golden/journals`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orion.plan.migrations import v1_to_v2, v2_to_v3

Migration = Callable[[dict[str, Any]], dict[str, Any]]

# The first leads from format 1 to 2.
STEPS: tuple[Migration, ...] = (v1_to_v2.migrate_entry, v2_to_v3.migrate_entry)
FORMAT = len(STEPS) + 1


def migrate_entry(plain: dict[str, Any], written: int) -> dict[str, Any]:
    """An entry that was written in an older format, as today's has it."""
    for step in STEPS[written - 1 :]:
        plain = step(plain)
    return plain
