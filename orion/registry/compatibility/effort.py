"""How much a comparison may cost. A real one is far below; beyond lies a schema made to keep the server busy."""

from __future__ import annotations

_MOST = 1_000_000


class TooCostly(Exception):
    """A comparison that would take too long."""


class Effort:
    """Counted in steps and not in seconds, so that the same schemas always get the same verdict."""

    def __init__(self, most: int = _MOST) -> None:
        self._left = most

    def spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise TooCostly
