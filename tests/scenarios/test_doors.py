"""The HTTP API and the commands over it, as a user meets them: a real server, `orion sql` as a process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from orion.app import Orion
from orion.web.server import Server
from orion.web.sockets import bound

MUSIC = """
CREATE STREAM door (k STRING KEY, v INT) WITH (kafka_topic='door', value_format='JSON', partitions=1);
INSERT INTO door (k, v) VALUES ('a', 1);
INSERT INTO door (k, v) VALUES ('b', 2);
"""


@pytest.fixture(scope="module")
def url(orion: Orion) -> Iterator[str]:
    with bound("127.0.0.1", 0) as sock:
        server = Server.start(orion, sock)
        orion.execute(MUSIC)
        yield server.url
        server.stop()


def sql(url: str, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "orion", "sql", "--url", url, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | {"NO_COLOR": "1"},
    )


def test_info_and_health(url: str) -> None:
    info = httpx.get(f"{url}/info").json()["KsqlServerInfo"]
    assert (info["ksqlServiceId"], info["serverStatus"]) == ("orion", "RUNNING")
    assert httpx.get(f"{url}/healthcheck", timeout=150).json()["details"]["kafka"] == {"isHealthy": True}


def test_statements_answer_with_entities(url: str) -> None:
    answer = httpx.post(f"{url}/ksql", json={"ksql": "SHOW STREAMS; DESCRIBE door;"}, timeout=150).json()
    assert [e["@type"] for e in answer] == ["streams", "sourceDescription"]
    assert "DOOR" in {s["name"] for s in answer[0]["streams"]}
    assert answer[1]["sourceDescription"]["fields"][0] == {
        "name": "K",
        "schema": {"type": "STRING", "fields": None, "memberSchema": None},
        "type": "KEY",
    }


def test_a_wrong_statement_says_where_and_what_to_do(url: str) -> None:
    refused = httpx.post(f"{url}/ksql", json={"ksql": "CREATE STREAM x AS SELECT vv, k FROM door EMIT CHANGES;"})
    assert refused.status_code == 400
    body = refused.json()
    assert (body["@type"], body["error_code"], body["code"]) == ("statement_error", 40001, "UNKNOWN_COLUMN")
    assert (body["line"], body["column"], body["hint"]) == (1, 27, "Did you mean V?")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"ksql": 5}'])
def test_a_body_that_is_no_request_is_refused(url: str, body: bytes) -> None:
    refused = httpx.post(f"{url}/ksql", content=body)
    assert (refused.status_code, refused.json()["code"]) == (400, "BAD_REQUEST")


@pytest.mark.parametrize("accept", ["application/vnd.ksqlapi.delimited.v1", "application/json"])
def test_a_push_query_streams_a_head_and_rows(url: str, accept: str) -> None:
    body = {
        "sql": "SELECT k, v * 10 AS v FROM door EMIT CHANGES LIMIT 2;",
        "properties": {"auto.offset.reset": "earliest"},
    }
    with httpx.stream("POST", f"{url}/query-stream", json=body, headers={"accept": accept}, timeout=150) as response:
        assert response.headers["content-type"].startswith(accept)
        text = response.read().decode()
    lines = json.loads(text) if accept == "application/json" else [json.loads(line) for line in text.splitlines()]
    assert (lines[0]["columnNames"], lines[0]["columnTypes"]) == (["K", "V"], ["STRING", "INTEGER"])
    assert lines[1:] == [["a", 10], ["b", 20]]


def test_a_push_query_can_be_closed_by_its_id(url: str, orion: Orion) -> None:
    body = {"sql": "SELECT * FROM door EMIT CHANGES;"}
    with httpx.stream("POST", f"{url}/query-stream", json=body, timeout=150) as response:
        lines = response.iter_lines()
        query = json.loads(next(lines))["queryId"]
        assert httpx.post(f"{url}/close-query", json={"queryId": query}, timeout=150).status_code == 200
        assert list(lines) == []
    assert query not in {s.name for s in orion.spark.streams.active}


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl to speak cleartext HTTP/2")
def test_cleartext_http2_is_spoken(url: str) -> None:
    command = ["curl", "-s", "-o", os.devnull, "-w", "%{http_version}", "--http2-prior-knowledge", f"{url}/info"]
    assert subprocess.run(command, capture_output=True, text=True, check=True, timeout=150).stdout == "2"


def test_sql_from_the_command_line(url: str) -> None:
    ran = sql(url, "-e", "SET 'auto.offset.reset'='earliest'; SELECT k, v FROM door EMIT CHANGES LIMIT 2;")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == ["Property auto.offset.reset set to earliest.", "K\tV", "a\t1", "b\t2"]


def test_sql_from_a_file_and_from_standard_input_as_json(url: str, tmp_path: Path) -> None:
    script = tmp_path / "show.sql"
    script.write_text("-- what there is\nSHOW STREAMS;")
    from_file = sql(url, "-f", str(script), "--json")
    piped = sql(url, "--json", stdin=script.read_text())
    assert json.loads(from_file.stdout)["@type"] == json.loads(piped.stdout)["@type"] == "streams"


def test_sql_errors_have_a_caret_a_hint_and_an_exit_code(url: str) -> None:
    ran = sql(url, "-e", "SELECT kk FROM door EMIT CHANGES;")
    assert ran.returncode == 2
    assert ran.stderr.splitlines() == [
        "error[UNKNOWN_COLUMN]: There is no column KK in DOOR.",
        "  1 | SELECT kk FROM door EMIT CHANGES",
        "             ^^",
        "  hint: Did you mean K?",
    ]
    assert sql(url, "-e", "TERMINATE nobody;").returncode == 3
    assert sql("http://127.0.0.1:9", "-e", "SHOW TOPICS;").returncode == 69


def test_print_shows_records_as_they_are(url: str) -> None:
    ran = sql(url, "-e", "PRINT 'door' FROM BEGINNING LIMIT 1;")
    cells = ran.stdout.splitlines()[1].split("\t")
    assert cells[1:] == ["0", "0", "a", '{"V":1}']


def test_rows_that_come_by_http_are_rows_of_the_stream(url: str, orion: Orion) -> None:
    orion.execute(
        "CREATE STREAM fed (k STRING KEY, v INT) WITH (kafka_topic='fed', value_format='JSON', partitions=1);"
    )
    rows = [{"k": "a", "v": 1}, {"k": "b", "v": "two"}, {"k": "c", "v": 3}]
    answer = httpx.post(f"{url}/feeds/fed", json=rows, timeout=150)
    assert (answer.status_code, [one["index"] for one in answer.json()["refused"]]) == (207, [1])
    ran = sql(url, "-e", "SET 'auto.offset.reset'='earliest'; SELECT k, v FROM fed EMIT CHANGES LIMIT 2;")
    assert ran.stdout.splitlines()[2:] == ["a\t1", "c\t3"]
    assert httpx.get(f"{url}/", headers={"accept": "application/vnd.ksql.v1+json"}).headers["location"] == "/info"
    assert "kafka_cluster_id" in httpx.get(f"{url}/", headers={"accept": "application/json"}, timeout=150).json()
