"""CREATE [OR REPLACE] [SOURCE] STREAM|TABLE [IF NOT EXISTS] name (columns) WITH (...), and the way into AS SELECT."""

from __future__ import annotations

from dataclasses import dataclass, replace

from orion.errors import BindError, Span
from orion.ksql import lanes, limits, replacement
from orion.ksql.casts import contains_map
from orion.ksql.context import Context, Statement, check_free
from orion.ksql.parser import Parser
from orion.ksql.projection import MAP_AS_KEY, MAP_AS_KEY_HINT, RESERVED_COLUMNS, keys_first
from orion.ksql.properties import With
from orion.ksql.registering import registered
from orion.ksql.statements import create_as
from orion.ksql.tokens import Kind as TokenKind
from orion.plan.sources import SCHEMA_TYPES, Kind, Source
from orion.plan.steps import Ask, DefineSource, EnsureTopic, Nothing, Step
from orion.schema import Array, Column, Field, Role, Scalar, Schema, SqlType, Struct

STARTS = (
    *((*first, kind) for kind in ("STREAM", "TABLE") for first in (("CREATE",), ("CREATE", "SOURCE"))),
    *(("CREATE", "OR", "REPLACE", word) for word in ("STREAM", "TABLE", "SOURCE")),
)

_ALL_HEADERS = Array(Struct((Field("KEY", Scalar.STRING), Field("VALUE", Scalar.BYTES))))


@dataclass(frozen=True)
class CreateSource:
    kind: Kind
    name: str
    columns: tuple[Column, ...]
    properties: dict[str, str]
    if_not_exists: bool
    or_replace: bool
    span: Span
    read_only: bool = False

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        if self.if_not_exists and self.name in context.catalog.sources:
            return (Nothing(f"Cannot add {self.kind.lower()} {self.name}: it already exists."),)
        if self.or_replace and self.read_only:
            message = f"Cannot add {self.kind.lower()} {self.name}: CREATE OR REPLACE doesn't go with SOURCE."
            raise BindError("READ_ONLY", message, span=self.span)
        replaced = context.catalog.sources.get(self.name) if self.or_replace else None
        if replaced is None:
            check_free(context, self.name, self.kind, self.span)
        written = With.of(self.properties, self.span, context.properties)
        schema = keys_first(self.columns)
        if written.text("KAFKA_TOPIC") is None:
            raise BindError(
                "TOPIC_MISSING",
                "KAFKA_TOPIC is missing.",
                span=self.span,
                hint=f"For example WITH (KAFKA_TOPIC='{self.name.lower()}', VALUE_FORMAT='JSON').",
            )
        schema, alone = self._inferred(written, schema, context)
        if not schema.columns:
            raise BindError(
                "NO_COLUMNS",
                "The statement names no columns.",
                span=self.span,
                hint=f"Name them, or use a format that has them in a schema registry: {', '.join(SCHEMA_TYPES)}.",
            )
        _check_key(self, schema)
        source = self._source(written, schema, context.text)
        source = replace(source, headed=context.catalog.is_headed(source.topic))
        profile = lanes.profile(written, context)
        if alone:
            source = replace(source, value=replace(source.value, wrap_single=False))
        ensure = EnsureTopic(
            source.topic,
            lanes.partitions(written),
            written.number("REPLICAS"),
            None,
            tuple(written.topic_config(source.kind, source.window).items()),
            profile.name if profile else None,
        )
        if replaced is not None:
            return replacement.by_declaration(replaced, source, ensure, self.span)
        return (ensure, *registered(source, declared=True), DefineSource(source))

    def _inferred(self, written: With, schema: Schema, context: Context) -> tuple[Schema, bool]:
        """With the registry's columns where none are named; and whether the value is one that stands alone."""
        columns, alone = list(schema.columns), False
        for role, named in ((Role.KEY, schema.key), (Role.VALUE, schema.value)):
            serde = written.schema_serde(role)
            if serde is None:
                continue
            if named and serde.schema_id is not None:
                message = f"Columns and {role}_SCHEMA_ID can't both be given: the schema has the columns."
                raise BindError("INVALID_PROPERTY", message, span=self.span)
            if not named:
                found = context.inferred(written.topic(self.name), role, serde, self.span)
                columns += found.columns
                alone = alone or (role is Role.VALUE and found.alone)
        made = keys_first(columns)
        _check_columns(self, made)
        return made, alone

    def _source(self, written: With, schema: Schema, text: str) -> Source:
        return Source(
            self.name,
            self.kind,
            schema,
            written.topic(self.name),
            written.key_serde(None, schema),
            written.value_serde(None, schema),
            written.timestamp(schema),
            written.window(schema),
            text,
            read_only=self.read_only,
        )


