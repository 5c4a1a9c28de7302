"""Parameters of statements: from the bytes of a client to values that DuckDB takes."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from orion.web.postgres import types
from orion.web.postgres.binary import numeric_value
from orion.web.postgres.errors import Refused
from orion.web.postgres.lexer import Token, words
from orion.web.postgres.phrases import Element, array_elements

_EPOCH = datetime(2000, 1, 1)
_TRUE = {"t", "true", "y", "yes", "on", "1"}
_FALSE = {"f", "false", "n", "no", "off", "0"}


def _boolean(text: str) -> bool:
    word = text.strip().lower()
    if word not in _TRUE | _FALSE:
        raise ValueError(text)
    return word in _TRUE


def _bytes(text: str) -> bytes:
    if text.startswith("\\x"):
        return bytes.fromhex(text[2:])
    return text.encode().decode("unicode_escape").encode("latin-1")


_SPAN = re.compile(r"(?:(-?\d+) days?,? )?(-?)(\d+):(\d\d):(\d\d(?:\.\d+)?)")


def _span(text: str) -> timedelta | str:
    """An interval of days and hours; others stay text."""
    if not (found := _SPAN.fullmatch(text)):
        return text
    days, sign, hours, minutes, seconds = found.groups()
    time_of_day = timedelta(hours=int(hours), minutes=int(minutes), seconds=float(seconds))
    return timedelta(days=int(days or 0)) + (-time_of_day if sign else time_of_day)


def _binary_span(data: bytes) -> timedelta | str:
    micros, days, months = struct.unpack("!qii", data)
    return f"{months} months {days} days {micros} microseconds" if months else timedelta(days, microseconds=micros)


_TEXTS: dict[int, Callable[[str], Any]] = {
    types.BOOL.oid: _boolean,
    types.BYTEA.oid: _bytes,
    types.INT2.oid: int,
    types.INT4.oid: int,
    types.INT8.oid: int,
    types.OID.oid: int,
    types.FLOAT4.oid: float,
    types.FLOAT8.oid: float,
    types.NUMERIC.oid: Decimal,
    types.DATE.oid: date.fromisoformat,
    types.TIME.oid: time.fromisoformat,
    types.TIMESTAMP.oid: datetime.fromisoformat,
    types.TIMESTAMPTZ.oid: datetime.fromisoformat,
    types.INTERVAL.oid: _span,
    types.UUID.oid: UUID,
}

_BINARIES: dict[int, Callable[[bytes], Any]] = {
    types.BOOL.oid: lambda data: data != b"\0",
    types.BYTEA.oid: bytes,
    types.OID.oid: int.from_bytes,
    types.FLOAT4.oid: lambda data: struct.unpack("!f", data)[0],
    types.FLOAT8.oid: lambda data: struct.unpack("!d", data)[0],
    types.NUMERIC.oid: numeric_value,
    types.DATE.oid: lambda data: (_EPOCH + timedelta(days=_signed(data))).date(),
    types.TIME.oid: lambda data: (_EPOCH + timedelta(microseconds=_signed(data))).time(),
    types.TIMESTAMP.oid: lambda data: _EPOCH + timedelta(microseconds=_signed(data)),
    types.TIMESTAMPTZ.oid: lambda data: _EPOCH.replace(tzinfo=UTC) + timedelta(microseconds=_signed(data)),
    types.INTERVAL.oid: _binary_span,
    types.UUID.oid: lambda data: UUID(bytes=data),
} | {oid: lambda data: _signed(data) for oid in (types.INT2.oid, types.INT4.oid, types.INT8.oid)}


def _signed(data: bytes) -> int:
    return int.from_bytes(data, signed=True)


@dataclass(frozen=True, slots=True)
class Types:
    """The types of a statement's parameters: what the client tells (0: nothing), and what the statement lets guess."""

    told: tuple[int, ...] = ()
    guessed: dict[int, int] = field(default_factory=dict)

    def is_told(self, number: int) -> bool:
        """Whether the client has said what this one is, from 1."""
        return number <= len(self.told) and self.told[number - 1] not in (0, _UNKNOWN)

    def of(self, number: int) -> int:
        """Of the parameter with this number; text where nothing is known."""
        return self.told[number - 1] if self.is_told(number) else self.guessed.get(number, types.TEXT.oid)

    def read_as(self, number: int, binary: int) -> int:
        """A day or time whose type isn't told stays text: DuckDB reads more ways to write them than are read here."""
        guess = self.guessed.get(number, 0)
        if self.is_told(number):
            return self.told[number - 1]
        return guess if binary or guess not in _LEFT_TO_DUCKDB else 0


