"""ksqlDB's dialect: text in, `Plan` out. Pure: nothing here touches Kafka, Spark or the network.

for text in ksql.split(script):
    plan = ksql.compile(text, catalog)
"""

from __future__ import annotations

from collections.abc import Mapping

from orion.errors import SqlError
from orion.ksql.context import Context, Statement
from orion.ksql.parser import Parser
from orion.ksql.statements import parse_statement
from orion.ksql.tokens import Kind, tokenize
from orion.plan.catalog import Catalog
from orion.plan.steps import Plan

__all__ = ["compile", "is_complete", "split"]


def split(script: str) -> list[str]:
    """The statements of a script, each with the comments before it and without its semicolon."""
    statements: list[str] = []
    start = 0
    has_words = False
    for token in tokenize(script):
        if token.kind is Kind.END or token.is_symbol(";"):
            if has_words:
                statements.append(script[start : token.span.start].strip())
            start, has_words = token.span.end, False
        else:
            has_words = True
    return statements


def is_complete(script: str) -> bool:
    """Whether the script ends with a semicolon, comments aside."""
    try:
        tokens = tokenize(script)
    except SqlError:
        return False
    return len(tokens) < 2 or tokens[-2].is_symbol(";")


def check_syntax(text: str) -> None:
    """Raise what `compile` would raise for the grammar alone."""
    _parse(text)


def compile(text: str, catalog: Catalog, properties: Mapping[str, str] | None = None) -> Plan:
    """One statement, understood against what exists. Raises a SqlError that points into the text."""
    statement = _parse(text)
    try:
        outcome = statement.plan(Context(catalog, text, properties or {}))
    except SqlError as error:
        raise error.with_text(text) from None
    return Plan(text, outcome) if isinstance(outcome, tuple) else Plan(text, (), outcome)


def _parse(text: str) -> Statement:
    parser = Parser(text)
    try:
        statement = parse_statement(parser)
        parser.accept_symbol(";")
        if parser.token.kind is not Kind.END:
            parser.fail("the end of the statement")
    except SqlError as error:
        raise error.with_text(text) from None
    return statement
