"""Connectors by Kafka Connect's API on the whole platform: made, watched, paused, moved and dropped over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from orion.app import Orion
from orion.cli import app
from orion.web.server import Server
from orion.web.sockets import bound
from tests.scenarios.conftest import Await

PATIENCE = 240.0
pytestmark = pytest.mark.timeout(900)  # streams start again many times here

STREAM = "CREATE STREAM {0} (k STRING KEY, v INT) WITH (kafka_topic='{0}', value_format='JSON', partitions=1);"


class Door:
    """Calls that say what they expect."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._http = httpx.Client(base_url=f"{url}/connect", timeout=PATIENCE)

    def __call__(self, method: str, path: str, body: Any = None, *, code: int = 200) -> Any:
        answer = self._http.request(method, path, json=body)
        assert answer.status_code == code, answer.text
        return answer.json() if answer.content else None

    def close(self) -> None:
        self._http.close()


@pytest.fixture(scope="module")
def call(orion: Orion) -> Iterator[Door]:
    with bound("127.0.0.1", 0) as sock:
        server = Server.start(orion, sock)
        door = Door(server.url)
        yield door
        door.close()
        server.stop()


@pytest.fixture
def rows(tmp_path: Path) -> Callable[[], int]:
    """How many rows the lake has, by its own log: that is quick, and asked for often."""

    def count() -> int:
        files = (tmp_path / "lake" / "_delta_log").glob("*.json")
        lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
        added = [action["add"] for action in map(json.loads, lines) if "add" in action]
        return sum(json.loads(one["stats"])["numRecords"] for one in added)

    return count


def insert(orion: Orion, stream: str, *values: int) -> None:
    orion.execute("".join(f"INSERT INTO {stream} (k, v) VALUES ('k{v}', {v});" for v in values))


def delta(topic: str, folder: Path, **more: Any) -> dict[str, Any]:
    return {"connector.class": "DeltaSinkConnector", "topics": topic, "path": str(folder / "lake"), **more}


def test_a_connector_s_life(call: Door, orion: Orion, until: Await, tmp_path: Path, rows: Callable[[], int]) -> None:
    orion.execute(STREAM.format("cra"))
    insert(orion, "cra", 1, 2)
    made = call("POST", "/connectors", {"name": "cra-lake", "config": delta("cra", tmp_path)}, code=201)
    assert made["config"] == delta("cra", tmp_path) | {"name": "cra-lake"}
    assert (made["type"], made["tasks"]) == ("sink", [{"connector": "cra-lake", "task": 0}])
    until(lambda: rows() == 2, PATIENCE)
    until(lambda: call("GET", "/connectors/cra-lake/status")["connector"]["state"] == "RUNNING", PATIENCE)
    assert [t["state"] for t in call("GET", "/connectors/cra-lake/status")["tasks"]] == ["RUNNING"]
    assert call("GET", "/connectors/cra-lake/topics") == {"cra-lake": {"topics": ["cra"]}}
    until(lambda: call("GET", "/connectors/cra-lake/offsets") == at("cra", 2), PATIENCE)

    call("PUT", "/connectors/cra-lake/pause", code=202)
    assert call("GET", "/connectors/cra-lake/status")["connector"]["state"] == "PAUSED"
    insert(orion, "cra", 3)
    assert call("GET", "/connectors/cra-lake/offsets") == at("cra", 2)
    call("PUT", "/connectors/cra-lake/resume", code=202)
    until(lambda: rows() == 3, PATIENCE)

    listed = orion.execute("SHOW CONNECTORS;")[0]["connectors"]
    assert [c["name"] for c in listed if c["name"] == "cra-lake"] == ["cra-lake"]
    call("DELETE", "/connectors/cra-lake", code=204)
    assert "cra-lake" not in call("GET", "/connectors")
    assert call("GET", "/connectors/cra-lake", code=404)["error_code"] == 404


def test_it_starts_again_from_where_it_was(
    call: Door, orion: Orion, until: Await, tmp_path: Path, rows: Callable[[], int]
) -> None:
    orion.execute(STREAM.format("crf"))
    insert(orion, "crf", 1)
    call("POST", "/connectors", {"name": "crf", "config": delta("crf", tmp_path)}, code=201)
    until(lambda: rows() == 1, PATIENCE)
    assert call("POST", "/connectors/crf/restart?includeTasks=true", code=202)["name"] == "crf"
    call("POST", "/connectors/crf/tasks/0/restart", code=204)
    call("POST", "/connectors/crf/tasks/1/restart", code=404)
    insert(orion, "crf", 2)
    until(lambda: rows() == 2, PATIENCE)
    call("DELETE", "/connectors/crf", code=204)


def at(topic: str, offset: int | str) -> dict[str, Any]:
    place = {"kafka_topic": topic, "kafka_partition": 0}
    return {"offsets": [{"partition": place, "offset": {"kafka_offset": offset}}]}


