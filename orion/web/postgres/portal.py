"""Statements that are ready to run, and portals: statements that run, as far as the client has asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orion.web.postgres import guard
from orion.web.postgres.catalog import Catalog, literal, translated
from orion.web.postgres.commands import Command, CopyOut, Declare, Fetch, PrepareText, Read, Show
from orion.web.postgres.copying import CopyFormat, copy_data, response
from orion.web.postgres.errors import Refused
from orion.web.postgres.inference import infer_types
from orion.web.postgres.lexer import joined
from orion.web.postgres.parameters import Types, cast_types, sample
from orion.web.postgres.protocol import COPY_DONE, Field
from orion.web.postgres.public_views import PublicViews
from orion.web.postgres.reading import Reader, Readers, Reading
from orion.web.postgres.rows import data_rows
from orion.web.postgres.settings import Settings
from orion.web.postgres.types import Column

MAX_PORTALS = 100


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement that was understood and may run."""

    command: Command | None  # none: an empty one
    types: Types = field(default_factory=Types)
    sql: str | None = None  # none: it reads nothing
    needed: frozenset[str] = frozenset()  # of the catalogs
    parameters: tuple[str, ...] = ()


@dataclass(slots=True)
class Portal:
    """A statement with its parameters, running or about to. A cursor is one that DECLARE has opened."""

    prepared: Prepared
    values: Mapping[str, Any] = field(default_factory=dict)
    formats: tuple[int, ...] = ()
    reading: Reading | None = None
    cursor: bool = False
    hold: bool = False


