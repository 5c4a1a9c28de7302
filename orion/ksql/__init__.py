"""ksqlDB's dialect: text in, `Plan` out. Pure: nothing here touches Kafka or Spark; schemas are asked for by a port.

for text in ksql.split(script):
    plan = ksql.compile(text, catalog)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from orion.errors import SqlError
from orion.ksql import limits
from orion.ksql.context import Context, Statement
from orion.ksql.parser import Parser
from orion.ksql.session import Session
from orion.ksql.statements import parse_statement
from orion.ksql.statements.custom_type import CreateType
from orion.ksql.statements.variable import Variable
from orion.ksql.tokens import Kind, scan
from orion.ksql.variables import substitute
from orion.options import masked
from orion.plan.catalog import Catalog
from orion.plan.schemas import Schemas
from orion.plan.steps import Plan

__all__ = ["Session", "check_syntax", "compile", "is_complete", "split"]

limits.allow_depth()


def split(script: str) -> list[str]:
    """The statements of a script, each with the comments before it and without its semicolon."""
    statements: list[str] = []
    start = 0
    has_words = False
    for token in scan(script):
        if token[0] == ";":
            if has_words:
                statements.append(script[start : token.start()].strip())
            start, has_words = token.end(), False
        else:
            has_words = True
    return [*statements, script[start:].strip()] if has_words else statements


def is_complete(script: str) -> bool:
    """Whether the script ends with a semicolon, comments aside."""
    try:
        last = deque(scan(script), maxlen=1)
    except SqlError:
        return False
    return not last or last[0][0] == ";"


def check_syntax(texts: Iterable[str], catalog: Catalog, variables: Mapping[str, str] | None = None) -> None:
    """Raise what `compile` would raise for the grammar alone. Statements may use what those before them define."""
    session = Session({}, variables or {})
    for text in texts:
        statement = _parse(substitute(text, session.variables), catalog)
        match statement:
            case CreateType():
                catalog = catalog.put(statement.defined(text))
            case Variable(step):
                session = session.after(step)
            case _:
                pass


def compile(
    text: str,
    catalog: Catalog,
    properties: Mapping[str, str] | None = None,
    variables: Mapping[str, str] | None = None,
    schemas: Schemas | None = None,
    defaults: Mapping[str, str] | None = None,
) -> Plan:
    """One statement, understood against what exists. Raises a SqlError that points into the text.

    `defaults` are the server's, by the names that properties have.
    """
    session = Session.of(properties, variables)
    text = substitute(text, session.variables)
    statement = _parse(text, catalog)
    try:
        context = Context(catalog, text, session.properties, session.variables, schemas, defaults or {})
        outcome = statement.plan(context)
    except SqlError as error:
        raise error.with_text(masked(text)) from None
    except RecursionError:
        raise limits.too_deep(None, masked(text)) from None
    shown = masked(text)
    return Plan(shown, outcome) if isinstance(outcome, tuple) else Plan(shown, (), outcome)


def _parse(text: str, catalog: Catalog) -> Statement:
    limits.refuse_long(text)
    parser = Parser(text, {name: custom.type for name, custom in catalog.types.items()}, catalog.functions)
    try:
        statement = parse_statement(parser)
        parser.accept_symbol(";")
        if parser.token.kind is not Kind.END:
            parser.fail("the end of the statement")
    except SqlError as error:
        raise error.with_text(masked(text)) from None
    except RecursionError:
        raise limits.too_deep(parser.token.span, masked(text)) from None
    return statement
