"""From names of Python classes and all fields to tags; a query is told under which name its checkpoint lies.

In format 1 that name was computed at every start: a hash of the relation and the sink, written in format 1 without the
texts people wrote. It is computed here once more, as it was then, so that the folder is found again.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

_TAGS = {
    "Source": "source",
    "Query": "query",
    "Connector": "connector",
    "CustomType": "type",
    "PythonFunction": "function",
    "Scalar": "scalar",
    "Decimal": "decimal",
    "Array": "array",
    "Map": "map",
    "Struct": "struct",
    "Field": "field",
    "Role": "role",
    "Column": "column",
    "Schema": "schema",
    "Kind": "kind",
    "WindowKind": "window-kind",
    "Window": "window",
    "Serde": "serde",
    "Wiring": "wiring",
    "WireSchema": "wire-schema",
    "Timestamp": "timestamp",
    "Direction": "direction",
    "Wanted": "wanted",
    "Expr": "expr",
    "Named": "named",
    "AggregateCall": "aggregate-call",
    "Scan": "scan",
    "Filter": "filter",
    "Project": "project",
    "Explode": "explode",
    "Settle": "settle",
    "Distinct": "distinct",
    "Union": "union",
    "Join": "join",
    "JoinType": "join-type",
    "JoinKind": "join-kind",
    "Within": "within",
    "Side": "side",
    "Aggregate": "aggregate",
    "Guarantee": "guarantee",
}

_TASKS = 16  # of a query that says nothing

# The fields that came to a class after its first entries were written, in their order behind the others, with what they
# were for entries without them: the last version of format 1 hashed these too.
_VALUE = {"@": "Role", "value": "VALUE"}
_ADDED: dict[str, dict[str, Any]] = {
    "Column": {"role": _VALUE, "header": None, "spelling": None},
    "WireSchema": {"around": []},
    "Wiring": {"reads": [], "unknown": [], "writes": None},
    "Serde": {
        "delimiter": None,
        "wrap_single": None,
        "schema_id": None,
        "full_name": None,
        "nullable": None,
        "wiring": None,
    },
    "Timestamp": {"format": None},
    "Source": {
        "timestamp": None,
        "window": None,
        "statement": "",
        "query_id": None,
        "read_only": False,
        "headed": False,
    },
    "Filter": {"of_table": False},
    "Settle": {"ttl_ms": None},
    "Join": {"left_key": []},
    "Aggregate": {"of_table": [], "final": False, "each": False, "ttl_ms": None},
}


def migrate_entry(plain: dict[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = _replace_names(plain)
    return {**entry, "incarnation": _hash_meaning(plain)} if plain["@"] == "Query" else entry


def _replace_names(value: Any) -> Any:
    """The value with tags for the names of classes."""
    if isinstance(value, list):
        return [_replace_names(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: _TAGS[item] if name == "@" else _replace_names(item) for name, item in value.items()}


def _hash_meaning(query: dict[str, Any]) -> str:
    tasks = str(query.get("tasks", _TASKS))
    means = _write_bare(query["relation"]) + _write_bare(query["sink"]) + tasks
    return hashlib.sha256(means.encode()).hexdigest()[:16]


def _write_bare(value: Any) -> str:
    return json.dumps(_strip_texts(value), separators=(",", ":"), ensure_ascii=False)


def _strip_texts(value: Any) -> Any:
    """The value as the last version of format 1 hashed it: all fields in their order, no texts that people wrote."""
    if isinstance(value, list):
        return [_strip_texts(item) for item in value]
    if not isinstance(value, dict):
        return value
    name, added = value["@"], _ADDED.get(value["@"], {})
    first = {field: _strip_texts(item) for field, item in value.items() if field not in added}
    whole = first | {field: _strip_texts(value.get(field, default)) for field, default in added.items()}
    match name:
        case "Expr":
            return whole | {"text": ""}
        case "Source":
            return whole | {"statement": "", "query_id": None}
        case "Aggregate" if isinstance(whole["keyed"], str):
            return whole | {"keyed": ""}
        case _:
            return whole
