"""What the jobs of connectors have in common: a name that is theirs alone, and what hangs on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from orion.plan.sources import Connector
from orion.runtime.jobs import Surroundings
from orion.runtime.starting import Standing


@dataclass(frozen=True)
class ConnectorJob(ABC):
    connector: Connector
    around: Surroundings

    @property
    @abstractmethod
    def id(self) -> str:
        """What people know it by."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """What another task never had, nor will have."""

    @property
    @abstractmethod
    def topics(self) -> tuple[str, ...]:
        """Those that it reads."""

    @property
    def dead_letters(self) -> str:
        return f"dlq.{self.connector.name}"

    @property
    def scans(self) -> int:
        return 1

    @property
    def checkpoint(self) -> Path:
        return self.around.checkpoints / f"connector-{self.identity}"

    @property
    def standing(self) -> Standing:
        group = f"{self.around.grounds.service}.connector.{self.identity}"
        resume = f'RESUME CONNECTOR "{self.connector.name}"'
        return Standing(self.id, group, self.checkpoint, self.topics, 1, {}, False, resume)
