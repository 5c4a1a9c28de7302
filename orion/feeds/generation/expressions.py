"""Generators as Spark SQL over `n`, the row's number from 0, and `t`, its time in milliseconds.

Nothing is random: a value is a hash of the row's number, the seed and the column's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from orion.errors import ConfigError, UserError
from orion.schema import INTEGRAL, Array, Column, Decimal, Map, Role, Scalar, SqlType, Struct, literal, spark_type

NUMBER, TIME = "n", "t"
# As many values as a column has that nobody says anything about; those of two topics then meet in a join.
_DIFFERENT = 100
_LARGEST = 1000
_TWO_53 = "9007199254740992D"
_YEAR_MS, _DAY_MS = 31_536_000_000, 86_400_000


@dataclass(frozen=True, slots=True)
class Wish:
    """What the options say of a column: `field.NAME.values`, `.min`, `.max`, `.nulls`, `.sequence`."""

    values: tuple[str, ...] = ()
    least: str | None = None
    most: str | None = None
    nulls: float = 0.0  # the share of rows without a value
    sequence: bool = False  # the row's number itself


@dataclass(frozen=True, slots=True)
class Dice:
    """A source of hashes: the same for the same seed, name and expression `of`, by default the row's number."""

    seed: int
    name: str
    of: str = NUMBER

    def inner(self, name: str) -> Dice:
        return Dice(self.seed, f"{self.name}.{name}", self.of)

    @property
    def hash(self) -> str:
        return f"xxhash64({self.of}, {self.seed}L, {literal(self.name)})"

    @property
    def share(self) -> str:
        """From 0 to 1, without 1."""
        return f"(shiftrightunsigned({self.hash}, 11) / {_TWO_53})"

    def whole(self, least: int, most: int) -> str:
        return f"({least}L + pmod({self.hash}, {most - least + 1}L))"

    def between(self, least: float, most: float) -> str:
        return f"({float(least)}D + {self.share} * {float(most) - float(least)}D)"

    def one_of(self, values: Sequence[str]) -> str:
        """One of some expressions."""
        return f"element_at(array({', '.join(values)}), CAST(1 + pmod({self.hash}, {len(values)}L) AS INT))"


def generated(column: Column, wish: Wish, seed: int) -> str:
    """The expression of a column's values, of exactly its type."""
    dice = Dice(seed, column.name)
    if wish.values:
        made = dice.one_of([_constant(value, column) for value in wish.values])
    elif wish.sequence:
        made = _sequence(column)
    else:
        made = _by_type(column.type, dice, _bounds(column, wish), counted=_is_counted(column))
    made = f"CAST({made} AS {spark_type(column.type)})"
    return f"if({dice.inner('nulls').share} < {wish.nulls}D, NULL, {made})" if wish.nulls else made


def _is_counted(column: Column) -> bool:
    """Whether a column says by its name or place that no two rows share a value."""
    return column.name.upper() == "ID" or (column.role is Role.KEY and column.type in INTEGRAL)


def _sequence(column: Column) -> str:
    if column.type is Scalar.STRING:
        return f"concat({literal(column.name.lower() + '_')}, {NUMBER})"
    return NUMBER


def _constant(value: str, column: Column) -> str:
    if isinstance(column.type, Array | Map | Struct) or column.type is Scalar.BYTES:
        raise _invalid(column, "values", f"there are no constants of {column.type}")
    cast = f"try_cast({literal(value)} AS {spark_type(column.type)})"
    if column.type in INTEGRAL or isinstance(column.type, Decimal) or column.type is Scalar.DOUBLE:
        _number(column, "values", value)
    return cast


def _bounds(column: Column, wish: Wish) -> tuple[float, float] | None:
    if wish.least is None and wish.most is None:
        return None
    numeric = column.type in (*INTEGRAL, Scalar.DOUBLE) or isinstance(column.type, Decimal)
    if not numeric:
        raise _invalid(column, "min" if wish.least is not None else "max", f"{column.type} is no number")
    least = _number(column, "min", wish.least or "0")
    most = _number(column, "max", wish.most or str(least + _LARGEST))
    if most < least:
        raise _invalid(column, "max", "it is less than 'min'")
    return least, most


def _number(column: Column, option: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise _invalid(column, option, "no number") from None


def _invalid(column: Column, option: str, why: str) -> UserError:
    return ConfigError("INVALID_CONNECTOR", f"'field.{column.name.lower()}.{option}': {why}.")


def _by_type(type_: SqlType, dice: Dice, bounds: tuple[float, float] | None = None, *, counted: bool = False) -> str:
    match type_:
        case Scalar.INTEGER | Scalar.BIGINT:
            if counted and bounds is None:
                return NUMBER
            least, most = bounds or (0, _LARGEST - 1)
            return dice.whole(int(least), int(most))
        case Scalar.DOUBLE:
            least, most = bounds or (0, _LARGEST)
            return f"round({dice.between(least, most)}, 4)"
        case Decimal(precision, scale):
            least, most = bounds or (0, min(_LARGEST, 10 ** (precision - scale)) * 0.99)
            return f"round({dice.between(least, most)}, {scale})"
        case Scalar.BOOLEAN:
            return f"pmod({dice.hash}, 2) = 0"
        case Scalar.STRING:
            return f"concat({literal(dice.name.split('.')[-1].lower() + '_')}, {dice.whole(1, _DIFFERENT)})"
        case Scalar.BYTES:
            return f"CAST({dice.hash} AS BINARY)"
        case Scalar.TIMESTAMP:
            return f"timestamp_millis({TIME})"
        case Scalar.DATE:
            return f"CAST(timestamp_millis({TIME} - {dice.whole(0, _YEAR_MS)}) AS DATE)"
        case Scalar.TIME:
            return dice.whole(0, _DAY_MS - 1)
        case Array(element):
            items = [_by_type(element, dice.inner(str(at))) for at in range(3)]
            return f"slice(array({_typed(items, element)}), 1, CAST({dice.whole(1, 3)} AS INT))"
        case Map(_, value):
            names = [f"'{name}', {_typed([_by_type(value, dice.inner(name))], value)}" for name in ("a", "b")]
            return f"map({', '.join(names)})"
        case Struct(fields):
            parts = (f"{literal(f.name)}, {_typed([_by_type(f.type, dice.inner(f.name))], f.type)}" for f in fields)
            return f"named_struct({', '.join(parts)})"
        case _:
            assert_never(type_)


def _typed(items: Sequence[str], type_: SqlType) -> str:
    return ", ".join(f"CAST({item} AS {spark_type(type_)})" for item in items)
