"""Answers to SHOW, DESCRIBE and EXPLAIN, in the shapes of ksqlDB's API, which every door passes on."""

from __future__ import annotations

from typing import Any, assert_never

from orion import __version__, feeds, sinks
from orion.errors import InternalError, OrionError
from orion.ksql.functions import functions
from orion.ksql.functions import signatures as written
from orion.ksql.functions.declare import Function
from orion.ksql.python_functions import declared
from orion.ksql.session import Session
from orion.options import masked, shown
from orion.plan import explain, lanes, sharing
from orion.plan.catalog import Catalog
from orion.plan.commands import command_id
from orion.plan.definitions import PythonFunction
from orion.plan.relations import Query
from orion.plan.sources import Connector, Source
from orion.plan.steps import (
    Ask,
    AssertTopic,
    Describe,
    Explain,
    Plan,
    PrintTopic,
    Pull,
    Push,
    ReplaceQuery,
    Show,
    ShowCreate,
    StartQuery,
)
from orion.registry.access import without_login
from orion.runtime.connectors import standing
from orion.runtime.engine import Engine
from orion.runtime.failures import Cause, Failure
from orion.runtime.machine import Load
from orion.runtime.restoring import RestoreStatus
from orion.runtime.states import KSQL_STATUS, QueryStatus, State
from orion.schema import Array, Decimal, Map, Role, Scalar, Schema, SqlType, Struct
from orion.serving.feed import TableStatus
from orion.serving.tables import Tables

Entity = dict[str, Any]


def answer(ask: Ask, text: str, engine: Engine, session: Session, tables: Tables | None = None) -> Entity:
    match ask:
        case Show():
            shown = _show(ask, engine, session, tables)
        case ShowCreate():
            shown = creation_of(ask, engine.catalog)
        case Describe():
            shown = _describe(ask, engine, tables)
        case Explain():
            shown = _explain(ask, engine)
        case Push() | Pull() | PrintTopic():
            raise InternalError("NOT_AN_ENTITY", "A query that streams has an endpoint of its own.")
        case _:
            assert_never(ask)
    # How queries are doing hangs on the machine they are on.
    asked = isinstance(ask, Show) and ask.what == "QUERIES"
    warnings = [*(load_warning(engine.load) if asked else []), *_warnings(shown, engine, tables)]
    return {**shown, "statementText": text, "warnings": warnings}


def _warnings(shown: Entity, engine: Engine, tables: Tables | None) -> list[Entity]:
    """What is wrong with the tables that an answer is about."""
    described = [shown.get("sourceDescription"), *shown.get("sourceDescriptions", ()), *shown.get("tables", ())]
    names = [one["name"] for one in described if isinstance(one, dict)]
    found = [source for name in names if (source := engine.catalog.sources.get(name)) is not None]
    return [{"message": told} for told in tables.warnings(found)] if tables is not None else []


def done(plan: Plan, message: str, version: int) -> Entity:
    """The answer to a statement that did something; `version` is the journal's after it."""
    first = plan.steps[0] if plan.steps else None
    if isinstance(first, AssertTopic):
        told: Entity = {"@type": "assert_topic", "topicName": first.topic, "exists": first.exists}
        return {**told, "statementText": plan.statement, "warnings": []}
    started = next((s.query.id for s in plan.steps if isinstance(s, StartQuery | ReplaceQuery)), None)
    command = command_id(plan.steps)
    return {
        "@type": "currentStatus",
        "statementText": plan.statement,
        **({} if command is None else {"commandId": command, "commandSequenceNumber": version}),
        "commandStatus": {"status": "SUCCESS", "message": message, "queryId": started},
        "warnings": [],
    }


# ---- SHOW --------------------------------------------------------------------------------------------------------


