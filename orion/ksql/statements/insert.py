"""INSERT INTO name [(columns)] VALUES (...), and INSERT INTO name SELECT ..."""

from __future__ import annotations

from dataclasses import dataclass

from orion.errors import BindError, Span, hint_nearest
from orion.ksql import ast, casts
from orion.ksql.analyse import Analysed, analyse
from orion.ksql.bind import bind, is_null
from orion.ksql.context import Context, Statement
from orion.ksql.parser import Parser
from orion.ksql.queries import parse_query
from orion.ksql.scope import CONSTANTS
from orion.plan.relations import Expr, Query
from orion.plan.sources import ROWTIME, Kind, Source
from orion.plan.steps import Ask, InsertRow, StartQuery, Step
from orion.schema import Role, Scalar, SqlType

STARTS = (("INSERT", "INTO"),)


@dataclass(frozen=True)
class InsertValues:
    target: str
    columns: tuple[str, ...] | None
    values: tuple[ast.Expression, ...]
    span: Span

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        source = context.source(self.target, self.span)
        if source.window:
            raise BindError("WINDOWED", f"{source.name} is windowed: rows can't be inserted.", span=self.span)
        names = self.columns or tuple(source.schema.names)
        twice = next((n for n in names if names.count(n) > 1), None)
        if twice is not None:
            raise BindError("DUPLICATE_COLUMN", f"The column {twice} is named twice.", span=self.span)
        if len(names) != len(self.values):
            raise BindError(
                "COLUMN_COUNT", f"{len(names)} columns are named and {len(self.values)} values given.", span=self.span
            )
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
    bound = bind(node, CONSTANTS)
    if is_null(node):
        return casts.implicit(bound, type_, null=True)
    if not casts.insertable(bound.type, type_):
        raise BindError("TYPE_MISMATCH", f"{bound.type} can't go into {name}, which is {type_}.", span=node.span)
    if type_ is Scalar.BYTES and bound.type is Scalar.STRING:
        return Expr(f"unbase64({bound.spark})", type_, bound.text)
    return Expr(casts.explicit(bound, type_, node.span), type_, bound.text)


@dataclass(frozen=True)
class InsertSelect:
    target: str
    query: ast.Query
    span: Span

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        sink = context.source(self.target, self.span)
        if sink.kind is Kind.TABLE:
            raise BindError("INSERT_INTO_TABLE", "INSERT INTO ... SELECT writes streams only.", span=self.span)
        if self.query.limit is not None:
            raise BindError("LIMIT_NOT_HERE", "A query that runs for good has no LIMIT.", span=self.query.span)
        analysed = analyse(self.query, context)
        self._check(analysed, sink)
        query_id = f"INSERTQUERY_{context.catalog.version}"
        properties = tuple(sorted(context.properties.items()))
        return (
            StartQuery(Query(query_id, analysed.relation, sink, (analysed.source.name,), context.text, properties)),
        )

    def _check(self, analysed: Analysed, sink: Source) -> None:
        if analysed.kind is not sink.kind:
            raise BindError("WRONG_KIND", f"The SELECT makes a {analysed.kind}, not a {sink.kind}.", span=self.span)
        made = [(c.name, c.type, c.role) for c in analysed.schema]
        wanted = [(c.name, c.type, c.role) for c in sink.schema]
        if sorted(made, key=_by_role) != sorted(wanted, key=_by_role):
            shown = ", ".join(f"{n} {t}{' KEY' if r is Role.KEY else ''}" for n, t, r in wanted)
            raise BindError(
                "INCOMPATIBLE_COLUMNS",
                f"The SELECT's columns are not those of {sink.name}.",
                span=self.query.span,
                hint=f"It has {shown}.",
            )


def _by_role(column: tuple[str, SqlType, Role]) -> tuple[bool, str]:
    return column[2] is not Role.KEY, column[0]


def parse(parser: Parser) -> Statement:
    parser.expect("INSERT", "INTO")
    at = parser.at
    target = parser.identifier("a stream or table")
    span = parser.span_from(at)
    if parser.is_word("SELECT"):
        return InsertSelect(target, parse_query(parser), span)
    columns = None
    if parser.accept_symbol("("):
        columns = parser.separated(lambda: parser.identifier("a column"))
        parser.expect_symbol(")")
    parser.expect("VALUES")
    parser.expect_symbol("(")
    values = parser.separated(parser.expression)
    parser.expect_symbol(")")
    return InsertValues(target, columns, values, span)
