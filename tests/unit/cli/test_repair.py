"""Values repaired by fields and by programs, and what `orion dlq` refuses before it asks a broker."""

from __future__ import annotations

import sys

import pytest
from typer.testing import CliRunner

from orion.cli import app
from orion.cli.repair import Repair
from orion.errors import UserError

PYTHON = f"{sys.executable} -c"


def test_fields_are_set_as_json_or_else_as_text() -> None:
    repair = Repair(["v=7", "name=Åse", "a.b=[1, null]", "t=", 's="7"'])
    assert repair(b'{"v": "x", "a": {"c": 1}}') == (
        '{"v":7,"a":{"c":1,"b":[1,null]},"name":"Åse","t":"","s":"7"}'.encode()
    )


def test_without_a_repair_a_value_stays_as_it_is() -> None:
    assert Repair()(b"\xff") == b"\xff"
    assert Repair()(None) is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (b"{oops", "It isn't JSON"),
        (b"\xff", "It isn't UTF-8"),
        (None, "It isn't JSON"),
        (b"[1]", "the value is not an object"),
        (b'{"a": 1}', "a is not an object, so it has no field b"),
    ],
)
def test_what_has_no_fields_is_refused(value: bytes | None, message: str) -> None:
    with pytest.raises(UserError, match=message) as refused:
        Repair(["a.b=1"])(value)
    assert refused.value.code == "REPAIR_FAILED"


def test_a_program_repairs_and_the_line_end_it_adds_goes() -> None:
    upper = Repair(command=f"{PYTHON} 'import sys; print(sys.stdin.read().strip().upper())'")
    assert upper(b"abc") == b"ABC"
    assert upper(b"abc\n") == b"ABC\n"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("/no/such/program", "can't be run"),
        (f"{PYTHON} 'raise SystemExit(\"no such field\")'", "ended with 1. no such field"),
        (f"{PYTHON} pass", "gave nothing"),
    ],
)
def test_a_program_that_fails_says_so(command: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Repair(command=command)(b"abc")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--set", "v"], "'v' sets no field."),
        (["--set", "a..b=1"], "'a..b=1' sets no field."),
        (["--set", "v=1", "--command", "cat"], "exclude each other"),
        (["--command", " "], "names no program"),
        (["--command", "'cat"], "can't be read"),
        (["--offset", "x:1"], "'x:1' is no place of a letter."),
        (["--offset", "-1"], "'-1' is no place of a letter."),
    ],
)
def test_flags_are_checked_before_anything_else(flags: list[str], message: str) -> None:
    ran = CliRunner().invoke(app, ["dlq", "replay", "OUT", *flags, "--bootstrap", "127.0.0.1:1"])
    assert ran.exit_code == UserError.exit_code, ran.stderr
    assert message in ran.stderr
