"""Orion: a Kappa-architecture streaming data platform in one Python package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from orion.clients import Consumer, Message, Producer, Receipt, connect

__all__ = ["Consumer", "Message", "Producer", "Receipt", "Udf", "connect", "udf"]

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


def __getattr__(name: str) -> Any:
    """The clients come when they are first asked for: a worker that only needs `udf` loads no Kafka client."""
    if name in ("Consumer", "Message", "Producer", "Receipt", "connect"):
        return getattr(import_module("orion.clients"), name)
    raise AttributeError(f"module 'orion' has no attribute {name!r}")
