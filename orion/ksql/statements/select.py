"""SELECT: the rows as they are now, and with EMIT CHANGES as they come."""

from __future__ import annotations

from dataclasses import dataclass

from orion.ksql import ast
from orion.ksql.analyse import analyse
from orion.ksql.context import Context
from orion.ksql.parser import Parser
from orion.ksql.pull.constants import pull_constants
from orion.ksql.pull.write import pulled
from orion.ksql.queries import parse_query, select_list
from orion.ksql.tokens import Kind
from orion.plan.relations import Expr, Named, Transient
from orion.plan.steps import Ask, Push, Step
from orion.schema import quote

STARTS = (("SELECT",),)


@dataclass(frozen=True)
class Select:
    query: ast.Query

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        if self.query.emit is None:
            return pulled(self.query, context)
        analysed = analyse(self.query, context, transient=True)
        columns = tuple(Named(c.name, Expr(quote(c.name), c.type, c.name)) for c in analysed.schema)
        return Push(
            Transient(
                analysed.relation,
                columns,
                analysed.kind,
                analysed.source.name,
                self.query.limit,
                context.properties.get("auto.offset.reset", "latest") == "earliest",
                context.tasks,
            )
        )


@dataclass(frozen=True)
class SelectConstants:
    """SELECT without FROM."""

    items: tuple[ast.SelectItem, ...]

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        return pull_constants(self.items)


def parse(parser: Parser) -> Select | SelectConstants:
    if any(token.is_word("FROM") for token in parser.tokens[parser.at :]):
        return Select(parse_query(parser))
    parser.expect("SELECT")
    items = select_list(parser)
    if not (parser.token.kind is Kind.END or parser.is_symbol(";")):
        parser.expect("FROM")
    return SelectConstants(items)
