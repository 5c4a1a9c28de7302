"""ALTER STREAM | TABLE name ADD [COLUMN] column type, ...: columns at the end of a declared source."""

from __future__ import annotations

from dataclasses import dataclass, replace

from orion.errors import BindError, Span
from orion.ksql.context import Context, check_kind
from orion.ksql.parser import Parser
from orion.ksql.projection import RESERVED_COLUMNS
from orion.ksql.tokens import Kind as TokenKind
from orion.plan.sources import Kind, Source
from orion.plan.steps import Ask, DefineSource, Step
from orion.schema import Column, Schema

STARTS = (("ALTER", "STREAM"), ("ALTER", "TABLE"))


@dataclass(frozen=True)
class Alter:
    kind: Kind
    name: str
    columns: tuple[tuple[Column, Span], ...]
    span: Span

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        source = context.source(self.name, self.span)
        check_kind(source, self.kind, "ALTER", self.span)
        self._check_source(source)
        schema = source.schema
        for column, span in self.columns:
            self._check_column(column, span, schema)
            schema = Schema((*schema.columns, column))
        statement = f"{source.statement.rstrip().rstrip(';')};\n{context.text}"
        return (DefineSource(replace(source, schema=schema, statement=statement), "altered"),)

    def _check_source(self, source: Source) -> None:
        if source.query_id is not None:
            raise BindError(
                "ALTER_QUERY",
                f"Cannot alter {source.kind.lower()} {source.name}: its columns are those of the query that writes it.",
                span=self.span,
                hint=f"CREATE OR REPLACE {source.kind} {source.name} AS SELECT ... changes the query.",
            )
        if source.read_only:
            raise BindError(
                "ALTER_SOURCE",
                f"Cannot alter {source.kind.lower()} {source.name}: "
                f"ALTER operations are not supported on source {source.kind.lower()}s.",
                span=self.span,
                hint="DROP it and create it again.",
            )

    def _check_column(self, column: Column, span: Span, schema: Schema) -> None:
        if column.name in RESERVED_COLUMNS:
            raise BindError("RESERVED_COLUMN", f"{column.name} is a system column's name.", span=span)
        if schema.get(column.name) is not None:
            raise BindError(
                "DUPLICATE_COLUMN",
                f"Cannot add column {column.name} to {self.name}: a column with the same name already exists.",
                span=span,
            )


def parse(parser: Parser) -> Alter:
    parser.expect("ALTER")
    kind = Kind(parser.advance().text)
    at = parser.at
    name = parser.identifier("a stream or table")
    span = parser.span_from(at)
    if not parser.is_word("ADD"):
        parser.fail("ADD", "ADD")
    return Alter(kind, name, parser.separated(lambda: _column(parser)), span)


def _column(parser: Parser) -> tuple[Column, Span]:
    if parser.accept("ADD"):
        # A column may be called COLUMN: it is one then, with its type behind it.
        following = parser.peek()
        if parser.is_word("COLUMN") and following.kind in (TokenKind.WORD, TokenKind.QUOTED):
            after = parser.peek(2)
            alone = after.kind is TokenKind.END or after.is_symbol(";", ",", "(", "<")
            if not alone:
                parser.advance()
    at, token = parser.at, parser.token
    name = parser.identifier("a column's name")
    type_ = parser.type()
    if parser.is_word("KEY", "PRIMARY"):
        raise BindError(
            "ALTER_KEY",
            "Key columns can't be added: the key of a source stays as it is.",
            span=parser.span_from(at),
            text=parser.text,
        )
    spelling = token.raw if token.kind is TokenKind.WORD else name
    return Column(name, type_, spelling=spelling), parser.span_from(at)
