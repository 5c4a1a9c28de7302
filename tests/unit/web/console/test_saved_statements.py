"""Statements under a name: kept over a restart, without secrets, never written over when unreadable."""

from __future__ import annotations

from pathlib import Path

import pytest

from orion.errors import ExternalError, UserError
from orion.web.console.questions.saved_statements import SavedStatements


def test_what_is_saved_is_there_after_a_restart(tmp_path: Path) -> None:
    SavedStatements(tmp_path).save(" mine ", "SHOW STREAMS;")
    saved = SavedStatements(tmp_path)
    assert saved.read() == {"mine": "SHOW STREAMS;"}
    saved.save("mine", "SHOW TABLES;")
    assert saved.read() == {"mine": "SHOW TABLES;"}
    saved.delete("mine")
    assert saved.read() == {}


def test_secrets_are_not_written(tmp_path: Path) -> None:
    SavedStatements(tmp_path).save(
        "sink", "CREATE SINK CONNECTOR c WITH ('connector.class'='jdbc', 'connection.password'='hunter2');"
    )
    assert "hunter2" not in (tmp_path / "saved-statements.json").read_text()


@pytest.mark.parametrize("name", ["", "   ", "a\x00b", "a\nb", "n" * 81])
def test_a_name_is_one_that_can_be_shown(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError):
        SavedStatements(tmp_path).save(name, "SHOW STREAMS;")


@pytest.mark.parametrize("content", ["{", "[1]", '{"a": 1}'])
def test_a_damaged_file_is_told_and_stays(tmp_path: Path, content: str) -> None:
    file = tmp_path / "saved-statements.json"
    file.write_text(content)
    with pytest.raises(ExternalError):
        SavedStatements(tmp_path).save("mine", "SHOW STREAMS;")
    assert file.read_text() == content
