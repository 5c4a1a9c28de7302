"""Cutting texts into statements and words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orion.web.postgres.lexer import Sort, joined, statements, tokens

PIECES = st.sampled_from(
    ["'", '"', ";", "$$", "$a$", "/*", "*/", "--", "\n", "E'", "\\", "::", "a", "1", " ", "$1", "é"]
)


@given(st.text() | st.lists(PIECES).map("".join))
def test_no_character_is_lost(text: str) -> None:
    assert joined(tuple(tokens(text))) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" ; -- nothing\n ; /* and /* nothing */ */ ", []),
        ("select 1; select 2;", ["select 1", " select 2"]),
        ("select ';' , \"a;b\", E'\\';', $$;$$, $x$;$$;$x$", None),
        ("select 1 -- a; b\n+ 2", None),
        ("select /* ; /* ; */ ; */ 1", None),
    ],
)
def test_statements_end_at_semicolons_outside_of_texts_and_comments(text: str, expected: list[str] | None) -> None:
    assert [joined(statement) for statement in statements(text)] == ([text] if expected is None else expected)


def test_sorts_of_words() -> None:
    found = [(t.sort, t.word) for t in tokens('Select "A""b" $1::int4 \'x\' 1.5e3 <= c') if t.sort is not Sort.SPACE]
    assert found == [
        (Sort.NAME, "select"),
        (Sort.QUOTED, 'A"b'),
        (Sort.PARAMETER, "$1"),
        (Sort.SIGN, "::"),
        (Sort.NAME, "int4"),
        (Sort.TEXT, "'x'"),
        (Sort.NUMBER, "1.5e3"),
        (Sort.SIGN, "<="),
        (Sort.NAME, "c"),
    ]
