"""Kafka Connect's API as clients use it that are not ours: two of Python's, AKHQ's in Java, and what kcctl sends."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pyspark
import pytest
from kafka_connect import KafkaConnect
from kafka_connect_api.errors import ConnectGenericException
from kafka_connect_api.kafka_connect_api import Api, Cluster, Connector
from requests import HTTPError

from orion.config import cache_folder
from tests.connectors import Shelf, serving
from tests.required import refuse

LAKE = {"connector.class": "LakeSinkConnector", "topics": "a,b", "path": "/lake", "tasks.max": 2}
SECRET = "aws.secret.access.key"

SOURCES = Path(__file__).parents[1] / "clients" / "connect"
INSTALL_S, RUN_S = 300.0, 120.0
# Later versions also read the poms above the jar, and those name a repository that not everyone reaches.
COPY = "org.apache.maven.plugins:maven-dependency-plugin:2.8:copy"
JARS = {
    "org.sourcelab:kafka-connect-client:4.0.5": "7cb3d61e463f135188417083206722199fd28b8331c050cc6822e7c7b3836317",
    "com.fasterxml.jackson.core:jackson-core:2.15.2": (
        "303c99e82b1faa91a0bae5d8fbeb56f7e2adf9b526a900dd723bf140d62bd4b4"
    ),
    "com.fasterxml.jackson.core:jackson-databind:2.15.2": (
        "0eb2fdad6e40ab8832a78c9b22f58196dd970594e8d3d5a26ead87847c4f3a96"
    ),
    "com.fasterxml.jackson.core:jackson-annotations:2.15.2": (
        "04e21f94dcfee4b078fa5a5f53047b785aaba69d19de392f616e7a7fe5d3882f"
    ),
}
# What else the client needs, PySpark has.
BESIDE = ("httpclient-4*", "httpcore-4*", "commons-codec*", "jcl-over-slf4j*", "slf4j-api*")


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture(params=["", "/connect"], ids=["plain", "prefixed"])
def url(shelf: Shelf, request: pytest.FixtureRequest) -> Iterator[str]:
    with serving(shelf) as served:
        yield f"{served}{request.param}"


def test_kafka_connect_py(url: str, shelf: Shelf) -> None:
    client = KafkaConnect(url)
    assert client.get_cluster_info()["version"] == "4.3.1"
    assert client.create_connector({"name": "lake", "config": LAKE | {SECRET: "hush"}})["type"] == "sink"
    with pytest.raises(HTTPError, match="409"):
        client.create_connector({"name": "lake", "config": LAKE})
    assert client.list_connectors() == ["lake"]
    assert client.list_connectors(expand="status", state="RUNNING")["lake"]["status"]["name"] == "lake"
    config = client.get_connector_config("lake")
    assert client.update_connector("lake", config | {"mode": "upsert"})["config"]["mode"] == "upsert"
    assert shelf.kept["lake"].config[SECRET] == "hush"
    shelf.fail("lake", 1, "gone")
    assert client.get_connector_task_status("lake", 1)["trace"] == "gone"
    client.restart_connector_task("lake", 1)
    assert [t["state"] for t in client.get_connector_status("lake")["tasks"]] == ["RUNNING", "RUNNING"]
    assert client.restart_connector("lake", include_tasks=True, only_failed=True)["name"] == "lake"
    client.restart_connector("lake")
    for act, state in ((client.pause_connector, "PAUSED"), (client.stop_connector, "STOPPED")):
        act("lake")
        assert client.get_connector_status("lake")["connector"]["state"] == state
    client.resume_all_connectors()
    assert [t["id"]["task"] for t in client.list_connector_tasks("lake")] == [0, 1]
    assert client.list_connector_topics("lake") == {"lake": {"topics": ["a", "b"]}}
    client.reset_connector_topics("lake")
    plugin = client.list_connector_plugins()[0]["class"]
    assert client.validate_connector_config(plugin, {"connector.class": plugin})["error_count"] == 3
    client.delete_connector("lake")
    with pytest.raises(HTTPError, match="404"):
        client.get_connector("lake")


def test_kafka_connect_api(url: str, shelf: Shelf) -> None:
    cluster = Cluster(Api(url=url))
    assert (cluster.version, cluster.kafka_cluster) == ("4.3.1", "cluster-1")
    Connector(cluster, "lake").config = LAKE | {SECRET: "hush"}
    lake = cluster.connectors["lake"]
    assert lake.exists()
    assert (lake.state, lake.connector_class) == ("RUNNING", "LakeSinkConnector")
    lake.config = lake.config | {"mode": "upsert"}
    assert (shelf.kept["lake"].config["mode"], shelf.kept["lake"].config[SECRET]) == ("upsert", "hush")
    assert [(task.id, task.is_running(), task.config["topics"]) for task in lake.tasks] == [
        (0, True, "a"),
        (1, True, "b"),
    ]
    lake.restart()
    lake.pause()
    assert lake.state == "PAUSED"
    lake.cycle_connector()
    assert lake.state == "RUNNING"
    lake.delete()
    with pytest.raises(ConnectGenericException, match="not found"):
        _ = lake.status


def test_akhq_s_client(url: str) -> None:
    told = [line.split("\t") for line in _managed(url, "my lake").splitlines()]
    assert [tuple(line) for line in told] == [
        ("version", "4.3.1"),
        ("plugin", "LakeSinkConnector sink 1.2.3"),
        ("wrong", "2"),
        ("mistake", 'name: [Missing required configuration "name" which has no default value.]'),
        ("mistake", "path: [is missing.]"),
        ("made", "my lake sink 2"),
        ("secret", "[hidden]"),
        ("again", "Connector my lake already exists DROP it first."),
        ("all", "[my lake] RUNNING"),
        ("changed", "upsert"),
        ("task", "0 a"),
        ("task", "1 b"),
        ("topics", "[a, b]"),
        ("reset", "true"),
        ("paused", "PAUSED"),
        ("resumed", "RUNNING"),
        ("stopped", "STOPPED"),
        ("restarted", "true"),
        ("restarted", "true"),
        ("restarted", "true"),
        ("dropped", "true"),
        ("gone", "Connector my lake not found."),
    ]


def _managed(url: str, name: str) -> str:
    """What the program in tests/clients/connect prints."""
    missing = [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]
    if missing:
        refuse(f"{' and '.join(missing)} missing on this machine: AKHQ's client isn't tried")
    folder = _built()
    jars = Path(pyspark.__file__).parent / "jars"
    beside = [str(jar) for pattern in BESIDE for jar in jars.glob(pattern)]
    path = os.pathsep.join([str(folder), f"{folder}/*", *beside])
    return _ran("java", "-cp", path, "Manage", url, name, cwd=folder, timeout=RUN_S)


def _built() -> Path:
    """The folder with the program, made once from these very sources."""
    source = SOURCES / "Manage.java"
    digest = hashlib.sha256(source.read_bytes() + repr(JARS).encode()).hexdigest()[:16]
    folder = cache_folder() / "clients" / f"connect-{digest}"
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix="connect-", dir=folder.parent))
    try:
        for artifact, sha256 in JARS.items():
            there = set(new.glob("*.jar"))
            fetch = (COPY, f"-Dartifact={artifact}", f"-DoutputDirectory={new}")
            _ran("mvn", "--batch-mode", "--quiet", *fetch, cwd=new, timeout=INSTALL_S)
            (jar,) = set(new.glob("*.jar")) - there
            assert hashlib.sha256(jar.read_bytes()).hexdigest() == sha256
        _ran("javac", "--release", "17", "-cp", "*", "-d", ".", str(source), cwd=new, timeout=INSTALL_S)
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return folder


def _ran(*command: str, cwd: Path, timeout: float) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, (command[0], done.stdout[-2000:], done.stderr[-4000:])
    return done.stdout


def test_what_kcctl_sends(url: str, shelf: Shelf) -> None:
    """Its paths end with a slash in places, and it reads a connector before it changes one (`kcctl patch`)."""
    headers = {"Accept": "application/json", "Content-Type": "application/json"}
    with httpx.Client(base_url=url, headers=headers, timeout=30) as client:

        def send(method: str, path: str, body: Any = None, code: int = 200) -> Any:
            answer = client.request(method, path, json=body)
            assert answer.status_code == code, answer.text
            return answer.json() if answer.content else None

        assert set(send("GET", "/")) == {"version", "commit", "kafka_cluster_id"}
        assert len(send("GET", "/connector-plugins?connectorsOnly=false")) == 3
        assert send("GET", "/connector-plugins/LakeSinkConnector/config")[0]["name"] == "name"
        assert send("PUT", "/connector-plugins/LakeSinkConnector/config/validate", LAKE)["error_count"] == 1
        send("POST", "/connectors/", {"name": "lake", "config": LAKE | {SECRET: "hush"}}, 201)
        assert send("GET", "/connectors/") == ["lake"]
        assert set(send("GET", "/connectors?expand=info&expand=status")["lake"]) == {"info", "status"}
        config = send("GET", "/connectors/lake/config")
        send("PUT", "/connectors/lake/config", config | {"mode": "upsert"})
        assert (shelf.kept["lake"].config[SECRET], shelf.kept["lake"].config["mode"]) == ("hush", "upsert")
        send("POST", "/connectors/lake/restart", code=204)
        send("POST", "/connectors/lake/restart?includeTasks=true&onlyFailed=false", code=202)
        send("POST", "/connectors/lake/tasks/0/restart", code=204)
        send("PUT", "/connectors/lake/pause", code=202)
        send("PUT", "/connectors/lake/stop", code=202)
        wanted = {"offsets": [{"partition": {"kafka_topic": "a", "kafka_partition": 0}, "offset": {"kafka_offset": 9}}]}
        assert "altered" in send("PATCH", "/connectors/lake/offsets", wanted)["message"]
        assert send("GET", "/connectors/lake/offsets") == wanted
        assert "reset" in send("DELETE", "/connectors/lake/offsets")["message"]
        send("PUT", "/connectors/lake/resume", code=202)
        send("DELETE", "/connectors/lake", code=204)
        assert send("GET", "/connectors/lake", code=404)["error_code"] == 404
