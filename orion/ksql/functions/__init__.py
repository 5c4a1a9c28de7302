"""Every function of the dialect. A family is one file of declarations and one name in NAMES."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from orion.ksql.functions.declare import Function

NAMES = (
    "aggregates",
    "aggregates_by_offset",
    "aggregates_collected",
    "aggregates_ranked",
    "angles",
    "byte_values",
    "collections",
    "conditions",
    "lambdas",
    "math",
    "patterns",
    "strings",
    "tables",
    "text_formats",
    "times",
    "urls",
)


@cache
def functions() -> dict[str, Function]:
    """All declarations by name."""
    found: dict[str, Function] = {}
    for family in NAMES:
        for value in vars(import_module(f"orion.ksql.functions.{family}")).values():
            if isinstance(value, Function):
                if value.name in found:
                    raise ValueError(f"{value.name} is declared twice")
                found[value.name] = value
    return dict(sorted(found.items()))
