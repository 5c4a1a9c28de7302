"""Text into tokens: comments, quotes, numbers, places."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orion.errors import ParseError, Span
from orion.ksql.tokens import Kind, Token, tokenize


def kinds(text: str) -> list[tuple[Kind, str]]:
    return [(t.kind, t.text) for t in tokenize(text)[:-1]]


def test_words_are_in_upper_case_and_remember_how_they_were_written() -> None:
    [word, end] = tokenize("Select")
    assert word == Token(Kind.WORD, "SELECT", Span(0, 6), "Select")
    assert end == Token(Kind.END, "", Span(6, 6))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("`Mixed Case`", "Mixed Case"),
        ('"Mixed Case"', "Mixed Case"),
        ("`a``b`", "a`b"),
        ('"a""b"', 'a"b'),
        ("`it's -- no comment`", "it's -- no comment"),
    ],
)
def test_a_quoted_name_keeps_its_case_and_loses_its_quotes(text: str, name: str) -> None:
    assert kinds(text) == [(Kind.QUOTED, name)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'abc'", "abc"),
        ("''", ""),
        ("'it''s'", "it's"),
        ("''''", "'"),
        ("'two\nlines'", "two\nlines"),
        ("'-- no comment'", "-- no comment"),
        ("'/* none */'", "/* none */"),
        (r"'back\slash'", r"back\slash"),
        ("$$ it's ; raw $$", " it's ; raw "),
    ],
)
def test_a_string_is_what_stands_between_its_quotes(text: str, value: str) -> None:
    assert kinds(text) == [(Kind.STRING, value)]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("0", Kind.INTEGER),
        ("12345678901234567890", Kind.INTEGER),
        ("1.5", Kind.DECIMAL),
        (".5", Kind.DECIMAL),
        ("1.", Kind.DECIMAL),
        ("1e5", Kind.FLOAT),
        ("1.5E-3", Kind.FLOAT),
        (".5e+3", Kind.FLOAT),
        ("${name}", Kind.VARIABLE),
        ("2nd", Kind.WORD),
        ("1e5x", Kind.WORD),
        ("_private", Kind.WORD),
        ("a@b", Kind.WORD),
    ],
)
def test_numbers_variables_and_words_are_told_apart(text: str, kind: Kind) -> None:
    assert [k for k, _ in kinds(text)] == [kind]


def test_the_longest_symbol_wins() -> None:
    text = "-> => := <> != <= >= || - + * / % = < > ( ) , ; . [ ] : { }"
    assert kinds(text) == [(Kind.SYMBOL, word) for word in text.split()]
    assert kinds("a<=b->c") == [
        (Kind.WORD, "A"),
        (Kind.SYMBOL, "<="),
        (Kind.WORD, "B"),
        (Kind.SYMBOL, "->"),
        (Kind.WORD, "C"),
    ]


def test_comments_and_white_space_fall_away() -> None:
    assert kinds("a -- one\n/* two\n lines -- */ b--end") == [(Kind.WORD, "A"), (Kind.WORD, "B")]
    assert kinds("  \t\n -- only\n") == []
    assert kinds("4 / 2") == [(Kind.INTEGER, "4"), (Kind.SYMBOL, "/"), (Kind.INTEGER, "2")]


def test_a_token_knows_its_place() -> None:
    text = "a -- x\n  'b''c' /* y */ `d`"
    assert [text[t.span.start : t.span.end] for t in tokenize(text)] == ["a", "'b''c'", "`d`", ""]
    assert [t.span.line_column(text) for t in tokenize(text)] == [(1, 1), (2, 3), (2, 18), (2, 21)]


def test_only_a_symbol_is_a_symbol_and_only_a_word_a_word() -> None:
    string, symbol, word = tokenize("';' ; a")[:3]
    assert symbol.is_symbol(",", ";")
    assert not string.is_symbol(";")
    assert word.is_word("A")
    assert not tokenize("'A'")[0].is_word("A")


@pytest.mark.parametrize(
    ("text", "at", "message"),
    [
        ("a 'b", 2, "The ' that opens here is never closed."),
        ("a `b", 2, "The ` that opens here is never closed."),
        ('a "b', 2, 'The " that opens here is never closed.'),
        ("a /* b", 2, "The comment that opens here is never closed."),
        ("a ? b", 2, "'?' can't stand here."),
        ("a $ b", 2, "'$' can't stand here."),
    ],
)
def test_what_is_no_token_is_refused_where_it_stands(text: str, at: int, message: str) -> None:
    with pytest.raises(ParseError) as refused:
        tokenize(text)
    assert refused.value.code == "UNEXPECTED_CHARACTER"
    assert refused.value.message == message
    assert refused.value.span == Span(at, at + 1)
    assert refused.value.text == text


def _tokens_or_complaint(text: str) -> list[Token] | ParseError:
    try:
        return tokenize(text)
    except ParseError as error:
        return error


@settings(max_examples=50, deadline=None)
@given(st.text())
def test_any_text_gives_tokens_or_one_complaint_that_points_into_it(text: str) -> None:
    tokens = _tokens_or_complaint(text)
    if isinstance(tokens, ParseError):
        assert tokens.span is not None
        assert 0 <= tokens.span.start < len(text)
        return
    ends = [0, *(t.span.end for t in tokens)]
    assert all(before <= t.span.start <= t.span.end for before, t in zip(ends, tokens, strict=False))
    assert tokens[-1].span == Span(len(text), len(text))


@settings(max_examples=50, deadline=None)
@given(st.text())
def test_any_text_comes_back_from_a_quoted_string(value: str) -> None:
    escaped = value.replace("'", "''")
    assert kinds(f"'{escaped}'") == [(Kind.STRING, value)]
