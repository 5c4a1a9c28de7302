"""Streams and tables: columns, where their rows come from and go to, and some of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from orion import ksql
from orion.app import Orion
from orion.errors import NotFound, OrionError, hint_nearest
from orion.plan.sources import Source
from orion.schema import Column, Role, Scalar
from orion.web.console import amounts
from orion.web.console.questions import searching
from orion.web.console.questions.decoding import Decoded
from orion.web.console.questions.filtering import Wish
from orion.web.console.questions.flow import Edge, Flow, Node, laid_out
from orion.web.console.questions.records import From

SAMPLE = 20


@dataclass(frozen=True, slots=True)
class Sample:
    """Some of the newest rows; `others` couldn't be read as rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    others: int = 0
    is_whole: bool = True  # else there was no time to look at all of them


def known(orion: Orion, name: str) -> Source:
    there = orion.engine.catalog.sources
    found = there.get(name) or there.get(name.upper())
    if found is None:
        raise NotFound("NOT_FOUND", f"There is no stream or table {name}.", hint=hint_nearest(name, list(there)))
    return found


def listing(orion: Orion) -> list[Source]:
    return sorted(orion.engine.catalog.sources.values(), key=lambda s: s.name)


def sample(orion: Orion, source: Source) -> Sample:
    found = searching.find(orion, source.topic, From(), Wish(), SAMPLE)
    columns = tuple(c for c in source.schema if c.role is not Role.HEADERS)
    rows = [row for one in found.records if (row := row_of(columns, one)) is not None]
    return Sample(("ROWTIME", *(c.name for c in columns)), tuple(rows), len(found.records) - len(rows), found.is_done)


def row_of(columns: Sequence[Column], one: Decoded) -> tuple[Any, ...] | None:
    """A record as a row, as far as a person needs it; None for one that is no row of these columns."""
    key, value = one.key.document, one.value.document
    keys = [c for c in columns if c.role is Role.KEY]
    values = [c for c in columns if c.role is Role.VALUE]
    if values and value is not None and not isinstance(value, dict) and len(values) > 1:
        return None
    told: dict[str, Any] = {}
    for side, document, text in ((keys, key, one.key.text), (values, value, one.value.text)):
        alone = len(side) == 1 and not isinstance(document, dict)
        for column in side:
            told[column.name] = (text if document is not None else None) if alone else _field(document, column)
    return (amounts.moment(one.record.timestamp), *(told.get(c.name) for c in columns))


def _field(document: Any, column: Column) -> Any:
    if not isinstance(document, dict):
        return None
    names = (column.spelling or column.name, column.name)
    exact = next((document[name] for name in names if name in document), None)
    if exact is not None:
        return exact
    return next((value for name, value in document.items() if name.upper() == column.name.upper()), None)


def question(source: Source, key: str = "") -> str:
    """SQL that asks for a source's rows: those that a table has, all or of a key; else what comes."""
    columns = source.schema.key
    if not source.is_served:
        return f"SELECT * FROM {source.name} EMIT CHANGES LIMIT 100;\n"
    if not key or not columns:
        return f"SELECT * FROM {source.name} LIMIT 100;\n"
    literal = key if columns[0].type in (Scalar.INTEGER, Scalar.BIGINT, Scalar.DOUBLE) else _quoted(key)
    return f"SELECT * FROM {source.name} WHERE {columns[0].name} = {literal};\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def lineage(whole: Flow, topic: str) -> Flow:
    """All that leads to a topic, and all that it leads to."""
    here = f"topic {topic}"
    if here not in whole.nodes:
        return Flow()
    kept = _reached(whole.edges, here, back=True) | _reached(whole.edges, here, back=False)
    nodes: dict[str, Node] = {name: node for name, node in whole.nodes.items() if name in kept}
    edges: list[Edge] = [edge for edge in whole.edges if edge.start in kept and edge.end in kept]
    return laid_out(nodes, edges)


def _reached(edges: Sequence[Edge], start: str, *, back: bool) -> set[str]:
    found, due = {start}, [start]
    while due:
        at = due.pop()
        for edge in edges:
            origin, goal = (edge.end, edge.start) if back else (edge.start, edge.end)
            if origin == at and goal not in found:
                found.add(goal)
                due.append(goal)
    return found


def refusal_to_drop(orion: Orion, source: Source) -> OrionError | None:
    """Why DROP would be refused; None: it would be done."""
    try:
        ksql.compile(_dropping(source), orion.engine.catalog, None, None, orion.engine.schemas)
    except OrionError as error:
        return error
    return None


def drop(orion: Orion, source: Source) -> str:
    """DROP STREAM or TABLE; its topic stays."""
    told = orion.execute(_dropping(source))[0]
    return str(told["commandStatus"]["message"])


def _dropping(source: Source) -> str:
    return f"DROP {source.kind.value} `{source.name}`;"