def _show(ask: Show, engine: Engine, session: Session, tables: Tables | None) -> Entity:
    catalog = engine.catalog
    match ask.what:
        case "TOPICS":
            return _topics(ask, engine)
        case "STREAMS" | "TABLES" as kind:
            found = [s for s in catalog.sources.values() if s.kind == kind[:-1]]
            if ask.extended:
                return _descriptions(found, engine, True, tables)
            return {"@type": kind.lower(), kind.lower(): [_listed(s) for s in found]}
        case "QUERIES":
            if ask.extended:
                described = [_query_description(q, engine) for q in catalog.queries.values()]
                return {"@type": "queryDescriptionList", "queryDescriptions": described}
            return {"@type": "queries", "queries": [_query(s, engine) for s in _statuses(engine)]}
        case "FUNCTIONS":
            names = [{"name": f.name, "type": f.kind.value, "category": f.kind.value} for f in functions().values()]
            names += [{"name": n, "type": "SCALAR", "category": "PYTHON"} for n in catalog.functions]
            return {"@type": "function_names", "functions": sorted(names, key=lambda f: f["name"])}
        case "PROPERTIES":
            return {
                "@type": "properties",
                "properties": _properties(engine, session),
                "overwrittenProperties": sorted(session.properties),
                "defaultProperties": [],
            }
        case "TYPES":
            return {"@type": "type_list", "types": {t.name: type_tree(t.type) for t in catalog.types.values()}}
        case "VARIABLES":
            known = [{"name": n, "value": v} for n, v in sorted(session.variables.items())]
            return {"@type": "variables", "variables": known}
        case "CONNECTORS":
            asked = [c for c in catalog.connectors.values() if ask.only in (None, c.direction)]
            return {"@type": "connector_list", "connectors": [_connector(c, engine) for c in asked]}
        case "CONNECTOR PLUGINS":
            kinds = [(name, "sink") for name in sinks.NAMES] + [(name, "source") for name in feeds.NAMES]
            plugins = [{"className": name, "type": kind, "version": __version__} for name, kind in kinds]
            return {"@type": "connector_plugins_list", "connectorsPlugins": plugins}
        case _:
            assert_never(ask.what)


def creation_of(ask: ShowCreate, catalog: Catalog) -> Entity:
    """What was written, with what ALTER added behind it; a connector's has its secrets hidden since it was made."""
    made = catalog.connectors[ask.name] if ask.what == "CONNECTOR" else catalog.sources[ask.name]
    statement = masked(made.statement).strip()
    text = statement if statement.endswith(";") else f"{statement};"
    return {"@type": "show_create", "type": ask.what, "name": ask.name, "statement": text}


def _topics(ask: Show, engine: Engine) -> Entity:
    found = [t for t in engine.kafka.topics(internal=True) if ask.all or not t.name.startswith("_")]
    topics: list[Entity] = [{"name": t.name, "replicaInfo": [t.replication] * t.partitions} for t in found]
    if not ask.extended:
        return {"@type": "kafka_topics", "topics": topics}
    groups = engine.kafka.describe_groups()
    for topic in topics:
        reading = [g for g in groups if any(p.topic == topic["name"] for p in g.progress)]
        topic["consumerCount"] = sum(len(g.members) for g in reading)
        topic["consumerGroupCount"] = len(reading)
    return {"@type": "kafka_topics_extended", "topics": topics}


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
        "guarantee": query.guarantee.value,
        "state": status.state,
        "statusCount": {KSQL_STATUS[State(status.state)]: 1},
        **_measures(status),
        "stateRestore": _restore(status.restore),
    }


def _measures(status: QueryStatus) -> Entity:
    return {
        "rowsIn": status.rows_in,
        "rowsOut": status.rows_out,
        "deadLetters": status.dead_letters,
        "lateRows": status.late,
        "lag": status.lag,
        "rate": _rounded(status.rate),
        "restarts": status.restarts,
        "restartedAt": [_moment(at) for at in status.restarted_at],
        "failures": [_failure(one) for one in status.failures],
        "lastFailure": _failure(status.last_failure) if status.last_failure else None,
        "runningSince": _moment(status.running_since),
        "nextTryAt": _moment(status.next_try_at),
        "freshnessMs": status.freshness_ms,
        "consumerGroup": status.group,
        "sharesWith": sorted(status.shares_with),
        "warning": status.warning,
        "error": status.error,
    }


def _restore(restore: RestoreStatus | None) -> Entity | None:
    """How far the tasks of a run are with reading their state; none of a query without state, or that doesn't run."""
    if restore is None:
        return None
    return {
        "state": restore.state,
        "message": str(restore),
        "tasks": restore.tasks,
        "tasksBegun": restore.begun,
        "tasksDone": restore.done,
        "records": restore.records,
        "ofAtMost": restore.span,
        "percent": restore.percent,
        "rate": _rounded(restore.rate),
        "since": _moment(restore.since),
        "toldAt": _moment(restore.told),
    }


