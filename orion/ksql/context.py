"""What a statement is compiled against, and the shape every statement has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from orion.errors import BindError, NotFound, Span, SqlError, hint_nearest
from orion.plan.catalog import Catalog
from orion.plan.relations import DEFAULT_TASKS
from orion.plan.schemas import Inferred, Schemas
from orion.plan.sources import Kind, Serde, Source, subject
from orion.plan.steps import Ask, Step
from orion.schema import Role


@dataclass(frozen=True)
class Context:
    catalog: Catalog
    text: str  # of this statement alone
    properties: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    schemas: Schemas | None = None
    defaults: Mapping[str, str] = field(default_factory=dict)  # of the server, where the session says nothing

    @property
    def tasks(self) -> int:
        """Over how many tasks a query's keyed operators spread; 0: as many as the widest topic read has partitions."""
        return int(self.properties.get("orion.tasks", DEFAULT_TASKS))

    def source(self, name: str, span: Span) -> Source:
        found = self.catalog.sources.get(name)
        if found is None:
            raise BindError(
                "UNKNOWN_SOURCE",
                f"There is no stream or table {name}.",
                span=span,
                hint=hint_nearest(name, list(self.catalog.sources)) or "SHOW STREAMS; and SHOW TABLES; list them.",
            )
        return found

    def inferred(self, topic: str, role: Role, serde: Serde, span: Span) -> Inferred:
        """The columns that the registry knows for the keys or values of a topic."""
        found = None if self.schemas is None else self.schemas.infer(topic, role, serde)
        if found is not None:
            return found
        named = f"with id {serde.schema_id} " if serde.schema_id is not None else ""
        raise BindError(
            "SCHEMA_MISSING",
            f"A schema {named}for message {role.lower()}s on topic {topic} does not exist in the Schema Registry.",
            span=span,
            hint=f"Name the columns, or register a schema under {subject(topic, role)}.",
        )


class Statement(Protocol):
    """A parsed statement: it knows what it would do in a given world."""

    def plan(self, context: Context) -> tuple[Step, ...] | Ask: ...


def check_free(context: Context, name: str, kind: Kind, span: Span) -> None:
    """A new source may not take a name that is taken."""
    taken = context.catalog.sources.get(name)
    if taken is not None:
        raise SqlErrorConflict(
            "SOURCE_EXISTS",
            f"Cannot add {kind.lower()} {name}: a {taken.kind.lower()} with the same name already exists.",
            span=span,
            hint="DROP it first, or use another name; IF NOT EXISTS leaves it as it is.",
        )


def check_kind(source: Source, kind: Kind, verb: str, span: Span) -> None:
    """A statement says STREAM or TABLE, and the source must be one."""
    if source.kind is not kind:
        raise BindError(
            "WRONG_KIND",
            f"{source.name} is a {source.kind}, not a {kind}.",
            span=span,
            hint=f"Use {verb} {source.kind} {source.name}.",
        )


class SqlErrorConflict(SqlError):
    """A statement that is right by itself but meets something already there."""

    http_status = 409
    exit_code = 4


def missing(what: str, name: str, known: list[str]) -> NotFound:
    return NotFound("NOT_FOUND", f"There is no {what} {name}.", hint=hint_nearest(name, known))
