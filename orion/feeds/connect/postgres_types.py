"""PostgreSQL's types as SQL's, by how Debezium writes them with Orion's settings.

| PostgreSQL | in the record | here |
|---|---|---|
| smallint, integer; bigint, oid | number | INTEGER; BIGINT |
| real, double precision | number | DOUBLE |
| numeric(p, s), money | text | DECIMAL(p, s), DECIMAL(19, 2) |
| numeric | text | VARCHAR: no number of digits is fixed |
| boolean, bit(1) | true, false | BOOLEAN |
| date, time, timestamp | days, milliseconds of the day, milliseconds | DATE, TIME, TIMESTAMP |
| timestamptz | ISO 8601 | TIMESTAMP |
| timetz, interval | ISO 8601 | VARCHAR |
| bytea, bit(n) | base64 | BYTES |
| char, varchar, text, uuid, json, xml, enums, addresses, ranges | text | VARCHAR |
| arrays of these | array | ARRAY |
| points, geometry, composite types | | none |
"""

from __future__ import annotations

from orion.feeds.connect.tables import decimal
from orion.schema import Array, Decimal, Scalar, SqlType

_HEADER = 4  # of a type's modifier
_TYPES: dict[str, SqlType] = {
    "bool": Scalar.BOOLEAN,
    "int2": Scalar.INTEGER,
    "int4": Scalar.INTEGER,
    "int8": Scalar.BIGINT,
    "oid": Scalar.BIGINT,
    "float4": Scalar.DOUBLE,
    "float8": Scalar.DOUBLE,
    "money": Decimal(19, 2),
    "date": Scalar.DATE,
    "time": Scalar.TIME,
    "timestamp": Scalar.TIMESTAMP,
    "timestamptz": Scalar.TIMESTAMP,
    "bytea": Scalar.BYTES,
    "varbit": Scalar.BYTES,
    **dict.fromkeys(
        "char bpchar varchar text name citext uuid json jsonb xml inet cidr macaddr macaddr8 ltree hstore interval "
        "timetz int4range int8range numrange tsrange tstzrange daterange tsvector".split(),
        Scalar.STRING,
    ),
}


def postgres_type(base: tuple[str, str], element: tuple[str | None, str | None], modifier: int) -> SqlType | None:
    """The type of a column: its type's name and kind, those of an array's elements, and the type's modifier."""
    name, kind = element if element[0] is not None else base
    one = _single(name or "", kind, modifier)
    return Array(one) if one is not None and element[0] is not None else one


def _single(name: str, kind: str | None, modifier: int) -> SqlType | None:
    if kind == "e":
        return Scalar.STRING
    if name == "numeric":
        digits = modifier - _HEADER
        return decimal(digits >> 16, digits & 0x7FF) if modifier >= _HEADER else decimal(None, None)
    if name == "bit":
        return Scalar.BOOLEAN if modifier == 1 else Scalar.BYTES
    return _TYPES.get(name)