def _check_columns(statement: CreateSource, schema: Schema) -> None:
    seen: set[str] = set()
    for column in schema:
        if column.name in RESERVED_COLUMNS:
            raise BindError("RESERVED_COLUMN", f"{column.name} is a system column's name.", span=statement.span)
        if column.name in seen:
            raise BindError("DUPLICATE_COLUMN", f"The column {column.name} is named twice.", span=statement.span)
        seen.add(column.name)
    limits.refuse_wide(len(schema.columns), statement.span)
    names = [c.header for c in schema.headers]
    if len(set(names)) != len(names) or (None in names and len(names) > 1):
        message = "There is one HEADERS column, or one HEADER('name') for each name."
        raise BindError("DUPLICATE_HEADERS", message, span=statement.span)


def _check_key(statement: CreateSource, schema: Schema) -> None:
    if statement.kind is Kind.TABLE and not schema.key:
        raise BindError(
            "PRIMARY_KEY_MISSING",
            f"Tables require a PRIMARY KEY. Please define one for {statement.name}.",
            span=statement.span,
            hint="For example: id BIGINT PRIMARY KEY.",
        )


def parse(parser: Parser) -> Statement:
    parser.expect("CREATE")
    or_replace = parser.accept("OR", "REPLACE")
    return parse_declaration(parser, or_replace=or_replace, read_only=parser.accept("SOURCE"))


def parse_declaration(parser: Parser, *, or_replace: bool, read_only: bool = False) -> Statement:
    """What stands behind CREATE, and behind ASSERT."""
    if not parser.is_word("STREAM", "TABLE"):
        parser.fail("STREAM or TABLE", "STREAM", "TABLE")
    kind = Kind(parser.advance().text)
    if_not_exists = parser.accept("IF", "NOT", "EXISTS")
    name_at = parser.at
    name = parser.identifier(f"the {kind.lower()}'s name")
    span = parser.span_from(name_at)
    columns = _columns(parser, kind) if parser.is_symbol("(") else ()
    properties = parser.properties() if parser.accept("WITH") else {}
    if not columns and not read_only and parser.accept("AS"):
        return create_as.parse(parser, create_as.Head(kind, name, properties, if_not_exists, or_replace, span))
    return CreateSource(kind, name, columns, properties, if_not_exists, or_replace, span, read_only)


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
    if parser.accept("HEADERS"):
        _check_header_type(parser, at, "HEADERS", type_, _ALL_HEADERS)
        return Role.HEADERS, None
    if parser.accept("HEADER"):
        parser.expect_symbol("(")
        name = parser.string("the header's name")
        parser.expect_symbol(")")
        _check_header_type(parser, at, f"HEADER('{name}')", type_, Scalar.BYTES)
        return Role.HEADERS, name
    return Role.VALUE, None


def _check_header_type(parser: Parser, at: int, what: str, given: SqlType, wanted: SqlType) -> None:
    if given != wanted:
        message = f"A {what} column is {wanted}, not {given}."
        raise BindError("INVALID_HEADERS", message, span=parser.span_from(at), text=parser.text)


def _key_role(parser: Parser, type_: SqlType, at: int) -> tuple[Role, str | None]:
    if contains_map(type_):
        _refuse_key(parser, at, MAP_AS_KEY, MAP_AS_KEY_HINT)
    return Role.KEY, None


def _refuse_key(parser: Parser, at: int, message: str, hint: str) -> None:
    raise BindError("INVALID_KEY", message, span=parser.span_from(at), text=parser.text, hint=hint)
