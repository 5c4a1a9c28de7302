"""What a statement wants: to read, or one of the things that are answered without DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orion.web.postgres.copying import CopyFormat, copied_query
from orion.web.postgres.errors import Refused
from orion.web.postgres.lexer import Sort, Token, tokens, words

Statement = tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class Read:
    statement: Statement
    tag: str = "SELECT"


@dataclass(frozen=True, slots=True)
class Begin:
    tag: str = "BEGIN"


@dataclass(frozen=True, slots=True)
class End:
    """COMMIT and ROLLBACK: nothing was written, so they are the same."""

    tag: str


@dataclass(frozen=True, slots=True)
class Done:
    """There is nothing to do."""

    tag: str


@dataclass(frozen=True, slots=True)
class Back:
    """ROLLBACK TO a savepoint: what has failed may go on."""

    tag: str = "ROLLBACK"


@dataclass(frozen=True, slots=True)
class Set:
    name: str
    value: str | None  # none: back to the default
    tag: str = "SET"


@dataclass(frozen=True, slots=True)
class Reset:
    """All settings; with DISCARD ALL statements and cursors too."""

    everything: bool
    tag: str


@dataclass(frozen=True, slots=True)
class Show:
    name: str  # "all" for all
    tag: str = "SHOW"


@dataclass(frozen=True, slots=True)
class Deallocate:
    name: str | None  # none: all
    tag: str = "DEALLOCATE"


@dataclass(frozen=True, slots=True)
class PrepareText:
    """PREPARE as a statement; `types` are those that it tells, as they are written."""

    name: str
    types: tuple[str, ...]
    statement: Statement
    tag: str = "PREPARE"


@dataclass(frozen=True, slots=True)
class ExecuteText:
    """EXECUTE as a statement: it becomes the prepared one, with these instead of its parameters."""

    name: str
    arguments: tuple[Statement, ...]
    tag: str = "SELECT"


@dataclass(frozen=True, slots=True)
class CopyOut:
    statement: Statement
    format: CopyFormat
    tag: str = "COPY"


@dataclass(frozen=True, slots=True)
class Declare:
    name: str
    statement: Statement
    hold: bool
    tag: str = "DECLARE CURSOR"


@dataclass(frozen=True, slots=True)
class Fetch:
    name: str
    count: int | None  # none: all that are left
    move: bool  # past them, without giving them

    @property
    def tag(self) -> str:
        return "MOVE" if self.move else "FETCH"


@dataclass(frozen=True, slots=True)
class CloseCursor:
    name: str | None  # none: all
    tag: str = "CLOSE CURSOR"


Command = (
    Read | Begin | End | Done | Back | Set | Reset | Show | Deallocate | PrepareText | ExecuteText | CopyOut | Declare
    | Fetch | CloseCursor
)  # fmt: skip

_NOTHING = {"listen", "unlisten", "notify", "lock", "savepoint", "release", "checkpoint", "analyze"}


def command(statement: Statement) -> Command:
    """What a statement wants; it has at least one word."""
    first, *rest = words(statement)
    match first.word if first.sort is Sort.NAME else "":
        case "begin" | "start":
            return Begin()
        case "commit" | "end":
            return End("COMMIT")
        case "abort":
            return End("ROLLBACK")
        case "rollback":
            return Back() if any(token.word == "to" for token in rest) else End("ROLLBACK")
        case "set":
            return _set(rest)
        case "reset":
            name = _name(rest)
            return Reset(False, "RESET") if name == "all" else Set(name, None, "RESET")
        case "show":
            return _show(rest)
        case "discard":
            return Reset(True, "DISCARD ALL") if _name(rest) == "all" else Done("DISCARD")
        case "deallocate":
            named = [token for token in rest if token.word != "prepare"]
            return Deallocate(None if _name(named) == "all" else _name(named))
        case "declare":
            return _declare(statement, rest)
        case "prepare":
            return _prepare(statement, rest)
        case "execute":
            return _execute(rest)
        case "copy":
            return CopyOut(*copied_query(statement))
        case "fetch" | "move":
            return _fetch(first.word, rest)
        case "close":
            return CloseCursor(None if _name(rest) == "all" else _name(rest))
        case word if word in _NOTHING:
            return Done(first.text.upper())
        case "explain":
            return Read(statement, "EXPLAIN")
    return Read(statement)


def _name(rest: Sequence[Token]) -> str:
    if not rest:
        raise Refused("42601", "a name is missing at the end")
    return ".".join(token.word for token in rest if token.text != ".")


def _set(rest: Sequence[Token]) -> Command:
    if rest and rest[0].word in ("session", "local"):
        rest = rest[1:]
    if not rest:
        raise Refused("42601", "SET what?")
    if rest[0].word in ("transaction", "characteristics", "constraints", "role", "authorization"):
        return Done("SET")
    if rest[0].word == "names":
        return Set("client_encoding", _value(rest[1:]))
    if [token.word for token in rest[:2]] == ["time", "zone"]:
        return Set("TimeZone", _value(rest[2:]))
    at = next((at for at, token in enumerate(rest) if token.word in ("to", "=")), None)
    if at is None:
        raise Refused("42601", "SET needs a name, = and a value")
    return Set(_name(rest[:at]), _value(rest[at + 1 :]))


def _value(rest: Sequence[Token]) -> str | None:
    """The value as SHOW gives it back."""
    if len(rest) == 1 and rest[0].word in ("default", "local"):
        return None
    return "".join(", " if token.text == "," else _plain(token) for token in rest)


def _plain(token: Token) -> str:
    if token.sort is Sort.TEXT and token.text.startswith("'"):
        return token.text[1:-1].replace("''", "'")
    return token.word if token.sort is Sort.QUOTED else token.text


def _show(rest: Sequence[Token]) -> Command:
    match [token.word for token in rest]:
        case ["transaction", "isolation", "level"]:
            return Show("transaction_isolation")
        case ["time", "zone"]:
            return Show("TimeZone")
        case ["tables"]:  # without those of `catalog.py`
            listed = "SELECT relname AS name FROM pg_class WHERE relkind IN ('r', 'v') ORDER BY relname"
            return Read(tuple(tokens(listed)), "SHOW")
        case ["all", "tables"]:
            listed = "SELECT table_catalog, table_schema, table_name, table_type FROM information_schema.tables"
            return Read(tuple(tokens(f"{listed} ORDER BY table_name")), "SHOW")
        case ["databases"]:
            return Read(tuple(tokens("SELECT datname AS database_name FROM pg_database")), "SHOW")
        case ["schemas"]:
            return Read(tuple(tokens("SELECT nspname AS schema_name FROM pg_namespace ORDER BY nspname")), "SHOW")
    return Show(_name(rest))


def _declare(statement: Statement, rest: Sequence[Token]) -> Declare:
    """DECLARE name [options] CURSOR [WITH HOLD] FOR query."""
    at = next((at for at, token in enumerate(rest) if token.sort is Sort.NAME and token.word == "for"), None)
    if not rest or at is None or at + 1 >= len(rest):
        raise Refused("42601", "DECLARE needs a name, CURSOR FOR and a query")
    before = [token.word for token in rest[1:at]]
    start = next(index for index, token in enumerate(statement) if token is rest[at + 1])
    return Declare(rest[0].word, statement[start:], before[-2:] == ["with", "hold"])


def _prepare(statement: Statement, rest: Sequence[Token]) -> Command:
    """PREPARE name [(types)] AS query; PREPARE TRANSACTION is something else."""
    at = next((at for at, token in enumerate(rest) if token.sort is Sort.NAME and token.word == "as"), None)
    if at is None or at == 0 or at + 1 >= len(rest):
        raise Refused("42601", "PREPARE needs a name, AS and a query")
    types = tuple(" ".join(token.text for token in part) for part in _listed(rest[1:at]))
    start = next(index for index, token in enumerate(statement) if token is rest[at + 1])
    return PrepareText(rest[0].word, types, statement[start:])


def _execute(rest: Sequence[Token]) -> Command:
    if not rest:
        raise Refused("42601", "EXECUTE needs the name of a prepared statement")
    return ExecuteText(rest[0].word, tuple(_listed(rest[1:])))


def _listed(rest: Sequence[Token]) -> Iterator[Statement]:
    """What stands between the commas of `(a, b)`; nothing has none."""
    if not rest:
        return
    if rest[0].text != "(" or rest[-1].text != ")":
        raise Refused("42601", "a list in brackets is needed here")
    part: list[Token] = []
    depth = 0
    for token in rest[1:-1]:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(token.text, 0) if token.sort is Sort.SIGN else 0
        if token.text == "," and depth == 0:
            yield tuple(part)
            part = []
        else:
            part += [token, Token(Sort.SPACE, " ")]
        if depth < 0:
            raise Refused("42601", "a bracket is closed that isn't open")
    yield tuple(part)


def _fetch(verb: str, rest: Sequence[Token]) -> Fetch:
    """FETCH [how many] [FROM] name; only forward."""
    if not rest:
        raise Refused("42601", f"{verb.upper()} needs the name of a cursor")
    how = [token.word for token in rest[:-1] if token.word not in ("from", "in", "forward")]
    match how:
        case [] | ["next"]:
            return Fetch(rest[-1].word, 1, verb == "move")
        case ["all"]:
            return Fetch(rest[-1].word, None, verb == "move")
        case [number] if number.isdecimal():
            return Fetch(rest[-1].word, int(number), verb == "move")
    raise Refused("55000", "a cursor only goes forward here")
