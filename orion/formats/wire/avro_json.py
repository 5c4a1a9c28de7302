"""Avro's own JSON encoding, to the bytes of a record and back.

A value of a union stands under its type's name, `{"string": "x"}`, unless it is null; bytes are text of one character
each. Logical types are what is underneath: a date is a number. fastavro reads this encoding too, but guesses a union's
type anew when it writes the bytes, and may guess another one.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NoReturn

from orion.plan.sources import WireSchema

_INT, _LONG = 1 << 31, 1 << 63
_ODD = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def body_of(schema: WireSchema, value: Any) -> bytes:
    """The bytes behind a record's header. Raises ValueError where the value doesn't fit, and says where."""
    root, names = _parsed(schema)
    out = bytearray()
    _Writer(names, out).write(root, value, "the value")
    return bytes(out)


def value_of(schema: WireSchema, body: bytes) -> Any:
    """The JSON of such bytes."""
    root, names = _parsed(schema)
    reader = _Reader(names, body)
    value = reader.read(root)
    if reader.at != len(body):
        raise ValueError("there is more behind it")
    return value


@lru_cache(maxsize=64)
def _parsed(schema: WireSchema) -> tuple[Any, dict[str, Any]]:
    import fastavro

    names: dict[str, Any] = {}
    for _, text in schema.around:
        fastavro.parse_schema(_json(text), names)
    return fastavro.parse_schema(_json(schema.text), names), names


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text.strip()  # a bare word is a type's name


class _Shape:
    """Names of types, looked up."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names

    def kind(self, schema: Any) -> tuple[str, Any]:
        """What a schema is, and the schema itself, found by its name if that is all there is."""
        if isinstance(schema, str) and schema in self._names:
            schema = self._names[schema]
        if isinstance(schema, list):
            return "union", schema
        if isinstance(schema, str):
            return schema, schema
        inner = schema["type"]
        if isinstance(inner, str) and inner not in self._names:
            return ("record" if inner == "error" else inner), schema
        return self.kind(inner)

    def tag(self, schema: Any) -> str:
        """What a union calls one of its types."""
        kind, found = self.kind(schema)
        return str(found["name"]) if kind in ("record", "enum", "fixed") else kind


class _Writer(_Shape):
    def __init__(self, names: dict[str, Any], out: bytearray) -> None:
        super().__init__(names)
        self._out = out

    def write(self, schema: Any, value: Any, where: str, *, default: bool = False) -> None:
        """`default`: of a field that isn't there, which names no type of a union and means the first."""
        kind, found = self.kind(schema)
        match kind:
            case "union":
                self._union(found, value, where, default=default)
            case "record":
                self._record(found, value, where)
            case "array":
                items = value if isinstance(value, list) else _unfit(where, "an array", value)
                self._count(len(items))
                for at, item in enumerate(items):
                    self.write(found["items"], item, f"{where}[{at}]", default=default)
                self._number(0)
            case "map":
                entries = value if isinstance(value, dict) else _unfit(where, "an object", value)
                self._count(len(entries))
                for key, item in entries.items():
                    self._bytes(key.encode())
                    self.write(found["values"], item, f"{where}.{key}", default=default)
                self._number(0)
            case _:
                self._single(kind, found, value, where)

    def _union(self, branches: list[Any], value: Any, where: str, *, default: bool) -> None:
        tags = [self.tag(branch) for branch in branches]
        if default:
            at, inner = 0, value
        elif value is None and "null" in tags:
            at, inner = tags.index("null"), None
        elif isinstance(value, dict) and len(value) == 1 and next(iter(value)) in tags:
            tag, inner = next(iter(value.items()))
            at = tags.index(tag)
        else:
            known = " or ".join("null" if tag == "null" else json.dumps({tag: "..."}) for tag in tags)
            raise ValueError(f"{where} is one of several types, and has to say which: {known}")
        self._number(at)
        self.write(branches[at], inner, where, default=default)

    def _record(self, schema: Any, value: Any, where: str) -> None:
        if not isinstance(value, dict):
            _unfit(where, f"an object, the record {schema['name']}", value)
        unknown = value.keys() - {field["name"] for field in schema["fields"]}
        if unknown:
            raise ValueError(f"{where} has {', '.join(sorted(unknown))}, and the schema has no such field")
        for field in schema["fields"]:
            name = field["name"]
            inside = name if where == "the value" else f"{where}.{name}"
            if name in value:
                self.write(field["type"], value[name], inside)
            elif "default" in field:
                self.write(field["type"], field["default"], inside, default=True)
            else:
                raise ValueError(f"{inside} is missing, and the schema has no default for it")

    def _single(self, kind: str, schema: Any, value: Any, where: str) -> None:
        match kind:
            case "null":
                if value is not None:
                    _unfit(where, "null", value)
            case "boolean":
                self._out.append(value) if isinstance(value, bool) else _unfit(where, "a boolean", value)
            case "int" | "long":
                bound = _INT if kind == "int" else _LONG
                if type(value) is not int or not -bound <= value < bound:
                    _unfit(where, f"a whole number ({kind})", value)
                self._number(value)
            case "float" | "double":
                number = _ODD.get(value) if isinstance(value, str) else value
                if isinstance(number, bool) or not isinstance(number, int | float):
                    _unfit(where, f"a number ({kind})", value)
                self._out += struct.pack("<f" if kind == "float" else "<d", number)
            case "string":
                self._bytes(value.encode()) if isinstance(value, str) else _unfit(where, "a string", value)
            case "bytes":
                self._bytes(_latin(value, where))
            case "fixed":
                raw = _latin(value, where)
                if len(raw) != schema["size"]:
                    _unfit(where, f"{schema['size']} bytes", value)
                self._out += raw
            case "enum":
                if value not in schema["symbols"]:
                    _unfit(where, f"one of {', '.join(schema['symbols'])}", value)
                self._number(schema["symbols"].index(value))
            case _:
                raise ValueError(f"{where} is of the type {kind}, which nobody knows")

    def _number(self, value: int) -> None:
        left = value << 1 ^ value >> 63
        while left >= 0x80:
            self._out.append(left & 0x7F | 0x80)
            left >>= 7
        self._out.append(left)

    def _bytes(self, raw: bytes) -> None:
        self._number(len(raw))
        self._out += raw

    def _count(self, count: int) -> None:
        """Of one block with all there is; of nothing there is no block but the last."""
        if count:
            self._number(count)


