"""Columns of Arrow in PostgreSQL's binary format."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from orion.web.postgres.text import DAYS, MICROS, Encoder, Span, slices

DAYS_TO_2000 = 10_957  # PostgreSQL counts from 2000, Arrow from 1970
MICROS_TO_2000 = DAYS_TO_2000 * 86_400_000_000


def number(dtype: str, arrow: Any) -> Encoder:
    """Numbers of a fixed width, the most significant byte first."""
    width = int(dtype[-1])

    def encoded(column: Any) -> Any:
        values = pc.fill_null(column.cast(arrow), 0).to_numpy(zero_copy_only=False)
        return with_nulls_of(column, fixed(values.astype(dtype).tobytes(), width))

    return encoded


def fixed(data: bytes, width: int) -> Any:
    """Bytes cut into values of one width."""
    kind = pa.binary(width)
    return pa.FixedSizeBinaryArray.from_buffers(kind, len(data) // width, [None, pa.py_buffer(data)]).cast(pa.binary())


def with_nulls_of(column: Any, encoded: Any) -> Any:
    return encoded if column.null_count == 0 else pc.if_else(column.is_valid(), encoded, None)


INT8 = number(">i8", pa.int64())
INT4 = number(">i4", pa.int32())


def raw(column: Any) -> Any:
    return column.cast(pa.binary())


def boolean(column: Any) -> Any:
    return pc.if_else(column, b"\1", b"\0")


def date(column: Any) -> Any:
    return INT4(_since_2000(column.cast(pa.int32()), DAYS_TO_2000, DAYS, -(2**31)))


def timestamp(column: Any) -> Any:
    """With a zone or without: the moment is the same."""
    if column.type.tz is None:
        column = column.cast(pa.timestamp("us"))
    return INT8(_since_2000(column.cast(pa.int64()), MICROS_TO_2000, MICROS, -(2**63)))


def _since_2000(numbers: Any, start: int, kept: Span, least: int) -> Any:
    """What PostgreSQL doesn't hold becomes one of its two infinities, the least and the greatest number."""
    after, before = pc.greater_equal(numbers, kept.end), pc.less(numbers, kept.first)
    finite = pc.if_else(pc.or_(after, before), pa.scalar(start, numbers.type), numbers)
    moved = pc.subtract(finite, pa.scalar(start, numbers.type))
    ends = (pa.scalar(end, numbers.type) for end in (-least - 1, least))
    return pc.case_when(pc.make_struct(after, before), *ends, moved)


def time(column: Any) -> Any:
    return INT8(column.cast(pa.int64()))


def uuid(value: str) -> bytes:
    return UUID(value).bytes


def interval(value: Any) -> bytes:
    return struct.pack("!qii", value.nanoseconds // 1000, value.days, value.months)


def numeric(value: Decimal) -> bytes:
    """Digits of base 10,000, with the decimal point between two of them."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    text = "".join(map(str, digits)) + "0" * max(0, exponent)
    whole, part = (text[:-scale], text[-scale:].rjust(scale, "0")) if scale else (text, "")
    whole = whole.lstrip("0")
    whole = whole.rjust(-(-len(whole) // 4) * 4, "0")
    part = part.ljust(-(-len(part) // 4) * 4, "0")
    groups = [int((whole + part)[at : at + 4]) for at in range(0, len(whole) + len(part), 4)]
    weight = len(whole) // 4 - 1
    while groups and groups[0] == 0:
        groups.pop(0)
        weight -= 1
    while groups and groups[-1] == 0:
        groups.pop()
    if not groups:
        sign = weight = 0
    header = struct.pack("!hhHH", len(groups), weight, 0x4000 if sign else 0, scale)
    return header + b"".join(group.to_bytes(2) for group in groups)


def numeric_value(data: bytes) -> Decimal:
    """The way back, for parameters."""
    count, weight, sign, scale = struct.unpack("!hhHH", data[:8])
    if sign in (0xC000, 0xD000, 0xF000):
        return Decimal({0xC000: "NaN", 0xD000: "Infinity", 0xF000: "-Infinity"}[sign])
    groups = struct.unpack(f"!{count}H", data[8:])
    total = 0  # in whole numbers: arithmetic of decimals would round
    for group in groups:
        total = total * 10_000 + group
    shift = 4 * (weight - count + 1) + scale
    total = total * 10**shift if shift >= 0 else total // 10**-shift
    return Decimal((int(sign == 0x4000), tuple(map(int, str(total))), -scale))


def array(element: Encoder, oid: int) -> Encoder:
    """A list as an array of one dimension."""

    def encoded(column: Any) -> Any:
        inner = element(column.flatten()).cast(pa.binary()).to_pylist()
        return pa.array(
            [None if part is None else _dimension(part, oid) for part in slices(column, inner)], pa.binary()
        )

    return encoded


def _dimension(elements: list[bytes | None], oid: int) -> bytes:
    if not elements:
        return struct.pack("!iiI", 0, 0, oid)
    header = struct.pack("!iiIii", 1, int(None in elements), oid, len(elements), 1)
    return header + b"".join(b"\xff\xff\xff\xff" if e is None else len(e).to_bytes(4) + e for e in elements)
