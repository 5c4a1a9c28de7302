"""What statements want, and what settings remember."""

from __future__ import annotations

import pytest

from orion.web.postgres import commands
from orion.web.postgres.catalog import translated
from orion.web.postgres.commands import (
    Back,
    Begin,
    CloseCursor,
    Command,
    Deallocate,
    Declare,
    Done,
    End,
    Fetch,
    Read,
    Reset,
    Set,
    Show,
)
from orion.web.postgres.errors import Refused, understood
from orion.web.postgres.lexer import joined, tokens
from orion.web.postgres.settings import Settings


def command(text: str) -> Command:
    return commands.command(tuple(tokens(text)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BEGIN READ ONLY", Begin()),
        ("start transaction isolation level serializable", Begin()),
        ("commit", End("COMMIT")),
        ("ROLLBACK", End("ROLLBACK")),
        ("rollback to savepoint a", Back()),
        ("savepoint a", Done("SAVEPOINT")),
        ("SET DateStyle = 'ISO'", Set("datestyle", "ISO")),
        ("set session application_name to 'x ''y'''", Set("application_name", "x 'y'")),
        ('SET LOCAL search_path = a, "B"', Set("search_path", "a, B")),
        ("SET TIME ZONE 'Europe/Berlin'", Set("TimeZone", "Europe/Berlin")),
        ("set names 'latin1'", Set("client_encoding", "latin1")),
        ("set extra_float_digits = default", Set("extra_float_digits", None)),
        ("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", Done("SET")),
        ("SET TRANSACTION ISOLATION LEVEL READ COMMITTED", Done("SET")),
        ("RESET a.b", Set("a.b", None, "RESET")),
        ("RESET ALL", Reset(False, "RESET")),
        ("DISCARD ALL", Reset(True, "DISCARD ALL")),
        ("show transaction isolation level", Show("transaction_isolation")),
        ("SHOW search_path", Show("search_path")),
        ("DEALLOCATE ALL", Deallocate(None)),
        ("DEALLOCATE PREPARE x", Deallocate("x")),
        ('FETCH FORWARD 10 FROM "My"', Fetch("My", 10, False)),
        ("FETCH c", Fetch("c", 1, False)),
        ("MOVE ALL IN c", Fetch("c", None, True)),
        ("CLOSE ALL", CloseCursor(None)),
        ("LISTEN x", Done("LISTEN")),
    ],
)
def test_commands_are_understood(text: str, expected: Command) -> None:
    assert command(text) == expected


def test_what_reads_keeps_its_statement() -> None:
    read = command("with a as (select 1) select * from a")
    assert isinstance(read, Read)
    assert joined(read.statement) == "with a as (select 1) select * from a"
    cursor = command('DECLARE "c 1" NO SCROLL CURSOR WITH HOLD FOR select 1 -- one')
    assert isinstance(cursor, Declare)
    assert (cursor.name, cursor.hold, joined(cursor.statement)) == ("c 1", True, "select 1 -- one")
    assert command("explain select 1").tag == "EXPLAIN"


@pytest.mark.parametrize("text", ["SET", "SET a", "FETCH BACKWARD 1 FROM c", "DECLARE c", "SHOW", "CLOSE"])
def test_commands_that_are_wrong_are_refused(text: str) -> None:
    with pytest.raises(Refused):
        command(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select 1  +  1", "select 1  +  1"),
        ("a OPERATOR(pg_catalog.~) '^x$' COLLATE pg_catalog.default", "a ~ '(?i)^x$'"),
        ("select 1 from pg_catalog.pg_class c", "select 1 from pg_class c"),
        ("from information_schema.columns", "from information_schema_columns"),
        ('from "pg_catalog"."pg_class" "c"', 'from "pg_class" "c"'),
        ("format('%I.%s', a, b)", "printf ( '%s.%s' , a , b )"),
        ("format('{}', a)", "format ( '{}' , a )"),
        ("'a.b'::pg_catalog.regclass", "to_regclass ( 'a.b' )"),
        ("x = $1::regtype", "x = to_regtype ( $1 )"),
        ("select t.oid::regtype::text", "select regtype_name ( t . oid ) :: text"),
        ("select (1)::regclass", "select ( 1 ) :: varchar"),
        ("pg_class.relname || 'pg_catalog.x'", "pg_class . relname || 'pg_catalog.x'"),
    ],
)
def test_what_duckdb_does_not_know_is_translated(text: str, expected: str) -> None:
    assert joined(translated(tuple(tokens(text)))[0]) == expected


def test_a_statement_tells_what_it_needs_of_the_catalogs() -> None:
    assert translated(tuple(tokens("select relname from pg_catalog.pg_class")))[1] == {"pg_class"}
    assert translated(tuple(tokens("select a from b")))[1] == frozenset()


def test_settings_are_remembered_and_some_are_told() -> None:
    settings = Settings({"user": "ann", "timezone": "Europe/Berlin", "client_encoding": "LATIN1"})
    assert (settings.database, settings.get("TIMEZONE"), settings.get("client_encoding")) == (
        "ann",
        "Europe/Berlin",
        "UTF8",
    )
    assert settings.set("application_name", "test") == "application_name"
    assert settings.set("application_name", "test") is None
    assert settings.set("search_path", "x") is None
    assert settings.set("server_version", "99") is None
    assert settings.get("server_version") != "99"
    assert settings.set("my.own", "1") is None
    assert settings.get("my.own") == "1"
    assert settings.reset() == ["application_name"]
    assert settings.get("my.own") is None


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("Parser Error: syntax error at or near", "42601"),
        ("Catalog Error: Table with name x does not exist!", "42P01"),
        ("Catalog Error: Scalar Function with name x does not exist!", "42883"),
        ('Binder Error: Referenced column "x" not found in FROM clause!', "42703"),
        ("INTERRUPT Error: Interrupted!", "57014"),
        ("TransactionContext Error: Cannot write", "25006"),
        ("Conversion Error: Could not convert", "22P02"),
        ("something else", "XX000"),
    ],
)
def test_errors_have_codes(message: str, code: str) -> None:
    assert understood(OSError(message)).code == code


def test_a_refusal_stays_what_it_is() -> None:
    refused = Refused("28P01", "no", hint="yes")
    assert understood(refused) is refused
