"""What a new source means to the schema registry."""

from __future__ import annotations

from orion.errors import BindError, Span
from orion.ksql.context import Context
from orion.plan.sources import Source
from orion.plan.steps import RegisterSchema
from orion.schema import Column, Role

_SIDES = (Role.KEY, Role.VALUE)


def registered(source: Source, *, declared: bool) -> tuple[RegisterSchema, ...]:
    """The schemas that are registered for a source: of its columns, unless it names one that is there."""
    return tuple(
        RegisterSchema(source, role, declared) for role in source.schema_roles if source.serde(role).schema_id is None
    )


def check_named(sink: Source, context: Context, span: Span) -> None:
    """A schema that a query is to write by, named by its id, begins with the query's columns.

    What it has behind them must have defaults, which is seen when a record is written.
    """
    for role in _SIDES:
        serde = sink.serde(role)
        if serde.schema_id is None:
            continue
        found = context.inferred(sink.topic, role, serde, span)
        made = sink.columns(role)
        if found.alone:
            fits = [c.type for c in made] == [c.type for c in found.columns]
        else:
            known = [(c.name, c.type) for c in found.columns]
            fits = [(c.name, c.type) for c in made] == known[: len(made)]
        if not fits:
            raise BindError(
                "SCHEMA_UNFIT",
                f"These {role.lower()} columns are changed, missing or reordered: {_listed(made)}.",
                span=span,
                hint=f"The schema {serde.schema_id} has {_listed(found.columns)}.",
            )


def _listed(columns: tuple[Column, ...]) -> str:
    return ", ".join(f"{c.name} {c.type}" for c in columns)
