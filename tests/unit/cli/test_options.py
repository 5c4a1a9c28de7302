"""What flags mean, and which don't go together. No broker."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from orion.cli import app
from orion.cli.consume import iso, shown
from orion.cli.topics import duration_ms, topic_config
from orion.errors import UserError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7d", 604_800_000),
        ("12h", 43_200_000),
        ("90m", 5_400_000),
        ("5s", 5000),
        ("5ms", 5),
        ("5", 5),
        ("2W", 1_209_600_000),
    ],
)
def test_a_duration_is_read(text: str, expected: int) -> None:
    assert duration_ms(text) == expected


def test_forever_is_minus_one() -> None:
    assert duration_ms("forever") == duration_ms("-1") == -1


@pytest.mark.parametrize("text", ["", "7 days", "1.5h", "-2", "d"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(UserError) as raised:
        duration_ms(text)
    assert raised.value.code == "INVALID_DURATION"


def test_compaction_and_retention_together_do_both() -> None:
    assert topic_config(None, None, True) == {"cleanup.policy": "compact"}
    assert topic_config(None, "1s", True) == {"cleanup.policy": "compact,delete", "retention.ms": "1000"}
    assert topic_config(None, None, False) == {"cleanup.policy": "delete"}


def test_a_named_setting_beats_the_flag() -> None:
    assert topic_config(["retention.ms=5", "a = b=c"], "1s", None) == {"retention.ms": "5", "a": "b=c"}


@pytest.mark.parametrize("pair", ["retention.ms", "=5"])
def test_a_setting_needs_a_key_and_a_value(pair: str) -> None:
    with pytest.raises(UserError):
        topic_config([pair], None, None)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["consume", "t", "--commit", "sync"], "INVALID_OPTIONS"),
        (["consume", "t", "--group", "g", "--partition", "0"], "INVALID_OPTIONS"),
        (["consume", "t", "--group", "g", "--from", "offset:3"], "INVALID_OPTIONS"),
        (["consume", "t", "--from", "shift:-1"], "INVALID_POSITION"),
        (["consume", "t", "--from", "nowhere"], "INVALID_POSITION"),
        (["consume", "t", "--from", "time:nowhere"], "INVALID_TIME"),
        (["produce", "t", "--key", "a", "--key-field", "b"], "INVALID_OPTIONS"),
        (["produce", "t", "--header", "a"], "INVALID_HEADER"),
        (["produce", "t", "--timestamp", "noon"], "INVALID_TIME"),
        (["produce", "t", "--file", "/no/such/file"], "FILE_UNREADABLE"),
        (["sql", "--file", "/no/such/file"], "FILE_UNREADABLE"),
        (["up", "--file", "/no/such/file"], "FILE_UNREADABLE"),
        (["schemas", "register", "s", "/no/such/file.avsc"], "FILE_UNREADABLE"),
        (["sql", "--format", "xml", "-e", "SELECT 1;"], "UNKNOWN_FORMAT"),
        (["topics", "create", "t", "--retention", "long"], "INVALID_DURATION"),
        (["topics", "alter", "t"], "NOTHING_TO_DO"),
        (["groups", "reset", "g", "t", "--to", "there"], "INVALID_POSITION"),
    ],
)
def test_a_wrong_option_is_refused_before_any_broker_is_asked(arguments: list[str], code: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2, result.output
    assert f"error[{code}]" in result.stderr


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "null"), (b"", ""), (b"text", "text"), (b"a\nb\x1b", "a\\nb\\x1b"), (b"\xff\x00", "base64:/wA=")],
)
def test_bytes_are_shown_on_one_line(value: bytes | None, text: str) -> None:
    assert shown(value, "base64") == text


def test_bytes_can_be_shown_as_hex() -> None:
    assert shown(b"\xff\x00", "hex") == "hex:ff00"


def test_times_are_shown_in_utc() -> None:
    assert iso(1_767_225_600_250) == "2026-01-01T00:00:00.250Z"
    assert iso(None) == "-"
    assert iso(2**62) == str(2**62)
