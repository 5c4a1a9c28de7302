"""What the jobs of connectors have in common: a name that is theirs alone, and what hangs on it."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from orion.options import WITHOUT_EFFECT
from orion.plan.sharing import SharedWork
from orion.plan.sources import Connector
from orion.runtime.checkpoint_planting import BatchPlan, Notes, Reached
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
    def resolved_connector(self) -> Connector:
        """The connector with what its options say stands elsewhere, for whoever opens the other side; kept nowhere."""
        own = self.connector.own_options
        read = self.around.secrets.resolve
        options = (
            (n, read(v, n) if n in own and not WITHOUT_EFFECT.fullmatch(n) else v) for n, v in self.connector.options
        )
        return replace(self.connector, options=tuple(options))

    @property
    def shared_work(self) -> SharedWork | None:
        return None

    @property
    def dead_letters(self) -> str:
        return f"dlq.{self.connector.name}"

    @property
    def checkpoint(self) -> Path:
        return self.around.checkpoints / f"connector-{self.identity}"

    def forget(self) -> None:
        shutil.rmtree(self.checkpoint, ignore_errors=True)

    @property
    def standing(self) -> Standing:
        group = f"{self.around.grounds.service}.connector.{self.identity}"
        resume = f'RESUME CONNECTOR "{self.connector.name}"'
        return Standing(self.id, group, self.checkpoint, self.topics, {}, False, resume, replan=self.replan)

    @abstractmethod
    def replan(self, notes: Notes, reached: Reached, scans: Sequence[str]) -> BatchPlan | None:
        """How its next batch is found without a checkpoint (orion.runtime.checkpoint_planting)."""
