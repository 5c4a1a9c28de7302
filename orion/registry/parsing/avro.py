"""Avro schemas: a text to types, and to the text that Confluent's registry would keep for it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from orion.registry.errors import InvalidSchema
from orion.registry.parsing import avro_resolved
from orion.registry.parsing.limits import read_json

PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Words that Avro has a meaning for in some type: its own parser drops them where they have none, as a name of an int.
_TYPE_WORDS = frozenset("type name namespace doc aliases fields symbols size items values".split())
_OWN = {
    **dict.fromkeys(("record", "error", "fixed", "array", "map", "primitive"), _TYPE_WORDS),
    "enum": _TYPE_WORDS | {"default"},
    "field": frozenset({"name", "type", "doc", "default", "order", "aliases"}),
}


@dataclass(frozen=True, slots=True)
class Primitive:
    kind: str


@dataclass(frozen=True, slots=True)
class Array:
    items: Type


@dataclass(frozen=True, slots=True)
class Map:
    values: Type


@dataclass(frozen=True, slots=True)
class Union:
    branches: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class Enum:
    name: str
    aliases: tuple[str, ...]
    symbols: tuple[str, ...]
    default: str | None


@dataclass(frozen=True, slots=True)
class Fixed:
    name: str
    aliases: tuple[str, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    aliases: tuple[str, ...]
    type: Type
    has_default: bool


@dataclass(frozen=True, slots=True)
class Record:
    name: str
    aliases: tuple[str, ...]
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Named:
    """A type by its full name, which may be a type around this place."""

    name: str


Type = Primitive | Array | Map | Union | Enum | Fixed | Record | Named
Definition = Enum | Fixed | Record


@dataclass(frozen=True)
class AvroSchema:
    """A parsed schema, with all named types it knows, those of its references included."""

    root: Type
    names: Mapping[str, Definition] = field(repr=False)
    canonical: str
    around: tuple[str, ...] = field(default=(), repr=False)

    @property
    def resolved(self) -> str:
        """The text with the types it refers to spelled out, as clients ask for it with `format=resolved`."""
        return avro_resolved.resolved(self.canonical, self.around)

    def resolve(self, of: Type) -> Type:
        return self.names[of.name] if isinstance(of, Named) else of


def parse(text: str, references: Iterable[str] = (), *, normalize: bool = False, nameless: bool = False) -> AvroSchema:
    """A schema with the types of the texts it refers to; `nameless` lets records have no name, as Avro's own tests do.

    A bare word such as `string` is a schema too: Avro's own parser takes it.
    """
    parser = _Parser(normalize, nameless)
    around = tuple(references)
    for reference in around:
        parser.read(_value(reference), "", "")
    root, shown = parser.read(_value(text), "", "")
    return AvroSchema(root, parser.names, json.dumps(shown, ensure_ascii=False, separators=(",", ":")), around)


def _value(text: str) -> Any:
    return text.strip() if text.strip() in PRIMITIVES else read_json(text)


class _Parser:
    """Reads values of JSON as types; each comes with its standard form as JSON."""

    def __init__(self, normalize: bool, nameless: bool) -> None:
        self.names: dict[str, Definition] = {}
        self._declared: set[str] = set()
        self._normalize = normalize
        self._nameless = nameless

    def read(self, raw: Any, namespace: str, path: str) -> tuple[Type, Any]:
        if isinstance(raw, str):
            return self._word(raw, namespace, path)
        if isinstance(raw, list):
            return self._union(raw, namespace, path)
        if not isinstance(raw, dict):
            raise InvalidSchema(f"{json.dumps(raw)[:80]} is no Avro type", path=path)
        kind = raw.get("type")
        if isinstance(kind, dict | list):
            # {"type": {"type": ...}} is the inner one.
            return self.read(kind, namespace, f"{path}/type")
        if kind in ("record", "error"):
            return self._record(raw, namespace, path)
        if kind == "enum":
            return self._enum(raw, namespace, path)
        if kind == "fixed":
            return self._fixed(raw, namespace, path)
        if kind in ("array", "map"):
            return self._collection(raw, kind, namespace, path)
        if not isinstance(kind, str):
            raise InvalidSchema("a type is missing", path=path)
        of, shown = self._word(kind, namespace, path)
        extra = self._extra(raw, _OWN["primitive"])
        return of, {"type": shown, **extra} if extra and isinstance(of, Primitive) else shown

    def _word(self, word: str, namespace: str, path: str) -> tuple[Type, Any]:
        if word in PRIMITIVES:
            return Primitive(word), word
        for full in dict.fromkeys((word if "." in word or not namespace else f"{namespace}.{word}", word)):
            if full in self._declared:
                return Named(full), _relative(full, namespace)
        raise InvalidSchema(f'"{word}" is no defined name', path=path)

    def _union(self, raw: list[Any], namespace: str, path: str) -> tuple[Type, Any]:
        read = [self.read(branch, namespace, f"{path}/{index}") for index, branch in enumerate(raw)]
        seen: set[str] = set()
        for index, (of, _) in enumerate(read):
            if isinstance(of, Union):
                raise InvalidSchema("a union holds no union itself", path=f"{path}/{index}")
            key = _branch_key(of)
            if key in seen:
                raise InvalidSchema(f"a union holds {key} twice", path=f"{path}/{index}")
            seen.add(key)
        return Union(tuple(of for of, _ in read)), [shown for _, shown in read]

    def _collection(self, raw: dict[str, Any], kind: str, namespace: str, path: str) -> tuple[Type, Any]:
        key = "items" if kind == "array" else "values"
        if key not in raw:
            raise InvalidSchema(f'an {kind} needs "{key}"', path=path)
        of, shown = self.read(raw[key], namespace, f"{path}/{key}")
        made = Array(of) if kind == "array" else Map(of)
        return made, {"type": kind, key: shown, **self._extra(raw, _OWN[kind])}

    def _enum(self, raw: dict[str, Any], namespace: str, path: str) -> tuple[Type, Any]:
        name, own, shown = self._naming(raw, namespace, path)
        symbols = raw.get("symbols")
        if not isinstance(symbols, list) or not all(isinstance(symbol, str) for symbol in symbols):
            raise InvalidSchema('an enum needs "symbols", a list of strings', path=path)
        for symbol in symbols:
            _check_name(symbol, f"{path}/symbols")
        if len(set(symbols)) != len(symbols):
            raise InvalidSchema("an enum has a symbol twice", path=f"{path}/symbols")
        default = raw.get("default")
        if default is not None and default not in symbols:
            raise InvalidSchema(f"the enum's default {default!r} is none of its symbols", path=f"{path}/default")
        aliases = _aliases(raw, own, path)
        made = Enum(name, aliases, tuple(symbols), default)
        self.names[name] = made
        shown["symbols"] = symbols
        if default is not None:
            shown["default"] = default
        return made, self._finished(shown, raw, "enum")

    def _fixed(self, raw: dict[str, Any], namespace: str, path: str) -> tuple[Type, Any]:
        name, own, shown = self._naming(raw, namespace, path)
        size = raw.get("size")
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise InvalidSchema('a fixed needs "size", a number', path=path)
        made = Fixed(name, _aliases(raw, own, path), size)
        self.names[name] = made
        shown["size"] = size
        return made, self._finished(shown, raw, "fixed")

    def _record(self, raw: dict[str, Any], namespace: str, path: str) -> tuple[Type, Any]:
        name, own, shown = self._naming(raw, namespace, path)
        given = raw.get("fields")
        if not isinstance(given, list):
            raise InvalidSchema('a record needs "fields", a list', path=path)
        fields, as_json = [], []
        for index, one in enumerate(given):
            made, json_of = self._field(one, own, f"{path}/fields/{index}")
            fields.append(made)
            as_json.append(json_of)
        if len({one.name for one in fields}) != len(fields):
            raise InvalidSchema(f"record {name} has a field twice", path=f"{path}/fields")
        record = Record(name, _aliases(raw, own, path), tuple(fields))
        self.names[name] = record
        shown["fields"] = as_json
        return record, self._finished(shown, raw, "record")

    def _field(self, raw: Any, namespace: str, path: str) -> tuple[Field, dict[str, Any]]:
        if not isinstance(raw, dict):
            raise InvalidSchema("a field is an object", path=path)
        name = raw.get("name")
        if not isinstance(name, str):
            raise InvalidSchema("a field needs a name", path=path)
        _check_name(name, path)
        if "type" not in raw:
            raise InvalidSchema(f"field {name} needs a type", path=path)
        if raw.get("order", "ascending") not in ("ascending", "descending", "ignore"):
            raise InvalidSchema(f"field {name} has an unknown order", path=path)
        of, shown_type = self.read(raw["type"], namespace, f"{path}/type")
        shown: dict[str, Any] = {"name": name, "type": shown_type}
        if isinstance(raw.get("doc"), str):
            shown["doc"] = raw["doc"]
        if "default" in raw:
            shown["default"] = raw["default"]
        if raw.get("order", "ascending") != "ascending":
            shown["order"] = raw["order"]
        return Field(name, _words(raw.get("aliases"), path), of, "default" in raw), self._finished(shown, raw, "field")

    def _naming(self, raw: dict[str, Any], namespace: str, path: str) -> tuple[str, str, dict[str, Any]]:
        """Full name, the namespace inside, and the first keys of the standard form; the name is known from here on."""
        name = raw.get("name")
        kind = raw["type"]
        if name is None and self._nameless:
            return "", namespace, {"type": kind}
        if not isinstance(name, str) or not name:
            raise InvalidSchema(f"a {kind} needs a name", path=path)
        space = raw.get("namespace")
        if space is None:
            space = namespace
        if not isinstance(space, str):
            raise InvalidSchema("a namespace is a string", path=path)
        if "." in name:
            space, _, name = name.rpartition(".")
        _check_name(name, path)
        for part in filter(None, space.split(".")):
            _check_name(part, path)
        full = f"{space}.{name}" if space else name
        if full in self._declared or full in PRIMITIVES:
            raise InvalidSchema(f"{full} can't be defined again", path=path)
        self._declared.add(full)
        shown: dict[str, Any] = {"type": kind, "name": name}
        if space != namespace or (self._normalize and space):
            shown["namespace"] = space
        if isinstance(raw.get("doc"), str):
            shown["doc"] = raw["doc"]
        return full, space, shown

    def _finished(self, shown: dict[str, Any], raw: dict[str, Any], kind: str) -> dict[str, Any]:
        shown.update(self._extra(raw, _OWN[kind]))
        if raw.get("aliases"):
            shown["aliases"] = raw["aliases"]
        return shown

    def _extra(self, raw: dict[str, Any], own: frozenset[str]) -> dict[str, Any]:
        """Properties that Avro has no meaning for, such as a logical type; kept, for others may have one."""
        extra = {key: value for key, value in raw.items() if key not in own}
        return dict(sorted(extra.items())) if self._normalize else extra


def _relative(full: str, namespace: str) -> str:
    space, _, name = full.rpartition(".")
    return name if space == namespace else full


def _branch_key(of: Type) -> str:
    match of:
        case Primitive():
            return of.kind
        case Array():
            return "array"
        case Map():
            return "map"
        case Union():
            return "union"
        case Enum() | Fixed() | Record() | Named():
            return of.name


def _aliases(raw: dict[str, Any], namespace: str, path: str) -> tuple[str, ...]:
    given = _words(raw.get("aliases"), path)
    return tuple(alias if "." in alias or not namespace else f"{namespace}.{alias}" for alias in given)


def _words(raw: Any, path: str) -> tuple[str, ...]:
    if raw is None:
        return ()
    if not isinstance(raw, list) or not all(isinstance(word, str) for word in raw):
        raise InvalidSchema("aliases are a list of strings", path=path)
    return tuple(raw)


def _check_name(name: str, path: str) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidSchema(f"{name[:80]!r} is no Avro name", path=path)
