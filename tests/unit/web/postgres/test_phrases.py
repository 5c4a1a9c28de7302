"""What PostgreSQL writes in another way than DuckDB: arrays as texts, and to_char."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from orion.web.postgres.catalog import Catalog, translated
from orion.web.postgres.errors import Refused
from orion.web.postgres.lexer import joined, tokens
from orion.web.postgres.phrases import array_elements
from orion.web.postgres.settings import Settings


def run(sql: str) -> Any:
    """A statement's first value, after it was translated."""
    cursor = duckdb.connect()
    statement, needed = translated(tuple(tokens(sql)))
    Catalog(Settings({"user": "ann"}), 1).install(cursor, needed, set())
    ((value,),) = cursor.execute(joined(statement)).fetchall()
    return value


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        ("{}", []), ("{ }", []), ("{1,2}", ["1", "2"]), ('{"p", "f" , NULL}', ["p", "f", None]),
        ("{{1,2},{3}}", [["1", "2"], ["3"]]), (r'{a b,"x\"y","\\"}', ["a b", 'x"y', "\\"]),
        ('{"NULL",""}', ["NULL", ""]),
    ],
)  # fmt: skip
def test_arrays_as_texts(text: str, elements: list[Any]) -> None:
    assert array_elements(text) == elements


@pytest.mark.parametrize("text", ["", "1,2", "{1,2", "1,2}", "{1}}", "{1}2", '{"a', '{"a"b}', '{a"b"}'])
def test_texts_that_are_no_arrays(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        array_elements(text)


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("SELECT '{1,2}'::int[]", [1, 2]),
        ("SELECT CAST('{1,NULL}' AS bigint[])", [1, None]),
        ("SELECT '{a,\"b, c\",it''s}'::text[]", ["a", "b, c", "it's"]),
        ("SELECT '{{1,2},{3,4}}'::int[][]", [[1, 2], [3, 4]]),
        ("SELECT 2 = ANY('{1,2}')", True),
        ("SELECT 'b' = ANY('{a,b}')", True),
        ("SELECT '{}'::json", "{}"),
        ("SELECT '{1,2}'", "{1,2}"),
        ("SELECT '{1,2}' || '[]'", "{1,2}[]"),
    ],
)
def test_only_arrays_become_arrays(sql: str, value: Any) -> None:
    assert run(sql) == value


# By what PostgreSQL 14 gives; only names of months and days aren't filled up with spaces.
@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("to_char(TIMESTAMP '2024-02-09 15:04:05.678', 'YYYY-MM-DD HH24:MI:SS.MS')", "2024-02-09 15:04:05.678"),
        ("to_char(TIMESTAMP '2024-02-09 15:04:05', 'HH12:MI PM')", "03:04 PM"),
        ("to_char(DATE '2024-02-09', 'Dy, DD Mon YY')", "Fri, 09 Feb 24"),
        ("to_char(DATE '2024-02-09', 'FMDD FMMonth, DDD')", "9 February, 040"),
        ("to_char(DATE '2024-05-09', 'IYYY-\"W\"IW, \"Q\"Q')", "2024-W19, Q2"),
        ("to_char(DATE '2024-05-09', 'DD \"100% of\" YYYY%')", "09 100% of 2024%"),
        ("to_char(date_trunc('month', DATE '2024-05-09'), 'YYYY-MM')", "2024-05"),
        ("to_char(NULL::TIMESTAMP, 'YYYY')", None),
        ("to_char(1234.5, 'FM999,999.00')", "1,234.50"),
        ("to_char(1234.5, '999,999.00')", "   1,234.50"),
        ("to_char(-0.5, '990.99')", "  -0.50"),
        ("to_char(0.5, 'FM9.99')", ".50"),
        ("to_char(5, '000')", " 005"),
        ("to_char(5, 'FM000')", "005"),
        ("to_char(12345, '999')", "####"),
        ("to_char(42, '9999')", "   42"),
        ("to_char(NULL::INTEGER, '999')", None),
    ],
)
def test_to_char(sql: str, text: str | None) -> None:
    assert run(f"SELECT {sql}") == text


@pytest.mark.parametrize(
    "sql", ["to_char(now(), $1)", "to_char(now(), k)", "to_char(now(), 'TZ')", "to_char(5, '0,000')"]
)
def test_what_to_char_does_not_know_is_said(sql: str) -> None:
    with pytest.raises(Refused) as refused:
        translated(tuple(tokens(f"SELECT {sql}")))
    assert refused.value.code == "0A000"
