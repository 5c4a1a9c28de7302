"""Answers to SHOW, DESCRIBE and EXPLAIN, in the shapes of ksqlDB's API, which every door passes on."""

from __future__ import annotations

from typing import Any, assert_never

from orion import __version__
from orion.errors import InternalError
from orion.ksql.functions import functions
from orion.plan import explain
from orion.plan.sources import Connector, Source
from orion.plan.steps import Describe, Explain, PrintTopic, Push, Show
from orion.runtime.engine import Engine
from orion.runtime.queries import QueryStatus
from orion.schema import Array, Decimal, Map, Role, Scalar, SqlType, Struct

Entity = dict[str, Any]


def answer(ask: Show | Describe | Explain | Push | PrintTopic, text: str, engine: Engine) -> Entity:
    match ask:
        case Show():
            shown = _show(ask, engine)
        case Describe():
            shown = _describe(ask, engine)
        case Explain():
            shown = _explain(ask, text, engine)
        case Push() | PrintTopic():
            raise InternalError("NOT_AN_ENTITY", "A query that streams has an endpoint of its own.")
        case _:
            assert_never(ask)
    return {**shown, "statementText": text, "warnings": []}


def done(text: str, message: str) -> Entity:
    """The answer to a statement that did something."""
    return {
        "@type": "currentStatus",
        "statementText": text,
        "commandStatus": {"status": "SUCCESS", "message": message, "queryId": None},
        "warnings": [],
    }


def _show(ask: Show, engine: Engine) -> Entity:
    catalog = engine.catalog
    match ask.what:
        case "TOPICS":
            found = [t for t in engine.kafka.topics(internal=True) if ask.all or not t.name.startswith("_")]
            topics = [{"name": t.name, "replicaInfo": [t.replication] * t.partitions} for t in found]
            return {"@type": "kafka_topics", "topics": topics}
        case "STREAMS" | "TABLES" as kind:
            listed = [_listed(s) for s in catalog.sources.values() if s.kind == kind[:-1]]
            return {"@type": kind.lower(), kind.lower(): listed}
        case "QUERIES":
            return {"@type": "queries", "queries": [_query(s, engine) for s in _statuses(engine)]}
        case "FUNCTIONS":
            names = [{"name": f.name, "type": f.kind.value, "category": f.kind.value} for f in functions().values()]
            return {"@type": "function_names", "functions": names}
        case "PROPERTIES":
            return {"@type": "properties", "properties": _properties(engine)}
        case "CONNECTORS":
            return {
                "@type": "connector_list",
                "connectors": [_connector(c, engine) for c in catalog.connectors.values()],
            }
        case _:
            assert_never(ask.what)


def _listed(source: Source) -> Entity:
    return {
        "type": source.kind.value,
        "name": source.name,
        "topic": source.topic,
        "keyFormat": source.key.format,
        "valueFormat": source.value.format,
        "isWindowed": source.window is not None,
    }


def _statuses(engine: Engine) -> list[QueryStatus]:
    return [s for s in engine.statuses() if s.id in engine.catalog.queries]


def _query(status: QueryStatus, engine: Engine) -> Entity:
    query = engine.catalog.queries[status.id]
    return {
        "queryString": query.statement,
        "sinks": [query.sink.name],
        "sinkKafkaTopics": [query.sink.topic],
        "id": query.id,
        "queryType": "PERSISTENT",
        "state": status.state,
        "statusCount": {status.state: 1},
        **_measures(status),
    }


def _measures(status: QueryStatus) -> Entity:
    return {
        "rowsIn": status.rows_in,
        "rowsOut": status.rows_out,
        "deadLetters": status.dead_letters,
        "lag": status.lag,
        "rate": round(status.rate, 1),
        "restarts": status.restarts,
        "error": status.error,
    }


def _properties(engine: Engine) -> list[Entity]:
    """The server's settings, leaf by leaf."""
    flat: dict[str, Any] = {}

    def lay(prefix: str, value: Any) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                lay(f"{prefix}.{name}" if prefix else name, inner)
        else:
            flat[prefix] = value

    lay("", engine.config.model_dump(mode="json"))
    return [{"name": n, "scope": "ORION", "value": None if v is None else str(v)} for n, v in sorted(flat.items())]


def _connector(connector: Connector, engine: Engine) -> Entity:
    status = next((s for s in engine.statuses() if s.id == connector.name), None)
    return {
        "name": connector.name,
        "type": "SINK",
        "className": connector.plugin,
        "state": status.state if status else "ERROR",
        **(_measures(status) if status else {}),
    }


