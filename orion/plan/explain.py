"""A plan in words: what EXPLAIN prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from orion.plan.codec import dumps
from orion.plan.definitions import python_calls
from orion.plan.lanes import told
from orion.plan.relations import (
    Aggregate,
    Distinct,
    Explode,
    Expr,
    Filter,
    Guarantee,
    Join,
    JoinKind,
    Named,
    Project,
    Query,
    Relation,
    Scan,
    Settle,
    Union,
    inputs,
    is_stateful,
    why_row_by_row,
)
from orion.plan.sources import ROWTIME, Direction, Kind, Serde, Source, subject
from orion.plan.steps import (
    Ask,
    AssertRow,
    AssertSchema,
    AssertSource,
    AssertTopic,
    CreateConnector,
    DefineFunction,
    DefineSource,
    DefineType,
    Describe,
    DropConnector,
    DropFunction,
    DropSource,
    DropType,
    EnsureTopic,
    Explain,
    InsertRow,
    Nothing,
    PauseQuery,
    Plan,
    PrintTopic,
    Pull,
    Push,
    RegisterSchema,
    ReplaceQuery,
    ResumeQuery,
    SetProperty,
    SetVariable,
    Show,
    ShowCreate,
    StartQuery,
    SteerConnector,
    Step,
    StopQuery,
)
from orion.plan.tolerance import ALL, NONE, SAMPLE
from orion.schema import Role

_DEFINED = {"created": "define", "altered": "alter to", "replaced": "replace by"}


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
        case EnsureTopic(topic, partitions, replicas, like, config, profile):
            how = f"{partitions} partitions" if partitions else f"partitions as {like}" if like else "must exist"
            copies = f", {replicas} replicas" if replicas else ""
            settings = "".join(f", {name}={value}" for name, value in config)
            suited = f", for {profile}" if profile else ""
            yield f"topic {topic}: {how}{copies}{settings}{suited}"
        case RegisterSchema(source, role, declared):
            known = " unless there is one" if declared else ""
            yield f"schema {subject(source.topic, role)}: {source.serde(role).format} of the columns{known}"
        case DefineSource(source, done):
            yield f"{_DEFINED.get(done, 'define')} {_source(source)}"
        case StartQuery(query):
            yield from _query(query)
        case ReplaceQuery(old, query, continues):
            how = " and go on from where it is" if continues else ", delete its checkpoint and start from the beginning"
            over = f", over {query.tasks} tasks" if continues and query.tasks and is_stateful(query.relation) else ""
            yield f"stop {old}{how}{over}"
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
            way = f" {'from' if connector.direction is Direction.SINK else 'to'} {topics}" if topics else ""
            yield f"start {connector.direction.lower()} {connector.name} ({connector.plugin}){way}"
            yield from _tolerance(connector.tolerance)
        case DropConnector(name):
            yield f"stop connector {name} and forget how far it was"
        case SteerConnector(name, wanted):
            yield f"make connector {name} {wanted.lower()}"
        case DefineType(type_):
            yield f"define type {type_.name} as {type_.type}"
        case DropType(name):
            yield f"drop type {name}"
        case DefineFunction(function):
            yield f"define function {function.name}{function.signature} returns {function.returns}, in Python"
        case DropFunction(name):
            yield f"drop function {name}"
        case InsertRow(source):
            yield f"write one record to {source.topic}: {_values(step)}"
        case SetProperty(name, value):
            yield f"set {name} to {value}" if value is not None else f"unset {name}"
        case SetVariable(name, value):
            yield f"define variable {name} as {value}" if value is not None else f"undefine variable {name}"
        case AssertSchema(exists=exists, timeout_ms=timeout_ms):
            state = "exists" if exists else "does not exist"
            yield f"wait up to {timeout_ms} ms until a schema with {step.named} {state}"
        case AssertTopic(topic, exists, wanted, timeout_ms):
            like = "".join(f", {name} {value}" for name, value in wanted)
            yield f"wait at most {timeout_ms} ms until topic {topic} is {'' if exists else 'not '}there{like}"
        case AssertRow(row, deleted):
            what = "a deletion: " if deleted else ""
            yield f"check that the next record of {row.source.topic} is {what}{_values(row)}"
        case AssertSource(name, expected):
            yield f"check that {name} is {_source(expected)}"
        case Nothing(message):
            yield f"nothing: {message}"
        case _:
            assert_never(step)


def _ask(ask: Ask) -> Iterator[str]:
    match ask:
        case Show(what, extended, everything):
            yield f"list {'all ' if everything else ''}{what.lower()}{', extended' if extended else ''}"
        case ShowCreate(kind, name):
            yield f"show the statement of {kind.lower()} {name}"
        case Describe(what, name, extended):
            yield f"describe {what.lower()}{f' {name}' if name else ''}{', extended' if extended else ''}"
        case Explain(plan, query_id):
            yield "explain" if plan else f"explain the query {query_id}"
            yield from (f"  {line}" for line in plan_tree(plan).splitlines()) if plan else ()
        case PrintTopic(topic, from_beginning, interval, limit):
            start = "beginning" if from_beginning else "end"
            every = f", one of {interval}" if interval > 1 else ""
            yield f"print the records of {topic} from the {start}{every}" + (f", {limit} of them" if limit else "")
        case Pull():
            yield from _pull(ask)
        case Push(query):
            start = "beginning" if query.from_beginning else "end"
            yield f"push query from the {start} of the log" + (f", {query.limit} rows" if query.limit else "")
            yield from _python(query.relation)
            yield from _tree(query.relation, 1)
        case _:
            assert_never(ask)


def _pull(ask: Pull) -> Iterator[str]:
    if ask.duckdb is not None:
        how = f", look-up by {ask.key}" if ask.key else ""
        yield f"pull query, answered by DuckDB{how}"
        yield f"  {ask.duckdb}"
    else:
        yield f"pull query, answered by Spark: {ask.why}"
        yield f"  {ask.spark}"
        if ask.fetched:
            yield f"  over the rows where {ask.fetched}"
    yield from (f"  read {_source(source)}" for source in ask.reads)


def _query(query: Query) -> Iterator[str]:
    state = "stateful" if is_stateful(query.relation) else "stateless"
    once = "exactly once" if query.guarantee is Guarantee.EXACT else "at least once"
    yield f"query {query.id} ({state}, {once}) -> topic {query.sink.topic}, dead letters {query.dead_letters}"
    yield f"  {told(query)}{f'; profile {query.profile}' if query.profile else ''}"
    yield from _tolerance(query.tolerance)
    if dict(query.properties).get("auto.offset.reset") == "latest":
        yield "  from the end of its topics: what is there already is left out"
    if query.keeps_late:
        yield f"  late rows are kept: they go to {query.dead_letters}"
    yield from _python(query.relation)
    yield from _tree(query.relation, 1)


def _tolerance(tolerance: str) -> Iterator[str]:
    if tolerance == NONE:
        yield "  errors tolerance none: it stops at the first dead letter"
    elif tolerance != ALL:
        yield f"  errors tolerance {tolerance}: it stops when more of the last {SAMPLE} records are dead letters"


def _python(relation: Relation) -> Iterator[str]:
    called = python_calls(dumps(relation))
    if called:
        yield f"  in Python, Arrow batches to worker processes and back: {', '.join(called)}"


def _tree(relation: Relation, depth: int) -> Iterator[str]:
    indent = "  " * depth
    for line in _node(relation):
        yield f"{indent}{line}"
    for inner in inputs(relation):
        yield from _tree(inner, depth + 1)


def _node(relation: Relation) -> Iterator[str]:
    match relation:
        case Scan(source):
            yield f"scan {_source(source)}"
        case Filter(_, condition):
            yield f"filter {condition.text}"
        case Project(_, items):
            yield f"project {_items(items)}"
        case Explode(_, items):
            yield f"explode {_items(items)}"
        case Settle():
            yield "settle: a deletion of what was never there is left out"
        case Distinct(_, columns, window):
            yield f"distinct {', '.join(c.name for c in columns)} in {window}"
        case Union():
            yield "union all"
        case Join():
            yield from _join(relation)
        case Aggregate():
            yield from _aggregate(relation)
        case _:
            assert_never(relation)


def _join(join: Join) -> Iterator[str]:
    yield f"{join.type.lower()} join, {join.kind.lower()}, on {_texts(join.left.on)} = {_texts(join.right.on)}"
    if join.within:
        grace = f"{join.within.grace_ms} MILLISECONDS"
        how = "" if join.within.patient else ", rows without a partner come out at once"
        yield f"  within {join.within.before_ms} before, {join.within.after_ms} after, GRACE {grace}{how}"
    if join.kind is JoinKind.FOREIGN_KEY:
        yield f"  keyed by {_texts(join.left_key)}"
    yield "  operator tasks: both sides are kept and met row by row"


def _texts(expressions: tuple[Expr, ...]) -> str:
    shown = ", ".join(e.text for e in expressions)
    return shown if len(expressions) == 1 else f"({shown})"


def _aggregate(relation: Aggregate) -> Iterator[str]:
    yield f"aggregate {_items(relation.items)}"
    yield f"  by {', '.join(k.expr.text for k in relation.keys)}"
    if relation.window:
        emitted = ", emitted when it closes" if relation.final else ""
        yield f"  window {relation.window} GRACE {relation.window.grace_ms} MILLISECONDS{emitted}"
    if relation.having:
        yield f"  having {relation.having.text}"
    why = why_row_by_row(relation)
    judged = ", lateness judged row by row" if relation.window else ""
    how = f"row by row, {why}" if why else f"a batch's rows folded together{judged}"
    yield f"  operator tasks: {how}"


def _values(row: InsertRow) -> str:
    written = [*row.values, *([(ROWTIME, row.rowtime)] if row.rowtime else [])]
    return ", ".join(f"{n}={e.text}" for n, e in written)


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
