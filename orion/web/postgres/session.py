"""A session: what a client's messages ask for, and what it is answered. It knows no sockets, and runs in threads."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import assert_never

from orion.web.postgres import commands, guard, parameters, protocol
from orion.web.postgres.commands import Command, CopyOut, Declare, ExecuteText, Fetch, PrepareText, Read, Show
from orion.web.postgres.errors import Refused, understood
from orion.web.postgres.lexer import statements, with_arguments
from orion.web.postgres.portal import Portal, Portals, Prepared, fields
from orion.web.postgres.protocol import Kind, Message, Status
from orion.web.postgres.public_views import PublicViews
from orion.web.postgres.settings import REPORTED, Settings

MAX_STATEMENTS = 1000


class Session:
    """One client's statements, portals, settings and state of transaction."""

    def __init__(self, views: PublicViews, startup: dict[str, str], process: int) -> None:
        self.settings = Settings(startup)
        self._portals = Portals(views, self.settings, process)
        self._prepared: dict[str, Prepared] = {}
        self._status = Status.IDLE
        self._skipping = False  # after an error, up to the next Sync

    def greeting(self) -> bytes:
        """What a client is told of the settings before it asks."""
        self._portals.try_zone()
        return b"".join(map(self._told, REPORTED))

    def _told(self, name: str) -> bytes:
        return protocol.parameter_status(name, self.settings.get(name) or "")

    def cancel(self) -> None:
        """Stop what runs; from another thread."""
        self._portals.readers.cancel()

    def go_on(self) -> None:
        """What was cancelled has been answered."""
        self._portals.readers.go_on()

    def close(self) -> None:
        self._portals.close_all()
        self._portals.readers.close()

    def handle(self, message: Message) -> Iterator[bytes]:
        """The answer to one message, piece by piece as it comes."""
        if isinstance(message, protocol.Sync):
            self._skipping = False
            yield self.ready()
        elif self._skipping:
            return
        elif isinstance(message, protocol.Query):
            yield from self._refusing(self._query(message.text))
            yield self.ready()
        else:
            self._skipping = yield from self._refusing(self._extended(message))

    def ready(self) -> bytes:
        """The end of an answer: portals of the protocol live as long as the transaction."""
        if self._status is Status.IDLE:
            self._portals.close_all(cursors=False)
        return protocol.ready(self._status)

    def _refusing(self, answer: Iterator[bytes]) -> Generator[bytes, None, bool]:
        """An answer, or what there is of it before an error; gives whether there was one."""
        try:
            yield from answer
        except Exception as error:  # whatever it is, the client hears of it and the session goes on
            refused = understood(error)
            if self._status is Status.TRANSACTION:
                self._status = Status.FAILED
            self._portals.close_all(cursors=False)
            yield protocol.error(refused.code, refused.message, hint=refused.hint)
            return True
        return False

    def _query(self, text: str) -> Iterator[bytes]:
        guard.measure(text)
        found = statements(text)
        if not found:
            yield protocol.EMPTY_QUERY
        for statement in found:
            prepared = self._prepare(commands.command(statement))
            if prepared.parameters and not isinstance(prepared.command, PrepareText):
                raise Refused("42P02", f"there is no parameter ${prepared.parameters[0]}")
            portal = self._portals.open("", Portal(prepared))
            described = self._portals.describe(portal)
            if described is not None:
                yield protocol.row_description(described)
            yield from self._execute(portal, 0)

    def _extended(self, message: Message) -> Iterator[bytes]:
        match message:
            case protocol.Parse(name, text, types):
                yield self._parse(name, text, types)
            case protocol.Bind():
                yield self._bind(message)
            case protocol.Describe(Kind.STATEMENT, name):
                yield from self._describe(self._statement(name))
            case protocol.Describe(Kind.PORTAL, name):
                described = self._portals.describe(self._portals.get(name))
                yield protocol.NO_DATA if described is None else protocol.row_description(described)
            case protocol.Execute(name, limit):
                yield from self._execute(self._portals.get(name), limit)
            case protocol.Close(Kind.STATEMENT, name):
                self._prepared.pop(name, None)
                yield protocol.CLOSE_COMPLETE
            case protocol.Close(Kind.PORTAL, name):
                self._portals.close(name)
                yield protocol.CLOSE_COMPLETE
            case protocol.Flush():
                return
            case _:
                raise Refused("0A000", "there is neither COPY FROM nor a function call here")

    def _prepare(self, command: Command | None, types: tuple[int, ...] = ()) -> Prepared:
        ending = isinstance(command, commands.End | commands.Back)
        if self._status is Status.FAILED and not ending and command is not None:
            raise Refused("25P02", "the transaction has failed: statements are ignored until it ends")
        if isinstance(command, ExecuteText):
            return self._portals.prepare(self._filled(command), types)
        return self._portals.prepare(command, types)

    def _parse(self, name: str, text: str, types: tuple[int, ...]) -> bytes:
        guard.measure(text)
        found = statements(text)
        if len(found) > 1:
            raise Refused("42601", "a prepared statement is one statement")
        prepared = self._prepare(commands.command(found[0]) if found else None, types)
        self._keep(name, prepared)
        return protocol.PARSE_COMPLETE

    def _keep(self, name: str, prepared: Prepared) -> None:
        if name and name in self._prepared:
            raise Refused("42P05", f'there is a prepared statement "{name}" already')
        if len(self._prepared) >= MAX_STATEMENTS:
            raise Refused("53400", f"a session has at most {MAX_STATEMENTS} prepared statements")
        self._prepared[name] = prepared

    def _filled(self, execute: ExecuteText) -> Command:
        """A prepared statement, with arguments in the places of its parameters."""
        prepared = self._statement(execute.name)
        command = prepared.command
        if not isinstance(command, Read | PrepareText):
            raise Refused("0A000", f'"{execute.name}" can\'t be run by EXECUTE')
        wanted = max(map(int, prepared.parameters), default=0)
        if len(execute.arguments) != wanted:
            raise Refused("42601", f"{len(execute.arguments)} parameters are given, and {wanted} are needed")
        told = command.types if isinstance(command, PrepareText) else ()
        return Read(with_arguments(command.statement, execute.arguments, told))

    def _statement(self, name: str) -> Prepared:
        if (found := self._prepared.get(name)) is None:
            raise Refused("26000", f'there is no prepared statement "{name}"')
        return found

    def _bind(self, message: protocol.Bind) -> bytes:
        prepared = self._statement(message.statement)
        given = parameters.values(message.values, prepared.types, message.formats)
        wanted = max(map(int, prepared.parameters), default=0)
        if not wanted <= len(given) <= max(wanted, len(prepared.types.told)):
            raise Refused("08P01", f"{len(given)} parameters are given, and {wanted} are needed")
        values = {name: given[int(name) - 1] for name in prepared.parameters}
        self._portals.open(message.portal, Portal(prepared, values, message.results))
        return protocol.BIND_COMPLETE

    def _describe(self, prepared: Prepared) -> Iterator[bytes]:
        """Parameters and columns of a statement. A parameter that nothing is told of is text."""
        count = max(len(prepared.types.told), *map(int, prepared.parameters), 0)
        yield protocol.parameter_description([prepared.types.of(number) for number in range(1, count + 1)])
        columns = self._portals.columns(prepared)
        yield protocol.NO_DATA if columns is None else protocol.row_description(fields(columns, ()))

    def _execute(self, portal: Portal, limit: int) -> Iterator[bytes]:
        command = portal.prepared.command
        match command:
            case None:
                yield protocol.EMPTY_QUERY
            case Read(_, tag) | Show(_, tag):
                yield from self._rows(portal, portal, limit or None, tag)
            case Fetch():
                yield from self._fetch(portal, command, limit)
            case CopyOut(_, format_):
                counted = [0]
                yield from self._portals.copied(portal, format_, counted)
                yield protocol.command_complete(f"COPY {counted[0]}")
            case _:
                yield from self._effect(command, portal)
                failed = command.tag == "COMMIT" and self._status is Status.FAILED
                if isinstance(command, commands.End):
                    self._status = Status.IDLE
                yield protocol.command_complete("ROLLBACK" if failed else command.tag)

    def _rows(self, source: Portal, portal: Portal, limit: int | None, tag: str) -> Iterator[bytes]:
        """Rows of one portal as another has asked for them; a limit that is reached suspends it."""
        counted = [0]
        yield from self._portals.rows(source, portal.formats, limit, counted)
        if source is portal and counted[0] == limit:
            yield protocol.PORTAL_SUSPENDED
        else:
            yield protocol.command_complete(f"{tag} {counted[0]}" if tag in ("SELECT", "FETCH") else tag)

    def _fetch(self, portal: Portal, fetch: Fetch, limit: int) -> Iterator[bytes]:
        cursor = self._portals.cursor(fetch.name)
        if fetch.move:
            yield protocol.command_complete(f"MOVE {self._portals.skip(cursor, fetch.count)}")
            return
        most = [number for number in (fetch.count, limit or None) if number is not None]
        yield from self._rows(cursor, portal, min(most, default=None), fetch.tag)

    def _effect(self, command: Command, portal: Portal) -> Iterator[bytes]:
        """What a command changes in the session; gives what the client must hear of settings."""
        match command:
            case commands.Begin():
                self._status = Status.TRANSACTION
            case commands.End():
                self._portals.close_all(held=False)
            case commands.Back():
                self._status = Status.TRANSACTION if self._status is Status.FAILED else self._status
            case commands.Set(name, value):
                yield from self._set(name, value)
            case commands.Reset(everything):
                if everything:
                    self._portals.close_all()
                    self._prepared.clear()
                yield from map(self._told, self.settings.reset())
            case commands.Deallocate(name):
                self._deallocate(name)
            case commands.CloseCursor(name):
                self._close(name)
            case Declare(name, _, hold):
                if self._status is Status.IDLE and not hold:
                    raise Refused("25P01", "DECLARE CURSOR can only be used in a transaction, or WITH HOLD")
                self._portals.open(name, Portal(portal.prepared, portal.values, cursor=True, hold=hold))
            case PrepareText(name):
                self._keep(name, portal.prepared)
            case commands.Done() | Read() | Show() | Fetch() | CopyOut() | ExecuteText():
                pass
            case _:
                assert_never(command)

    def _deallocate(self, name: str | None) -> None:
        if name is None:
            self._prepared.clear()
        elif self._prepared.pop(name, None) is None:
            raise Refused("26000", f'there is no prepared statement "{name}"')

    def _close(self, name: str | None) -> None:
        if name is None:
            self._portals.close_all()
        else:
            self._portals.cursor(name)
            self._portals.close(name)

    def _set(self, name: str, value: str | None) -> Iterator[bytes]:
        before = self.settings.get(name)
        changed = self.settings.set(name, value)
        if changed == "TimeZone":
            try:
                self._portals.try_zone()
            except Exception as error:
                self.settings.set(name, before)
                raise Refused("22023", f'there is no time zone "{value}"') from error
        if changed is not None:
            yield self._told(changed)
