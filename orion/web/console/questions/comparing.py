"""What differs between two texts, line by line."""

from __future__ import annotations

import difflib

Lines = list[tuple[str, str]]


def compare_lines(before: str, after: str) -> Lines:
    """All lines of the later text with what went and came: (`-`, `+` or a space, the line)."""
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return [(line[0], line[2:]) for line in lines if line[0] in "-+ "]
