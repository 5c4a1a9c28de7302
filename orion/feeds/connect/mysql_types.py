"""MySQL's and MariaDB's types as SQL's, by how Debezium writes them with Orion's settings.

| MySQL | in the record | here |
|---|---|---|
| tinyint, smallint, mediumint, int, year | number | INTEGER |
| int unsigned, bigint | number | BIGINT |
| bigint unsigned | number | DECIMAL(20, 0) |
| float, double | number | DOUBLE |
| decimal(p, s) | text | DECIMAL(p, s) |
| bit(1) | true, false | BOOLEAN |
| date, time, datetime | days, milliseconds of the day, milliseconds | DATE, TIME, TIMESTAMP |
| timestamp | ISO 8601 | TIMESTAMP |
| binary, varbinary, blobs, bit(n) | base64 | BYTES |
| char, varchar, texts, enum, set, json, uuid, inet | text | VARCHAR |
| geometry | | none |
"""

from __future__ import annotations

from orion.feeds.connect.tables import decimal
from orion.schema import Decimal, Scalar, SqlType

_TYPES: dict[str, SqlType] = {
    "tinyint": Scalar.INTEGER,
    "smallint": Scalar.INTEGER,
    "mediumint": Scalar.INTEGER,
    "year": Scalar.INTEGER,
    "bigint": Scalar.BIGINT,
    "float": Scalar.DOUBLE,
    "double": Scalar.DOUBLE,
    "date": Scalar.DATE,
    "time": Scalar.TIME,
    "datetime": Scalar.TIMESTAMP,
    "timestamp": Scalar.TIMESTAMP,
    **dict.fromkeys("binary varbinary tinyblob blob mediumblob longblob".split(), Scalar.BYTES),
    **dict.fromkeys(
        "char varchar tinytext text mediumtext longtext enum set json uuid inet4 inet6".split(),
        Scalar.STRING,
    ),
}


def mysql_type(name: str, full: str, precision: int | None, scale: int | None) -> SqlType | None:
    """The type of a column: its name, as it was declared, and a number's digits."""
    name, unsigned = name.lower(), "unsigned" in full.lower()
    match name:
        case "int":
            return Scalar.BIGINT if unsigned else Scalar.INTEGER
        case "bigint" if unsigned:
            return Decimal(20, 0)
        case "decimal":
            return decimal(precision, scale)
        case "bit":
            return Scalar.BOOLEAN if full.lower() == "bit(1)" else Scalar.BYTES
        case _:
            return _TYPES.get(name)