def test_offsets_are_moved(call: Door, orion: Orion, until: Await, tmp_path: Path, rows: Callable[[], int]) -> None:
    orion.execute(STREAM.format("crb") + STREAM.format("crb2"))
    insert(orion, "crb", 1, 2, 3)
    insert(orion, "crb2", 4)
    call("PUT", "/connectors/crb/config", delta("crb,crb2", tmp_path), code=201)
    until(lambda: rows() == 4, PATIENCE)
    until(
        lambda: call("GET", "/connectors/crb/offsets")["offsets"] == at("crb", 3)["offsets"] + at("crb2", 1)["offsets"],
        PATIENCE,
    )
    assert call("DELETE", "/connectors/crb/offsets", code=400)["error_code"] == 400
    call("PUT", "/connectors/crb/stop", code=202)
    assert call("GET", "/connectors/crb/status")["tasks"] == []
    for wrong in (
        at("crbb", 2),
        {"offsets": [{"partition": {"kafka_topic": "crb", "kafka_partition": 7}}]},
        at("crb", "x"),
    ):
        assert call("PATCH", "/connectors/crb/offsets", wrong, code=400)["code"] == "INVALID_OFFSETS"
    call("PATCH", "/connectors/crb/offsets", at("crb", 2))
    call("PUT", "/connectors/crb/resume", code=202)
    until(lambda: rows() == 5, PATIENCE)
    call("PUT", "/connectors/crb/stop", code=202)
    call("DELETE", "/connectors/crb/offsets")
    call("PUT", "/connectors/crb/resume", code=202)
    until(lambda: rows() == 9, PATIENCE)
    call("DELETE", "/connectors/crb", code=204)


def test_options_are_changed_and_it_goes_on(
    call: Door, orion: Orion, until: Await, tmp_path: Path, rows: Callable[[], int]
) -> None:
    orion.execute(STREAM.format("crc"))
    insert(orion, "crc", 1)
    call("POST", "/connectors", {"name": "crc", "config": delta("crc", tmp_path), "initial_state": "PAUSED"}, code=201)
    assert call("GET", "/connectors/crc/status")["connector"]["state"] == "PAUSED"
    call("PUT", "/connectors/crc/resume", code=202)
    until(lambda: rows() == 1, PATIENCE)
    config = call("GET", "/connectors/crc/config")
    changed = call("PUT", "/connectors/crc/config", config | {"errors.tolerance": "none"})
    assert changed["config"]["errors.tolerance"] == "none"
    insert(orion, "crc", 2)
    until(lambda: rows() == 2, PATIENCE)
    assert "errors.tolerance" not in call("PATCH", "/connectors/crc/config", {"errors.tolerance": None})["config"]
    assert call("PUT", "/connectors/crc/config", config | {"pth": "/x"}, code=400)["code"] == "UNKNOWN_OPTION"
    until(lambda: call("GET", "/connectors/crc/status")["connector"]["state"] == "RUNNING", PATIENCE)
    insert(orion, "crc", 3)
    until(lambda: rows() == 3, PATIENCE)
    call("DELETE", "/connectors/crc", code=204)


def test_what_can_t_be_is_refused_and_leaves_nothing(call: Door, orion: Orion, tmp_path: Path) -> None:
    orion.execute(STREAM.format("crd"))

    def refused(config: dict[str, Any]) -> Any:
        return call("POST", "/connectors", {"name": "crd", "config": config}, code=400)

    right = delta("crd", tmp_path)
    told = refused(right | {"partition.buy": "k"})
    assert (told["code"], "partition.by" in told["message"]) == ("UNKNOWN_OPTION", True)
    assert "No stream or table" in refused(right | {"topics": "nowhere"})["message"]
    assert refused(right | {"connector.class": "PondSinkConnector"})["code"] == "UNKNOWN_CONNECTOR"
    assert refused({k: v for k, v in right.items() if k != "path"})["code"] == "INVALID_CONNECTOR"
    assert "crd" not in call("GET", "/connectors")
    call("POST", "/connectors", {"name": "crd", "config": right}, code=201)
    assert call("POST", "/connectors", {"name": "crd", "config": right}, code=409)["error_code"] == 409
    call("DELETE", "/connectors/crd", code=204)


def test_plugins_and_validation(call: Door, tmp_path: Path) -> None:
    plugins = {p["class"]: p["type"] for p in call("GET", "/connector-plugins")}
    assert plugins["DeltaSinkConnector"] == "sink"
    options = {o["name"] for o in call("GET", "/connector-plugins/delta/config")}
    assert {"name", "connector.class", "topics", "path", "partition.by"} <= options
    validate = "/connector-plugins/DeltaSinkConnector/config/validate"
    assert call("PUT", validate, delta("t", tmp_path) | {"name": "x", "tasks.max": 4})["error_count"] == 0
    found = call("PUT", validate, {"name": "x", "topics": "t", "pth": "/x"})
    wrong = {c["value"]["name"] for c in found["configs"] if c["value"]["errors"]}
    assert wrong == {"connector.class", "path", "pth"}


def test_sql_and_http_see_the_same(call: Door, orion: Orion, tmp_path: Path) -> None:
    orion.execute(
        STREAM.format("cre") + "CREATE SINK CONNECTOR cre_lake WITH ('connector.class'='delta', 'topics'='cre', "
        f"'path'='{tmp_path}/lake');"
    )
    assert call("GET", "/connectors/cre_lake")["name"] == "CRE_LAKE"
    ran = CliRunner().invoke(app, ["connectors", "show", "cre_lake", "--url", call.url])
    assert (ran.exit_code, ran.stdout.splitlines()[0]) == (0, "name\tCRE_LAKE")
    ran = CliRunner().invoke(app, ["connectors", "drop", "cre_lake", "--yes", "--url", call.url])
    assert (ran.exit_code, "CRE_LAKE" in orion.engine.catalog.connectors) == (0, False)


def test_a_base_url_of_each_kind(call: Door) -> None:
    cluster = call("GET", "/")["kafka_cluster_id"]
    assert httpx.get(f"{call.url}/").json()["kafka_cluster_id"] == cluster
    page = httpx.get(f"{call.url}/", headers={"accept": "application/vnd.ksql.v1+json"}, follow_redirects=True)
    assert page.json()["KsqlServerInfo"]["kafkaClusterId"] == cluster
    assert call("GET", "/health")["status"] == "healthy"
