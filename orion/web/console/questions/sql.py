"""Statements: which of a text is meant, what it gives, and what may be written next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orion import ksql
from orion.app import Orion
from orion.errors import OrionError, Span, SqlError, UnsupportedError
from orion.hub.records import Record
from orion.ksql.tokens import scan
from orion.options import masked
from orion.runtime.push import PushQuery
from orion.serving.pull import Pulled
from orion.web.console.questions.entities import Grid, grid_of
from orion.web.shapes import type_name

BEGINNING = {"auto.offset.reset": "earliest"}
END = {"auto.offset.reset": "latest"}
_MADE_BY_STATEMENTS = ("UNKNOWN_SOURCE", "UNKNOWN_TYPE", "UNKNOWN_FUNCTION")
_PRINTED = ("TIMESTAMP", "PARTITION", "OFFSET", "KEY", "VALUE")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, and where it begins in the text of the editor."""

    text: str
    at: int

    @property
    def is_question(self) -> bool:
        """Whether rows are pushed for it: SELECT ... EMIT CHANGES and PRINT."""
        first, emits = self._kind
        return first == "PRINT" or (first == "SELECT" and emits)

    @property
    def is_pull(self) -> bool:
        first, emits = self._kind
        return first == "SELECT" and not emits

    @property
    def _kind(self) -> tuple[str, bool]:
        """The first word, and whether EMIT is among the others."""
        words = [token[0].upper() for token in scan(self.text) if token.lastgroup == "word"]
        return (words[0] if words else ""), "EMIT" in words

    @property
    def shown(self) -> str:
        """Without the secrets of a connector's options."""
        return masked(self.text)


@dataclass(frozen=True, slots=True)
class Told:
    """What a statement gave that isn't a stream: tables or a sentence."""

    statement: Statement
    grids: tuple[Grid, ...] = ()
    message: str = ""


@dataclass
class Refused(Exception):
    """An error, and the span in the editor's text that it is about."""

    error: OrionError
    span: Span | None = None


def statements(text: str) -> list[Statement]:
    """All statements of a text; raises Refused where it can't be cut."""
    try:
        found, at = [], 0
        for one in ksql.split(text):
            at = text.index(one, at)
            found.append(Statement(one, at))
            at += len(one)
        return found
    except SqlError as error:
        raise Refused(error, error.span) from error


def chosen(text: str, start: int, end: int) -> list[Statement]:
    """What is meant by a selection: the statements it touches, or the one the cursor stands in or behind."""
    found = statements(text)
    if end > start:
        return [s for s in found if s.at < end and s.at + len(s.text) > start]
    before = [s for s in found if s.at <= start]
    return before[-1:] or found[:1]


def run(orion: Orion, statement: Statement, properties: Mapping[str, str], variables: Mapping[str, str]) -> Told:
    """Perform a statement, or answer it."""
    with _pointing(statement):
        if statement.is_pull:
            return Told(statement, (_pulled(orion.pull(statement.text, properties, variables)),))
        entities = orion.execute(f"{statement.text};", dict(properties), dict(variables))
    return Told(
        statement, tuple(grid for entity in entities if (grid := grid_of(entity)) is not None), _message(entities)
    )


def find_mistake(orion: Orion, text: str, cursor: int) -> Refused | None:
    """What is wrong with the statement at the cursor, without running it; None where it is right.

    One that is only not written to its end yet has no mistake. Neither has one that names what an earlier statement
    of the text would make: it isn't there before that one has run.
    """
    try:
        found = chosen(text, cursor, cursor)
    except Refused as refused:
        return refused
    for statement in found:
        try:
            with _pointing(statement):
                engine = orion.engine
                ksql.compile(statement.text, engine.catalog, schemas=engine.schemas, defaults=engine.defaults)
        except Refused as refused:
            return None if _is_premature(refused, statement, text) else refused
    return None


def _is_premature(refused: Refused, statement: Statement, text: str) -> bool:
    if refused.span is None or refused.span.start >= statement.at + len(statement.text):
        return True
    if refused.error.code not in _MADE_BY_STATEMENTS:
        return False
    name = text[refused.span.start : refused.span.end].upper()
    return name in {token[0].upper() for token in scan(text[: statement.at])}


def explained(orion: Orion, statement: Statement, properties: Mapping[str, str]) -> str:
    text = statement.text
    with _pointing(Statement(text, statement.at - len("EXPLAIN "))):
        return orion.explain(text, properties)


def _message(entities: Sequence[Mapping[str, Any]]) -> str:
    return " ".join(str(e["commandStatus"]["message"]) for e in entities if "commandStatus" in e)


def _pulled(found: Pulled) -> Grid:
    names, types = tuple(c.name for c in found.columns), tuple(type_name(c.type) for c in found.columns)
    return Grid("", names, tuple(tuple(row) for row in found.rows), types=types)


class _pointing:
    """Makes an error's place in a statement its place in the editor."""

    def __init__(self, statement: Statement) -> None:
        self._statement = statement

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, OrionError):
            span = error.span if isinstance(error, SqlError) else None
            at = self._statement.at
            whole = Span(at, at + len(self._statement.text)) if isinstance(error, UnsupportedError) else None
            raise Refused(error, Span(span.start + at, span.end + at) if span else whole) from error


@dataclass
class Stream:
    """Rows that come. `look` waits a moment for some; `close` ends it."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    _source: PushQuery | Iterator[Record | None]
    _shown: Any = field(repr=False, default=None)
    over: bool = False

    @property
    def has_begun(self) -> bool:
        """Whether rows may come yet: before that, none says nothing."""
        return not isinstance(self._source, PushQuery) or self._source.has_begun

    def look(self, most: int = 200, wait_s: float = 0.25) -> list[list[Any]]:
        return self._pushed(most, wait_s) if isinstance(self._source, PushQuery) else self._printed(most)

    def _pushed(self, most: int, wait_s: float) -> list[list[Any]]:
        assert isinstance(self._source, PushQuery)
        rows: list[list[Any]] = []
        while len(rows) < most and not self._source.is_done:
            row = self._source.poll(0.0 if rows else wait_s)
            if row is None:
                break
            rows.append(row)
        self.over = self._source.is_done
        return rows

    def _printed(self, most: int) -> list[list[Any]]:
        rows: list[list[Any]] = []
        for record in self._source:
            if not isinstance(record, Record):
                return rows
            rows.append([record.timestamp, record.partition, record.offset, *self._texts(record)])
            if len(rows) >= most:
                return rows
        self.over = True
        return rows

    def _texts(self, record: Record) -> list[str | None]:
        return [
            None if raw is None else self._shown(raw) or raw.decode("utf-8", "backslashreplace")
            for raw in (record.key, record.value)
        ]

    def close(self) -> None:
        close = getattr(self._source, "close", None)
        if close is not None:
            close()


def stream(orion: Orion, statement: Statement, properties: Mapping[str, str], variables: Mapping[str, str]) -> Stream:
    """Start a push query or PRINT."""
    with _pointing(statement):
        rows = orion.push(statement.text, dict(properties), dict(variables))
    if isinstance(rows, PushQuery):
        return Stream(tuple(c.name for c in rows.columns), tuple(type_name(c.expr.type) for c in rows.columns), rows)
    types = ("BIGINT", "INTEGER", "BIGINT", "STRING", "STRING")
    return Stream(_PRINTED, types, rows, orion.engine.schemas.shown)
