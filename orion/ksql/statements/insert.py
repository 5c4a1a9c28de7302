"""INSERT INTO name [(columns)] VALUES (...), and INSERT INTO name [WITH (QUERY_ID = ...)] SELECT ..."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from orion.errors import BindError, Span, hint_nearest
from orion.ksql import ast, casts, lanes
from orion.ksql.analyse import Analysed, analyse
from orion.ksql.bind import bind, is_null
from orion.ksql.context import Context, Statement
from orion.ksql.late_rows import are_late_rows_kept
from orion.ksql.parser import Parser
from orion.ksql.properties import OF_INSERT, With
from orion.ksql.queries import parse_query
from orion.ksql.scope import constants
from orion.plan.fingerprint import hash_meaning
from orion.plan.relations import Expr, Named, Project, Query, Relation
from orion.plan.sources import ROWTIME, Kind, Source
from orion.plan.steps import Ask, InsertRow, StartQuery, Step
from orion.schema import Column, Decimal, Role, Scalar, SqlType, quote

STARTS = (("INSERT", "INTO"),)


@dataclass(frozen=True)
class InsertValues:
    target: str
    columns: tuple[str, ...] | None
    values: tuple[ast.Expression, ...]
    span: Span

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        source = context.source(self.target, self.span)
        _refuse_read_only(source, self.span)
        if source.window:
            raise BindError("WINDOWED", f"{source.name} is windowed: rows can't be inserted.", span=self.span)
        names = self.columns or tuple(source.schema.names)
        twice = next((n for n, times in Counter(names).items() if times > 1), None)
        if twice is not None:
            raise BindError("DUPLICATE_COLUMN", f"The column {twice} is named twice.", span=self.span)
        if len(names) != len(self.values):
            raise BindError(
                "COLUMN_COUNT", f"{len(names)} columns are named and {len(self.values)} values given.", span=self.span
            )
        headers = [c.name for c in source.schema.headers if c.name in names]
        if headers:
            raise BindError("HEADERS", f"Cannot insert into HEADER columns: {', '.join(headers)}.", span=self.span)
        rowtime: Expr | None = None
        row: list[tuple[str, Expr]] = []
        for name, node in zip(names, self.values, strict=True):
            if name == ROWTIME:
                rowtime = _value(node, Scalar.BIGINT, name)
                continue
            column = source.schema.get(name)
            if column is None:
                raise BindError(
                    "UNKNOWN_COLUMN",
                    f"{source.name} has no column {name}.",
                    span=self.span,
                    hint=hint_nearest(name, source.schema.names),
                )
            row.append((name, _value(node, column.type, name)))
        self._check_key(source, dict(row))
        return (InsertRow(source, tuple(row), rowtime),)

    def _check_key(self, source: Source, row: dict[str, Expr]) -> None:
        missing = [c.name for c in source.schema.key if c.name not in row or row[c.name].text == "null"]
        if source.kind is Kind.TABLE and missing:
            raise BindError("KEY_MISSING", f"A row of a TABLE needs its key {missing[0]}.", span=self.span)


def _value(node: ast.Expression, type_: SqlType, name: str) -> Expr:
    bound = bind(node, constants())
    if is_null(node):
        return casts.implicit(bound, type_, null=True)
    if not casts.insertable(bound.type, type_):
        raise BindError("TYPE_MISMATCH", f"{bound.type} can't go into {name}, which is {type_}.", span=node.span)
    if type_ is Scalar.BYTES and bound.type is Scalar.STRING:
        return Expr(f"unbase64({bound.spark})", type_, bound.text)
    return Expr(casts.explicit(bound, type_, node.span), type_, bound.text)


def _refuse_read_only(source: Source, span: Span) -> None:
    if source.read_only:
        message = f"Cannot insert into {source.name}: it is a SOURCE {source.kind}, which is only read."
        raise BindError("READ_ONLY", message, span=span)


@dataclass(frozen=True)
class InsertSelect:
    target: str
    query: ast.Query
    properties: dict[str, str]
    span: Span

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        sink = context.source(self.target, self.span)
        if sink.kind is Kind.TABLE:
            raise BindError("INSERT_INTO_TABLE", "INSERT INTO ... SELECT writes streams only.", span=self.span)
        _refuse_read_only(sink, self.span)
        if sink.schema.headers:
            raise BindError("HEADERS", f"Cannot insert into {sink.name}: it has header columns.", span=self.span)
        if self.query.limit is not None:
            raise BindError("LIMIT_NOT_HERE", "A query that runs for good has no LIMIT.", span=self.query.span)
        written = With.of(self.properties, self.span, known=OF_INSERT)
        query_id = self._query_id(written, context)
        analysed = analyse(self.query, context)
        relation = self._fitted(analysed, sink)
        properties = tuple(sorted(context.properties.items()))
        keeps_late = are_late_rows_kept(relation, None, context, self.span)
        profile = lanes.profile(written, context)
        query = Query(
            query_id,
            hash_meaning(relation, sink),
            relation,
            sink,
            analysed.sources,
            context.text,
            properties,
            tasks=context.tasks,
            tolerance=With.of({}, self.span, context.properties).tolerance(),
            keeps_late=keeps_late,
            guarantee=lanes.insert_guarantee(written, context, relation, sink),
            profile=profile.name if profile else None,
            by_partitioner=True,
        )
        return (StartQuery(query),)

    def _query_id(self, with_: With, context: Context) -> str:
        written = with_.text("QUERY_ID")
        if written is None:
            return f"INSERTQUERY_{context.catalog.version}"
        query_id = written.upper()
        if not re.fullmatch(r"[A-Z][A-Z0-9_]*", query_id):
            raise BindError("INVALID_PROPERTY", f"'{written}' can't be a query's id.", span=self.span)
        if query_id in context.catalog.queries:
            raise BindError("QUERY_EXISTS", f"There is a query {query_id} already.", span=self.span)
        return query_id

    def _fitted(self, analysed: Analysed, sink: Source) -> Relation:
        """The query's rows as the sink's: the same columns in the same order, numbers widened where the sink's are."""
        if analysed.kind is not sink.kind:
            raise BindError("WRONG_KIND", f"The SELECT makes a {analysed.kind}, not a {sink.kind}.", span=self.span)
        made, wanted = list(analysed.schema), list(sink.schema)
        same = [(c.name, c.role) for c in made] == [(c.name, c.role) for c in wanted]
        if not same or not all(_widens(m.type, w.type) for m, w in zip(made, wanted, strict=True)):
            raise BindError(
                "INCOMPATIBLE_COLUMNS",
                f"The SELECT's columns are not those of {sink.name}.",
                span=self.query.span,
                hint=f"It has {_listed(wanted)}; the SELECT makes {_listed(made)}.",
            )
        if all(m.type == w.type for m, w in zip(made, wanted, strict=True)):
            return analysed.relation
        items = (
            Named(m.name, casts.implicit(Expr(quote(m.name), m.type, m.name), w.type))
            for m, w in zip(made, wanted, strict=True)
        )
        return Project(analysed.relation, tuple(items))


