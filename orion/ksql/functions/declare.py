"""How a function is declared: its signatures, its Spark SQL, its words and its examples, in one place.

    UCASE = scalar(
        "UCASE",
        "The text in upper case.",
        overload("(STRING) -> STRING", "upper({0})"),
        examples=[example("UCASE('abc')", "ABC")],
    )

A function is added by writing one such declaration in the file of its family, and nothing else: SHOW FUNCTIONS, the
reference in docs/ and the tests that run the examples all read the declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from orion.ksql.functions import signatures
from orion.ksql.functions.signatures import Signature
from orion.schema import SqlType


class Kind(StrEnum):
    SCALAR = "SCALAR"
    AGGREGATE = "AGGREGATE"
    TABLE = "TABLE"


# Spark SQL of a call: a template with {0}, {1} ... and {args}, or a function of the arguments' Spark SQL.
Lowering = str | Callable[[Sequence[str]], str]


@dataclass(frozen=True, slots=True)
class Overload:
    signature: Signature
    spark: Lowering
    # Where the result's type isn't the signature's: worked out from the arguments' types.
    returns: Callable[[list[SqlType]], SqlType] | None = None

    def lower(self, args: Sequence[str]) -> str:
        if callable(self.spark):
            return self.spark(args)
        return self.spark.format(*args, args=", ".join(args), order="{order}")


@dataclass(frozen=True, slots=True)
class Fold:
    """An aggregate a row at a time, in plain Python, for what Spark's own aggregation can't do (sessions, HAVING).

    States are plain values (numbers, strings, lists, dicts, None) that pickle well. `zero` gets the constant
    arguments, `add` the state and the row's arguments, `merge` joins two states in order of arrival.
    """

    zero: Callable[..., Any]
    add: Callable[..., Any]
    merge: Callable[[Any, Any], Any]
    result: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Example:
    call: str
    result: Any


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    kind: Kind
    doc: str
    overloads: tuple[Overload, ...]
    examples: tuple[Example, ...] = ()
    fold: Fold | None = None
    ordered: bool = False  # an aggregate whose result hangs on the order of arrival
    parameters: int = 0  # how many arguments, from the right, are constants of an aggregate

    @property
    def signatures(self) -> list[str]:
        return [signatures.show(o.signature) for o in self.overloads]


def overload(signature: str, spark: Lowering, returns: Callable[[list[SqlType]], SqlType] | None = None) -> Overload:
    return Overload(signatures.parse(signature), spark, returns)


def example(call: str, result: Any) -> Example:
    return Example(call, result)


def scalar(name: str, doc: str, *overloads: Overload, examples: Sequence[Example] = ()) -> Function:
    return Function(name, Kind.SCALAR, doc, overloads, tuple(examples))


def aggregate(
    name: str,
    doc: str,
    *overloads: Overload,
    fold: Fold,
    ordered: bool = False,
    parameters: int = 0,
    examples: Sequence[Example] = (),
) -> Function:
    return Function(name, Kind.AGGREGATE, doc, overloads, tuple(examples), fold, ordered, parameters)
