"""The grammar of SELECT, shared by CREATE ... AS, INSERT INTO ... SELECT and the queries themselves."""

from __future__ import annotations

from dataclasses import replace

from orion.errors import ParseError
from orion.ksql import ast, limits
from orion.ksql.parser import RESERVED, Parser
from orion.ksql.tokens import Kind, Token

_JOINS = ("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS")


def parse_query(parser: Parser) -> ast.Query:
    """SELECT ... [UNION ALL SELECT ...] [EMIT ...] [LIMIT n]."""
    query = _select(parser)
    others: list[ast.Query] = []
    while parser.accept("UNION"):
        parser.expect("ALL")
        others.append(_select(parser))
    return replace(query, unions=tuple(others)) if others else query


def _select(parser: Parser) -> ast.Query:
    start = parser.at
    parser.expect("SELECT")
    distinct = parser.accept("DISTINCT")
    items = select_list(parser)
    limits.refuse_wide(len(items), parser.span_from(start))
    parser.expect("FROM")
    source = _from(parser)
    joins: list[ast.JoinClause] = []
    while parser.is_word(*_JOINS):
        joins.append(_join(parser))
    window = _window(parser) if parser.accept("WINDOW") else None
    where = parser.expression() if parser.accept("WHERE") else None
    partition_by = _grouping(parser) if parser.accept("PARTITION") else ()
    group_by = _grouping(parser) if parser.accept("GROUP") else ()
    if not partition_by and parser.accept("PARTITION"):
        partition_by = _grouping(parser)
    having = parser.expression() if parser.accept("HAVING") else None
    emit = _emit(parser) if parser.accept("EMIT") else None
    order_by = parser.order_by() if parser.accept("ORDER", "BY") else ()
    limit = parser.integer("how many rows") if parser.accept("LIMIT") else None
    offset = parser.integer("how many rows to leave out") if parser.accept("OFFSET") else None
    return ast.Query(
        items,
        source,
        window,
        where,
        group_by,
        partition_by,
        having,
        emit,
        limit,
        tuple(joins),
        distinct,
        order_by=order_by,
        offset=offset,
        span=parser.span_from(start),
    )


def _join(parser: Parser) -> ast.JoinClause:
    start = parser.at
    if parser.is_word("CROSS"):
        parser.fail("INNER, LEFT, RIGHT or FULL: each row would meet every other")
    kind = "INNER" if parser.is_word("JOIN") else parser.advance().text
    if kind != "INNER":
        parser.accept("OUTER")
    parser.expect("JOIN")
    right = _from(parser)
    within = _within(parser) if parser.accept("WITHIN") else None
    parser.expect("ON")
    on = parser.expression()
    return ast.JoinClause(kind, right, within, on, span=parser.span_from(start))


def _within(parser: Parser) -> ast.WithinClause:
    start = parser.at
    if parser.accept_symbol("("):
        before = parser.duration_ms()
        parser.expect_symbol(",")
        after = parser.duration_ms()
        parser.expect_symbol(")")
    else:
        before = after = parser.duration_ms()
    grace = parser.duration_ms() if parser.accept("GRACE", "PERIOD") else None
    return ast.WithinClause(before, after, grace, span=parser.span_from(start))


def select_list(parser: Parser) -> tuple[ast.SelectItem, ...]:
    return parser.separated(lambda: _item(parser))


def _item(parser: Parser) -> ast.SelectItem:
    start = parser.at
    if parser.is_symbol("*"):
        return ast.SelectItem(ast.Star(span=parser.advance().span), span=parser.span_from(start))
    expression = parser.expression()
    alias = None
    following = parser.peek()
    ends = following.is_symbol(",", ";") or following.is_word("FROM") or following.kind is Kind.END
    if parser.accept("AS") or (_is_name(parser.token) and ends):
        alias = parser.identifier("an alias")
    return ast.SelectItem(expression, alias, span=parser.span_from(start))


_CLAUSES = (
    *("WINDOW", "WHERE", "GROUP", "PARTITION", "HAVING", "EMIT", "LIMIT"),
    *("ORDER", "OFFSET", "UNION", "ON", "WITHIN"),
)


