"""What a fault is: a way to hurt, a way to heal, and what must be seen in between."""

from __future__ import annotations

from abc import ABC, abstractmethod
from random import Random
from typing import ClassVar

from tests.faults.world import World


class Fault(ABC):
    """`strike` hurts while records flow and says what exactly it did; `heal` ends it. Both raise when Orion fails."""

    name: ClassVar[str]
    what: ClassVar[str]  # for the report
    takes_s: ClassVar[float] = 30.0  # about
    brokers: ClassVar[int] = 1  # it needs at least
    by_name: ClassVar[bool] = False  # it takes too long to come up by chance

    def impossible(self) -> str:
        """Why this machine can't have this fault; nothing when it can."""
        return ""

    @abstractmethod
    def strike(self, world: World, chance: Random) -> str: ...

    @abstractmethod
    def heal(self, world: World) -> None: ...
