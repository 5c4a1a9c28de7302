"""Regular expressions without ways to blow up: they find what Python's find."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orion.registry.compatibility.effort import Effort, TooCostly
from orion.registry.compatibility.patterns import Unsupported, found_in


@pytest.mark.parametrize(
    ("pattern", "text", "wanted"),
    [
        ("", "", True),
        ("a", "bab", True),
        ("^a", "ba", False),
        ("a$", "ab", False),
        ("^x-", "x-y", True),
        ("^(S_|I_)", "I_1", True),
        ("^[a-z0-9_]+$", "snake_1", True),
        ("^[a-z0-9_]+$", "Snake", False),
        ("^[^x]$", "y", True),
        (r"^\d{2,3}$", "1234", False),
        (r"^\d{2,3}$", "123", True),
        (r"^\d{2,}$", "12345", True),
        (r"^\d{0}$", "1", False),
        (r"^(ab){2}$", "abab", True),
        (r"^(ab){2}$", "ab", False),
        (r"^a{x}$", "a{x}", True),
        (r"^\w+@\w+\.com$", "me@here.com", True),
        (r"^[\w.-]+$", "a.b-c", True),
        (r"\bfoo\b", "a foo b", True),
        (r"\bfoo\b", "afoob", False),
        (r"^\u0041\x42$", "AB", True),
        ("^(?:a|b)*?c$", "ababc", True),
        ("^(?<year>[0-9]+)$", "2026", True),
        ("^[]]", "]", False),  # in JavaScript nothing is in an empty class
        ("^[^]$", "x", True),
        (".", "\n", False),
        ("a||b", "", True),
        (r"^[+-]?\d$", "-1", True),
        (r"^[a\-z]$", "-", True),
        (r"^[\d-x]$", "-", True),
    ],
)
def test_what_is_found(pattern: str, text: str, wanted: bool) -> None:
    assert found_in(pattern, text, Effort()) is wanted


@pytest.mark.parametrize(
    "pattern",
    [
        *(r"( ) [ * a** (?=a) (?<!a) (a)\1 \p{L} a{3,1} a{99999} ((a{90}){90}){90} [z-a] \u12 \xg".split()),
        "(" * 500 + ")" * 500,
    ],
)
def test_what_can_not_be_told(pattern: str) -> None:
    with pytest.raises(Unsupported):
        found_in(pattern, "text", Effort())


@pytest.mark.parametrize("pattern", ["(a+)+$", "^(a|a)*$", "(a*)*b", "^(([a-z])+.)+[A-Z]([a-z])+$", "a*a*a*a*a*a*a*b"])
def test_no_expression_takes_for_ever(pattern: str) -> None:
    start = time.perf_counter()
    assert not found_in(pattern, "a" * 2_000 + "!", Effort())
    assert time.perf_counter() - start < 5


def test_the_effort_has_an_end() -> None:
    with pytest.raises(TooCostly):
        found_in("(a|b|c)*d", "a" * 1_000_000, Effort(100_000))


atoms = st.sampled_from(["a", "b", "c", ".", "[ab]", "[^a]", r"\d", r"\w", "1", "_"])
expressions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{0,2}", "*?", "+?"])).map(
            lambda two: f"({two[0]}){two[1]}"
        ),
        inner.map(lambda one: f"^{one}"),
        inner.map(lambda one: f"{one}$"),
    ),
    max_leaves=6,
)


@given(pattern=expressions, text=st.text(alphabet="abc1_", max_size=8))
@settings(max_examples=400, deadline=None)
def test_python_finds_the_same(pattern: str, text: str) -> None:
    assert found_in(pattern, text, Effort()) == (re.search(pattern, text) is not None)
