"""Answers of the server on a terminal: each kind of entity as a table, or as a few facts."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

import typer

from orion.cli import output

Entity = dict[str, Any]


def show(entity: Entity) -> None:
    draw = _DRAWN.get(entity.get("@type", ""))
    if draw is None:
        output.document(entity)
    else:
        draw(entity)
    for warning in entity.get("warnings") or ():
        output.note(f"warning: {warning['message']}")


def status_text(entity: Entity) -> str:
    """What was done, with the id of the query that was started, if one was."""
    status = entity["commandStatus"]
    message, query = str(status["message"]), status.get("queryId")
    return message if not query or query in message else f"{message.rstrip('.')}, query {query}."


def _status(entity: Entity) -> None:
    typer.echo(status_text(entity))


def _created(entity: Entity) -> None:
    typer.echo(entity["statement"])


def _topics(entity: Entity) -> None:
    rows = [
        (t["name"], len(t["replicaInfo"]), t["replicaInfo"][0] if t["replicaInfo"] else 0) for t in entity["topics"]
    ]
    output.table(("topic", "partitions", "replication"), rows)


def _sources(entity: Entity) -> None:
    listed = entity[entity["@type"]]
    columns = ("name", "topic", "key format", "value format", "windowed")
    output.table(columns, [(s["name"], s["topic"], s["keyFormat"], s["valueFormat"], s["isWindowed"]) for s in listed])


def _queries(entity: Entity) -> None:
    columns = (
        "id",
        "state",
        "sink",
        "rows in",
        "rows out",
        "dead letters",
        "late rows",
        "lag",
        "fresh",
        "shared by",
        "error",
    )
    output.table(columns, [_query_row(q) for q in entity["queries"]])


def _query_row(query: Entity) -> tuple[Any, ...]:
    sink = ",".join(query["sinks"])
    numbers = (query["rowsIn"], query["rowsOut"], query["deadLetters"], query.get("lateRows"), query["lag"])
    fresh = query.get("freshnessMs")
    shown = None if fresh is None else f"{fresh / 1000:,.1f} s"
    told = query["error"] or query.get("warning") or restoring_text(query)
    together = len(query.get("sharesWith") or ())
    return (query["id"], query["state"], sink, *numbers, shown, together + 1 if together else None, told)


def restoring_text(query: Entity) -> str | None:
    """How far it is, of a query that reads its state."""
    return str(query["stateRestore"]["message"]) if query["state"] == "RESTORING" else None


def _types(entity: Entity) -> None:
    output.table(("type", "meaning"), [(name, type_text(tree)) for name, tree in entity["types"].items()])


def _variables(entity: Entity) -> None:
    output.table(("variable", "value"), [(v["name"], v["value"]) for v in entity["variables"]])


def _plugins(entity: Entity) -> None:
    output.table(("class", "type"), [(p["className"], p["type"]) for p in entity["connectorsPlugins"]])


def _extended_topics(entity: Entity) -> None:
    columns = ("topic", "partitions", "replication", "consumers", "groups")
    rows = [
        (t["name"], len(t["replicaInfo"]), (t["replicaInfo"] or [0])[0], t["consumerCount"], t["consumerGroupCount"])
        for t in entity["topics"]
    ]
    output.table(columns, rows)


def _asserted(entity: Entity) -> None:
    typer.echo(f"Topic {entity['topicName']} {'exists' if entity['exists'] else 'does not exist'}.")


def _functions(entity: Entity) -> None:
    output.table(("function", "type", "category"), [(f["name"], f["type"], f["category"]) for f in entity["functions"]])


def _properties(entity: Entity) -> None:
    rows = [(p["name"], p["scope"].lower(), p["value"]) for p in entity["properties"]]
    output.table(("property", "scope", "value"), rows)


def _connectors(entity: Entity) -> None:
    rows = [
        (c["name"], c["type"], c["className"], c["state"], c.get("rowsOut"), c.get("error"))
        for c in entity["connectors"]
    ]
    output.table(("name", "type", "class", "state", "rows", "error"), rows)


def _connector(entity: Entity) -> None:
    status = entity["status"]
    output.facts(
        {
            "name": status["name"],
            "class": entity["connectorClass"],
            "state": status["state"],
            "topics": entity["topics"],
            "rows": status.get("rowsOut"),
            "dead letters": status.get("deadLetters"),
            "lag": status.get("lag"),
            "error": status.get("error"),
            **entity["options"],
        }
    )


def _source(entity: Entity) -> None:
    _described_source(entity["sourceDescription"])


def _all_sources(entity: Entity) -> None:
    for described in entity["sourceDescriptions"]:
        _described_source(described)


def _described_source(described: Entity) -> None:
    output.table(
        ("field", "type"),
        [(f["name"], type_text(f["schema"]) + _key_mark(f, described)) for f in described["fields"]],
        title=f"{described['name']} ({described['type'].lower()})",
    )
    if not described["extended"]:
        return
    facts = {
        "topic": described["topic"],
        "partitions": described["partitions"],
        "replication": described["replication"],
        "key format": described["keyFormat"],
        "value format": described["valueFormat"],
        "timestamp": described["timestamp"] or "the record's",
        "window": window_text(described["window"]) if described["window"] else None,
        "read by": [q["id"] for q in described["readQueries"]] or None,
        "written by": [f"{q['id']} ({q['guarantee']})" for q in described["writeQueries"]] or None,
        "statistics": described["statistics"],
    }
    output.facts(facts)
    typer.echo(described["statement"])
    bad = (described.get("table") or {}).get("lastBadRecords")
    if bad:
        rows = [(one["topic"], one["partition"], one["offset"], one["reason"]) for one in bad]
        output.table(
            ("topic", "partition", "offset", "reason"), rows, title="Records that are no rows, the newest first"
        )


def window_text(window: str) -> str:
    """A window's declaration with its times in the largest unit that says them exactly."""

    def spelled(match: re.Match[str]) -> str:
        millis = int(match[1])
        for unit, length in (("DAY", 86_400_000), ("HOUR", 3_600_000), ("MINUTE", 60_000), ("SECOND", 1_000)):
            if millis and millis % length == 0:
                return f"{millis // length} {unit}{'S' * (millis != length)}"
        return f"{millis} MILLISECONDS"

    text = re.sub(r"(\d+) MILLISECONDS", spelled, window)
    return text.replace("( ", "(").replace(" )", ")").replace(" ,", ",")


