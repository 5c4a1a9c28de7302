"""The messages of PostgreSQL's protocol 3: those of clients as values, those of the server as bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

MAX_STARTUP = 10_000
MAX_MESSAGE = 16 << 20

_CANCEL, _SSL, _GSSENC = 80877102, 80877103, 80877104  # where others say their protocol


class ProtocolViolation(Exception):
    """Bytes that no client of PostgreSQL's would send; nothing after them can be trusted."""


# What a client says before anything else.


@dataclass(frozen=True, slots=True)
class Startup:
    parameters: dict[str, str]
    minor: int = 0  # of protocol 3; a newer one than 0 is talked down
    unknown: tuple[str, ...] = ()  # options of the protocol itself, `_pq_.` before their names


@dataclass(frozen=True, slots=True)
class Encryption:
    """SSLRequest and GSSENCRequest: both are answered with one byte."""


@dataclass(frozen=True, slots=True)
class Cancel:
    process: int
    secret: bytes


Opening = Startup | Encryption | Cancel


# What it says afterwards.


class Kind(Enum):
    STATEMENT = b"S"
    PORTAL = b"P"


@dataclass(frozen=True, slots=True)
class Query:
    text: str


@dataclass(frozen=True, slots=True)
class Parse:
    name: str
    text: str
    types: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Bind:
    portal: str
    statement: str
    formats: tuple[int, ...] = ()
    values: tuple[bytes | None, ...] = ()
    results: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Describe:
    kind: Kind
    name: str


@dataclass(frozen=True, slots=True)
class Execute:
    portal: str
    limit: int = 0


@dataclass(frozen=True, slots=True)
class Close:
    kind: Kind
    name: str


@dataclass(frozen=True, slots=True)
class Flush:
    pass


@dataclass(frozen=True, slots=True)
class Sync:
    pass


@dataclass(frozen=True, slots=True)
class Terminate:
    pass


@dataclass(frozen=True, slots=True)
class Secret:
    """A password, or a step of SASL: what it means, whoever asked for it knows."""

    body: bytes


@dataclass(frozen=True, slots=True)
class Other:
    """A message that this server has no use for: COPY's data, a function call."""

    tag: bytes


Message = Query | Parse | Bind | Describe | Execute | Close | Flush | Sync | Terminate | Secret | Other


class _Body:
    """The fields of a message, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        end = self._at + size
        if size < 0 or end > len(self._data):
            raise ProtocolViolation("a message is shorter than it says")
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def text(self) -> str:
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise ProtocolViolation("a text has no end")
        try:
            text = self._data[self._at : end].decode()
        except UnicodeDecodeError as error:
            raise ProtocolViolation("a text is not UTF-8") from error
        self._at = end + 1
        return text

    def int16(self) -> int:
        return int.from_bytes(self.take(2))

    def int32(self) -> int:
        return int.from_bytes(self.take(4), signed=True)

    def int16s(self) -> tuple[int, ...]:
        return tuple(self.int16() for _ in range(self.int16()))

    def value(self) -> bytes | None:
        size = self.int32()
        return None if size == -1 else self.take(size)

    def kind(self) -> Kind:
        try:
            return Kind(self.take(1))
        except ValueError as error:
            raise ProtocolViolation("neither a statement nor a portal") from error

    def end(self) -> None:
        if self._at != len(self._data):
            raise ProtocolViolation("a message is longer than its fields")


def opening(body: bytes) -> Opening:
    """The first message, without its length."""
    fields = _Body(body)
    code = fields.int32()
    if code == _CANCEL:
        return Cancel(fields.int32() & 0xFFFFFFFF, body[8:])
    if code in (_SSL, _GSSENC):
        return Encryption()
    if code >> 16 != 3:
        raise ProtocolViolation(f"protocol {code >> 16}.{code & 0xFFFF} is not spoken here, only 3.0")
    parameters: dict[str, str] = {}
    while name := fields.text():
        parameters[name] = fields.text()
    fields.end()
    unknown = tuple(name for name in parameters if name.startswith("_pq_."))
    return Startup({k: v for k, v in parameters.items() if k not in unknown}, code & 0xFFFF, unknown)


def message(tag: bytes, body: bytes) -> Message:
    fields = _Body(body)
    read: Message
    match tag:
        case b"Q":
            read = Query(fields.text())
        case b"P":
            name, text = fields.text(), fields.text()
            read = Parse(name, text, tuple(fields.int32() & 0xFFFFFFFF for _ in range(fields.int16())))
        case b"B":
            portal, statement, formats = fields.text(), fields.text(), fields.int16s()
            values = tuple(fields.value() for _ in range(fields.int16()))
            read = Bind(portal, statement, formats, values, fields.int16s())
        case b"D":
            read = Describe(fields.kind(), fields.text())
        case b"C":
            read = Close(fields.kind(), fields.text())
        case b"E":
            read = Execute(fields.text(), fields.int32())
        case b"H":
            read = Flush()
        case b"S":
            read = Sync()
        case b"X":
            read = Terminate()
        case b"p":
            return Secret(body)
        case b"F" | b"d" | b"c" | b"f":
            return Other(tag)
        case _:
            raise ProtocolViolation(f"there is no message {tag!r}")
    fields.end()
    return read


# What the server says.


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a result, as it is announced."""

    name: str
    oid: int
    size: int
    modifier: int = -1
    format: int = 0


