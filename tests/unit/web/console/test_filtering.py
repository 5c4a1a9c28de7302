"""Which records an expression, words and a header let through."""

from __future__ import annotations

import pytest

from orion.errors import ParseError, SqlError, UnsupportedError
from orion.hub.records import Record
from orion.web.console.questions.decoding import Decoded, plain
from orion.web.console.questions.filtering import Wish

PLAY = b'{"country": "DE", "seconds": 61, "tags": ["a", "b"], "user": {"plan": "free"}, "gone": null}'


def decoded(value: bytes = PLAY) -> Decoded:
    record = Record("plays", 3, 99, 1_767_225_600_000, b"u1", value, (("trace", b"abc"), ("empty", None)))
    return Decoded(record, plain(b"u1"), plain(value))


@pytest.mark.parametrize(
    ("where", "holds"),
    [
        ("country = 'DE' AND seconds > 60", True),
        ("COUNTRY = 'US' OR seconds BETWEEN 61 AND 70", True),
        ("country LIKE 'D_' AND NOT seconds < 10", True),
        ("country LIKE 'E%'", False),
        ("country LIKE '%E' AND country LIKE 'D%' AND country LIKE '%' AND country LIKE '%%D%E%'", True),
        ("country LIKE '%ED%' OR country LIKE 'D' OR country LIKE '%D'", False),
        ("country IN ('US', 'DE')", True),
        ("country NOT IN ('US', 'DE')", False),
        ("user->plan = 'free' AND tags[1] = 'a'", True),
        ("gone IS NULL AND seconds IS NOT NULL", True),
        ("nowhere = 1", False),
        ("KEY = 'u1' AND ROWPARTITION = 3 AND ROWOFFSET >= 99", True),
        ("seconds * 2 = 122", True),
        ("LCASE(country) = 'de'", True),
        ("country > 5", False),
        ("country || '!' = 'DE!'", True),
    ],
)
def test_an_expression_is_sql_over_what_a_record_holds(where: str, holds: bool) -> None:
    assert Wish.of(where).holds(decoded()) is holds


def test_a_pattern_never_takes_forever() -> None:
    """Tried in every way that it may fit, this would outlast everybody."""
    where = f"country LIKE '{'%a' * 30}%b'"
    assert not Wish.of(where).holds(decoded(b'{"country": "' + b"a" * 20_000 + b'"}'))


def test_odd_records_never_fail() -> None:
    wish = Wish.of("seconds > 60 AND user->plan = 'free'")
    assert [wish.holds(decoded(raw)) for raw in (b"", b"\xff", b"[1]", b'"x"', b'{"seconds": "many"}')] == [False] * 5


def test_words_and_headers() -> None:
    assert Wish.of(words="de").holds(decoded())
    assert Wish.of(header="trace").holds(decoded())
    assert Wish.of(header="trace=AB").holds(decoded())
    assert not Wish.of(header="trace=x").holds(decoded())
    assert Wish.of().is_empty


def test_what_is_wrong_is_pointed_at() -> None:
    with pytest.raises(SqlError) as wrong:
        Wish.of("seconds > ")
    assert wrong.value.span is not None
    with pytest.raises(ParseError, match="not expected"):
        Wish.of("seconds > 1 country")
    with pytest.raises(UnsupportedError) as unsupported:
        Wish.of("ABS(seconds) > 1")
    assert unsupported.value.code == "FILTER_UNSUPPORTED"
