"""Clients that others wrote for ksqlDB, and our own, against a running platform."""

from __future__ import annotations

import asyncio
import gc
import json
import re
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from ksqldb import KSQLdbClient

import orion as package
from orion.app import Orion
from orion.clients import Connection, connect
from orion.errors import BindError, NotFound, SchemaError, UnsupportedError
from tests.languages import Language, make_node, need, ran

ROOT = Path(__file__).parents[2]
PATIENCE_S = 180.0
EARLIEST = {"auto.offset.reset": "earliest"}
NODE = Language("ksql", ("node", "npm"), make_node, ("node", "rows.js"))
Await = Callable[[Callable[[], bool], float], None]


def created(orion: Orion, stream: str) -> str:
    orion.execute(
        f"CREATE STREAM {stream} (k STRING KEY, v INT) "
        f"WITH (kafka_topic='{stream}', value_format='JSON', partitions=1);"
    )
    return stream


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ksqldb_for_python(door: str, orion: Orion) -> None:
    """PyPI's ksqldb: statements over HTTP/1.1, rows both ways over cleartext HTTP/2. It never closes its sockets."""
    client, stream = KSQLdbClient(door), created(orion, "py_ksqldb")
    assert {one["name"] for one in client.get_properties()} >= {"service_id", "web.port"}
    (shown,) = client.ksql("SHOW STREAMS;")
    assert "PY_KSQLDB" in {one["name"] for one in shown["streams"]}
    told = client.inserts_stream(stream, [{"k": "a", "v": 1}, {"k": "b", "v": 2}])
    assert told == [{"status": "ok", "seq": 0}, {"status": "ok", "seq": 1}]

    async def rows() -> list[Any]:
        query = client.query_async(f"SELECT k, v FROM {stream} EMIT CHANGES;", EARLIEST, timeout=PATIENCE_S)
        head = await anext(query)
        found = [await anext(query), await anext(query)]
        assert await asyncio.to_thread(client.close_query, head["queryId"])
        return [*found, *[row async for row in query]]

    assert asyncio.run(rows()) == [["a", 1], ["b", 2]]
    assert client.close_query("nobody") is False
    gc.collect()  # what it left open is told here, and not in another test


def test_the_requests_of_ksql_for_python(door: str, orion: Orion) -> None:
    """PyPI's ksql 0.10.2 can't be imported any more (its HTTP/2 library wants Python 3.9): these are its requests."""
    stream, media = created(orion, "py_ksql"), {"Content-Type": "application/vnd.ksql.v1+json; charset=utf-8"}
    assert httpx.get(f"{door}/info", headers=media).json()["KsqlServerInfo"]["version"]
    body = '{"target":"py_ksql"}' + "".join("\n" + json.dumps({"k": k, "v": v}) for k, v in (("a", 1), ("b", 2)))
    with httpx.Client(http1=False, http2=True, timeout=PATIENCE_S) as http2:
        told = http2.post(f"{door}/inserts-stream", content=body, headers=media).text.split("\n")
    assert [json.loads(one) for one in told if one] == [{"status": "ok", "seq": n} for n in range(2)]
    asked = {"ksql": f"SELECT k, v FROM {stream} EMIT CHANGES LIMIT 2;", "streamsProperties": EARLIEST}
    request = urllib.request.Request(f"{door}/query", json.dumps(asked).encode(), media, method="POST")
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        head, *rows, last = [line.decode() for line in answer]
    assert re.findall(r"`([A-Z_]+)` ([A-z]+)[<, \"]", head) == [("K", "STRING"), ("V", "INTEGER")]
    values = [json.loads(row.replace(",\n", ""))["row"]["columns"] for row in rows]
    assert (values, json.loads(last.replace("]\n", ""))) == ([["a", 1], ["b", 2]], {"finalMessage": "Limit Reached"})
    assert httpx.post(f"{door}/close-query", content=b'{"queryId": "nobody"}').status_code == 400
    refused = httpx.post(f"{door}/ksql", json={"ksql": "SHOW NOTHING;", "streamsProperties": {}}, headers=media).json()
    assert (refused["@type"], refused["error_code"]) == ("statement_error", 40001)


@pytest.mark.timeout(600)
def test_ksqldb_client_for_node(door: str) -> None:
    need(NODE)
    address = urlsplit(door)
    told = ran(
        *(*NODE.start, f"http://{address.hostname}", str(address.port), "js_rows"),
        cwd=NODE.ready(),
        timeout=PATIENCE_S * 2,
    )
    assert json.loads(told) == {
        "created": "stream/`JS_ROWS`/create",
        "executed": ["stream/`JS_ROWS`/insert", "SUCCESS"],
        "inserted": [{"status": "ok", "seq": 0}, "ROW_UNFIT"],
        "queried": [{"K": "a", "V": 1}, {"K": "b", "V": 2}],
        "pushed": [{"V": 1}, {"V": 2}],
        "ended": 200,
        "refused": [400, 40001],
        "listed": True,
        "fields": ["K", "V"],
    }


# ---- our own -----------------------------------------------------------------------------------------------------


@pytest.fixture
def server(door: str) -> Iterator[Connection]:
    with connect(door, properties=EARLIEST) as connection:
        yield connection


def test_orion_connect(server: Connection, orion: Orion, until: Await) -> None:
    columns = "k STRING KEY, m DECIMAL(6, 2), at TIMESTAMP, tags ARRAY<STRING>"
    (made,) = server.execute(
        f"CREATE STREAM own ({columns}) WITH (kafka_topic='own', value_format='JSON', partitions=1);"
    )
    assert made["commandStatus"]["status"] == "SUCCESS"
    with server.push("SELECT * FROM own EMIT CHANGES;") as rows:
        assert server.insert("own", ({"k": f"k{n}", "m": n / 4, "tags": ["x"]} for n in range(3))) == 3
        found = [next(rows) for _ in range(3)]
        assert (rows.columns, [str(row[1]) for row in found]) == (("K", "M", "AT", "TAGS"), ["0.00", "0.25", "0.50"])
        assert found[2][0] == "k2"
        threading.Timer(0.2, rows.close).start()
        assert list(rows) == []  # waits, until it is closed from elsewhere
    until(lambda: orion.engine.push_queries.streams == 0, PATIENCE_S)
    with pytest.raises(SchemaError, match="Row 1 isn't taken"):
        server.insert("own", [{"k": "a"}, {"k": "b", "m": "much"}])


def test_errors_are_those_of_the_server(server: Connection) -> None:
    with pytest.raises(BindError) as refused:
        server.push("SELECT kk FROM nobody EMIT CHANGES;")
    assert refused.value.span is not None
    with pytest.raises(NotFound):
        server.execute("TERMINATE nobody;")
    if not hasattr(Orion, "pull"):
        with pytest.raises(UnsupportedError):
            server.pull("SELECT * FROM nobody;")


def test_the_snippets_of_the_page_run(
    door: str, orion: Orion, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
    snippets = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    monkeypatch.setattr(package, "connect", lambda: connect(door))
    world: dict[str, Any] = {}
    for snippet in (one for one in snippets if "server" in one):
        if "pull(" not in snippet or hasattr(Orion, "pull"):
            exec(snippet, world)
    assert "['u-1', '/cart']" in capsys.readouterr().out
    orion.execute("DROP TABLE pages DELETE TOPIC; DROP STREAM visits DELETE TOPIC;")
