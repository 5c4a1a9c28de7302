"""What the formats with schemas share: whose names are whose, and when a column stands alone."""

from __future__ import annotations

from collections.abc import Sequence

from orion.plan.schemas import Inferred
from orion.plan.sources import Serde, is_alone
from orion.schema import Array, Column, Field, Map, Role, SqlType, Struct, quote

ALONE = {Role.KEY: "ROWKEY", Role.VALUE: "ROWVAL"}


def alone(columns: tuple[Column, ...], serde: Serde, made: str) -> str:
    """The bytes; of a NULL that stands alone none at all."""
    return f"CASE WHEN {quote(columns[0].name)} IS NOT NULL THEN {made} END" if is_alone(columns, serde) else made


def named(name: str, names: Sequence[str]) -> int | None:
    """The place of a name: the same one, else the first that differs in case alone."""
    if name in names:
        return names.index(name)
    return next((at for at, one in enumerate(names) if one.upper() == name.upper()), None)


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
