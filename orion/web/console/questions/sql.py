"""Statements: which of a text is meant, what it gives, and what may be written next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orion import ksql
from orion.app import Orion
from orion.errors import OrionError, Span, SqlError, UnsupportedError
from orion.hub.records import Record
from orion.ksql.functions import functions
from orion.ksql.tokens import Kind, tokenize
from orion.ksql.words import KEYWORDS
from orion.options import masked
from orion.runtime.push import PushQuery
from orion.serving.pull import Pulled
from orion.web.console.questions.entities import Grid, grid_of

BEGINNING = {"auto.offset.reset": "earliest"}
_PRINTED = ("TIMESTAMP", "PARTITION", "OFFSET", "KEY", "VALUE")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, and where it begins in the text of the editor."""

    text: str
    at: int

    @property
    def is_question(self) -> bool:
        """Whether rows are pushed for it: SELECT ... EMIT CHANGES and PRINT."""
        words = [t.text.upper() for t in _tokens(self.text)]
        return bool(words) and (words[0] == "PRINT" or (words[0] == "SELECT" and "EMIT" in words))

    @property
    def is_pull(self) -> bool:
        words = [t.text.upper() for t in _tokens(self.text)]
        return bool(words) and words[0] == "SELECT" and "EMIT" not in words

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


def explained(orion: Orion, statement: Statement) -> str:
    text = statement.text
    with _pointing(Statement(text, statement.at - len("EXPLAIN "))):
        return orion.explain(text)


def _message(entities: Sequence[Mapping[str, Any]]) -> str:
    return " ".join(str(e["commandStatus"]["message"]) for e in entities if "commandStatus" in e)


def _pulled(found: Pulled) -> Grid:
    return Grid("", tuple(c.name for c in found.columns), tuple(tuple(row) for row in found.rows))


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
        return Stream(tuple(c.name for c in rows.columns), tuple(str(c.expr.type) for c in rows.columns), rows)
    types = ("BIGINT", "INTEGER", "BIGINT", "VARCHAR(STRING)", "VARCHAR(STRING)")
    return Stream(_PRINTED, types, rows, orion.engine.schemas.shown)


def vocabulary(orion: Orion) -> list[dict[str, Any]]:
    """What may be written: keywords, sources, columns, functions, as CodeMirror takes completions."""
    catalog = orion.engine.catalog
    words = [{"label": word, "type": "keyword"} for word in KEYWORDS]
    sources = [
        {"label": s.name, "type": "class", "detail": s.kind.value.lower(), "boost": 3} for s in catalog.sources.values()
    ]
    columns: dict[str, set[str]] = {}
    for source in catalog.sources.values():
        for column in source.row:
            columns.setdefault(column.name, set()).add(source.name)
    fields = [
        {"label": name, "type": "property", "detail": ", ".join(sorted(of)[:3]), "boost": 4}
        for name, of in columns.items()
    ]
    calls = [
        {"label": f.name, "type": "function", "detail": f.kind.value.lower(), "info": f.doc}
        for f in functions().values()
    ]
    calls += [{"label": name, "type": "function", "detail": "python"} for name in catalog.functions]
    return [*sources, *fields, *calls, *words]


def _tokens(text: str) -> list[Any]:
    try:
        return [token for token in tokenize(text) if token.kind is not Kind.END]
    except SqlError:
        return []
