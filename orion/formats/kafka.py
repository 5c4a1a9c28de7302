"""KAFKA: one column as Kafka's own serialisers write it. Numbers are big-endian, text is UTF-8."""

from __future__ import annotations

from orion.errors import InternalError
from orion.formats import Decoded
from orion.plan.sources import Serde
from orion.schema import Column, Scalar, SqlType, quote

_WIDTHS = {Scalar.INTEGER: 4, Scalar.BIGINT: 8, Scalar.DOUBLE: 8}
# Avro writes a double as its eight IEEE bytes, little-endian: turned round they are what Kafka writes.
_AVRO_DOUBLE = "'\"double\"'"


def decode(columns: tuple[Column, ...], serde: Serde, raw: str, value: str) -> Decoded:
    if not columns:
        return Decoded("1", (), "FALSE", "''")
    type_ = _single(columns)
    width = _WIDTHS.get(type_) if isinstance(type_, Scalar) else None
    fits = f"length({raw}) = {width}" if width else "TRUE"
    read = _read(type_, raw)
    struct = f"named_struct('ok', {fits}, 'it', CASE WHEN {fits} THEN {read} END)"
    return Decoded(struct, (f"{value}.it",), f"NOT {value}.ok", f"'a {type_} has {width} bytes'")


def _read(type_: SqlType, raw: str) -> str:
    match type_:
        case Scalar.STRING:
            return f"CAST({raw} AS STRING)"
        case Scalar.BYTES:
            return raw
        case Scalar.BIGINT:
            return f"CAST(conv(hex({raw}), 16, -10) AS BIGINT)"
        case Scalar.INTEGER:
            unsigned = f"CAST(conv(hex({raw}), 16, 10) AS BIGINT)"
            return f"CAST(if({unsigned} > 2147483647, {unsigned} - 4294967296, {unsigned}) AS INT)"
        case Scalar.DOUBLE:
            return f"from_avro(reverse({raw}), {_AVRO_DOUBLE})"
        case _:
            raise InternalError("FORMAT", f"KAFKA can't hold {type_}.")


def encode(columns: tuple[Column, ...], serde: Serde) -> str:
    if not columns:
        return "CAST(NULL AS BINARY)"
    name, type_ = quote(columns[0].name), _single(columns)
    if type_ is Scalar.DOUBLE:
        return f"if({name} IS NULL, NULL, reverse(to_avro(coalesce({name}, 0D), {_AVRO_DOUBLE})))"
    return f"CAST({name} AS BINARY)"


def _single(columns: tuple[Column, ...]) -> SqlType:
    if len(columns) != 1:
        raise InternalError("FORMAT", "KAFKA holds one column.")
    return columns[0].type
