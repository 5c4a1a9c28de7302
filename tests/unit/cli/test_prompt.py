"""The prompt of `orion sql`, typed at: a server that answers what is written down, no broker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from typer.testing import CliRunner

from orion.cli import app, grid, output
from orion.cli.client import Client
from orion.cli.prompt import Names, converse
from orion.cli.shell import Shell
from tests.unit.cli.canned import canned_server


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with canned_server() as address:
        yield address


@pytest.fixture(autouse=True)
def screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(output, "on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("ORION_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    yield
    grid.DISPLAY.expanded = "auto"


def type_lines(url: str, *typed: str) -> None:
    """Type these lines, each with Enter, until the prompt is left."""
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        keys.send_text("".join(f"{line}\r" for line in typed) + "\x04")
        with closing(Client(url)) as client, closing(Shell(client)) as shell:
            converse(shell)


@pytest.mark.parametrize("word", ["exit", "quit", "\\q", "exit;", "QUIT"])
def test_leaving_needs_no_semicolon(url: str, word: str, capsys: pytest.CaptureFixture[str]) -> None:
    type_lines(url, word, "help")  # what comes after it isn't heard
    assert "list streams and tables" not in capsys.readouterr().out


@pytest.mark.parametrize("word", ["help", "?", "\\?", "help;"])
def test_help_lists_what_can_be_typed_within_80_columns(
    url: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    type_lines(url, word)
    told = capsys.readouterr().out
    assert all(name in told for name in ("\\d NAME", "\\x", "\\o", "EMIT CHANGES", "exit"))
    assert all(len(line) <= 80 for line in told.splitlines())


def test_a_statement_may_take_several_lines(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    type_lines(url, "CREATE TABLE per_zip", "AS SELECT zip FROM orders;")
    told = capsys.readouterr()
    assert (told.out.strip(), told.err.count("error")) == ("Table PER_ZIP created, query CTAS_PER_ZIP_7.", 0)


def test_streams_and_tables_are_listed_and_described(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    type_lines(url, "\\d", "\\dt", "\\d per_zip")
    told = capsys.readouterr()
    assert told.err.count("error") == 0
    assert told.out.count("ORDERS   STREAM  orders") == 1
    assert "STRING (primary key) (window: TUMBLING (SIZE 1 MINUTE))" in told.out


def test_expanded_rows_are_turned_on_and_off(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    type_lines(url, "\\x", "select * from narrow;", "\\x off", "select * from narrow;")
    told = capsys.readouterr().out
    assert told.count("-[ RECORD 1 ]-") == 1
    assert told.count("'NULL'                    2  ''") == 1


def test_results_go_to_a_file_and_back(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    type_lines(url, "\\o rows.csv", "select * from narrow;", "\\o", "select * from narrow;")
    assert (tmp_path / "rows.csv").read_text().splitlines()[0] == "K,N,NOTE"
    assert capsys.readouterr().out.count("(2 rows)") == 1


def test_an_error_does_not_end_the_session(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    type_lines(url, "\\nonsense", "SELECT * FROM nothing;", "\\x maybe", "\\d+", "select * from narrow;")
    told = capsys.readouterr()
    for code in ("UNKNOWN_COMMAND", "UNKNOWN_SOURCE", "INVALID_OPTION", "NAME_MISSING"):
        assert f"error[{code}]" in told.err
    assert "(2 rows)" in told.out


def test_commands_are_completed(url: str) -> None:
    with closing(Client(url)) as client:
        names = Names(client)
        names.refresh()
        found = [c.text for c in names.get_completions(Document("\\d"), CompleteEvent())]
        assert {"\\d", "\\dt", "\\ds"} <= set(found)
        assert "ORDERS" in [c.text for c in names.get_completions(Document("SELECT * FROM ord"), CompleteEvent())]


# ---- the same from the command line ------------------------------------------------------------------------------


def test_formats_and_files_from_the_command_line(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "on_terminal", lambda: False)
    run = CliRunner().invoke
    csv = run(app, ["sql", "--url", url, "--format", "csv", "-e", "SELECT * FROM narrow;"])
    assert csv.stdout.splitlines()[0] == "K,N,NOTE"
    told = run(app, ["sql", "--url", url, "-o", "x.parquet", "-e", "SELECT * FROM wide;"])
    assert (told.exit_code, (tmp_path / "x.parquet").exists()) == (0, True)
    assert told.stderr == "1 row in x.parquet\n"
    listed = run(app, ["sql", "--url", url, "-e", "\\d", "-e", "SELECT * FROM narrow;"])
    assert listed.stdout.splitlines()[1].split("\t")[:2] == ["ORDERS", "STREAM"]
    assert listed.stdout.splitlines()[-1] == "'NULL'\t2\t''"
    refused = run(app, ["sql", "--format", "parquet", "-e", "SELECT 1;"])
    assert (refused.exit_code, "error[OUTPUT_MISSING]" in refused.stderr) == (2, True)
