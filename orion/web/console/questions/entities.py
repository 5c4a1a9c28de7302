"""Answers to SHOW, DESCRIBE and EXPLAIN as columns and rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Entity = Mapping[str, Any]
# Where the rows are, of each kind of answer, and which of their fields are worth a column.
_LISTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "streams": ("streams", ("name", "topic", "keyFormat", "valueFormat", "isWindowed")),
    "tables": ("tables", ("name", "topic", "keyFormat", "valueFormat", "isWindowed")),
    "queries": ("queries", ("id", "state", "guarantee", "sinks", "rowsIn", "rowsOut", "lag", "error")),
    "kafka_topics": ("topics", ("name", "replicaInfo")),
    "kafka_topics_extended": ("topics", ("name", "replicaInfo", "consumerCount", "consumerGroupCount")),
    "function_names": ("functions", ("name", "type", "category")),
    "properties": ("properties", ("name", "value", "scope", "level")),
    "variables": ("variables", ("name", "value")),
    "connector_list": ("connectors", ("name", "type", "className", "state", "rowsIn", "rowsOut", "error")),
    "connector_plugins_list": ("connectorsPlugins", ("className", "type", "version")),
}


@dataclass(frozen=True, slots=True)
class Grid:
    """A table, or (`text`) something to read as it is."""

    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    text: str = ""
    types: tuple[str, ...] = ()  # of the columns, as SQL writes them; of an answer that rows of a query are


def grid_of(entity: Entity) -> Grid | None:
    """None for an answer that only says that something was done."""
    kind = str(entity.get("@type", ""))
    if kind in _LISTS:
        where, fields = _LISTS[kind]
        return Grid("", fields, tuple(tuple(_plain(row.get(f)) for f in fields) for row in entity[where]))
    match kind:
        case "currentStatus":
            return None
        case "sourceDescription":
            return _described(entity["sourceDescription"])
        case "queryDescription":
            return Grid("Plan", text=str(entity["queryDescription"]["executionPlan"]))
        case "describe_function":
            return _function(entity)
        case "type_list":
            return Grid("", ("type", "is"), tuple((name, type_text(tree)) for name, tree in entity["types"].items()))
        case _:
            skipped = ("@type", "statementText", "warnings")
            flat = {name: value for name, value in entity.items() if name not in skipped}
            return Grid("", ("name", "value"), tuple((name, _plain(value)) for name, value in flat.items()))


def _described(source: Entity) -> Grid:
    rows = tuple((f["name"], type_text(f["schema"]), f.get("type", "")) for f in source["fields"])
    title = f"{source['type'].lower()} {source['name']} over topic {source['topic']}"
    return Grid(title, ("column", "type", "key"), rows)


def _function(entity: Entity) -> Grid:
    rows = tuple((f["signature"], str(f["returnType"])) for f in entity["functions"])
    return Grid(f"{entity['name']}: {entity['description']}", ("signature", "returns"), rows)


def type_text(tree: Entity) -> str:
    """A nested type as SQL writes it."""
    match tree["type"]:
        case "ARRAY":
            return f"ARRAY<{type_text(tree['memberSchema'])}>"
        case "MAP":
            return f"MAP<STRING, {type_text(tree['memberSchema'])}>"
        case "STRUCT":
            fields = ", ".join(f"{one['name']} {type_text(one['schema'])}" for one in tree["fields"])
            return f"STRUCT<{fields}>"
        case "DECIMAL":
            return f"DECIMAL({tree['parameters']['precision']}, {tree['parameters']['scale']})"
        case other:
            return str(other)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return len(value) if value and isinstance(value[0], int) else ", ".join(map(str, value))
    return value
