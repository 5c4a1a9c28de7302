"""A plan in words: what EXPLAIN prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from orion.plan.relations import Aggregate, Filter, Named, Project, Query, Relation, Scan, is_stateful
from orion.plan.sources import ROWTIME, Kind, Serde, Source
from orion.plan.steps import (
    Ask,
    CreateConnector,
    DefineSource,
    Describe,
    DropConnector,
    DropSource,
    EnsureTopic,
    Explain,
    InsertRow,
    Nothing,
    PauseQuery,
    Plan,
    PrintTopic,
    Push,
    ResumeQuery,
    SetProperty,
    Show,
    StartQuery,
    Step,
    StopQuery,
)
from orion.schema import Role


def plan_tree(plan: Plan) -> str:
    """Every step, one below the other."""
    lines = [line for step in plan.steps for line in _step(step)]
    if plan.ask is not None:
        lines += _ask(plan.ask)
    return "\n".join(lines)


def query_tree(query: Query) -> str:
    return "\n".join(_query(query))


def _step(step: Step) -> Iterator[str]:
    match step:
        case EnsureTopic(topic, partitions, replicas, like, config):
            how = f"{partitions} partitions" if partitions else f"partitions as {like}" if like else "must exist"
            copies = f", {replicas} replicas" if replicas else ""
            settings = "".join(f", {name}={value}" for name, value in config)
            yield f"topic {topic}: {how}{copies}{settings}"
        case DefineSource(source):
            yield f"define {_source(source)}"
        case StartQuery(query):
            yield from _query(query)
        case StopQuery(name):
            yield f"terminate {name} and delete its checkpoint"
        case PauseQuery(name):
            yield f"pause {name}"
        case ResumeQuery(name):
            yield f"resume {name}"
        case DropSource(name, kind, topic):
            yield f"drop {kind.lower()} {name}" + (f" and delete the topic {topic}" if topic else "")
        case CreateConnector(connector):
            topics = ", ".join(s.topic for s in connector.sources)
            yield f"start sink {connector.name} ({connector.plugin}) from {topics}"
        case DropConnector(name):
            yield f"stop connector {name} and forget how far it was"
        case InsertRow(source, values, rowtime):
            written = [*values, *([(ROWTIME, rowtime)] if rowtime else [])]
            yield f"write one record to {source.topic}: {', '.join(f'{n}={e.text}' for n, e in written)}"
        case SetProperty(name, value):
            yield f"set {name} to {value}" if value is not None else f"unset {name}"
        case Nothing(message):
            yield f"nothing: {message}"
        case _:
            assert_never(step)


def _ask(ask: Ask) -> Iterator[str]:
    match ask:
        case Show(what, extended, everything):
            yield f"list {'all ' if everything else ''}{what.lower()}{', extended' if extended else ''}"
        case Describe(what, name, extended):
            yield f"describe {what.lower()} {name}{', extended' if extended else ''}"
        case Explain(plan, query_id):
            yield "explain" if plan else f"explain the query {query_id}"
            yield from (f"  {line}" for line in plan_tree(plan).splitlines()) if plan else ()
        case PrintTopic(topic, from_beginning, interval, limit):
            start = "beginning" if from_beginning else "end"
            every = f", one of {interval}" if interval > 1 else ""
            yield f"print the records of {topic} from the {start}{every}" + (f", {limit} of them" if limit else "")
        case Push(query):
            start = "beginning" if query.from_beginning else "end"
            yield f"push query from the {start} of the log" + (f", {query.limit} rows" if query.limit else "")
            yield from _tree(query.relation, 1)
        case _:
            assert_never(ask)


def _query(query: Query) -> Iterator[str]:
    state = "stateful" if is_stateful(query.relation) else "stateless"
    yield f"query {query.id} ({state}, exactly once) -> topic {query.sink.topic}, dead letters {query.dead_letters}"
    yield from _tree(query.relation, 1)


def _tree(relation: Relation, depth: int) -> Iterator[str]:
    indent = "  " * depth
    match relation:
        case Scan(source):
            yield f"{indent}scan {_source(source)}"
        case Filter(inner, condition):
            yield f"{indent}filter {condition.text}"
            yield from _tree(inner, depth + 1)
        case Project(inner, items):
            yield f"{indent}project {_items(items)}"
            yield from _tree(inner, depth + 1)
        case Aggregate():
            yield f"{indent}aggregate {_items(relation.items)}"
            yield f"{indent}  by {', '.join(k.expr.text for k in relation.keys)}"
            if relation.window:
                yield f"{indent}  window {relation.window} GRACE {relation.window.grace_ms} MILLISECONDS"
            if relation.having:
                yield f"{indent}  having {relation.having.text}"
            how = f"keyed processor in Python: {relation.keyed}" if relation.keyed else "Spark's own aggregation"
            yield f"{indent}  operator {how}"
            yield from _tree(relation.input, depth + 1)
        case _:
            assert_never(relation)


def _items(items: tuple[Named, ...]) -> str:
    return ", ".join(i.name if i.expr.text == i.name else f"{i.expr.text} AS {i.name}" for i in items)


def _source(source: Source) -> str:
    key = " PRIMARY KEY" if source.kind is Kind.TABLE else " KEY"
    columns = ", ".join(f"{c.name} {c.type}{key if c.role is Role.KEY else ''}" for c in source.schema)
    formats = f"key {_serde(source.key)}, value {_serde(source.value)}"
    window = f", window {source.window}" if source.window else ""
    time = f", ROWTIME from {source.timestamp.column}" if source.timestamp else ""
    if source.timestamp and source.timestamp.format:
        time += f" as '{source.timestamp.format}'"
    return f"{source.kind.lower()} {source.name} over topic {source.topic} ({formats}{window}{time}): {columns}"


def _serde(serde: Serde) -> str:
    wraps = {None: "", True: " wrapped", False: " unwrapped"}
    return f"{serde.format}{wraps[serde.wrap_single]}"
