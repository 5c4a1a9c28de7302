"""How every command ends, and how the commands are put together. No broker."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import orion.cli
from orion.cli import Commands, app, main
from orion.errors import (
    BindError,
    ConfigError,
    Conflict,
    ExternalError,
    Forbidden,
    InternalError,
    NotFound,
    OrionError,
    Span,
    UserError,
)

COMMAND = re.compile(r"^(app = typer\.Typer\(|def command\()", re.MULTILINE)


def ending(end: Callable[[], object]) -> tuple[int, str]:
    """Exit code and stderr of a command that ends so."""
    tried = typer.Typer(cls=Commands, pretty_exceptions_enable=False)

    @tried.callback()
    def group() -> None: ...

    @tried.command()
    def command() -> None:
        end()

    result = CliRunner().invoke(tried, ["command"])
    return result.exit_code, result.stderr


def raising(error: BaseException) -> Callable[[], object]:
    def end() -> object:
        raise error

    return end


def test_every_module_is_a_command_and_every_command_a_module() -> None:
    folder = Path(orion.cli.__file__).parent
    others = [file for file in folder.glob("*.py") if file.stem != "__init__"]
    commands = [file.stem for file in others if COMMAND.search(file.read_text(encoding="utf-8"))]
    assert sorted(orion.cli.NAMES) == sorted(commands)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UserError("X", "m"), 2),
        (NotFound("X", "m"), 3),
        (Conflict("X", "m"), 4),
        (ExternalError("X", "m"), 69),
        (InternalError("X", "m"), 70),
        (Forbidden("X", "m"), 77),
        (ConfigError("X", "m"), 78),
    ],
)
def test_an_error_ends_with_the_code_of_its_class(error: OrionError, code: int) -> None:
    assert ending(raising(error)) == (code, "error[X]: m\n")


def test_a_hint_stands_under_the_message() -> None:
    code, text = ending(raising(NotFound("TOPIC_NOT_FOUND", "There is no topic a.", hint="Did you mean b?")))
    assert code == 3
    assert text == "error[TOPIC_NOT_FOUND]: There is no topic a.\n  hint: Did you mean b?\n"


def test_an_error_in_sql_shows_the_place() -> None:
    error = BindError("UNKNOWN_COLUMN", "No column b.", span=Span(7, 8), text="SELECT b FROM s;", hint="Try a.")
    _, text = ending(raising(error))
    assert text.splitlines() == [
        "error[UNKNOWN_COLUMN]: No column b.",
        "  1 | SELECT b FROM s;",
        "             ^",
        "  hint: Try a.",
    ]


def test_ctrl_c_ends_130_without_a_word() -> None:
    assert ending(raising(KeyboardInterrupt())) == (130, "")


def test_a_closed_pipe_ends_quietly() -> None:
    assert ending(raising(BrokenPipeError())) == (141, "")


def test_a_mistake_of_ours_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ORION_TRACEBACK", raising=False)
    code, text = ending(raising(ZeroDivisionError("odd")))
    assert code == 70
    assert text.startswith("error[INTERNAL]: ZeroDivisionError: odd\n")
    assert "Traceback" not in text


def test_main_returns_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("orion ")
    assert main(["no-such-command"]) == 2
    assert "no-such-command" in capsys.readouterr().err


def test_no_cluster_is_said_with_a_hint(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["--data", str(tmp_path), "topics", "list"])
    assert result.exit_code == 78
    assert result.stderr == (
        f"error[NOT_RUNNING]: No Orion runs on {tmp_path}.\n  hint: start one with `orion up`, or give --bootstrap\n"
    )


def test_an_address_where_nobody_listens_ends_69() -> None:
    result = CliRunner().invoke(app, ["topics", "list", "--bootstrap", "127.0.0.1:1"])
    assert result.exit_code == 69
    assert "error[BROKER_UNREACHABLE]" in result.stderr


def test_help_loads_nothing_heavy() -> None:
    heavy = ("confluent_kafka", "pyspark", "pydantic", "fastapi", "duckdb", "sqlglot", "prompt_toolkit", "httpx")
    code = f"import orion.cli, sys; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
