"""Tables, facts and JSON, on a terminal and in a pipe."""

from __future__ import annotations

import json

import pytest
import structlog

from orion.cli import output
from orion.log import flush_log

ROWS = [("plays", 3, None), ("users", 12, "a\tb\x1b[31m")]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")


def test_a_pipe_gets_tabs(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(("name", "end_offset", "note"), ROWS)
    assert capsys.readouterr().out == "name\tend offset\tnote\nplays\t3\t-\nusers\t12\ta\\tb\\x1b[31m\n"


@pytest.mark.usefixtures("terminal")
def test_a_terminal_gets_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(("name", "end_offset", "note"), ROWS)
    head, rule, first, second = capsys.readouterr().out.splitlines()
    assert head.split() == ["name", "end", "offset", "note"]
    assert set(rule) == {"─"}
    assert first.index("3") == second.index("2")  # numbers end in one column
    assert "\x1b[31m" not in second


@pytest.mark.usefixtures("terminal")
def test_an_empty_table_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(("name",), [])
    assert capsys.readouterr().out.splitlines()[-1] == "none"


def test_json_has_the_columns_as_keys(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(("name", "end_offset", "note"), ROWS, as_json=True)
    assert json.loads(capsys.readouterr().out) == [
        {"name": "plays", "end_offset": 3, "note": None},
        {"name": "users", "end_offset": 12, "note": "a\tb\x1b[31m"},
    ]


def test_facts_are_lines(capsys: pytest.CaptureFixture[str]) -> None:
    output.facts({"topic": "plays", "in_sync": (1, 2), "internal": False})
    assert capsys.readouterr().out == "topic\tplays\nin sync\t1,2\ninternal\tno\n"


def test_notes_stay_out_of_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    output.note("read 3 records")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "read 3 records\n")


def test_log_lines_stay_out_of_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    before = structlog.get_config()
    try:
        output.log_beside_results()
        structlog.get_logger().warning("the broker is away")
        flush_log()
    finally:
        structlog.configure(**before)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "the broker is away" in captured.err