class Status(Enum):
    IDLE = b"I"
    TRANSACTION = b"T"
    FAILED = b"E"


def framed(tag: bytes, body: bytes = b"") -> bytes:
    return tag + (len(body) + 4).to_bytes(4) + body


def authentication(code: int, data: bytes = b"") -> bytes:
    return framed(b"R", code.to_bytes(4) + data)


def parameter_status(name: str, value: str) -> bytes:
    return framed(b"S", _text(name) + _text(value))


def key_data(process: int, secret: bytes) -> bytes:
    return framed(b"K", process.to_bytes(4) + secret)


def negotiate(unknown: Sequence[str]) -> bytes:
    """3.0 is all there is, and these options aren't known."""
    return framed(b"v", struct.pack("!ii", 0, len(unknown)) + b"".join(map(_text, unknown)))


def ready(status: Status) -> bytes:
    return framed(b"Z", status.value)


def row_description(fields: Sequence[Field]) -> bytes:
    columns = (_text(f.name) + struct.pack("!IhIhih", 0, 0, f.oid, f.size, f.modifier, f.format) for f in fields)
    return framed(b"T", len(fields).to_bytes(2) + b"".join(columns))


def parameter_description(oids: Sequence[int]) -> bytes:
    return framed(b"t", len(oids).to_bytes(2) + b"".join(oid.to_bytes(4) for oid in oids))


def data_row(values: Iterable[bytes | None], tag: bytes = b"D") -> bytes:
    written = [b"\xff\xff\xff\xff" if v is None else len(v).to_bytes(4) + v for v in values]
    return framed(tag, len(written).to_bytes(2) + b"".join(written))


def command_complete(tag: str) -> bytes:
    return framed(b"C", _text(tag))


def error(code: str, text: str, *, hint: str | None = None, severity: str = "ERROR", tag: bytes = b"E") -> bytes:
    """An error; with tag N a notice."""
    fields = {b"S": severity, b"V": severity, b"C": code, b"M": text, b"H": hint}
    return framed(tag, b"".join(k + _text(v) for k, v in fields.items() if v is not None) + b"\0")


def _text(text: str) -> bytes:
    return text.replace("\0", "").encode() + b"\0"


PARSE_COMPLETE = framed(b"1")
BIND_COMPLETE = framed(b"2")
CLOSE_COMPLETE = framed(b"3")
NO_DATA = framed(b"n")
EMPTY_QUERY = framed(b"I")
PORTAL_SUSPENDED = framed(b"s")
COPY_DONE = framed(b"c")
