"""`orion connectors` over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from typer.testing import CliRunner

from orion.cli import app
from tests.connectors import Shelf, serving
from tests.services.conftest import Ran

LAKE = {"connector.class": "LakeSinkConnector", "topics": "a,b", "path": "/lake"}
SETS = [part for name, value in LAKE.items() for part in ("--set", f"{name}={value}")]


class Run(Protocol):
    def __call__(self, *arguments: str, stdin: str = "", code: int = 0) -> Ran: ...


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def run(shelf: Shelf) -> Iterator[Run]:
    with serving(shelf) as url:

        def run(*arguments: str, stdin: str = "", code: int = 0) -> Ran:
            result = CliRunner().invoke(app, ["connectors", *arguments, "--url", url], input=stdin)
            ran = Ran(result.exit_code, result.stdout, result.stderr)
            assert ran.code == code, ran
            return ran

        yield run


def file(folder: Path, content: Any) -> str:
    path = folder / "lake.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def test_a_connector_s_life(run: Run, shelf: Shelf) -> None:
    assert run("create", "--name", "lake", *SETS).err == "created lake\n"
    assert run("list").rows == [["lake", "sink", "LakeSinkConnector", "RUNNING", "2", "2", "-"]]
    for verb, state in (("pause", "PAUSED"), ("stop", "STOPPED"), ("resume", "RUNNING")):
        run(verb, "lake")
        assert run("list", "--json").document[0]["state"] == state
    shelf.fail("lake", 1, "no such table\n\tat java.lang")
    assert run("list").rows[0][3:] == ["RUNNING", "1", "2", "no such table"]
    assert "1\tFAILED" in run("show", "lake").out
    run("restart", "lake", "--task", "1")
    run("restart", "lake", "--only-failed")
    assert shelf.calls == [("restart", "lake", True, True)]
    assert run("drop", "lake", code=2).err.startswith("error[")  # nobody is there to be asked
    run("drop", "lake", "--yes")
    assert run("list").rows == []


@pytest.mark.parametrize("content", [{"name": "lake", "config": LAKE}, {"name": "lake", **LAKE}])
def test_a_connector_from_a_file(run: Run, shelf: Shelf, tmp_path: Path, content: Any) -> None:
    path = file(tmp_path, content)
    made = run("create", path, "--set", "mode=upsert", "--state", "paused", "--json").document
    assert made["config"] == LAKE | {"name": "lake", "mode": "upsert"}
    assert run("show", "lake", "--json").document["status"]["connector"]["state"] == "PAUSED"
    assert run("create", path, code=4).err.startswith("error[CONNECTOR_EXISTS]: Connector lake already exists")
    run("create", path, "--replace")
    assert "mode" not in shelf.kept["lake"].config
    run("create", "-", "--name", "pond", stdin=json.dumps(LAKE))
    assert shelf.names() == ["lake", "pond"]


def test_what_can_be_made(run: Run) -> None:
    assert run("plugins").rows[0] == ["LakeSinkConnector", "sink", "1.2.3"]
    options = {row[0]: row[1:] for row in run("plugins", "LakeSink").rows}
    assert options["path"] == ["STRING", "yes", "-", "folder of the table"]
    assert run("plugins", "pond", code=3).err.startswith("error[UNKNOWN_CONNECTOR]")


def test_validate_ends_with_one_when_something_is_wrong(run: Run, shelf: Shelf) -> None:
    assert run("validate", "--name", "lake", *SETS).err == "nothing is wrong\n"
    wrong = run("validate", "--name", "lake", *SETS, "--set", "pth=/x", code=1)
    assert (wrong.rows, wrong.err) == ([["pth", "is no option."]], "1 wrong\n")
    assert run("validate", "--name", "lake", *SETS, "--json").document["error_count"] == 0
    assert shelf.names() == []


def test_errors_have_a_code_a_hint_and_an_exit_code(run: Run, tmp_path: Path) -> None:
    run("create", "--name", "lake", *SETS)
    assert run("show", "lakes", code=3).err.splitlines() == [
        "error[CONNECTOR_NOT_FOUND]: Connector lakes not found.",
        "  hint: Did you mean lake?",
    ]
    assert "NAME_MISSING" in run("create", *SETS, code=2).err
    assert "INVALID_OPTION" in run("create", "--name", "x", "--set", "path", code=2).err
    assert "INVALID_JSON" in run("create", file(tmp_path, ["x"]), code=2).err
    assert "INVALID_JSON" in run("create", "-", stdin="{", code=2).err
    assert "FILE_UNREADABLE" in run("create", str(tmp_path / "none.json"), code=2).err
    assert "INVALID_CONNECTOR" in run("validate", "--name", "x", code=2).err


def test_a_server_that_is_not_there() -> None:
    result = CliRunner().invoke(app, ["connectors", "list", "--url", "http://127.0.0.1:9"])
    assert (result.exit_code, "error[SERVER_UNREACHABLE]" in result.stderr) == (69, True)