_UNKNOWN = 705
_LEFT_TO_DUCKDB = {t.oid for t in (types.DATE, types.TIME, types.TIMESTAMP, types.TIMESTAMPTZ, types.INTERVAL)}
_BY_NAME = {name: t.oid for t in types.SCALARS for name in (t.name, t.spelled)} | {"int": types.INT4.oid}
_ARRAY_OF = {scalar.oid: scalar.array for scalar in types.SCALARS}


def cast_types(statement: Sequence[Token]) -> dict[int, int]:
    """What casts behind parameters tell of them: `$1::int`, `$1::text[]`."""
    pieces = [token.word for token in words(statement)]
    found: dict[int, int] = {}
    for at, piece in enumerate(pieces):
        if not (piece.startswith("$") and piece[1:].isdecimal()):
            continue
        number = int(piece[1:])
        match pieces[at + 1 : at + 5]:
            case ["::", name, "[", "]"] if name in _BY_NAME:
                found[number] = _ARRAY_OF[_BY_NAME[name]]
            case ["::", name, *_] if name in _BY_NAME:
                found[number] = _BY_NAME[name]
    return found


def values(raw: Sequence[bytes | None], known: Types, formats: Sequence[int]) -> list[Any]:
    """The values of a Bind."""
    codes = formats if len(formats) > 1 else [*(formats or (0,))] * len(raw)
    if len(codes) != len(raw):
        raise Refused("08P01", f"{len(codes)} formats are given for {len(raw)} parameters")
    return [
        None if data is None else value(data, known.read_as(number, code), code)
        for number, (data, code) in enumerate(zip(raw, codes, strict=True), 1)
    ]


def value(data: bytes, oid: int, binary: int) -> Any:
    try:
        return _binary(data, oid) if binary else _text(data.decode(), oid)
    except (ValueError, InvalidOperation, struct.error, OverflowError, IndexError) as error:
        name = found.spelled if (found := types.BY_OID.get(oid)) else f"type {oid}"
        shown = "its bytes" if binary else f'"{data.decode(errors="replace")}"'
        raise Refused("22P03" if binary else "22P02", f"{shown} can't be read as {name}") from error


def _text(text: str, oid: int) -> Any:
    if element := types.element_of(oid):
        return [_element(part, element.oid) for part in array_elements(text)]
    read = _TEXTS.get(oid)
    return text if read is None else read(text)


def _element(part: Element, oid: int) -> Any:
    if isinstance(part, list):
        raise ValueError("arrays of arrays")
    return None if part is None else _text(part, oid)


def _binary(data: bytes, oid: int) -> Any:
    if element := types.element_of(oid):
        return _binary_array(data, element.oid)
    read = _BINARIES.get(oid)
    return data.decode() if read is None else read(data)


def _binary_array(data: bytes, oid: int) -> list[Any]:
    dimensions, _, _ = struct.unpack_from("!iiI", data)
    if dimensions == 0:
        return []
    if dimensions != 1:
        raise ValueError("arrays of arrays")
    (count, _), at = struct.unpack_from("!ii", data, 12), 20
    read: list[Any] = []
    for _ in range(count):
        (size,) = struct.unpack_from("!i", data, at)
        at += 4
        read.append(None if size == -1 else _binary(data[at : at + size], oid))
        at += max(size, 0)
    return read


_SAMPLES: dict[int, Any] = {
    types.BOOL.oid: False,
    types.BYTEA.oid: b"",
    types.DATE.oid: _EPOCH.date(),
    types.FLOAT4.oid: 0.0,
    types.FLOAT8.oid: 0.0,
    types.INT2.oid: 0,
    types.INT4.oid: 0,
    types.INT8.oid: 0,
    types.NUMERIC.oid: Decimal(0),
    types.TEXT.oid: "",
    types.TIME.oid: _EPOCH.time(),
    types.TIMESTAMP.oid: _EPOCH,
    types.TIMESTAMPTZ.oid: _EPOCH.replace(tzinfo=UTC),
    types.UUID.oid: UUID(int=0),
    types.VARCHAR.oid: "",
}


def sample(oid: int) -> Any:
    """A value of a type, to find out what a statement gives before it has its parameters."""
    return _SAMPLES.get(oid)