class _Reader(_Shape):
    def __init__(self, names: dict[str, Any], body: bytes) -> None:
        super().__init__(names)
        self._body = body
        self.at = 0

    def read(self, schema: Any) -> Any:
        kind, found = self.kind(schema)
        match kind:
            case "union":
                branch = found[self._index(len(found))]
                value = self.read(branch)
                return value if self.tag(branch) == "null" else {self.tag(branch): value}
            case "record":
                return {field["name"]: self.read(field["type"]) for field in found["fields"]}
            case "array":
                items: list[Any] = []
                self._each(lambda: items.append(self.read(found["items"])))
                return items
            case "map":
                entries: dict[str, Any] = {}
                self._each(lambda: entries.update({self._bytes().decode(): self.read(found["values"])}))
                return entries
            case _:
                return self._single(kind, found)

    def _single(self, kind: str, schema: Any) -> Any:
        match kind:
            case "null":
                return None
            case "boolean":
                return self._take(1) == b"\1"
            case "int" | "long":
                return self._number()
            case "float":
                return _plain(struct.unpack("<f", self._take(4))[0])
            case "double":
                return _plain(struct.unpack("<d", self._take(8))[0])
            case "string":
                return self._bytes().decode()
            case "bytes":
                return self._bytes().decode("latin-1")
            case "fixed":
                return self._take(schema["size"]).decode("latin-1")
            case "enum":
                return schema["symbols"][self._index(len(schema["symbols"]))]
            case _:
                raise ValueError(f"nobody knows the type {kind}")

    def _number(self) -> int:
        value = shift = 0
        while True:
            byte = self._take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value >> 1 ^ -(value & 1)
            shift += 7
            if shift > 63:
                raise ValueError("a number has too many bytes")

    def _index(self, count: int) -> int:
        found = self._number()
        if not 0 <= found < count:
            raise ValueError(f"there is no type or symbol {found}")
        return found

    def _bytes(self) -> bytes:
        return self._take(self._number())

    def _take(self, count: int) -> bytes:
        if not 0 <= count <= len(self._body) - self.at:
            raise ValueError("there is less than the schema says")
        self.at += count
        return self._body[self.at - count : self.at]

    def _each(self, one: Callable[[], object]) -> None:
        while count := self._number():
            if count < 0:
                count = -count
                self._number()  # the block's size in bytes
            for _ in range(count):
                one()


def _plain(number: float) -> float | str:
    """What JSON has no form for is text, as Avro's own encoder writes it."""
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def _latin(value: Any, where: str) -> bytes:
    try:
        return value.encode("latin-1") if isinstance(value, str) else _unfit(where, "bytes as text", value)
    except UnicodeEncodeError as error:
        raise ValueError(f"{where} is bytes as text, and has a character that is no byte") from error


def _unfit(where: str, wanted: str, value: Any) -> NoReturn:
    shown = json.dumps(value, default=str)
    raise ValueError(f"{where} is {shown if len(shown) <= 60 else shown[:57] + '...'} and not {wanted}")
