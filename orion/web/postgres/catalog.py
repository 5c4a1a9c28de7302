"""PostgreSQL's catalogs, as far as clients ask for them: temporary views and macros beside the tables, made for a
connection of DuckDB's when a query first needs them, and the few turns of phrase that DuckDB doesn't know.

DuckDB has a pg_catalog of its own, but with type numbers that only it knows, without keys' indexes, and without half of
the tables. So `pg_catalog.pg_class` here means `pg_class`, which is found among the temporary views first, and
`information_schema.columns` the view `information_schema_columns`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import duckdb

from orion.web.postgres import catalog_functions, catalog_views
from orion.web.postgres.lexer import Sort, Token, words
from orion.web.postgres.phrases import array_literal, to_char
from orion.web.postgres.public_views import DATABASE, KNOWN
from orion.web.postgres.settings import Settings

_SCHEMAS = ("pg_catalog", "information_schema")
_RENAMED = {"json_build_object": "json_object", "jsonb_build_object": "json_object", "jsonb_agg": "json_group_array"}
_LOOKED_UP = {"regclass": ("to_regclass", "regclass_name"), "regtype": ("to_regtype", "regtype_name")}
_LOOKED_UP |= {"regnamespace": ("to_regnamespace", "regnamespace_name"), "regproc": ("to_regproc", "regproc_name")}

_PROCEDURES = frozenset("typinput typoutput typreceive typsend typmodin typmodout typanalyze".split())
_DEFINED = dict((*catalog_functions.definitions(), *catalog_views.definitions()))
_REPHRASED = {"operator", "collate", "format", "to_char", *_SCHEMAS}
_FORMAT = re.compile(r"%[sIL]", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z_][\w.]*")
_PLACE = re.compile(r"\{(here|database|user|process|settings|known)\}")
NAMES = frozenset(_DEFINED)
OF_SETTINGS = frozenset(name for name, sql in _DEFINED.items() if "{settings}" in sql)


class Catalog:
    """The catalogs as one session sees them."""

    def __init__(self, settings: Settings, process: int) -> None:
        self._settings = settings
        self._process = process

    @property
    def version(self) -> int:
        """Changes with the settings, which some of it shows."""
        return self._settings.version

    def install(self, cursor: duckdb.DuckDBPyConnection, names: Iterable[str], there: set[str]) -> None:
        """Make what has these names, and what it stands on; `there` is what the connection has already."""
        missing = [name for name in names if name not in there]
        if not missing:
            return
        about = {"here": DATABASE, "database": self._settings.database, "user": self._settings.user}
        constants = {name: literal(value) for name, value in about.items()}
        constants |= {"process": str(self._process), "settings": _settings(self._settings), "known": KNOWN}
        for name in missing:
            self._make(cursor, name, constants, there)

    def _make(
        self, cursor: duckdb.DuckDBPyConnection, name: str, constants: Mapping[str, str], there: set[str]
    ) -> None:
        if name in there:
            return
        there.add(name)
        sql = _DEFINED[name]
        for word in _WORD.findall(sql):
            if word in NAMES:
                self._make(cursor, word, constants, there)
        # In one go: what a client calls itself may hold such a place too, and must stay what it is.
        cursor.execute(_PLACE.sub(lambda place: constants[place.group(1)], sql)).fetchall()


def _settings(settings: Settings) -> str:
    rows = ", ".join(f"({literal(name)}, {literal(value)})" for name, value in settings.all().items())
    return f"(VALUES {rows})"


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def translated(statement: Sequence[Token]) -> tuple[tuple[Token, ...], frozenset[str]]:
    """The statement as DuckDB understands it, and what it needs of the catalogs."""
    used = _used(statement)
    arrays = any(token.sort is Sort.TEXT and token.text.startswith("'{") for token in statement)
    if not arrays and not used & (NAMES | _RENAMED.keys() | _REPHRASED):
        return tuple(statement), frozenset()
    pieces = words(statement)  # a space between any two of them is as good as what was there
    out: list[Token] = []
    at = 0
    while at < len(pieces):
        at = _piece(pieces, at, out)
    spaced = [part for token in out for part in (token, Token(Sort.SPACE, " "))]
    return tuple(spaced[:-1]), _used(out) & NAMES


def _used(statement: Sequence[Token]) -> frozenset[str]:
    return frozenset(token.word for token in statement if token.sort in (Sort.NAME, Sort.QUOTED))


def _piece(pieces: list[Token], at: int, out: list[Token]) -> int:
    """Translate what stands at one place; gives the next place."""
    token = pieces[at]
    ahead = [piece.word for piece in pieces[at : at + 6]]
    if token.sort in (Sort.NAME, Sort.QUOTED):
        match ahead:
            case ["operator", "(", *_] if ")" in ahead:  # OPERATOR(pg_catalog.~)
                end = at + ahead.index(")")
                out.append(pieces[end - 1])
                return _any_case(pieces, end + 1, out)
            case ["collate", "pg_catalog", ".", _, *_]:
                return at + 4
            case ["collate", "default" | "C" | "c" | "POSIX" | "ucs_basic", *_]:
                return at + 2
            case ["pg_catalog", ".", _, *_]:
                return at + 2
            case [column, "=" | "!=" | "<>", "0", *_] if column in _PROCEDURES:  # by name here; none has a dash
                out += [token, pieces[at + 1], Token(Sort.TEXT, "'-'")]
                return at + 3
            case ["oid", "=", _, ".", column, *_] if column in _PROCEDURES:
                out.append(Token(Sort.NAME, "proname"))
                return at + 1
            case ["format", "(", text, *_] if _FORMAT.search(text) and "{" not in text:  # DuckDB's is another one
                out += [Token(Sort.NAME, "printf"), pieces[at + 1]]
                out.append(Token(Sort.TEXT, _FORMAT.sub("%s", pieces[at + 2].text)))
                return at + 3
            case ["to_char", "(", *_]:
                return _rephrase_to_char(pieces, at, out)
            case ["information_schema", ".", name, *_]:
                known = f"information_schema_{name}"
                out.append(Token(Sort.NAME, known) if known in NAMES else pieces[at + 2])
                return at + 3
    if token.text == "::" and (after := _cast(ahead)) is not None:
        return _looked_up(out, after[0], at + after[1])
    if token.sort is Sort.TEXT and _is_array(pieces, at):
        cast = at + 1 < len(pieces) and pieces[at + 1].text != ")"
        out.append(Token(Sort.TEXT, array_literal(token.text, cast=cast) or token.text))
    else:
        out.append(_name(token, out))
    return at + 1


def _is_array(pieces: list[Token], at: int) -> bool:
    """`'{1,2}'::int[]`, `CAST('{1,2}' AS int[])`, `ANY('{1,2}')`."""
    after = [piece.word for piece in pieces[at + 1 : at + 10]]
    before = [piece.word for piece in pieces[max(at - 2, 0) : at]]
    if before in (["any", "("], ["all", "("], ["some", "("]):
        return after[:1] == [")"] or "[" in after[:8]
    return after[:1] in (["::"], ["as"]) and "[" in after[: after.index(")") if ")" in after else len(after)]


def _rephrase_to_char(pieces: list[Token], at: int, out: list[Token]) -> int:
    """Up to the format, which the function that it becomes wants in another way."""
    function, format_at, format_ = to_char(pieces, at)
    out.append(Token(Sort.NAME, function))
    at += 1
    while at < format_at:
        at = _piece(pieces, at, out)
    out.append(Token(Sort.TEXT, format_))
    return at + 1


def _any_case(pieces: list[Token], at: int, out: list[Token]) -> int:
    """psql looks names up by patterns, and leaves capitals where they are quoted."""
    if out[-1].text in ("~", "!~") and at < len(pieces) and pieces[at].sort is Sort.TEXT:
        start = pieces[at].text.index("'") + 1
        out.append(Token(Sort.TEXT, f"{pieces[at].text[:start]}(?i){pieces[at].text[start:]}"))
        return at + 1
    return at


def _name(token: Token, before: list[Token]) -> Token:
    if token.sort is Sort.NAME and token.word in _RENAMED and not (before and before[-1].text == "."):
        return Token(Sort.NAME, _RENAMED[token.word])
    return token


def _cast(ahead: list[str]) -> tuple[str, int] | None:
    """`:: regclass` and its like: the type, and how many words it takes."""
    match ahead:
        case ["::", "pg_catalog", ".", name, *_] if name in _LOOKED_UP:
            return name, 4
        case ["::", name, *_] if name in _LOOKED_UP:
            return name, 2
    return None


def _looked_up(out: list[Token], kind: str, following: int) -> int:
    """A name becomes a number, and a number a name."""
    number, name = _LOOKED_UP[kind]
    start = len(out) - 1
    if out[start].sort in (Sort.TEXT, Sort.PARAMETER):
        function = number
    elif out[start].text == ")" or out[start - 1].text == "::":
        out += [Token(Sort.SIGN, "::"), Token(Sort.NAME, "varchar")]
        return following
    else:
        function = name
        while start >= 2 and out[start - 1].text == "." and out[start - 2].sort in (Sort.NAME, Sort.QUOTED):
            start -= 2
    inner = out[start:]
    out[start:] = [Token(Sort.NAME, function), Token(Sort.SIGN, "("), *inner, Token(Sort.SIGN, ")")]
    return following
