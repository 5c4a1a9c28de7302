"""Plan values as JSON and back, for the journal. Each class is written with its name; unknown names are refused."""

from __future__ import annotations

import dataclasses
import json
from enum import Enum
from typing import Any

from orion import schema
from orion.plan import definitions, relations, sources

_TYPES: dict[str, type[Any]] = {
    cls.__name__: cls
    for module in (schema, sources, relations, definitions)
    for cls in vars(module).values()
    if isinstance(cls, type)
    and (dataclasses.is_dataclass(cls) or issubclass(cls, Enum))
    and cls.__module__ == module.__name__
}


def dumps(value: object) -> str:
    return json.dumps(_encode(value), separators=(",", ":"), ensure_ascii=False)


def loads(text: str | bytes) -> Any:
    return _decode(json.loads(text))


def _encode(value: Any) -> Any:
    if isinstance(value, Enum):
        return {"@": type(value).__name__, "value": value.value}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: _encode(getattr(value, f.name)) for f in dataclasses.fields(value) if _is_told(f, value)}
        return {"@": type(value).__name__, **fields}
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    return value


def _is_told(field: dataclasses.Field[Any], value: Any) -> bool:
    return not field.metadata.get("later") or getattr(value, field.name) != field.default


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_decode(item) for item in value)
    if not isinstance(value, dict):
        return value
    cls = _TYPES[value["@"]]
    if issubclass(cls, Enum):
        return cls(value["value"])
    # A field that an older Orion didn't write takes its default.
    return cls(**{k: _decode(v) for k, v in value.items() if k != "@"})