# ---- DESCRIBE ----------------------------------------------------------------------------------------------------


def _describe(ask: Describe, engine: Engine) -> Entity:
    match ask.what:
        case "SOURCE":
            source = engine.catalog.sources[ask.name]
            return {"@type": "sourceDescription", "sourceDescription": _source(source, engine, ask.extended)}
        case "FUNCTION":
            return {"@type": "describe_function", **_function(ask.name)}
        case "CONNECTOR":
            connector = engine.catalog.connectors[ask.name]
            topics = [s.topic for s in connector.sources]
            return {
                "@type": "connector_description",
                "connectorClass": connector.plugin,
                "status": _connector(connector, engine),
                "topics": topics,
                "options": dict(connector.options),
            }
        case _:
            assert_never(ask.what)


def _source(source: Source, engine: Engine, extended: bool) -> Entity:
    catalog = engine.catalog
    states = {s.id: s for s in engine.statuses()}
    readers = [q for q in catalog.readers_of(source.name) if q in catalog.queries]
    described: Entity = {
        "name": source.name,
        "type": source.kind.value,
        "windowType": source.window.kind.value if source.window else None,
        "window": str(source.window) if source.window else None,
        "fields": [
            {"name": c.name, "schema": type_tree(c.type), **({"type": "KEY"} if c.role is Role.KEY else {})}
            for c in source.schema
        ],
        "timestamp": source.timestamp.column if source.timestamp else "",
        "keyFormat": source.key.format,
        "valueFormat": source.value.format,
        "topic": source.topic,
        "statement": source.statement,
        "extended": extended,
        "readQueries": [_query(states[q], engine) for q in readers if q in states],
        "writeQueries": [_query(states[q], engine) for q in catalog.writers_of(source.name) if q in states],
    }
    if extended:
        detail = engine.kafka.describe_topic(source.topic)
        ends, starts = engine.kafka.end_offsets(source.topic), engine.kafka.earliest_offsets(source.topic)
        described |= {
            "partitions": detail.topic.partitions,
            "replication": detail.topic.replication,
            "statistics": f"records in the topic: {sum(ends.values()) - sum(starts.values())}",
        }
    return described


def _function(name: str) -> Entity:
    function = functions()[name]
    return {
        "name": function.name,
        "description": function.doc,
        "type": function.kind.value,
        "functions": [{"signature": f"{function.name}{s}"} for s in function.signatures],
        "examples": [{"call": e.call, "result": str(e.result)} for e in function.examples],
    }


def type_tree(type_: SqlType) -> Entity:
    """A type as ksqlDB's API nests it."""
    match type_:
        case Array(element):
            return {"type": "ARRAY", "fields": None, "memberSchema": type_tree(element)}
        case Map(_, value):
            return {"type": "MAP", "fields": None, "memberSchema": type_tree(value)}
        case Struct(fields):
            inner = [{"name": f.name, "schema": type_tree(f.type)} for f in fields]
            return {"type": "STRUCT", "fields": inner, "memberSchema": None}
        case Decimal(precision, scale):
            return {
                "type": "DECIMAL",
                "fields": None,
                "memberSchema": None,
                "parameters": {"precision": precision, "scale": scale},
            }
        case Scalar():
            return {"type": type_.value, "fields": None, "memberSchema": None}
        case _:
            assert_never(type_)


def _explain(ask: Explain, text: str, engine: Engine) -> Entity:
    if ask.query_id is not None:
        query = engine.catalog.queries[ask.query_id]
        plan, statement = explain.query_tree(query), query.statement
        state = next((s.state for s in engine.statuses() if s.id == query.id), None)
        sinks, sources = [query.sink.name], list(query.sources)
    else:
        assert ask.plan is not None
        plan, statement, state, sinks, sources = explain.plan_tree(ask.plan), ask.plan.statement, None, [], []
    return {
        "@type": "queryDescription",
        "queryDescription": {
            "id": ask.query_id or "",
            "statementText": statement,
            "sources": sources,
            "sinks": sinks,
            "executionPlan": plan,
            "state": state,
        },
    }


def info(engine: Engine) -> Entity:
    return {
        "KsqlServerInfo": {
            "version": __version__,
            "kafkaClusterId": engine.kafka.cluster_id(),
            "ksqlServiceId": engine.config.service_id,
            "serverStatus": "RUNNING",
        }
    }
