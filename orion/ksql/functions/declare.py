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

from orion.ksql.extents import MOST
from orion.ksql.functions import signatures
from orion.ksql.functions.signatures import Signature
from orion.schema import Scalar, SqlType


class Kind(StrEnum):
    SCALAR = "SCALAR"
    AGGREGATE = "AGGREGATE"
    TABLE = "TABLE"


# SQL of a call: a template with {0}, {1} ..., {args}, and {most}, which is how many values it may make; or a function
# of the arguments' SQL.
Lowering = str | Callable[[Sequence[str]], str]


@dataclass(frozen=True, slots=True)
class Overload:
    signature: Signature
    # None: an aggregate that only its fold can do.
    spark: Lowering | None
    # Where the result's type isn't the signature's: worked out from the arguments' types.
    returns: Callable[[list[SqlType]], SqlType] | None = None
    # An aggregate's constants, which stand after the columns: the 3 of TOPK(x, 3). The signature is the columns' alone.
    constants: tuple[Scalar, ...] = ()
    # The same in DuckDB's SQL, where DuckDB has it with the same meaning; else pull queries that need it run on Spark.
    duckdb: Lowering | None = None
    ordered: bool = False  # an aggregate whose result hangs on the order of arrival

    @property
    def shown(self) -> str:
        """Columns and constants, as they are written in a call."""
        columns = signatures.show(self.signature)[1:-1]
        return f"({', '.join([*filter(None, [columns]), *(c.value for c in self.constants)])})"

    def lower(self, args: Sequence[str], most: int = MOST) -> str:
        assert self.spark is not None
        if callable(self.spark):
            return self.spark(args)
        return self.spark.format(*args, args=", ".join(args), most=most)

    def in_duckdb(self, args: Sequence[str]) -> str | None:
        if self.duckdb is None or callable(self.duckdb):
            return self.duckdb(args) if self.duckdb else None
        return self.duckdb.format(*args, args=", ".join(args), most=MOST)


@dataclass(frozen=True, slots=True)
class Fold:
    """An aggregate a row at a time, in plain Python.

    States are plain values (numbers, strings, lists, dicts, None); who folds owns them, so that they may be changed in
    place. `zero` gets the constants, `add` the state and the row's columns, `merge` joins the states of two sessions,
    the one that began first first. `undo` takes back what `add` gave with the same columns; without it the aggregate
    can't stand over a TABLE, whose rows change. `columns` names Arrow's aggregates that fold many numbers at once
    (count, sum, min, max): what they come to is a state, one value or a list of them.
    """

    zero: Callable[..., Any]
    add: Callable[..., Any]
    merge: Callable[[Any, Any], Any]
    result: Callable[[Any], Any]
    undo: Callable[..., Any] | None = None
    columns: tuple[str, ...] = ()


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
    nested: bool = False  # an aggregate whose state ksqlDB keeps in a STRUCT, ARRAY or MAP
    by_value: bool = False  # compares what it is given, so that a MAP must be put as something Spark can compare
    setting: str | None = None  # the property that adds a last parameter to those of an aggregate's fold

    @property
    def signatures(self) -> list[str]:
        return [o.shown for o in self.overloads]


def overload(
    signature: str,
    spark: Lowering | None,
    returns: Callable[[list[SqlType]], SqlType] | None = None,
    constants: Sequence[Scalar] = (),
    duckdb: Lowering | None = None,
    *,
    ordered: bool = False,
) -> Overload:
    return Overload(signatures.parse(signature), spark, returns, tuple(constants), duckdb, ordered)


def example(call: str, result: Any) -> Example:
    return Example(call, result)


def scalar(
    name: str, doc: str, *overloads: Overload, examples: Sequence[Example] = (), by_value: bool = False
) -> Function:
    return Function(name, Kind.SCALAR, doc, overloads, tuple(examples), by_value=by_value)


def table(name: str, doc: str, *overloads: Overload) -> Function:
    """A function that makes many rows of one. Its Spark SQL is an ARRAY of them, its type that of one."""
    return Function(name, Kind.TABLE, doc, overloads)


def aggregate(
    name: str,
    doc: str,
    *overloads: Overload,
    fold: Fold,
    nested: bool = False,
    setting: str | None = None,
) -> Function:
    return Function(name, Kind.AGGREGATE, doc, overloads, fold=fold, nested=nested, setting=setting)