def _key_mark(field: Entity, described: Entity) -> str:
    """That it is the key; of a table with windows, too, that a key has many rows, one a window of this kind."""
    if field.get("type") != "KEY":
        return ""
    mark = " (primary key)" if described["type"] == "TABLE" else " (key)"
    window = described["window"]
    return f"{mark} (window: {window_text(window)})" if window else mark


def type_text(schema: Entity) -> str:
    match schema["type"]:
        case "ARRAY":
            return f"ARRAY<{type_text(schema['memberSchema'])}>"
        case "MAP":
            return f"MAP<STRING, {type_text(schema['memberSchema'])}>"
        case "STRUCT":
            fields = (f"{f['name']} {type_text(f['schema'])}" for f in schema["fields"])
            return f"STRUCT<{', '.join(fields)}>"
        case "DECIMAL":
            parameters = schema["parameters"]
            return f"DECIMAL({parameters['precision']}, {parameters['scale']})"
        case name:
            return str(name)


def _function(entity: Entity) -> None:
    typer.echo(f"{entity['name']} ({entity['type'].lower()}): {entity['description']}")
    for variant in entity["functions"]:
        typer.echo(f"  {variant['signature']}")
    for example in entity["examples"]:
        typer.echo(f"  {example['call']} = {example['result']}")


def _explained(entity: Entity) -> None:
    _described_query(entity["queryDescription"])


def _all_queries(entity: Entity) -> None:
    for described in entity["queryDescriptions"]:
        _described_query(described)


def _described_query(described: Entity) -> None:
    if described["state"]:
        output.facts({"id": described["id"], "state": described["state"], **_standing(described)})
        failed = [(_moment(f["at"]), f["cause"], f["error"]) for f in described.get("failures", ())]
        if failed:
            output.table(("failed at", "cause", "error"), failed)
    typer.echo(described["executionPlan"])


def _standing(described: Entity) -> Entity:
    """How far a query is, what is wrong and when it was, or will be, started again; what isn't known is left out."""
    told = {"lag": described.get("lag"), "rows a second": described.get("rate"), "error": described.get("error")}
    told["stream"] = described.get("stream")
    told["restarts"] = described.get("restarts") or None
    told["state restored"] = (described.get("stateRestore") or {}).get("message")
    times = {"running since": described.get("runningSince"), "next try": described.get("nextTryAt")}
    times["restarted last"] = max(described.get("restartedAt") or (), default=None)
    told |= {name: _moment(at) for name, at in times.items() if at is not None}
    return {name: value for name, value in told.items() if value is not None}


def _moment(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000).astimezone().isoformat(sep=" ", timespec="seconds")


_DRAWN: dict[str, Callable[[Entity], None]] = {
    "currentStatus": _status,
    "show_create": _created,
    "kafka_topics": _topics,
    "streams": _sources,
    "tables": _sources,
    "queries": _queries,
    "function_names": _functions,
    "properties": _properties,
    "connector_list": _connectors,
    "connector_description": _connector,
    "sourceDescription": _source,
    "describe_function": _function,
    "queryDescription": _explained,
    "queryDescriptionList": _all_queries,
    "source_descriptions": _all_sources,
    "kafka_topics_extended": _extended_topics,
    "type_list": _types,
    "variables": _variables,
    "connector_plugins_list": _plugins,
    "assert_topic": _asserted,
}
