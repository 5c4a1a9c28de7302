"""JSON Schema and columns, as Kafka Connect translates them: what JSON can't tell apart stands under `connect.type`."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

from orion.errors import SchemaError
from orion.formats.wire.naming import decimal, inferred
from orion.plan.schemas import Inferred
from orion.plan.sources import Serde, WireSchema, is_alone
from orion.schema import Array, Column, Decimal, Field, Map, Role, Scalar, SqlType, Struct

_CONNECT = "org.apache.kafka.connect.data."
_TIMES = {Scalar.DATE: ("Date", "int32"), Scalar.TIME: ("Time", "int32"), Scalar.TIMESTAMP: ("Timestamp", "int64")}
_TITLES = {f"{_CONNECT}{word}": type_ for type_, (word, _) in _TIMES.items()}
_KINDS = {
    Scalar.BOOLEAN: ("boolean", "boolean"),
    Scalar.INTEGER: ("integer", "int32"),
    Scalar.BIGINT: ("integer", "int64"),
    Scalar.DOUBLE: ("number", "float64"),
    Scalar.STRING: ("string", "string"),
    Scalar.BYTES: ("string", "bytes"),
}
_DEEPEST = 64


# ---- columns to a schema ---------------------------------------------------------------------------------------


def schema_of(columns: tuple[Column, ...], serde: Serde) -> str:
    if is_alone(columns, serde):
        return json.dumps(_optional(columns[0].type))
    return json.dumps(_object([Field(c.name, c.type) for c in columns]))


def _object(fields: list[Field]) -> dict[str, Any]:
    shown = {f.name: {"connect.index": at} | _optional(f.type) for at, f in enumerate(fields)}
    return {"type": "object", "properties": shown}


def _optional(type_: SqlType) -> dict[str, Any]:
    return {"oneOf": [{"type": "null"}, _type(type_)]}


def _type(type_: SqlType) -> dict[str, Any]:
    match type_:
        case Scalar() if type_ in _KINDS:
            kind, connect = _KINDS[type_]
            return {"type": kind, "connect.type": connect}
        case Scalar():
            word, connect = _TIMES[type_]
            return {"type": "integer", "title": f"{_CONNECT}{word}", "connect.version": 1, "connect.type": connect}
        case Decimal(precision, scale):
            parameters = {"scale": str(scale), "connect.decimal.precision": str(precision)}
            title = {"title": f"{_CONNECT}Decimal", "connect.version": 1, "connect.type": "bytes"}
            return {"type": "number", **title, "connect.parameters": parameters}
        case Array(element):
            return {"type": "array", "items": _optional(element)}
        case Map(_, value):
            return {"type": "object", "connect.type": "map", "additionalProperties": _optional(value)}
        case Struct(fields):
            return _object(list(fields))


# ---- a schema to columns ---------------------------------------------------------------------------------------


def columns_of(schema: WireSchema, serde: Serde, role: Role) -> Inferred:
    type_ = sql_type(schema)
    is_whole = role is Role.KEY or serde.wrap_single is False
    return inferred(type_, serde, role, whole=is_whole)


def sql_type(schema: WireSchema) -> SqlType:
    files = {name: json.loads(text) for name, text in schema.around}
    root = json.loads(schema.text)
    return _Reader(root, files).read(root, "the schema", 0)


class _Reader:
    """`root` is the text that a `#` points into, `files` those that other references do."""

    def __init__(self, root: Any, files: dict[str, Any]) -> None:
        self._root = root
        self._files = files

    def read(self, raw: Any, where: str, depth: int) -> SqlType:
        if depth > _DEEPEST:
            raise SchemaError("SCHEMA_RECURSIVE", f"{where} holds itself, and columns can't")
        if not isinstance(raw, dict):
            raise _untyped(where)
        if "$ref" in raw:
            inside, found = self._referred(str(raw["$ref"]), where)
            return inside.read(found, where, depth + 1)
        for word in ("oneOf", "anyOf"):
            if word in raw:
                return self._one_of(raw[word], where, depth)
        if len(raw.get("allOf") or ()) == 1:
            return self.read(raw["allOf"][0], where, depth + 1)
        if raw.get("title") in _TITLES:
            return _TITLES[raw["title"]]
        return self._typed(raw, where, depth)

    def _typed(self, raw: dict[str, Any], where: str, depth: int) -> SqlType:
        connect = raw.get("connect.type")
        match _kind(raw):
            case "boolean":
                return Scalar.BOOLEAN
            case "integer":
                return Scalar.INTEGER if connect in ("int8", "int16", "int32") else Scalar.BIGINT
            case "number" if raw.get("title") == f"{_CONNECT}Decimal":
                given = raw.get("connect.parameters") or {}
                return decimal(int(given.get("connect.decimal.precision", 38)), int(given.get("scale", 0)))
            case "number":
                return Scalar.DOUBLE
            case "string":
                return Scalar.BYTES if connect == "bytes" else Scalar.STRING
            case "array" if connect == "map":
                entry = (raw.get("items") or {}).get("properties") or {}
                return Map(
                    self.read(entry.get("key"), where, depth + 1), self.read(entry.get("value"), where, depth + 1)
                )
            case "array":
                return Array(self.read(raw.get("items"), where, depth + 1))
            case "object" if connect == "map" or (not raw.get("properties") and raw.get("additionalProperties")):
                return Map(Scalar.STRING, self.read(raw.get("additionalProperties"), where, depth + 1))
            case "object":
                fields = raw.get("properties") or {}
                ordered = sorted(fields.items(), key=lambda one: _place(one[1], len(fields)))
                return Struct(tuple(Field(name, self.read(inner, name, depth + 1)) for name, inner in ordered))
            case _:
                raise _untyped(where)

    def _one_of(self, branches: list[Any], where: str, depth: int) -> SqlType:
        values = [b for b in branches if not (isinstance(b, dict) and b.get("type") == "null")]
        if len(values) != 1:
            raise SchemaError(
                "SCHEMA_UNFIT", f"{where} may be one of {len(values)} things, and a column is of one type"
            )
        return self.read(values[0], where, depth + 1)

    def _referred(self, reference: str, where: str) -> tuple[_Reader, Any]:
        file, _, pointer = reference.partition("#")
        inside = _Reader(self._files[file], self._files) if file in self._files else self
        found = inside._root
        for part in filter(None, unquote(pointer).split("/")):
            found = _at(found, part.replace("~1", "/").replace("~0", "~"))
        if found is None or (file and file not in self._files):
            raise SchemaError("SCHEMA_UNFIT", f"{where} refers to {reference}, which is nowhere")
        return inside, found


def _at(raw: Any, part: str) -> Any:
    if isinstance(raw, list):
        return raw[int(part)] if part.isdecimal() and int(part) < len(raw) else None
    return raw.get(part) if isinstance(raw, dict) else None


def _kind(raw: dict[str, Any]) -> str | None:
    kind = raw.get("type")
    if isinstance(kind, list):
        kinds = [k for k in kind if k != "null"]
        kind = kinds[0] if len(kinds) == 1 else None
    if kind is None:
        if raw.get("properties"):
            return "object"
        if raw.get("enum") and all(isinstance(e, str | None) for e in raw["enum"]):
            return "string"
    return kind if isinstance(kind, str) else None


def _place(raw: Any, last: int) -> int:
    return int(raw.get("connect.index", last)) if isinstance(raw, dict) else last


def _untyped(where: str) -> SchemaError:
    return SchemaError("SCHEMA_UNFIT", f"{where} has no type that a column can have")
