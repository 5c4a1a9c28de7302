"""A script into statements, and when a prompt has a whole one."""

from __future__ import annotations

import pytest

from orion import ksql
from orion.errors import ParseError
from orion.plan.catalog import Catalog


@pytest.mark.parametrize(
    ("script", "statements"),
    [
        ("", []),
        ("  \n-- nothing\n", []),
        (";;", []),
        ("SHOW STREAMS", ["SHOW STREAMS"]),
        ("SHOW STREAMS;", ["SHOW STREAMS"]),
        ("a; b;\nc", ["a", "b", "c"]),
        ("a;; b", ["a", "b"]),
        ("-- first\na; /* second */ b", ["-- first\na", "/* second */ b"]),
        ("a -- not ; here\n; b", ["a -- not ; here", "b"]),
        ("SELECT ';' FROM s; b", ["SELECT ';' FROM s", "b"]),
        ("SELECT `;` FROM s; b", ["SELECT `;` FROM s", "b"]),
        ("CREATE FUNCTION f AS $$ x; y $$; b", ["CREATE FUNCTION f AS $$ x; y $$", "b"]),
    ],
)
def test_statements_end_at_semicolons_that_are_not_in_quotes_or_comments(script: str, statements: list[str]) -> None:
    assert ksql.split(script) == statements


def test_a_script_with_an_open_quote_is_refused() -> None:
    with pytest.raises(ParseError):
        ksql.split("a; 'b")


@pytest.mark.parametrize("script", ["", "a;", "a; -- done", "a; /* done */  ", "-- only a comment", "a; b;"])
def test_a_script_is_complete_with_its_last_semicolon(script: str) -> None:
    assert ksql.is_complete(script)


@pytest.mark.parametrize("script", ["a", "a; b", "SELECT ';'", "SELECT 'a;", "a /* ;", "a -- ;", "SELECT `;`"])
def test_a_script_is_incomplete_while_a_statement_or_a_quote_is_open(script: str) -> None:
    assert not ksql.is_complete(script)


def test_syntax_is_checked_without_a_catalog() -> None:
    ksql.check_syntax(["SELECT nobody FROM nowhere EMIT CHANGES;"], Catalog())
    with pytest.raises(ParseError) as refused:
        ksql.check_syntax(["SELECT FROM"], Catalog())
    assert refused.value.as_dict()["column"] == 8
