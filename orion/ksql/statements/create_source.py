"""CREATE [OR REPLACE] STREAM|TABLE [IF NOT EXISTS] name (columns) WITH (...), and the way into ... AS SELECT."""

from __future__ import annotations

from dataclasses import dataclass

from orion.errors import BindError, Span, UnsupportedError
from orion.ksql.casts import contains_map
from orion.ksql.context import Context, Statement, check_free
from orion.ksql.parser import Parser
from orion.ksql.projection import MAP_AS_KEY, MAP_AS_KEY_HINT, RESERVED_COLUMNS, keys_first
from orion.ksql.properties import With
from orion.ksql.statements import create_as
from orion.ksql.tokens import Kind as TokenKind
from orion.plan.sources import Kind, Serde, Source
from orion.plan.steps import Ask, DefineSource, EnsureTopic, Nothing, Step
from orion.schema import Column, Role, Schema, SqlType

STARTS = tuple(
    (*first, kind)
    for kind in ("STREAM", "TABLE")
    for first in (("CREATE",), ("CREATE", "SOURCE"), ("CREATE", "OR", "REPLACE"))
)


@dataclass(frozen=True)
class CreateSource:
    kind: Kind
    name: str
    columns: tuple[Column, ...]
    properties: dict[str, str]
    if_not_exists: bool
    or_replace: bool
    span: Span

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        if self.if_not_exists and self.name in context.catalog.sources:
            return (Nothing(f"Cannot add {self.kind.lower()} {self.name}: it already exists."),)
        if not self.or_replace:
            check_free(context, self.name, self.kind, self.span)
        elif self.name in context.catalog.sources:
            raise UnsupportedError("OR_REPLACE", "CREATE OR REPLACE is not run yet.", span=self.span)
        written = With.of(self.properties, self.span)
        for side in ("KEY", "VALUE"):
            written.format(side)  # one that comes later is said before anything that hangs on it
        schema = keys_first(self.columns)
        _check_columns(self, schema)
        topic = written.text("KAFKA_TOPIC")
        if topic is None:
            raise BindError(
                "TOPIC_MISSING",
                "KAFKA_TOPIC is missing.",
                span=self.span,
                hint=f"For example WITH (KAFKA_TOPIC='{self.name.lower()}', VALUE_FORMAT='JSON').",
            )
        source = self._source(written, schema, topic, context.text)
        ensure = EnsureTopic(
            topic, written.number("PARTITIONS"), written.number("REPLICAS"), None, tuple(written.topic_config().items())
        )
        return (ensure, DefineSource(source))

    def _source(self, written: With, schema: Schema, topic: str, text: str) -> Source:
        if written.format("VALUE") is None:
            raise BindError(
                "FORMAT_MISSING", "VALUE_FORMAT is missing.", span=self.span, hint="For example VALUE_FORMAT='JSON'."
            )
        return Source(
            self.name,
            self.kind,
            schema,
            topic,
            written.key_serde(Serde("KAFKA"), schema),
            written.value_serde(Serde("JSON"), schema),
            written.timestamp(schema),
            written.window(schema),
            text,
        )


def _check_columns(statement: CreateSource, schema: Schema) -> None:
    if not schema.columns:
        raise BindError(
            "NO_COLUMNS",
            "The statement names no columns.",
            span=statement.span,
            hint="Columns are inferred only from a schema registry, which is not there yet: name them.",
        )
    for at, column in enumerate(schema):
        if column.name in RESERVED_COLUMNS:
            raise BindError("RESERVED_COLUMN", f"{column.name} is a system column's name.", span=statement.span)
        if any(c.name == column.name for c in schema.columns[:at]):
            raise BindError("DUPLICATE_COLUMN", f"The column {column.name} is named twice.", span=statement.span)
    if statement.kind is Kind.TABLE and not schema.key:
        raise BindError(
            "PRIMARY_KEY_MISSING",
            f"Tables require a PRIMARY KEY. Please define one for {statement.name}.",
            span=statement.span,
            hint="For example: id BIGINT PRIMARY KEY.",
        )


def parse(parser: Parser) -> Statement:
    start = parser.at
    parser.expect("CREATE")
    or_replace = parser.accept("OR", "REPLACE")
    if parser.accept("SOURCE"):
        raise UnsupportedError(
            "SOURCE_TABLE", "CREATE SOURCE ... is not run yet.", span=parser.span_from(start), text=parser.text
        )
    kind = Kind(parser.advance().text)
    if_not_exists = parser.accept("IF", "NOT", "EXISTS")
    name_at = parser.at
    name = parser.identifier(f"the {kind.lower()}'s name")
    span = parser.span_from(name_at)
    columns = _columns(parser, kind) if parser.is_symbol("(") else ()
    properties = parser.properties() if parser.accept("WITH") else {}
    if not columns and parser.accept("AS"):
        return create_as.parse(parser, create_as.Head(kind, name, properties, if_not_exists, or_replace, span))
    return CreateSource(kind, name, columns, properties, if_not_exists, or_replace, span)


def _columns(parser: Parser, kind: Kind) -> tuple[Column, ...]:
    parser.expect_symbol("(")

    def column() -> Column:
        token, at = parser.token, parser.at
        name = parser.identifier("a column's name")
        type_ = parser.type()
        spelling = token.raw if token.kind is TokenKind.WORD else name
        return Column(name, type_, *_role(parser, kind, type_, at), spelling=spelling)

    columns = parser.separated(column)
    parser.expect_symbol(")")
    return columns


def _role(parser: Parser, kind: Kind, type_: SqlType, at: int) -> tuple[Role, str | None]:
    if parser.accept("PRIMARY", "KEY"):
        if kind is Kind.STREAM:
            _refuse_key(parser, at, "A STREAM has KEY columns, not PRIMARY KEY: its keys may come again.", "Write KEY.")
        return _key_role(parser, type_, at)
    if parser.accept("KEY"):
        if kind is Kind.TABLE:
            _refuse_key(parser, at, "A TABLE has a PRIMARY KEY, not KEY columns.", "Write PRIMARY KEY.")
        return _key_role(parser, type_, at)
    if parser.is_word("HEADERS", "HEADER"):
        raise UnsupportedError(
            "HEADER_COLUMNS", "Columns over headers are not run yet.", span=parser.span_from(at), text=parser.text
        )
    return Role.VALUE, None


def _key_role(parser: Parser, type_: SqlType, at: int) -> tuple[Role, str | None]:
    if contains_map(type_):
        _refuse_key(parser, at, MAP_AS_KEY, MAP_AS_KEY_HINT)
    return Role.KEY, None


def _refuse_key(parser: Parser, at: int, message: str, hint: str) -> None:
    raise BindError("INVALID_KEY", message, span=parser.span_from(at), text=parser.text, hint=hint)
