"""What the compiler asks of a schema registry, whoever answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from orion.plan.sources import Serde
from orion.schema import Column, Role


@dataclass(frozen=True, slots=True)
class Inferred:
    columns: tuple[Column, ...]
    alone: bool  # the one column is the whole of the schema, not a field of it


class Schemas(Protocol):
    def infer(self, topic: str, role: Role, serde: Serde) -> Inferred | None:
        """The columns of the schema that a serde names by its id, else of the topic's last; None: there is none."""
        ...
