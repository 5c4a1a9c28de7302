"""CREATE OR REPLACE: what may take another's place, and what becomes of the query that wrote it.

A source keeps its kind, its key, its topic and its formats; columns are only added, at the end. A query that keeps no
state goes on from where the old one is, under the same id. One that keeps state starts from the beginning: its state
lies in changelog topics that belong to the old meaning, and doesn't fit another one. The same statement with another
number of tasks is the same query: its state is re-spread.
"""

from __future__ import annotations

from dataclasses import replace

from orion.errors import BindError, Span
from orion.ksql.context import Context
from orion.plan.fingerprint import fingerprint
from orion.plan.relations import Query, is_stateful, scans
from orion.plan.sources import Kind, Source
from orion.plan.steps import DefineSource, EnsureTopic, ReplaceQuery, StartQuery, Step
from orion.schema import Schema, SqlType


def by_declaration(old: Source, new: Source, ensure: EnsureTopic, span: Span) -> tuple[Step, ...]:
    """The steps that put a declared source in the place of one that exists."""
    if old.query_id is not None:
        _refuse(old, "a query writes it, and a declaration can't take its place", span)
    _check(old, new, span)
    return (ensure, DefineSource(new, "replaced"))


def by_query(old: Source, query: Query, context: Context, span: Span) -> tuple[Step, ...]:
    """The steps that put a query, and what it writes, in the place of another one."""
    if old.query_id is None:
        _refuse(old, "it was declared, and a query can't take its place", span)
    _check(old, query.sink, span)
    _check_headed(old, query.sink, context, span)
    running = context.catalog.queries.get(old.query_id or "")
    if running is None:  # it was terminated; its topic goes on
        return (DefineSource(query.sink, "replaced"), StartQuery(query))
    before, after = _topics(running), _topics(query)
    if before != after:
        _refuse(old, f"its query reads {', '.join(before)}, and would read {', '.join(after)}", span)
    same_id = replace(query, id=running.id, sink=replace(query.sink, query_id=running.id))
    stateful = is_stateful(running.relation) or is_stateful(query.relation)
    same = fingerprint(running) == fingerprint(same_id)
    if same:  # it keeps its checkpoint, whatever an older Orion has called that, its state where it lies, and its tasks
        # unless told otherwise
        tasks = query.tasks or running.tasks
        placing = running.by_partitioner
        same_id = replace(same_id, incarnation=running.incarnation, by_partitioner=placing, tasks=tasks)
    if same or not stateful:
        return (DefineSource(same_id.sink, "replaced"), ReplaceQuery(running.id, same_id, continues=True))
    if query.sink.kind is Kind.STREAM:
        _refuse(old, "its query keeps state, and would write everything a second time", span)
    return (DefineSource(query.sink, "replaced"), ReplaceQuery(running.id, query, continues=False))


def _check_headed(old: Source, new: Source, context: Context, span: Span) -> None:
    """Who reads the old one looks for no headers, and would miss ROWTIME and repeats."""
    readers = context.catalog.readers_of(old.name)
    if new.headed and not old.headed and readers:
        _refuse(old, f"its rows would come by the fast lane, which {', '.join(readers)} don't expect", span)


def _topics(query: Query) -> list[str]:
    return sorted(source.topic for source in scans(query.relation))


def _check(old: Source, new: Source, span: Span) -> None:
    if old.read_only or new.read_only:
        _refuse(old, f"CREATE OR REPLACE is not supported on source {old.kind.lower()}s", span)
    for what, before, after in (
        ("kind", old.kind, new.kind),
        ("topic", old.topic, new.topic),
        ("key format", old.key, new.key),
        ("value format", old.value, new.value),
        ("window", old.window, new.window),
        ("timestamp", old.timestamp, new.timestamp),
    ):
        if before != after:
            shown = f" from {before} to {after}" if isinstance(before, str) else ""
            _refuse(old, f"its {what} would change{shown}", span)
    if _columns(old.schema, key=True) != _columns(new.schema, key=True):
        _refuse(old, "its key columns must stay as they are", span)
    before_, after_ = _columns(old.schema, key=False), _columns(new.schema, key=False)
    if after_[: len(before_)] != before_:
        changed = [name for at, (name, type_) in enumerate(before_) if after_[at : at + 1] != [(name, type_)]]
        _refuse(old, f"these columns would be changed, missing or moved: {', '.join(changed)}", span)


def _columns(schema: Schema, *, key: bool) -> list[tuple[str, SqlType]]:
    return [(c.name, c.type) for c in schema if (c in schema.key) is key]


def _refuse(old: Source, why: str, span: Span) -> None:
    raise BindError(
        "CANNOT_REPLACE",
        f"Cannot replace {old.kind.lower()} {old.name}: {why}.",
        span=span,
        hint="Columns can be added at the end, and a query's WHERE and expressions changed. For more, DROP it first.",
    )
