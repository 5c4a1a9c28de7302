"""ASSERT [NOT EXISTS] TOPIC and SCHEMA, and what scripts of tests assert: VALUES, NULL VALUES, STREAM and TABLE.

ASSERT [NOT EXISTS] TOPIC name [WITH (PARTITIONS=n, REPLICAS=n)] [TIMEOUT n unit]
ASSERT [NOT EXISTS] SCHEMA [SUBJECT name] [ID n] [TIMEOUT n unit]
ASSERT VALUES source [(columns)] VALUES (...)
ASSERT NULL VALUES source [(columns)] KEY (...)
ASSERT STREAM | TABLE name (columns) WITH (...)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from orion.errors import BindError, Span, hint_nearest
from orion.ksql import ast
from orion.ksql.context import Context, Statement
from orion.ksql.parser import Parser
from orion.ksql.statements import create_source, insert
from orion.ksql.tokens import Kind as TokenKind
from orion.plan.sources import Kind, Source
from orion.plan.steps import Ask, AssertRow, AssertSchema, AssertSource, AssertTopic, DefineSource, InsertRow, Step

STARTS = (("ASSERT",),)

_TIMEOUT_MS = 1000  # ksqlDB's own
_SETTINGS = ("PARTITIONS", "REPLICAS")


@dataclass(frozen=True)
class Topic:
    name: str
    exists: bool
    settings: dict[str, str]
    timeout_ms: int
    span: Span

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        wanted = []
        for name, value in self.settings.items():
            if name.upper() not in _SETTINGS:
                raise BindError(
                    "UNKNOWN_PROPERTY",
                    f"A topic is asserted with {' and '.join(_SETTINGS)}, not with {name}.",
                    span=self.span,
                    hint=hint_nearest(name, list(_SETTINGS)),
                )
            if not value.isdecimal():
                raise BindError("INVALID_PROPERTY", f"{name} must be a whole number.", span=self.span)
            wanted.append((name.upper(), int(value)))
        return (AssertTopic(self.name, self.exists, tuple(wanted), self.timeout_ms),)


@dataclass(frozen=True)
class RegisteredSchema:
    subject: str | None
    id: int | None
    exists: bool
    timeout_ms: int

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        return (AssertSchema(self.subject, self.id, self.exists, self.timeout_ms),)


@dataclass(frozen=True)
class Values:
    target: str
    columns: tuple[str, ...] | None
    values: tuple[ast.Expression, ...]
    deleted: bool
    span: Span

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        source = context.source(self.target, self.span)
        columns = self.columns
        if self.deleted and columns is None:
            columns = tuple(c.name for c in source.schema.key)
        # What is expected is bound like a row that is written; that a windowed table takes none is no matter here.
        plain = replace(context, catalog=context.catalog.put(replace(source, window=None, read_only=False)))
        steps = insert.InsertValues(self.target, columns, self.values, self.span).plan(plain)
        row = next(s for s in steps if isinstance(s, InsertRow)) if isinstance(steps, tuple) else None
        assert row is not None
        return (AssertRow(replace(row, source=source), self.deleted),)


@dataclass(frozen=True)
class Declared:
    """ASSERT STREAM and TABLE: the rest of the statement is a declaration, and checked as one."""

    declaration: Statement
    kind: Kind
    name: str
    properties: tuple[str, ...]
    span: Span

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        context.source(self.name, self.span)
        others = context.catalog.drop(Source, self.name)
        steps = self.declaration.plan(replace(context, catalog=others))
        assert isinstance(steps, tuple)
        expected = next(s.source for s in steps if isinstance(s, DefineSource))
        return (AssertSource(self.name, expected, self.properties),)


def parse(parser: Parser) -> Statement:
    parser.expect("ASSERT")
    exists = not parser.accept("NOT", "EXISTS")
    if parser.accept("TOPIC"):
        return _topic(parser, exists)
    if parser.accept("SCHEMA"):
        return _schema(parser, exists)
    if exists and parser.is_word("VALUES", "NULL"):
        return _values(parser)
    if exists and parser.is_word("STREAM", "TABLE"):
        return _declared(parser)
    words = ("TOPIC", "SCHEMA", "VALUES", "NULL VALUES", "STREAM", "TABLE") if exists else ("TOPIC", "SCHEMA")
    parser.fail(f"{', '.join(words[:-1])} or {words[-1]}", *words)


def _topic(parser: Parser, exists: bool) -> Topic:
    at = parser.at
    name = _as_written(parser, "a topic")
    span = parser.span_from(at)
    settings = parser.properties() if parser.accept("WITH") else {}
    return Topic(name, exists, settings, _timeout(parser), span)


def _schema(parser: Parser, exists: bool) -> RegisteredSchema:
    if not parser.is_word("SUBJECT", "ID"):
        parser.fail("SUBJECT or ID", "SUBJECT", "ID")
    name = _as_written(parser, "a subject") if parser.accept("SUBJECT") else None
    number = parser.integer("a schema's id") if parser.accept("ID") else None
    return RegisteredSchema(name, number, exists, _timeout(parser))


def _as_written(parser: Parser, what: str) -> str:
    """A name that is no name of SQL's: bare or in quotes, it keeps its case."""
    return parser.advance().raw if parser.token.kind is TokenKind.WORD else parser.string_or_name(what)


def _timeout(parser: Parser) -> int:
    return parser.duration_ms() if parser.accept("TIMEOUT") else _TIMEOUT_MS


def _values(parser: Parser) -> Values:
    deleted = parser.accept("NULL")
    parser.expect("VALUES")
    at = parser.at
    target = parser.identifier("a stream or table")
    span = parser.span_from(at)
    columns = None
    if parser.accept_symbol("("):
        columns = parser.separated(lambda: parser.identifier("a column"))
        parser.expect_symbol(")")
    parser.expect("KEY" if deleted else "VALUES")
    parser.expect_symbol("(")
    values = parser.separated(parser.expression)
    parser.expect_symbol(")")
    return Values(target, columns, values, deleted, span)


def _declared(parser: Parser) -> Declared:
    kind = Kind(parser.token.text)
    name_token = parser.peek()
    # From the kind on it is what stands behind CREATE.
    declaration = create_source.parse_declaration(parser, or_replace=False)
    assert isinstance(declaration, create_source.CreateSource)
    return Declared(
        declaration, kind, name_token.text, tuple(n.upper() for n in declaration.properties), name_token.span
    )
