"""What may be written in the SQL editor: keywords, streams and tables with their columns, functions with signatures."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from orion.app import Orion
from orion.ksql.functions import functions
from orion.ksql.functions.declare import Function
from orion.ksql.words import KEYWORDS
from orion.plan.sources import PSEUDO, WINDOW_BOUNDS, Source
from orion.schema import Role
from orion.web.shapes import type_name


@dataclass(frozen=True, slots=True)
class SourceColumn:
    name: str
    type: str
    role: str = ""  # "key" or "header", where it isn't part of the value


@dataclass(frozen=True, slots=True)
class SourceWords:
    """A stream or table, with every column that a statement over it may name."""

    name: str
    kind: str
    columns: tuple[SourceColumn, ...]
    pseudo: tuple[SourceColumn, ...]


@dataclass(frozen=True, slots=True)
class FunctionWords:
    name: str
    kind: str
    signatures: tuple[str, ...]
    about: str


@dataclass(frozen=True, slots=True)
class Vocabulary:
    sources: tuple[SourceWords, ...]
    functions: tuple[FunctionWords, ...]
    keywords: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def read_vocabulary(orion: Orion) -> Vocabulary:
    """All words, as the catalog has them now."""
    catalog = orion.engine.catalog
    sources = tuple(describe_source(one) for _, one in sorted(catalog.sources.items()))
    built_in = [_describe_function(f) for f in functions().values()]
    added = [FunctionWords(name, "python", (f"{name}(...)",), "A function in Python.") for name in catalog.functions]
    return Vocabulary(sources, tuple(sorted([*built_in, *added], key=lambda f: f.name)), tuple(sorted(KEYWORDS)))


def describe_source(source: Source) -> SourceWords:
    pseudo = {**PSEUDO, **(WINDOW_BOUNDS if source.window else {})}
    roles = {Role.KEY: "key", Role.HEADERS: "header"}
    return SourceWords(
        source.name,
        source.kind.value.lower(),
        tuple(SourceColumn(c.name, type_name(c.type), roles.get(c.role, "")) for c in source.schema),
        tuple(SourceColumn(name, type_name(type_)) for name, type_ in pseudo.items()),
    )


def _describe_function(function: Function) -> FunctionWords:
    signatures = tuple(f"{function.name}{overload.shown}" for overload in function.overloads)
    return FunctionWords(function.name, function.kind.value.lower(), signatures, function.doc)