def _rounded(rate: float | None) -> float | None:
    return None if rate is None else round(rate, 1)


def _moment(at: float | None) -> int | None:
    """Milliseconds since 1970, as ksqlDB's API has its times."""
    return None if at is None else round(at * 1000)


def _failure(failure: Failure) -> Entity:
    return {"at": _moment(failure.at), "cause": failure.cause.value, "error": failure.error}


def load_warning(load: Load | None) -> list[Entity]:
    """What to say where the machine has too little time for all that runs on it."""
    return [{"message": f"The machine is {load}."}] if load is not None and load.starved else []


def _without_secrets(value: Any) -> str | None:
    """A setting as text; an address without the login that may stand in it."""
    if value is None:
        return None
    return without_login(str(value)) if "://" in str(value) else str(value)


def _properties(engine: Engine, session: Session) -> list[Entity]:
    """The server's settings, leaf by leaf, and what this session has set."""
    flat: dict[str, Any] = {}

    def lay(prefix: str, value: Any) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                lay(f"{prefix}.{name}" if prefix else name, inner)
        else:
            flat[prefix] = value

    lay("", engine.config.model_dump(mode="json"))
    settings = [
        {"name": n, "scope": "ORION", "value": _without_secrets(v), "editable": False, "level": "SERVER"}
        for n, v in sorted(flat.items())
    ]
    own = [
        {"name": n, "scope": "SESSION", "value": v, "editable": True, "level": "QUERY"}
        for n, v in sorted(session.properties.items())
    ]
    return [*own, *settings]


def _connector(connector: Connector, engine: Engine) -> Entity:
    tasks = engine.connectors.tasks(connector.name)
    state, error = standing(tasks, connector.wanted)
    return {
        "name": connector.name,
        "type": connector.direction.value,
        "className": connector.plugin,
        "state": state,
        **_summed([t.status for t in tasks]),
        "error": error,
    }


def _summed(statuses: list[QueryStatus]) -> Entity:
    """What the tasks of a connector come to."""
    if len(statuses) == 1:
        return _measures(statuses[0])
    lags, rates = [s.lag for s in statuses], [s.rate for s in statuses]
    fresh = [s.freshness_ms for s in statuses if s.freshness_ms is not None]
    return {
        "rowsIn": sum(s.rows_in for s in statuses),
        "rowsOut": sum(s.rows_out for s in statuses),
        "deadLetters": sum(s.dead_letters for s in statuses),
        "lateRows": 0,
        # One that isn't known makes the sum unknown.
        "lag": None if None in lags or not lags else sum(lag or 0 for lag in lags),
        "rate": None if None in rates or not rates else round(sum(rate or 0.0 for rate in rates), 1),
        "restarts": sum(s.restarts for s in statuses),
        "restartedAt": sorted(_moment(at) or 0 for s in statuses for at in s.restarted_at),
        "failures": [_failure(f) for f in sorted((f for s in statuses for f in s.failures), key=lambda f: f.at)],
        "freshnessMs": max(fresh, default=None),
        "consumerGroup": None,
        "warning": next((s.warning for s in statuses if s.warning), None),
    }


# ---- DESCRIBE ----------------------------------------------------------------------------------------------------


def _describe(ask: Describe, engine: Engine, tables: Tables | None) -> Entity:
    match ask.what:
        case "SOURCE":
            source = engine.catalog.sources[ask.name]
            return {"@type": "sourceDescription", "sourceDescription": _source(source, engine, ask.extended, tables)}
        case "STREAMS" | "TABLES" as kind:
            found = [s for s in engine.catalog.sources.values() if s.kind == kind[:-1]]
            return _descriptions(found, engine, ask.extended, tables)
        case "FUNCTION":
            own = engine.catalog.functions.get(ask.name)
            return {"@type": "describe_function", **(_python_function(own) if own else _function(ask.name))}
        case "CONNECTOR":
            return _connector_description(engine.catalog.connectors[ask.name], engine)
        case _:
            assert_never(ask.what)


