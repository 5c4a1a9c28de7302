"""Kafka Connect's API as its clients meet it: paths, statuses, shapes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from orion.errors import ExternalError, InternalError
from orion.options import HIDDEN
from tests.connectors import Shelf, application

LAKE = {"connector.class": "LakeSinkConnector", "topics": "a,b", "path": "/lake"}
WORKER = "testserver:80"


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def http(shelf: Shelf) -> Iterator[TestClient]:
    with TestClient(application(shelf), follow_redirects=False) as client:
        yield client


def make(http: TestClient, name: str = "lake", **config: Any) -> Any:
    answer = http.post("/connectors", json={"name": name, "config": LAKE | config})
    assert answer.status_code == 201, answer.text
    return answer.json()


# ---- the server ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/connect", "/connect/"])
@pytest.mark.parametrize("accept", ["application/json", "*/*", ""])
def test_the_server_says_which_api_it_speaks(http: TestClient, path: str, accept: str) -> None:
    found = http.get(path, headers={"accept": accept}).json()
    assert found == {"version": "4.3.1", "commit": "orion-0.1.0", "kafka_cluster_id": "cluster-1"}


@pytest.mark.parametrize("accept", ["text/html,application/xhtml+xml,*/*;q=0.8", "application/vnd.ksql.v1+json"])
def test_browsers_and_ksqldb_s_clients_are_led_to_info(http: TestClient, accept: str) -> None:
    answer = http.get("/", headers={"accept": accept})
    assert (answer.status_code, answer.headers["location"]) == (307, "/info")


def test_it_is_well(http: TestClient) -> None:
    assert http.get("/health").json()["status"] == http.get("/connect/health").json()["status"] == "healthy"


# ---- creating and changing -----------------------------------------------------------------------------------------


def test_a_connector_is_made_and_told_whole(http: TestClient) -> None:
    answer = http.post("/connectors", json={"name": "lake", "config": LAKE | {"tasks.max": 1, "mode": "append"}})
    assert (answer.status_code, answer.headers["location"]) == (201, "/connectors/lake")
    assert answer.json() == http.get("/connectors/lake").json()
    assert answer.json() == {
        "name": "lake",
        "config": LAKE | {"tasks.max": "1", "mode": "append", "name": "lake"},
        "tasks": [{"connector": "lake", "task": 0}, {"connector": "lake", "task": 1}],
        "type": "sink",
    }
    assert http.get("/connectors").json() == ["lake"]
    assert http.get("/connectors/lake/config").json() == answer.json()["config"]


def test_the_whole_api_stands_under_a_prefix_too(http: TestClient) -> None:
    answer = http.post("/connect/connectors", json={"name": "a b", "config": LAKE})
    assert answer.headers["location"] == "/connect/connectors/a%20b"
    assert http.get(answer.headers["location"]).json()["name"] == "a b"
    assert http.get("/connect/connectors/a%20b/status").json() == http.get("/connectors/a%20b/status").json()


@pytest.mark.parametrize(("state", "tasks"), [("RUNNING", 2), ("paused", 2), ("STOPPED", 0)])
def test_a_connector_begins_in_the_state_it_is_given(http: TestClient, state: str, tasks: int) -> None:
    made = http.post("/connectors", json={"name": "lake", "config": LAKE, "initial_state": state})
    assert (made.status_code, len(made.json()["tasks"])) == (201, tasks)
    assert http.get("/connectors/lake/status").json()["connector"]["state"] == state.upper()


def test_a_name_that_is_taken_is_a_conflict(http: TestClient) -> None:
    make(http)
    answer = http.post("/connectors", json={"name": "lake", "config": LAKE})
    assert answer.status_code == 409
    assert answer.json() == {
        "error_code": 409,
        "message": "Connector lake already exists DROP it first.",
        "code": "CONNECTOR_EXISTS",
        "hint": "DROP it first.",
    }


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "The request's body is no JSON."),
        (b"{", "The request's body is no JSON."),
        (b"[]", "The request's body is no object."),
        (b'{"config": {}}', "A connector needs a name."),
        (b'{"name": "x", "inital_state": "PAUSED"}', "There is no field 'inital_state'. Did you mean initial_state?"),
        (b'{"name": "x", "initial_state": "HAPPY", "config": {}}', "'HAPPY' is no state to begin in."),
        (b'{"name": "x", "config": []}', "'connector.class' is missing."),
        (b'{"name": "x", "config": ["y"]}', "A connector's configuration is an object."),
        (b'{"name": "x", "config": {"topics": ["a"]}}', "'topics' is no text."),
        (b'{"name": "x", "config": {"name": "y"}}', "(y) doesn't match connector name in the URL (x)."),
    ],
)
def test_a_request_that_is_none_is_refused(http: TestClient, content: bytes, told: str) -> None:
    answer = http.post("/connectors", content=content)
    assert (answer.status_code, answer.json()["error_code"]) == (400, 400)
    assert told in answer.json()["message"]


def test_a_class_that_there_is_not_is_a_wrong_option_and_no_missing_connector(http: TestClient) -> None:
    wrong = LAKE | {"connector.class": "PondSinkConnector"}
    validate = "/connector-plugins/LakeSink/config/validate"
    make(http)
    for answer in (
        http.post("/connectors", json={"name": "pond", "config": wrong}),
        http.put("/connectors/lake/config", json=wrong),
        http.patch("/connectors/lake/config", json=wrong),
        http.put(validate, json=wrong),
    ):
        assert (answer.status_code, answer.json()["code"]) == (400, "UNKNOWN_CONNECTOR")


def test_put_makes_or_changes(http: TestClient, shelf: Shelf) -> None:
    assert http.put("/connectors/lake/config", json=LAKE).status_code == 201
    http.put("/connectors/lake/pause")
    answer = http.put("/connectors/lake/config", json=LAKE | {"mode": "upsert", "path": None, "name": "lake"})
    assert answer.status_code == 400
    answer = http.put("/connectors/lake/config", json=LAKE | {"mode": "upsert"})
    assert (answer.status_code, answer.json()["config"]["mode"]) == (200, "upsert")
    assert http.get("/connectors/lake/status").json()["connector"]["state"] == "PAUSED"
    assert http.put("/connectors/lake/config", json=LAKE | {"name": "pond"}).status_code == 400


def test_patch_sets_and_takes_away(http: TestClient, shelf: Shelf) -> None:
    make(http, mode="upsert", **{"aws.secret.access.key": "hush"})
    answer = http.patch("/connectors/lake/config", json={"mode": None, "path": "/pond"})
    assert (answer.status_code, answer.json()["config"].get("mode")) == (200, None)
    assert shelf.kept["lake"].config == LAKE | {"name": "lake", "path": "/pond", "aws.secret.access.key": "hush"}
    assert http.patch("/connectors/nobody/config", json={}).status_code == 404


def test_a_secret_is_never_shown_and_survives_being_sent_back(http: TestClient, shelf: Shelf) -> None:
    made = make(http, **{"aws.secret.access.key": "hush", "path": "s3://user:hush@host/lake"})
    everything = [made, *(http.get(f"/connectors{p}").json() for p in ("?expand=info", "/lake", "/lake/tasks"))]
    assert "hush" not in str(everything)
    assert made["config"]["aws.secret.access.key"] == HIDDEN
    http.put("/connectors/lake/config", json=made["config"] | {"mode": "upsert"})
    kept = shelf.kept["lake"].config
    assert (kept["aws.secret.access.key"], kept["path"], kept["mode"]) == ("hush", "s3://user:hush@host/lake", "upsert")


def test_what_is_hidden_can_t_be_meant_elsewhere(http: TestClient) -> None:
    made = make(http, **{"aws.secret.access.key": "hush"})
    answer = http.post("/connectors", json={"name": "copy", "config": made["config"] | {"name": "copy"}})
    assert (answer.status_code, answer.json()["code"]) == (400, "HIDDEN_VALUE")
    answer = http.put("/connectors/lake/config", json=made["config"] | {"path": f"s3://{HIDDEN}@other/lake"})
    assert (answer.status_code, answer.json()["code"]) == (400, "HIDDEN_VALUE")


def test_a_connector_goes_for_good(http: TestClient) -> None:
    make(http)
    assert (http.delete("/connectors/lake").status_code, http.get("/connectors").json()) == (204, [])
    assert http.delete("/connectors/lake").status_code == 404


# ---- names ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a/b", "a b", "ä%2F", "x?y=1", "A.b-c_d", "status"])
def test_a_name_may_have_any_characters(http: TestClient, name: str) -> None:
    from urllib.parse import quote

    make(http, name)
    path = f"/connectors/{quote(name, safe='')}"
    assert http.get(path).json()["name"] == name
    assert http.get(f"{path}/status").json()["name"] == name
    assert http.put(f"{path}/pause").status_code == 202
    assert http.delete(f"{path}/").status_code == 204


def test_a_name_that_sql_wrote_is_found_in_either_case(http: TestClient, shelf: Shelf) -> None:
    make(http, "LAKE")
    assert http.get("/connectors/lake").json()["name"] == "LAKE"
    assert http.put("/connectors/lake/config", json=LAKE | {"name": "lake"}).status_code == 200
    assert list(shelf.kept) == ["LAKE"]
    make(http, "lake", mode="upsert")
    assert http.get("/connectors/lake/config").json()["mode"] == "upsert"
    assert http.get("/connectors/Lake").status_code == 404


def test_a_slash_at_the_end_says_nothing(http: TestClient) -> None:
    assert http.post("/connectors/", json={"name": "lake", "config": LAKE}).status_code == 201
    assert http.get("/connectors/").json() == ["lake"]
    assert http.get("/connectors/lake/").status_code == 200


# ---- how they are doing --------------------------------------------------------------------------------------------


def test_status_names_states_workers_and_reasons(http: TestClient, shelf: Shelf) -> None:
    make(http)
    shelf.fail("lake", 1, "the table is gone")
    assert http.get("/connectors/lake/status").json() == {
        "name": "lake",
        "connector": {"state": "RUNNING", "worker_id": WORKER},
        "tasks": [
            {"id": 0, "state": "RUNNING", "worker_id": WORKER},
            {"id": 1, "state": "FAILED", "worker_id": WORKER, "trace": "the table is gone"},
        ],
        "type": "sink",
    }
    shelf.fail("lake", 0, "so is the folder")
    whole = http.get("/connectors/lake/status").json()["connector"]
    assert whole == {"state": "FAILED", "worker_id": WORKER, "trace": "so is the folder"}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("STARTING", "UNASSIGNED"), ("WAITING", "RESTARTING"), ("RESTARTING", "RESTARTING"), ("ERROR", "FAILED")],
)
def test_states_have_kafka_connect_s_names(http: TestClient, shelf: Shelf, ours: str, theirs: str) -> None:
    make(http)
    shelf.fail("lake", 0, "why", ours)
    task = http.get("/connectors/lake/tasks/0/status").json()
    assert task == {"id": 0, "state": theirs, "worker_id": WORKER, "trace": "why"}


def test_connectors_are_told_at_once_with_what_is_asked_for(http: TestClient) -> None:
    make(http)
    both = http.get("/connectors?expand=status&expand=info&expand=weather").json()
    assert set(both["lake"]) == {"status", "info"}
    assert both["lake"]["info"] == http.get("/connectors/lake").json()
    assert set(http.get("/connectors?expand=status").json()["lake"]) == {"status"}


def test_pause_resume_and_stop(http: TestClient) -> None:
    make(http)
    for verb, state, tasks in (("pause", "PAUSED", 2), ("stop", "STOPPED", 0), ("resume", "RUNNING", 2)):
        answer = http.put(f"/connectors/lake/{verb}")
        assert (answer.status_code, answer.content) == (202, b"")
        status = http.get("/connectors/lake/status").json()
        assert (status["connector"]["state"], len(status["tasks"])) == (state, tasks)
        assert http.put(f"/connectors/nobody/{verb}").status_code == 404


def test_restarts(http: TestClient, shelf: Shelf) -> None:
    make(http)
    assert http.post("/connectors/lake/restart").status_code == 204
    assert http.post("/connectors/lake/restart?includeTasks=false&onlyFailed=False").status_code == 204
    answer = http.post("/connectors/lake/restart?includeTasks=true&onlyFailed=True")
    assert (answer.status_code, answer.json()["name"]) == (202, "lake")
    assert shelf.calls == [("restart", "lake", False, False)] * 2 + [("restart", "lake", True, True)]


def test_tasks(http: TestClient, shelf: Shelf) -> None:
    config = make(http)["config"]
    assert http.get("/connectors/lake/tasks").json() == [
        {"id": {"connector": "lake", "task": 0}, "config": config | {"topics": "a"}},
        {"id": {"connector": "lake", "task": 1}, "config": config | {"topics": "b"}},
    ]
    shelf.fail("lake", 1, "why")
    answer = http.post("/connectors/lake/tasks/1/restart")
    assert (answer.status_code, answer.content) == (204, b"")
    assert http.get("/connectors/lake/tasks/1/status").json()["state"] == "RUNNING"
    for path in ("tasks/7/status", "tasks/x/status"):
        assert http.get(f"/connectors/lake/{path}").json()["error_code"] == 404
    assert http.post("/connectors/lake/tasks/7/restart").status_code == 404


# ---- topics and offsets --------------------------------------------------------------------------------------------


def test_topics(http: TestClient, shelf: Shelf) -> None:
    make(http)
    assert http.get("/connectors/lake/topics").json() == {"lake": {"topics": ["a", "b"]}}
    assert http.put("/connectors/lake/topics/reset").status_code == 202
    assert shelf.calls == [("reset_topics", "lake")]


def test_offsets_are_changed_while_it_is_stopped(http: TestClient) -> None:
    make(http, topics="a")
    place = {"kafka_topic": "a", "kafka_partition": 0}
    assert http.get("/connectors/lake/offsets").json() == {
        "offsets": [{"partition": place, "offset": {"kafka_offset": 3}}]
    }
    wanted = {"offsets": [{"partition": place, "offset": {"kafka_offset": 1}}]}
    for answer in (http.patch("/connectors/lake/offsets", json=wanted), http.delete("/connectors/lake/offsets")):
        assert (answer.status_code, answer.json()["code"]) == (400, "CONNECTOR_NOT_STOPPED")
    http.put("/connectors/lake/stop")
    told = http.patch("/connectors/lake/offsets", json=wanted).json()["message"]
    assert told == "The offsets for this connector have been altered successfully"
    assert http.get("/connectors/lake/offsets").json() == wanted
    told = http.delete("/connectors/lake/offsets").json()["message"]
    assert told == "The offsets for this connector have been reset successfully"
    assert http.get("/connectors/lake/offsets").json() == {"offsets": []}


@pytest.mark.parametrize("body", [{}, [], {"offsets": []}, {"offsets": [1]}, {"offsets": [{"offset": {}}]}])
def test_offsets_that_are_none_are_refused(http: TestClient, body: Any) -> None:
    make(http)
    assert http.patch("/connectors/lake/offsets", json=body).status_code == 400


# ---- plug-ins ------------------------------------------------------------------------------------------------------


def test_plugins(http: TestClient) -> None:
    connectors = [
        {"class": "LakeSinkConnector", "type": "sink", "version": "1.2.3"},
        {"class": "FilesSourceConnector", "type": "source", "version": "1.2.3"},
    ]
    assert http.get("/connector-plugins").json() == connectors
    everything = http.get("/connector-plugins?connectorsOnly=false").json()
    assert [p["type"] for p in everything] == ["sink", "source", "transformation"]


def test_the_options_of_a_plugin(http: TestClient) -> None:
    options = {o["name"]: o for o in http.get("/connector-plugins/LakeSink/config").json()}
    assert list(options)[:4] == ["name", "connector.class", "tasks.max", "topics"]
    assert options["path"] == {
        "name": "path",
        "type": "STRING",
        "required": True,
        "default_value": None,
        "importance": "HIGH",
        "documentation": "folder of the table",
        "group": "Connector",
        "order_in_group": 1,
        "width": "MEDIUM",
        "display_name": "path",
        "dependents": [],
    }
    assert options["aws.secret.access.key"]["type"] == "PASSWORD"
    assert options["mode"]["default_value"] == "append"
    assert http.get("/connector-plugins/Nothing/config").json()["error_code"] == 404


def test_validation_tells_every_mistake_where_it_is(http: TestClient) -> None:
    config = {"connector.class": "LakeSinkConnector", "pth": "/x", "aws.secret.access.key": "hush"}
    answer = http.put("/connector-plugins/LakeSinkConnector/config/validate", json=config)
    found = answer.json()
    assert (answer.status_code, found["name"], found["error_count"]) == (200, "LakeSinkConnector", 4)
    assert found["groups"] == ["Common", "Connector", "Unknown"]
    wrong = {c["value"]["name"]: c["value"]["errors"] for c in found["configs"] if c["value"]["errors"]}
    assert wrong == {
        "name": ['Missing required configuration "name" which has no default value.'],
        "topics": ['Missing required configuration "topics" which has no default value.'],
        "path": ["is missing."],
        "pth": ["is no option."],
    }
    assert all(c["definition"]["name"] == c["value"]["name"] for c in found["configs"])
    (secret,) = [c["value"] for c in found["configs"] if c["value"]["name"] == "aws.secret.access.key"]
    assert secret == {
        "name": "aws.secret.access.key", "value": HIDDEN, "recommended_values": [], "errors": [], "visible": True,
    }  # fmt: skip


def test_validation_finds_nothing_where_nothing_is_wrong(http: TestClient) -> None:
    for name in ("LakeSinkConnector", "LakeSink", "org.example.LakeSinkConnector", "lake"):
        found = http.put(f"/connector-plugins/{name}/config/validate", json=LAKE | {"name": "lake"}).json()
        assert (found["error_count"], found["groups"]) == (0, ["Common", "Connector"])


def test_validation_is_of_the_plugin_that_is_named(http: TestClient) -> None:
    other = http.put("/connector-plugins/FilesSource/config/validate", json=LAKE)
    assert (other.status_code, "does not match request type" in other.json()["message"]) == (400, True)
    assert http.put("/connector-plugins/Nothing/config/validate", json={}).status_code == 404


# ---- what goes wrong -----------------------------------------------------------------------------------------------


def test_another_system_that_is_away_says_when_to_ask_again(
    http: TestClient, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise ExternalError("DATABASE_AWAY", "Nobody answers.", retry_after=2.4)

    monkeypatch.setattr(shelf, "get", away)
    answer = http.get("/connectors/lake")
    assert (answer.status_code, answer.headers["retry-after"], answer.json()["error_code"]) == (503, "2", 503)


@pytest.mark.parametrize("error", [InternalError("OURS", "Our mistake."), RuntimeError("hush")])
def test_our_own_mistakes_are_told_as_such(
    http: TestClient, shelf: Shelf, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def wrong(*_: object) -> None:
        raise error

    monkeypatch.setattr(shelf, "get", wrong)
    answer = http.get("/connectors/lake")
    assert (answer.status_code, answer.json()["error_code"], "hush" in answer.text) == (500, 500, False)


def test_a_method_that_a_path_has_not(http: TestClient) -> None:
    answer = http.put("/connectors")
    assert (answer.status_code, answer.json()["error_code"]) == (405, 405)
