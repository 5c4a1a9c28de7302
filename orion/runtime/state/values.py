"""State records as bytes: what changelog topics and local stores hold, readable by any MessagePack library.

A record's key is a place (see `places`). Its value is one byte, the format (1), and a MessagePack array of two: when
the record falls due in milliseconds of the stream's time, or nil; and what the operator keeps. MessagePack's own types
stand for themselves. What it doesn't have is an extension, with MessagePack inside where there is more to it:

| code | what | inside |
|--:|---|---|
| 1 | tuple | array |
| 2 | whole number beyond 64 bits | its decimal digits as text |
| 3 | decimal | its digits as text |
| 4 | set that doesn't change | array |
| 5 | set | array |
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgpack

FORMAT = 1
_HEAD = bytes([FORMAT])
_TUPLE, _NUMBER, _DECIMAL, _FROZEN, _SET = 1, 2, 3, 4, 5


class DamagedRecord(ValueError):
    """Bytes that no Orion has written."""


class UnknownFormat(ValueError):
    """A record that a newer Orion has written."""


def encode(value: Any, due: int | None = None) -> bytes:
    packed: bytes = _packer.pack([due, value])
    return _HEAD + packed


def decode(blob: bytes) -> tuple[Any, int | None]:
    """What is kept, and when it falls due."""
    _check_format(blob)
    try:
        due, value = msgpack.unpackb(memoryview(blob)[1:], ext_hook=_read, strict_map_key=False)
    except UnknownFormat:
        raise
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise DamagedRecord(f"a state record that can't be read: {error}") from error
    return value, due


def due_of(blob: bytes) -> int | None:
    """When a record falls due, without reading the rest of it."""
    _check_format(blob)
    unpacker = msgpack.Unpacker(strict_map_key=False)
    unpacker.feed(memoryview(blob)[1:12])  # the array's head and a whole number of eight bytes at most
    unpacker.read_array_header()
    due: int | None = unpacker.unpack()
    return due


def _check_format(blob: bytes) -> None:
    if blob[:1] != _HEAD:
        raise UnknownFormat(f"a state record of format {blob[:1].hex()}, where this Orion knows {FORMAT}")


def _extension(value: Any) -> Any:
    """What MessagePack has no type of its own for."""
    match value:
        case tuple():
            return msgpack.ExtType(_TUPLE, _inner(value))
        case Decimal():
            return msgpack.ExtType(_DECIMAL, str(value).encode())
        case int():
            return msgpack.ExtType(_NUMBER, str(value).encode())
        case frozenset():
            return msgpack.ExtType(_FROZEN, _inner(value))
        case set():
            return msgpack.ExtType(_SET, _inner(value))
        case _:
            raise TypeError(f"state can't hold a {type(value).__name__}")


def _inner(values: Any) -> bytes:
    # A packer of its own: the other one is in the middle of what this is part of.
    packed: bytes = msgpack.packb(list(values), default=_extension, strict_types=True)
    return packed


# Strict: a tuple would come back as a list.
_packer = msgpack.Packer(default=_extension, strict_types=True)


def _read(code: int, data: bytes) -> Any:
    match code:
        case 2:
            return int(data)
        case 3:
            return Decimal(data.decode())
        case 1 | 4 | 5:
            made = {_TUPLE: tuple, _FROZEN: frozenset, _SET: set}[code]
            return made(msgpack.unpackb(data, ext_hook=_read, strict_map_key=False))
        case _:
            raise UnknownFormat(f"an extension of MessagePack with the code {code}")
