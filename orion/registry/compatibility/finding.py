"""One reason why readers of a schema can't read what was written with another."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """`kind` is Confluent's word for what changed, `path` where in the reader's schema."""

    kind: str
    path: str
    text: str = ""

    def __str__(self) -> str:
        described = self.text or self.kind.lower().replace("_", " ")
        return f"{{errorType:'{self.kind}', description:'{described} at path {self.path!r}'}}"
