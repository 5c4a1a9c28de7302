"""What the suite asks of a store: how to make one on a fresh namespace, and how to read back what is there."""

from __future__ import annotations

from enum import Enum, StrEnum, auto
from typing import Any, Final, Protocol

from orion.schema import SqlType
from orion.sinks.store import Layout, Store


class Feature(StrEnum):
    """What a case may lack. Whatever isn't in its LACKS is tested."""

    UPSERT = auto()  # rows of one key replace each other
    DELETE = auto()  # a record without value takes its key's row away
    EVOLUTION = auto()  # a layout with more columns goes into what is there
    REFUSAL = auto()  # single rows are refused, and the rest goes in
    ATOMIC = auto()  # nobody sees a slot's rows before its commit, and never those of one that was aborted
    SERVER = auto()  # a process that can be killed, away or full
    LOGIN = auto()  # a user and a password


class Mode(StrEnum):
    APPEND = auto()  # each record is a row
    UPSERT = auto()  # each key is a row, and deletes count


class Absent(Enum):
    """In place of a value: the store can't have it, and refuses its row."""

    REFUSED = auto()


REFUSED: Final = Absent.REFUSED


class StoreCase(Protocol):
    """One namespace (a database, a bucket, a folder), new for each test."""

    bad: tuple[SqlType, Any, Any]  # a type, a value of it that goes in, and one that the server refuses

    def store(self, layout: Layout, mode: Mode) -> Store:
        """A store of this namespace that makes and widens what it needs."""
        ...

    def rows(self, layout: Layout) -> list[dict[str, Any]]:
        """All that is there, in any order: values by the names of the layout's columns, as `seen` gives them."""
        ...

    def seen(self, type_: SqlType, value: Any) -> Any:
        """A sample as a reader of this store finds it, or REFUSED."""
        ...

    def with_wrong_password(self, layout: Layout) -> Store:
        """Its password is `wrong-password`."""
        ...

    def with_nobody_there(self, layout: Layout) -> Store:
        """A store at an address where nobody answers."""
        ...

    def kill(self) -> None:
        """End the server at once, as `kill -9` does."""
        ...

    def start(self) -> None:
        """Start it again, with its data, where it was."""
        ...
