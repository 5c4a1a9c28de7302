"""What the formats with schemas share: whose names are whose, and when a column stands alone."""

from __future__ import annotations

from collections.abc import Sequence

from orion.errors import SchemaError
from orion.plan.schemas import Inferred
from orion.plan.sources import Serde, is_alone
from orion.schema import Array, Column, Decimal, Field, Map, Role, SqlType, Struct, quote

MOST_DIGITS = 38
ALONE = {Role.KEY: "ROWKEY", Role.VALUE: "ROWVAL"}


def alone(columns: tuple[Column, ...], serde: Serde, made: str) -> str:
    """The bytes; of a NULL that stands alone none at all."""
    return f"CASE WHEN {quote(columns[0].name)} IS NOT NULL THEN {made} END" if is_alone(columns, serde) else made


def named(name: str, names: Sequence[str]) -> int | None:
    """The place of a name: the same one, else the first that differs in case alone."""
    if name in names:
        return names.index(name)
    return next((at for at, one in enumerate(names) if one.upper() == name.upper()), None)


def spelled(type_: SqlType, like: SqlType) -> SqlType:
    """The type with the names that another one has for the same fields."""
    match type_, like:
        case Array(element), Array(other):
            return Array(spelled(element, other))
        case Map(key, value), Map(_, other):
            return Map(key, spelled(value, other))
        case Struct(fields), Struct(others):
            names = [o.name for o in others]
            found = ((f, named(f.name, names)) for f in fields)
            return Struct(
                tuple(f if at is None else Field(names[at], spelled(f.type, others[at].type)) for f, at in found)
            )
        case _:
            return type_


def decimal(precision: int, scale: int) -> Decimal:
    """The type of such numbers. Connect's have 64 digits where nobody says how many, and a column 38 at most."""
    if scale > MOST_DIGITS:
        raise SchemaError("SCHEMA_UNFIT", f"{scale} digits behind the point are more than a column can have")
    return Decimal(min(precision, MOST_DIGITS), scale)


def inferred(type_: SqlType, serde: Serde, role: Role, *, whole: bool) -> Inferred:
    """The columns of a schema of this type: its fields, or the `whole` as one column.

    Names are in capitals, as SQL takes them without quotes, unless a schema was named by its id: then its names count.
    """
    spelled = type_ if serde.schema_id is not None else _in_capitals(type_)
    if whole or not isinstance(spelled, Struct) or not isinstance(type_, Struct):
        return Inferred((Column(ALONE[role], spelled, role, spelling=ALONE[role]),), alone=True)
    columns = (
        Column(new.name, new.type, role, spelling=old.name)
        for new, old in zip(spelled.fields, type_.fields, strict=True)
    )
    return Inferred(tuple(columns), alone=False)


def _in_capitals(type_: SqlType) -> SqlType:
    match type_:
        case Array(element):
            return Array(_in_capitals(element))
        case Map(key, value):
            return Map(key, _in_capitals(value))
        case Struct(fields):
            return Struct(tuple(Field(f.name.upper(), _in_capitals(f.type)) for f in fields))
        case _:
            return type_