def _from(parser: Parser) -> ast.From:
    start = parser.at
    if parser.accept_symbol("("):
        query = _inner_query(parser)
        parser.expect_symbol(")")
        parser.accept("AS")
        return ast.From(query, parser.identifier("an alias of the query"), span=parser.span_from(start))
    source = parser.identifier("a stream or table")
    alias = source
    following = parser.peek()
    ends = following.kind is Kind.END or following.is_symbol(";", ")") or following.is_word(*_CLAUSES, *_JOINS)
    ordered = (parser.is_word("ORDER") and following.is_word("BY")) or (
        parser.is_word("OFFSET") and following.kind is Kind.INTEGER
    )
    if parser.accept("AS") or (_is_name(parser.token) and ends):
        alias = parser.identifier("an alias")
    elif _is_name(parser.token) and not ordered:
        clauses = _CLAUSES[:-5]
        parser.fail(f"{', '.join(clauses)} or the end of the statement", *clauses, *_JOINS)
    return ast.From(source, alias, span=parser.span_from(start))


def _inner_query(parser: Parser) -> ast.Query:
    parser.queries += 1
    if parser.queries > limits.MAX_QUERIES:
        raise limits.too_many_queries(parser.token.span, parser.text)
    query = parse_query(parser)
    parser.queries -= 1
    return query


def _is_name(token: Token) -> bool:
    return token.kind is Kind.QUOTED or (token.kind is Kind.WORD and token.text not in RESERVED)


def _grouping(parser: Parser) -> tuple[ast.Expression, ...]:
    """`BY a, b` and `BY (a, b)` mean the same; nothing stands twice."""
    parser.expect("BY")
    found = _groups(parser)
    seen: set[ast.Expression] = set()
    for group in found:
        if group in seen:
            raise ParseError(
                "DUPLICATE_EXPRESSION",
                "This expression stands twice behind BY.",
                span=group.span,
                text=parser.text,
                hint="Leave one of them out: it makes no other groups.",
            )
        seen.add(group)
    return found


def _groups(parser: Parser) -> tuple[ast.Expression, ...]:
    at, depth = parser.at, parser.depth
    if parser.accept_symbol("("):
        try:
            inner = parser.separated(parser.expression)
            if parser.accept_symbol(")") and len(inner) > 1:
                return inner
        except ParseError:
            pass
        parser.at, parser.depth = at, depth  # a parenthesis that is part of one expression
    return parser.separated(parser.expression)


def _emit(parser: Parser) -> ast.Emit:
    if parser.accept("CHANGES"):
        return ast.Emit.CHANGES
    if parser.accept("FINAL"):
        return ast.Emit.FINAL
    parser.fail("CHANGES or FINAL", "CHANGES", "FINAL")


def _window(parser: Parser) -> ast.WindowClause:
    start = parser.at
    kinds = ("TUMBLING", "HOPPING", "SESSION")
    if parser.peek().is_word(*kinds):
        parser.identifier("a window's name")  # ksqlDB takes one and has no use for it
    if not parser.is_word(*kinds):
        parser.fail("TUMBLING, HOPPING or SESSION", *kinds)
    kind = parser.advance().text
    parser.expect_symbol("(")
    if kind != "SESSION":
        parser.expect("SIZE")
    size = parser.duration_ms()
    options: dict[str, int] = {}
    while parser.accept_symbol(","):
        name = _window_option(parser, kind)
        options[name] = parser.duration_ms()
    if kind == "HOPPING" and "advance_ms" not in options and parser.is_symbol(")"):
        parser.fail("ADVANCE BY in a HOPPING window")
    parser.expect_symbol(")")
    return ast.WindowClause(kind, size, span=parser.span_from(start), **options)


def _window_option(parser: Parser, kind: str) -> str:
    if kind == "HOPPING" and parser.accept("ADVANCE", "BY"):
        return "advance_ms"
    if parser.accept("RETENTION"):
        return "retention_ms"
    if parser.accept("GRACE", "PERIOD"):
        return "grace_ms"
    words = ("ADVANCE BY", "RETENTION", "GRACE PERIOD")[kind != "HOPPING" :]
    parser.fail(f"{', '.join(words[:-1])} or {words[-1]}", *words)
