"""... AS SELECT: a query that runs for good and writes a new stream or table. Reached through `create_source`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from orion.errors import BindError, Span
from orion.ksql import ast, lanes, replacement
from orion.ksql.analyse import Analysed, analyse
from orion.ksql.context import Context, check_free
from orion.ksql.late_rows import are_late_rows_kept
from orion.ksql.parser import Parser
from orion.ksql.properties import OF_QUERY, With
from orion.ksql.queries import parse_query
from orion.ksql.registering import check_named, registered
from orion.ksql.time_to_live import limited
from orion.plan.fingerprint import hash_meaning
from orion.plan.relations import Guarantee, Query
from orion.plan.sources import Kind, Source
from orion.plan.steps import Ask, DefineSource, EnsureTopic, Nothing, StartQuery, Step


@dataclass(frozen=True)
class Head:
    """What stands before AS."""

    kind: Kind
    name: str
    properties: dict[str, str]
    if_not_exists: bool
    or_replace: bool
    span: Span


@dataclass(frozen=True)
class CreateAs:
    head: Head
    query: ast.Query

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        head = self.head
        if head.if_not_exists and head.name in context.catalog.sources:
            return (Nothing(f"Cannot add {head.kind.lower()} {head.name}: it already exists."),)
        replaced = context.catalog.sources.get(head.name) if head.or_replace else None
        if replaced is None:
            check_free(context, head.name, head.kind, head.span)
        if self.query.limit is not None:
            raise BindError("LIMIT_NOT_HERE", "A query that runs for good has no LIMIT.", span=self.query.span)
        analysed = analyse(self.query, context)
        self._check_kind(analysed)
        written = With.of(head.properties, head.span, context.properties, OF_QUERY)
        prefix = "CSAS" if head.kind is Kind.STREAM else "CTAS"
        query_id = f"{prefix}_{head.name}_{context.catalog.version}"
        sink = self._sink(analysed, written, context.text, query_id)
        relation = limited(analysed, written.ttl_ms(), head.span)
        keeps_late = are_late_rows_kept(relation, written.late_rows(), context, head.span)
        guarantee, profile = lanes.guarantee(written, context, relation, sink), lanes.profile(written, context)
        if guarantee is Guarantee.FAST or context.catalog.is_headed(sink.topic):
            sink = replace(sink, headed=True)
        query = Query(
            query_id,
            hash_meaning(relation, sink),
            relation,
            sink,
            analysed.sources,
            context.text,
            tuple(sorted(context.properties.items())),
            tasks=context.tasks,
            tolerance=written.tolerance(),
            keeps_late=keeps_late,
            guarantee=guarantee,
            profile=profile.name if profile else None,
            by_partitioner=True,
        )
        check_named(sink, context, head.span)
        schemas = registered(sink, declared=False)
        if replaced is not None:
            return (*schemas, *replacement.by_query(replaced, query, context, head.span))
        topic = EnsureTopic(
            sink.topic,
            lanes.partitions(written, profile.partitions() if profile else None),
            written.number("REPLICAS"),
            analysed.source.topic,
            tuple((table_config(sink) | written.topic_config(sink.kind, sink.window)).items()),
            profile.name if profile else None,
        )
        # A schema may be refused: before that, nothing is made.
        return (*schemas, topic, DefineSource(sink), StartQuery(query))

    def _check_kind(self, analysed: Analysed) -> None:
        if analysed.kind is not self.head.kind:
            raise BindError(
                "WRONG_KIND",
                f"Invalid result type. The SELECT query produces a {analysed.kind}, not a {self.head.kind}.",
                span=self.head.span,
                hint=f"Use CREATE {analysed.kind} {self.head.name} AS SELECT ...",
            )

    def _sink(self, analysed: Analysed, written: With, text: str, query_id: str) -> Source:
        source, schema = analysed.source, analysed.schema
        key = written.key_serde(source.key, schema)
        value = written.value_serde(source.value, schema)
        topic = written.topic(self.head.name)
        return Source(
            self.head.name,
            self.head.kind,
            schema,
            topic,
            key,
            value,
            written.timestamp(schema),
            analysed.window,
            text,
            query_id,
        )


def table_config(sink: Source) -> dict[str, str]:
    """A table's topic keeps the last value of each key; of a windowed one, old windows go by time as well."""
    if sink.kind is Kind.STREAM:
        return {}
    return {"cleanup.policy": "compact,delete" if sink.window else "compact"}


def parse(parser: Parser, head: Head) -> CreateAs:
    return CreateAs(head, parse_query(parser))