class Portals:
    """The portals of a session, by name."""

    def __init__(self, views: PublicViews, settings: Settings, process: int) -> None:
        self.readers = Readers(views)
        self._settings = settings
        self._catalog = Catalog(settings, process)
        self._open: dict[str, Portal] = {}

    # Statements

    def prepare(self, command: Command | None, types: Sequence[int] = ()) -> Prepared:
        match command:
            case Read(statement) | Declare(_, statement) | CopyOut(statement) | PrepareText(_, _, statement):
                translation, needed = translated(statement)
                sql = joined(translation)
                reader = self._reader(needed)
                try:
                    names = _numbered(guard.check(reader.cursor, translation))
                    known = Types(tuple(types), cast_types(translation))
                    if unknown := [n for n in map(int, names) if not known.is_told(n) and n not in known.guessed]:
                        known = Types(known.told, infer_types(reader.cursor, sql, unknown) | known.guessed)
                finally:
                    self.readers.give_back(reader)
                return Prepared(command, known, sql, needed, names)
            case Show(name):
                return Prepared(command, Types(tuple(types)), self._shown(name))
        return Prepared(command, Types(tuple(types)))

    def _shown(self, name: str) -> str:
        """A setting, as a query."""
        if name == "all":
            rows = ", ".join(f"({literal(k)}, {literal(v)}, '')" for k, v in self._settings.all().items())
            return f"FROM (VALUES {rows}) settings(name, setting, description)"
        value = self._settings.get(name)
        if value is None:
            raise Refused("42704", f'unrecognized configuration parameter "{name}"')
        quoted = name.replace('"', '""')
        return f'SELECT {literal(value)} AS "{quoted}"'

    def columns(self, prepared: Prepared) -> tuple[Column, ...] | None:
        """What a statement will give, found out without running it; none: no rows."""
        if isinstance(prepared.command, Fetch):
            return self._columns_of_cursor(prepared.command)
        if prepared.sql is None or isinstance(prepared.command, Declare | CopyOut | PrepareText):
            return None
        samples = {name: sample(prepared.types.read_as(int(name), 1)) for name in prepared.parameters}
        reading = self._read(prepared, samples)
        reading.close()
        return reading.columns

    def _columns_of_cursor(self, fetch: Fetch) -> tuple[Column, ...] | None:
        return None if fetch.move else self.running(self.get(fetch.name)).columns

    # Portals

    def open(self, name: str, portal: Portal) -> Portal:
        if name and name in self._open:
            raise Refused("42P03", f'there is a portal "{name}" already')
        self.close(name)
        if len(self._open) >= MAX_PORTALS:  # each may hold a connection of DuckDB's
            raise Refused("53400", f"a session has at most {MAX_PORTALS} cursors and portals")
        self._open[name] = portal
        return portal

    def get(self, name: str) -> Portal:
        if (found := self._open.get(name)) is None:
            raise Refused("34000", f'there is no portal "{name}"')
        return found

    def cursor(self, name: str) -> Portal:
        if (found := self._open.get(name)) is None or not found.cursor:
            raise Refused("34000", f'there is no cursor "{name}"')
        return found

    def describe(self, portal: Portal) -> list[Field] | None:
        """The columns of a portal's rows; none: it gives no rows."""
        command = portal.prepared.command
        if isinstance(command, Fetch):
            columns = self._columns_of_cursor(command)
        elif portal.prepared.sql is None or _is_silent(command, portal):
            columns = None
        else:
            columns = self.running(portal).columns
        return None if columns is None else fields(columns, portal.formats)

    def running(self, portal: Portal) -> Reading:
        if portal.reading is None:
            portal.reading = self._read(portal.prepared, portal.values)
        return portal.reading

    def rows(self, portal: Portal, formats: Sequence[int], limit: int | None, counted: list[int]) -> Iterator[bytes]:
        """Rows as messages; `counted` has how many, at the end."""
        reading = self.running(portal)
        codes = spread(formats, len(reading.columns))
        for batch in reading.take(limit):
            counted[0] += batch.num_rows
            yield data_rows(batch, reading.columns, codes)

    def copied(self, portal: Portal, format_: CopyFormat, counted: list[int]) -> Iterator[bytes]:
        """Rows as messages of COPY."""
        reading = self.running(portal)
        yield response(reading.columns, format_)
        for data, rows in copy_data(reading.take(None), reading.columns, format_):
            counted[0] += rows
            yield data
        yield COPY_DONE

    def skip(self, portal: Portal, limit: int | None) -> int:
        return sum(batch.num_rows for batch in self.running(portal).take(limit))

    def close(self, name: str) -> None:
        portal = self._open.pop(name, None)
        if portal is not None and portal.reading is not None:
            portal.reading.close()

    def close_all(self, *, cursors: bool = True, held: bool = True) -> None:
        for name, portal in tuple(self._open.items()):
            if not portal.cursor or (cursors and (held or not portal.hold)):
                self.close(name)

    # Connections

    def _read(self, prepared: Prepared, values: Mapping[str, Any]) -> Reading:
        assert prepared.sql is not None
        self.readers.check()
        return Reading(self.readers, self._reader(prepared.needed), prepared.sql, values)

    def _reader(self, needed: frozenset[str]) -> Reader:
        return self.readers.take(self._catalog, needed, self._settings.get("TimeZone") or "UTC")

    def try_zone(self) -> None:
        """Whether DuckDB knows the time zone that was set."""
        self.readers.give_back(self._reader(frozenset()))


def _is_silent(command: Command | None, portal: Portal) -> bool:
    """Whether running it gives no rows, or none that are announced."""
    return isinstance(command, CopyOut | PrepareText) or (isinstance(command, Declare) and not portal.cursor)


def _numbered(names: frozenset[str]) -> tuple[str, ...]:
    if odd := [name for name in names if not name.isdecimal()]:
        raise Refused("42601", f"parameters are numbers, as $1: not ${odd[0]}")
    return tuple(sorted(names, key=int))


def fields(columns: Sequence[Column], formats: Sequence[int]) -> list[Field]:
    codes = spread(formats, len(columns))
    return [Field(c.name, c.type.oid, c.type.size, c.modifier, f) for c, f in zip(columns, codes, strict=True)]


def spread(formats: Sequence[int], count: int) -> Sequence[int]:
    """None: all are text; one: it is meant for all."""
    if len(formats) <= 1:
        return [*(formats or (0,))] * count
    if len(formats) != count:
        raise Refused("08P01", f"{len(formats)} formats are given for {count} columns")
    return formats