def _widens(given: SqlType, wanted: SqlType) -> bool:
    """Whether a number goes into a wider one by itself; anything else only into its own type."""
    if given == wanted:
        return True
    match given, wanted:
        case (
            (Scalar.INTEGER, Scalar.BIGINT | Scalar.DOUBLE)
            | (Scalar.BIGINT, Scalar.DOUBLE)
            | (Decimal(), Scalar.DOUBLE)
        ):
            return True
        case (Scalar.INTEGER | Scalar.BIGINT, Decimal()):
            return True
        case (Decimal(), Decimal(precision, scale)):
            return given.scale <= scale and given.precision - given.scale <= precision - scale
        case _:
            return False


def _listed(columns: Iterable[Column]) -> str:
    return ", ".join(f"{c.name} {c.type}{' KEY' if c.role is Role.KEY else ''}" for c in columns)


def parse(parser: Parser) -> Statement:
    parser.expect("INSERT", "INTO")
    at = parser.at
    target = parser.identifier("a stream or table")
    span = parser.span_from(at)
    properties = parser.properties() if parser.accept("WITH") else None
    if properties is not None or parser.is_word("SELECT"):
        return InsertSelect(target, parse_query(parser), properties or {}, span)
    columns = None
    if parser.accept_symbol("("):
        columns = parser.separated(lambda: parser.identifier("a column"))
        parser.expect_symbol(")")
    parser.expect("VALUES")
    parser.expect_symbol("(")
    values = parser.separated(parser.expression)
    parser.expect_symbol(")")
    return InsertValues(target, columns, values, span)
