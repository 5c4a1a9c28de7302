"""How the answer to a question comes to an end: by who asked and has left, by a deadline, or by its size."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from orion.errors import OrionError, UserError

MOST_ROWS = 1_000_000
_AGAIN_S = 0.1


def refuse_too_many(rows: int, most: int) -> None:
    """Raise where an answer has more rows than it may."""
    if rows > most:
        hint = "Ask with LIMIT or a WHERE that leaves fewer, or raise serving.max_rows."
        raise UserError("PULL_TOO_LARGE", f"The answer has more than {most} rows.", hint=hint)


class Interruption:
    """A question that is being answered. Who works says how that is ended; who ends it, why, which the work raises."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._end: Callable[[], None] | None = None
        self._why: OrionError | None = None

    @contextmanager
    def ended_by(self, end: Callable[[], None]) -> Iterator[None]:
        """Work that `end` ends. It isn't begun where it has been ended already."""
        with self._lock:
            if self._why is not None:
                raise self._why
            self._end = end
            self._over.clear()
        try:
            yield
        except Exception as error:
            if self._why is not None:
                raise self._why from error
            raise
        finally:
            with self._lock:
                self._end = None
            self._over.set()

    def interrupt(self, why: OrionError) -> None:
        """Have it ended, without waiting for that."""
        with self._lock:
            self._why = self._why or why
            if self._end is None:
                return
        threading.Thread(target=self._end_for_good, name="orion-interruption", daemon=True).start()

    def _end_for_good(self) -> None:
        """Again and again: an engine that hasn't quite begun forgets that it was told."""
        while True:
            with self._lock:
                if self._end is None:
                    return
                self._end()
            self._over.wait(_AGAIN_S)

    @contextmanager
    def within(self, seconds: float, late: Callable[[], OrionError]) -> Iterator[None]:
        """Ended by itself after a time."""
        timer = threading.Timer(seconds, lambda: self.interrupt(late()))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
