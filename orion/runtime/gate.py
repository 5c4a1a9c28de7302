"""Which jobs may start now: in turn, and all of them later where the machine has no time for them."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable

_LONGEST_START_S = 60.0  # after that the next one begins, come up or not
_FIRST_HOLD_S, _LONGEST_HOLD_S = 5.0, 120.0


class StartGate:
    """As many starts at once as there are cores, and one where the machine is starved.

    A start that fails for want of time holds all others back too: ten statements that each try again by themselves
    keep a starved machine so. Those that ask another system first leave a place to the others: it may take its time to
    answer.
    """

    def __init__(
        self,
        starved: Callable[[], bool] = lambda: False,
        cores: int | None = None,
        jitter: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._starved = starved
        self.width = max(1, cores or os.cpu_count() or 1)
        self._jitter = jitter
        self._starting: dict[str, float] = {}  # since when
        self._outside: set[str] = set()  # those that have asked for a place and ask another system first
        self._hold_s = _FIRST_HOLD_S
        self._held_until = 0.0
        self._lock = threading.Lock()

    def admit(self, job: str, *, outside: bool = False) -> bool:
        """Whether a job may start now; it then has its place until it is `leave`d.

        `outside`: it asks another system first.
        """
        now = time.monotonic()
        with self._lock:
            self._starting = {name: at for name, at in self._starting.items() if now - at < _LONGEST_START_S}
            narrow = self._held_until > 0 or self._starved()
            width, others = 1 if narrow else self.width, self._starting.keys() - {job}
            if now < self._held_until or len(others) >= width:
                return False
            if outside and 1 < width <= len(others & self._outside) + 1:
                return False
            (self._outside.add if outside else self._outside.discard)(job)
            self._starting[job] = now
            return True

    def leave(self, job: str, *, runs: bool = False) -> None:
        """A start has come to its end. One that `runs` shows that there is time again."""
        with self._lock:
            known = self._starting.pop(job, None)
            if runs and known is not None and time.monotonic() >= self._held_until:
                self._hold_s, self._held_until = _FIRST_HOLD_S, 0.0

    def hold_back(self) -> float:
        """A start has failed for want of time: nobody starts for a while, and then one after the other."""
        with self._lock:
            now = time.monotonic()
            if now >= self._held_until:  # several that fail together are one sign, not many
                self._held_until = now + self._hold_s * self._jitter(0.75, 1.25)
                self._hold_s = min(_LONGEST_HOLD_S, self._hold_s * 2)
            return self._held_until - now

    @property
    def held_for_s(self) -> float:
        """How long nobody starts, from now on."""
        return max(0.0, self._held_until - time.monotonic())
