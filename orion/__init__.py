"""Orion: a Kappa-architecture streaming data platform in one Python package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, overload

__version__ = "0.1.0"

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Udf:
    """What `@orion.udf` notes about a function."""

    signature: str | None = None
    name: str | None = None


@overload
def udf(function: F) -> F: ...
@overload
def udf(function: str | None = None, *, name: str | None = None) -> Callable[[F], F]: ...
def udf(function: F | str | None = None, *, name: str | None = None) -> F | Callable[[F], F]:
    """Make a function of a module that orion.yaml names one of SQL's.

    Its types are those of its annotations, or of a signature: `@orion.udf("(x STRING, n INT) -> STRING")`.
    """

    def mark(marked: F) -> F:
        marked.__orion_udf__ = Udf(function if isinstance(function, str) else None, name)  # type: ignore[attr-defined]
        return marked

    return mark(function) if callable(function) else mark