def _descriptions(sources: list[Source], engine: Engine, extended: bool, tables: Tables | None) -> Entity:
    described = [_source(s, engine, extended, tables) for s in sources]
    return {"@type": "source_descriptions", "sourceDescriptions": described}


def _connector_description(connector: Connector, engine: Engine) -> Entity:
    status = _connector(connector, engine)
    tasks = [
        {"id": t.number, "topic": t.topic, "state": t.status.state, "worker_id": "orion", "trace": t.status.error}
        for t in engine.connectors.tasks(connector.name)
    ]
    running = {"state": status["state"], "worker_id": "orion", "trace": status.get("error")}
    return {
        "@type": "connector_description",
        "connectorClass": connector.plugin,
        "status": {**status, "connector": running, "tasks": tasks},
        "sources": [_source(s, engine, False) for s in connector.sources],
        "topics": [s.topic for s in connector.sources],
        "options": {**shown(dict(connector.options)), "errors.tolerance": connector.tolerance},
        "statement": connector.statement,
        "loads": engine.connectors.loads(connector.name),
    }


def _source(source: Source, engine: Engine, extended: bool, tables: Tables | None = None) -> Entity:
    catalog = engine.catalog
    states = {s.id: s for s in engine.statuses()}
    readers = [q for q in catalog.readers_of(source.name) if q in catalog.queries]
    described: Entity = {
        "name": source.name,
        "type": source.kind.value,
        "windowType": source.window.kind.value if source.window else None,
        "window": str(source.window) if source.window else None,
        "fields": _fields(source.schema),
        "timestamp": source.timestamp.column if source.timestamp else "",
        "keyFormat": source.key.format,
        "valueFormat": source.value.format,
        "topic": source.topic,
        "statement": source.statement,
        "extended": extended,
        "readQueries": [_query(states[q], engine) for q in readers if q in states],
        "writeQueries": [_query(states[q], engine) for q in catalog.writers_of(source.name) if q in states],
        "sourceConstraints": [s.name for s in catalog.sources.values() if _reads(s, source, engine)],
        "partitions": 0,
        "replication": 0,
        "statistics": "",
        "errorStats": "",
    }
    if not extended:
        return described
    kept = tables.status(source.name) if tables is not None else None
    told = _statistics(source, engine)
    return described | told | (_kept(kept, told) if kept is not None else {})


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _kept(status: TableStatus, told: Entity) -> Entity:
    """How the table that pull queries are answered from is doing."""
    behind = "it isn't known how far behind" if status.lag is None else f"{_count(status.lag, 'record')} behind"
    age = "" if status.age_s is None else f", up with its topic {status.age_s:.1f} s ago"
    rows = "unknown" if status.rows is None else status.rows
    bad = f", {_count(status.bad_records, 'bad record')} left out" if status.bad_records else ""
    text = f"{told['statistics']}; rows for pull queries: {rows}, {behind}{age}{bad}"
    table = {
        "state": status.state,
        "rows": status.rows,
        "lag": status.lag,
        "ageMs": None if status.age_s is None else round(status.age_s * 1000),
        "badRecords": status.bad_records,
        "lastBadRecords": [
            {"topic": status.topic, "partition": one.partition, "offset": one.offset, "reason": one.reason}
            for one in status.last_bad
        ],
        "error": status.error,
    }
    return {"statistics": text, "errorStats": status.error or "", "table": table}


def _statistics(source: Source, engine: Engine) -> Entity:
    try:
        detail = engine.kafka.describe_topic(source.topic)
        ends, starts = engine.kafka.end_offsets(source.topic), engine.kafka.earliest_offsets(source.topic)
    except OrionError as error:  # somebody deleted the topic: the rest is still worth telling
        return {"statistics": error.message}
    return {
        "partitions": detail.topic.partitions,
        "replication": detail.topic.replication,
        "statistics": f"records in the topic: {sum(ends.values()) - sum(starts.values())}",
    }


def _reads(sink: Source, source: Source, engine: Engine) -> bool:
    """Whether a query that reads one source writes the other, which can't be dropped before it."""
    query = engine.catalog.queries.get(sink.query_id or "")
    return query is not None and source.name in query.sources


