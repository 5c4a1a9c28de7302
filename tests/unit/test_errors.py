"""Errors: the tree on top of the module, what every class says about itself, and how a place is shown."""

from __future__ import annotations

import inspect
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orion import errors
from orion.errors import (
    BindError,
    ConfigError,
    Conflict,
    ExternalError,
    Forbidden,
    InternalError,
    NotFound,
    OrionError,
    ParseError,
    SchemaError,
    Span,
    SqlError,
    UnsupportedError,
    UserError,
    hint_nearest,
)

CLASSES = [c for c in vars(errors).values() if inspect.isclass(c) and issubclass(c, OrionError)]


def _drawn() -> dict[str, str]:
    """Class -> base, from the tree in the module's docstring."""
    found: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        node = re.match(r"[ │├└─]*([A-Z]\w+)( {2,}|$)", line)
        if node is None or not line.startswith("    "):
            continue
        depth, name = node.start(1), node[1]
        above = [(d, n) for d, n in above if d < depth]
        found[name] = above[-1][1] if above else "Exception"
        above.append((depth, name))
    return found


def test_the_tree_in_the_docstring_is_the_tree_of_classes() -> None:
    assert _drawn() == {c.__name__: c.__bases__[0].__name__ for c in CLASSES}


@pytest.mark.parametrize("cls", CLASSES)
def test_every_class_says_how_http_and_the_shell_end(cls: type[OrionError]) -> None:
    assert 400 <= cls.http_status < 600
    assert 1 <= cls.exit_code < 128
    is_ours_to_mend = cls in (OrionError, ExternalError, InternalError)
    assert (cls.http_status >= 500) == (is_ours_to_mend or cls is UnsupportedError)


@pytest.mark.parametrize(
    ("cls", "status", "code"),
    [
        (UserError, 400, 2),
        (ConfigError, 400, 78),
        (SqlError, 400, 2),
        (ParseError, 400, 2),
        (BindError, 400, 2),
        (UnsupportedError, 501, 2),
        (SchemaError, 422, 2),
        (NotFound, 404, 3),
        (Conflict, 409, 4),
        (Forbidden, 403, 77),
        (ExternalError, 503, 69),
        (InternalError, 500, 70),
    ],
)
def test_status_and_exit_code(cls: type[OrionError], status: int, code: int) -> None:
    assert (cls.http_status, cls.exit_code) == (status, code)


def test_an_error_is_its_message() -> None:
    error = NotFound("NOT_FOUND", "There is no X.", hint="Look again.")
    assert str(error) == "There is no X."
    assert error.as_dict() == {"code": "NOT_FOUND", "message": "There is no X.", "hint": "Look again."}
    assert NotFound("NOT_FOUND", "There is no X.").as_dict() == {"code": "NOT_FOUND", "message": "There is no X."}


def test_an_external_error_says_when_to_try_again() -> None:
    assert ExternalError("BROKER", "It is away.", retry_after=1.5).retry_after == 1.5
    assert ExternalError("BROKER", "It is away.").retry_after is None


def test_a_sql_error_with_a_place_shows_it() -> None:
    error = BindError("UNKNOWN_COLUMN", "There is no column B.", span=Span(9, 10), text="SELECT a,b\nFROM s")
    assert error.as_dict() == {
        "code": "UNKNOWN_COLUMN",
        "message": "There is no column B.",
        "line": 1,
        "column": 10,
        "context": "1 | SELECT a,b\n             ^",
    }


@pytest.mark.parametrize(
    ("text", "span", "caret"),
    [
        ("abc", Span(0, 1), "1 | abc\n    ^"),
        ("abc", Span(0, 3), "1 | abc\n    ^^^"),
        ("abc", Span(3, 3), "1 | abc\n       ^"),
        ("", Span(0, 0), "1 | \n    ^"),
        ("a\nbcd\ne", Span(3, 5), "2 | bcd\n     ^^"),
        ("a\nbcd\ne", Span(3, 7), "2 | bcd\n     ^^"),  # what goes on below is marked to the end of the first line
        ("a\n", Span(2, 2), "2 | \n    ^"),
        ("\n" * 11 + "x", Span(11, 12), "12 | x\n     ^"),
    ],
)
def test_the_caret_stands_under_the_place(text: str, span: Span, caret: str) -> None:
    assert SqlError("X", "x", span=span, text=text).caret() == caret


def test_without_a_place_or_a_text_there_is_no_caret() -> None:
    assert SqlError("X", "x", text="abc").caret() == ""
    assert SqlError("X", "x", span=Span(0, 1)).caret() == ""
    assert "line" not in SqlError("X", "x", span=Span(0, 1)).as_dict()


def test_the_first_text_an_error_learns_of_stays() -> None:
    error = ParseError("X", "x", span=Span(0, 1))
    assert error.with_text("inner") is error
    assert error.with_text("outer").text == "inner"


@settings(max_examples=50, deadline=None)
@given(st.text(), st.data())
def test_line_and_column_find_the_character_again(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    line, column = Span(start, start).line_column(text)
    lines = text.split("\n")
    assert sum(len(before) + 1 for before in lines[: line - 1]) + column - 1 == start


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("NAEM", "Did you mean NAME?"),
        ("naem", "Did you mean NAME?"),
        ("mixedcas", "Did you mean mixedCase?"),
        ("XYZZY", None),
        ("", None),
    ],
)
def test_the_nearest_name_is_guessed_only_if_it_is_near(name: str, hint: str | None) -> None:
    assert hint_nearest(name, ["NAME", "AMOUNT", "mixedCase"]) == hint
    assert hint_nearest(name, []) is None
