"""Avro schemas as trees, with every name resolved; and trees as the schemas that Spark decodes and encodes by.

Avro's bytes hold neither names nor logical types. So Spark is given a schema of the same bytes in which fields are
called by their place (`f0`, `f1` ...), which can't clash or be spelled wrong, and numbers stay numbers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from orion.errors import SchemaError
from orion.formats.wire.naming import decimal
from orion.plan.sources import WireSchema
from orion.registry.parsing.avro import PRIMITIVES

MISSING = object()


@dataclass(frozen=True)
class Leaf:
    kind: str  # null, boolean, int, long, float, double, bytes, string or fixed
    logical: str | None = None
    precision: int = 0
    scale: int = 0
    size: int = 0  # of a fixed

    @property
    def is_decimal(self) -> bool:
        return self.logical == "decimal" and self.precision > 0


@dataclass(frozen=True)
class Enum:
    name: str
    symbols: tuple[str, ...]


@dataclass(frozen=True)
class Array:
    items: Tree


@dataclass(frozen=True)
class Map:
    values: Tree


@dataclass(frozen=True)
class RecordField:
    name: str
    type: Tree
    default: Any = MISSING


@dataclass(frozen=True)
class Record:
    name: str
    fields: tuple[RecordField, ...]
    is_entry: bool = False  # of a map, which Connect writes as an array where its keys may be NULL or are no text


@dataclass(frozen=True)
class Union:
    """Branches in their order, NULL's among them."""

    branches: tuple[Tree, ...]

    @property
    def values(self) -> tuple[Tree, ...]:
        return tuple(b for b in self.branches if b != Leaf("null"))


Tree = Leaf | Enum | Array | Map | Record | Union


def tree_of(schema: WireSchema) -> Tree:
    if schema.type != "AVRO":  # records may name whatever schema the registry has
        raise SchemaError("SCHEMA_UNFIT", f"it is {schema.type}, not AVRO")
    reader = _Reader()
    for _, text in schema.around:
        reader.read(_json(text), "")
    return reader.read(_json(schema.text), "")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text.strip()  # a bare word is a type's name


@dataclass
class _Reader:
    names: dict[str, Tree] = field(default_factory=dict)
    inside: list[str] = field(default_factory=list)  # the records around this place

    def read(self, raw: Any, namespace: str) -> Tree:
        if isinstance(raw, str):
            return self._word(raw, namespace)
        if isinstance(raw, list):
            return Union(tuple(self.read(branch, namespace) for branch in raw))
        kind = raw["type"]
        if not isinstance(kind, str):
            return self.read(kind, namespace)
        match kind:
            case "record" | "error":
                return self._record(raw, *_naming(raw, namespace))
            case "enum":
                name, _ = _naming(raw, namespace)
                return self._known(name, Enum(name, tuple(raw["symbols"])))
            case "fixed":
                return self._known(_naming(raw, namespace)[0], _leaf("fixed", raw))
            case "array":
                return Array(self.read(raw["items"], namespace))
            case "map":
                return Map(self.read(raw["values"], namespace))
            case _:
                found = self._word(kind, namespace)
                return _leaf(found.kind, raw) if isinstance(found, Leaf) and found.kind == kind else found

    def _word(self, word: str, namespace: str) -> Tree:
        for name in (f"{namespace}.{word}", word):
            if name in self.inside:
                raise SchemaError("SCHEMA_RECURSIVE", f"the record {name} holds itself, and columns can't")
            if name in self.names:
                return self.names[name]
        if word not in PRIMITIVES:
            raise SchemaError("SCHEMA_UNFIT", f"nothing says what {word} is")
        return Leaf(word)

    def _record(self, raw: dict[str, Any], name: str, namespace: str) -> Tree:
        self.inside.append(name)
        fields = tuple(
            RecordField(f["name"], self.read(f["type"], namespace), f.get("default", MISSING)) for f in raw["fields"]
        )
        self.inside.pop()
        is_entry = raw.get("connect.internal.type") == "MapEntry" and [f.name for f in fields] == ["key", "value"]
        return self._known(name, Record(name, fields, is_entry))

    def _known(self, name: str, tree: Tree) -> Tree:
        self.names[name] = tree
        return tree


def _naming(raw: dict[str, Any], namespace: str) -> tuple[str, str]:
    """The full name, and the namespace inside."""
    space, _, name = raw["name"].rpartition(".")
    space = space or raw.get("namespace", namespace)
    return (f"{space}.{name}" if space else name), space


def _leaf(kind: str, raw: dict[str, Any]) -> Leaf:
    made = Leaf(kind, raw.get("logicalType"), raw.get("precision", 0), raw.get("scale", 0), raw.get("size", 0))
    return replace(made, precision=decimal(made.precision, made.scale).precision) if made.is_decimal else made


def by_place(tree: Tree) -> Any:
    """The schema, as JSON, of the same bytes with places for names. A type that is used twice is written out twice."""
    numbers = count()

    def shown(of: Tree) -> Any:
        match of:
            case Leaf("fixed"):
                return {"type": "fixed", "name": f"t{next(numbers)}", "size": of.size} | _decimal(of)
            case Leaf():
                return {"type": of.kind} | _decimal(of)
            case Enum(_, symbols):
                return {"type": "enum", "name": f"t{next(numbers)}", "symbols": list(symbols)}
            case Array(items):
                return {"type": "array", "items": shown(items)}
            case Map(values):
                return {"type": "map", "values": shown(values)}
            case Union(branches):
                return [shown(branch) for branch in branches]
            case Record(_, fields):
                name = f"t{next(numbers)}"
                inner = [{"name": place(at), "type": shown(f.type)} for at, f in enumerate(fields)]
                return {"type": "record", "name": name, "fields": inner}

    return shown(tree)


def place(at: int) -> str:
    return f"f{at}"


def _decimal(of: Leaf) -> dict[str, Any]:
    """The one logical type that Spark may know: decimals are bytes, and no function of its makes numbers of those."""
    return {"logicalType": "decimal", "precision": of.precision, "scale": of.scale} if of.is_decimal else {}