def _fields(schema: Schema) -> list[Entity]:
    def field(name: str, type_: SqlType, role: Role) -> Entity:
        return {"name": name, "schema": type_tree(type_), **({"type": role.value} if role is not Role.VALUE else {})}

    return [field(c.name, c.type, c.role) for c in schema]


def _function(name: str) -> Entity:
    function = functions()[name]
    return {
        "name": function.name,
        "description": function.doc,
        "type": function.kind.value,
        "author": "",
        "version": "",
        "path": "internal",
        "functions": [{"signature": f"{function.name}{written.show(s)}", **v} for s, v in _variants(function)],
        "examples": [{"call": e.call, "result": str(e.result)} for e in function.examples],
    }


def _variants(function: Function) -> list[tuple[written.Signature, Entity]]:
    """Each signature, with its arguments as ksqlDB lists them."""
    return [(o.signature, _arguments(o.signature)) for o in function.overloads]


def _arguments(signature: written.Signature) -> Entity:
    shown = written.show(signature)[1:-1]
    types = [t.strip() for t in written._split(shown)] if shown else []
    arguments = [
        {"name": "", "type": t.removesuffix("..."), "description": "", "isVariadic": t.endswith("...")} for t in types
    ]
    returns = None if signature.returns is None else written._show(signature.returns)
    return {"arguments": arguments, "returnType": returns, "description": ""}


def _python_function(function: PythonFunction) -> Entity:
    ((_, variant),) = _variants(declared(function))
    for argument, parameter in zip(variant["arguments"], function.parameters, strict=True):
        argument["name"] = parameter.name
    plain = function.signature.replace("VARCHAR(STRING)", "STRING")
    return {
        "name": function.name,
        "description": function.doc or "A function in Python.",
        "type": "SCALAR",
        "author": "",
        "version": "",
        "path": function.module or "CREATE FUNCTION",
        "functions": [{"signature": f"{function.name}{plain}", **variant}],
        "examples": [],
        "statement": function.statement,
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


# ---- EXPLAIN -----------------------------------------------------------------------------------------------------


def _explain(ask: Explain, engine: Engine) -> Entity:
    if ask.query_id is not None:
        described = _query_description(engine.catalog.queries[ask.query_id], engine)
    else:
        assert ask.plan is not None
        described = {
            "id": "",
            "statementText": ask.plan.statement,
            "sources": [],
            "sinks": [],
            "executionPlan": explain.plan_tree(ask.plan),
            "state": None,
        }
    return {"@type": "queryDescription", "queryDescription": described}


def _query_description(query: Query, engine: Engine) -> Entity:
    status = next((s for s in engine.statuses() if s.id == query.id), None)
    state = status.state if status else None
    return {
        "id": query.id,
        "statementText": query.statement,
        "windowType": query.sink.window.kind.value if query.sink.window else None,
        "fields": _fields(query.sink.schema),
        "sources": list(query.sources),
        "sinks": [query.sink.name],
        "executionPlan": explain.query_tree(query),
        "guarantee": query.guarantee.value,
        "lane": lanes.told(query),
        "stream": sharing.describe_stream(
            query, status.shares_with if status else (), shares=engine.config.engine.share_statements
        ),
        "overriddenProperties": dict(query.properties),
        "queryType": "PERSISTENT",
        "queryErrors": [_query_error(one) for one in status.failures] if status else [],
        "ksqlHostQueryStatus": {"orion": KSQL_STATUS[State(state)]} if state else {},
        "state": state,
        **(_measures(status) if status else {}),
        "stateRestore": _restore(status.restore) if status else None,
    }


def _query_error(failure: Failure) -> Entity:
    """A failure as ksqlDB's API has it: its clients know three types."""
    kind = "USER" if failure.cause is Cause.STATEMENT else "SYSTEM"
    return {"timestamp": _moment(failure.at), "errorMessage": failure.error, "type": kind}


def info(engine: Engine) -> Entity:
    return {
        "KsqlServerInfo": {
            "version": __version__,
            "kafkaClusterId": engine.kafka.cluster_id(),
            "ksqlServiceId": engine.config.service_id,
            "serverStatus": "RUNNING",
        }
    }
