"""Which server a command means, wherever it runs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from orion.config import Config, load, state_folder
from orion.errors import ConfigError, Conflict
from orion.hub import cluster_data
from orion.hub.running import (
    LOCK,
    Running,
    bootstrap_of,
    is_claimed,
    locate_server,
    registry_of,
    running_servers,
)


def announced(data: Path, port: int = 1, registry: str | None = None) -> Running:
    running = Running(os.getpid(), f"127.0.0.1:{port}", f"http://127.0.0.1:{port}", "orion", registry)
    running.write(data)
    return running


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without servers, in a folder without data, and nobody on the usual port."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("ORION_WEB__PORT", "0")


def test_the_server_on_the_data_folder_comes_first(tmp_path: Path) -> None:
    announced(tmp_path / "other")
    own = announced(Path(".orion"), 2)
    found = locate_server(load())
    assert found is not None
    assert found.running == own


def test_the_only_server_of_the_user_is_found_from_any_folder(tmp_path: Path) -> None:
    running = announced(tmp_path / "far" / ".orion", registry="http://127.0.0.1:8")
    found = locate_server(load())
    assert found is not None
    assert (found.running, found.data) == (running, tmp_path / "far" / ".orion")
    assert bootstrap_of(load()) == running.bootstrap
    assert registry_of(load()) == "http://127.0.0.1:8"


def test_of_several_servers_one_must_be_named(tmp_path: Path) -> None:
    for number, name in enumerate(("a", "b"), 1):
        announced(tmp_path / name, number)
    with pytest.raises(Conflict) as raised:
        locate_server(load())
    assert raised.value.code == "SEVERAL_SERVERS"
    assert all(str(tmp_path / name) in raised.value.message for name in ("a", "b"))
    assert "--data" in str(raised.value.hint)
    assert bootstrap_of(load(flags={"data": tmp_path / "b"})) == "127.0.0.1:2"


@pytest.mark.parametrize("how", ["flag", "file", "there"])
def test_a_folder_that_was_chosen_is_not_left_for_another(tmp_path: Path, how: str) -> None:
    announced(tmp_path / "other")
    flags = {"data": tmp_path / "mine"} if how == "flag" else {}
    if how == "file":
        Path("orion.yaml").write_text("data: mine\n")
    if how == "there":
        Path(".orion").mkdir()
        (Path(".orion") / "server.lock").touch()
    config = load(flags=flags)
    assert locate_server(config) is None
    with pytest.raises(ConfigError) as raised:
        bootstrap_of(config)
    assert raised.value.code == "NOT_RUNNING"
    assert f"--data {tmp_path / 'other'}" in str(raised.value.hint)


def test_a_server_that_is_starting_is_not_said_to_be_missing(tmp_path: Path) -> None:
    config = load(flags={"data": tmp_path / "mine"})
    with cluster_data.claim(config.data, LOCK):
        assert is_claimed(config.data)
        with pytest.raises(ConfigError) as raised:
            bootstrap_of(config)
        assert raised.value.code == "NOT_READY"
    assert not is_claimed(config.data)


def test_a_server_that_stopped_or_was_killed_is_not_found(tmp_path: Path) -> None:
    announced(tmp_path / "stopped")
    Running.remove(tmp_path / "stopped")
    announced(tmp_path / "killed")
    os.utime(tmp_path / "killed" / "server.json", (0, 0))  # another process has its number now
    assert running_servers() == []
    assert locate_server(load()) is None


def test_the_note_of_a_folder_that_is_gone_goes_too(tmp_path: Path) -> None:
    announced(tmp_path / "gone")
    for file in (tmp_path / "gone").iterdir():
        file.unlink()
    (tmp_path / "gone").rmdir()
    assert running_servers() == []
    assert list((state_folder() / "servers").iterdir()) == []


def test_a_server_runs_though_its_user_has_no_place_for_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    own = announced(Path(".orion"))
    assert Running.read(Path(".orion")) == own
    Running.remove(Path(".orion"))
    assert running_servers() == []


ORION = {
    "/info": {"KsqlServerInfo": {"version": "1", "kafkaClusterId": "C", "ksqlServiceId": "orion"}},
    "/v3/clusters/C/brokers": {"data": [{"host": "h1", "port": 1}, {"host": "h2", "port": 2}]},
}


@contextmanager
def answering(pages: dict[str, object]) -> Iterator[Config]:
    """Settings whose port has a server with these answers."""

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path in pages
            self.send_response(200 if known else 404)
            self.end_headers()
            self.wfile.write(json.dumps(pages.get(self.path, {})).encode())

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield load(flags={"web.port": server.server_port})
    finally:
        server.shutdown()
        server.server_close()


def test_else_whoever_answers_on_the_usual_port() -> None:
    with answering(ORION) as config:
        found = locate_server(config)
        assert found is not None
        assert (found.data, found.running.url) == (None, f"http://127.0.0.1:{config.web.port}")
        assert bootstrap_of(config) == "h1:1,h2:2"


def test_ksqldb_on_its_own_port_is_no_orion() -> None:
    with answering({"/info": ORION["/info"]}) as config:
        assert locate_server(config) is None


def test_something_else_on_the_port_is_no_orion() -> None:
    with answering({"/info": ["what"]}) as config:
        assert locate_server(config) is None


def test_a_note_of_the_user_counts_before_the_port(tmp_path: Path) -> None:
    running = announced(tmp_path / "far")
    with answering(ORION) as config:
        found = locate_server(config)
        assert found is not None
        assert found.running == running
