"""Values of SQL as text, in each form."""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal as Number
from typing import Any

import pytest

from orion.cli.values import moment_text, screen_text
from orion.clients.exporting import csv_field, json_row, json_text
from orion.ksql.parser import Parser
from orion.schema import Scalar, SqlType


def type_of(text: str) -> SqlType:
    return Parser(text).type()


@pytest.mark.parametrize(
    ("type_", "sent", "shown"),
    [
        ("STRING", None, "NULL"),
        ("STRING", "NULL", "'NULL'"),
        ("STRING", "null", "null"),
        ("STRING", "", "''"),
        ("STRING", " ", "' '"),
        ("STRING", "'NULL'", "'''NULL'''"),
        ("STRING", "it's", "it's"),
        ("STRING", "a\tb\x1b[31m", "a\\tb\\x1b[31m"),
        ("BIGINT", None, "NULL"),
        ("BIGINT", 9007199254740993, "9007199254740993"),
        ("DECIMAL(20, 2)", Number("1234567.10"), "1234567.10"),
        ("DECIMAL(38, 10)", Number("0E-10"), "0.0000000000"),
        ("DOUBLE", Number("0.1"), "0.1"),
        ("DOUBLE", 3, "3.0"),
        ("DOUBLE", Number("1e-7"), "1e-07"),
        ("DOUBLE", "NaN", "NaN"),
        ("BOOLEAN", True, "true"),
        ("TIMESTAMP", "2026-01-31T12:00:00.000", "2026-01-31T12:00:00.000"),
        ("ARRAY<STRING>", ["a", None, "it's"], '["a", null, "it\'s"]'),
        ("MAP<STRING, DOUBLE>", {"a": Number("1.50"), "b": None}, '{"a": 1.5, "b": null}'),
        ("STRUCT<X BOOLEAN, Y DECIMAL(4, 2)>", {"X": False, "Y": Number("1.50")}, '{"X": false, "Y": 1.50}'),
        ("ARRAY<INT>", [], "[]"),
        ("ARRAY<INT>", None, "NULL"),
    ],
)
def test_a_value_on_the_screen(type_: str, sent: Any, shown: str) -> None:
    assert screen_text(sent, type_of(type_)) == shown


@pytest.mark.parametrize(
    ("type_", "sent", "text"),
    [
        ("STRING", None, ""),
        ("STRING", "", '""'),
        ("STRING", 'a,"b"\n', '"a,""b""\n"'),
        ("STRING", "NULL", "NULL"),
        ("DECIMAL(4, 2)", Number("1.50"), "1.50"),
        ("ARRAY<INT>", [1, 2], '"[1, 2]"'),
        ("BOOLEAN", False, "false"),
    ],
)
def test_a_value_in_csv(type_: str, sent: Any, text: str) -> None:
    assert csv_field(sent, type_of(type_)) == text


def test_csv_is_read_again() -> None:
    texts = ["a", "", 'x,"y"', "two\nlines", " b "]
    line = ",".join(csv_field(text, Scalar.STRING) for text in texts)
    assert next(csv.reader(io.StringIO(line, newline=""))) == texts


def test_a_row_of_json_keeps_every_digit() -> None:
    types = (type_of("DECIMAL(20, 2)"), type_of("MAP<STRING, ARRAY<BIGINT>>"), Scalar.STRING)
    text = json_row(["A", "M", "S"], types, [Number("1.10"), {"k": [2**62, None]}, 'say "hi"'])
    assert text.startswith('{"A": 1.10, ')
    assert json.loads(text) == {"A": 1.1, "M": {"k": [2**62, None]}, "S": 'say "hi"'}


def test_no_value_looks_as_python_writes_it() -> None:
    nested = type_of("STRUCT<A ARRAY<BOOLEAN>, M MAP<STRING, STRING>>")
    text = json_text({"A": [True, None], "M": {"x": "None"}}, nested)
    assert text == '{"A": [true, null], "M": {"x": "None"}}'


def test_a_moment_is_readable_as_far_as_the_calendar_goes() -> None:
    assert moment_text(1_767_225_600_250) == "2026-01-01T00:00:00.250Z"
    assert moment_text(None) == "NULL"
    assert moment_text(2**62) == str(2**62)
