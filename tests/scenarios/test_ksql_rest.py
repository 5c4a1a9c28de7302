"""ksqlDB's REST API, as its clients see it on the wire: over HTTP/1.1, cleartext HTTP/2 and a WebSocket."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from orion.app import Orion
from orion.errors import UserError
from orion.runtime import broadcast
from orion.runtime.push import PushQuery

PATIENCE_S = 180.0
DELIMITED = "application/vnd.ksqlapi.delimited.v1"
STREAMED = "application/vnd.ksql.v1+json"
EARLIEST = {"auto.offset.reset": "earliest"}
Await = Callable[[Callable[[], bool], float], None]


@pytest.fixture(scope="module")
def http(door: str, orion: Orion) -> Iterator[httpx.Client]:
    orion.execute(
        "CREATE STREAM api (k STRING KEY, v INT, m DECIMAL(20, 2)) "
        "WITH (kafka_topic='api', value_format='JSON', partitions=1);"
        "INSERT INTO api VALUES ('a', 1, 1.50); INSERT INTO api VALUES ('b', 2, 123456789012345678.25);"
    )
    with httpx.Client(base_url=door, timeout=PATIENCE_S) as client:
        yield client


# ---- queries -----------------------------------------------------------------------------------------------------

TWO = "SELECT k, v, m FROM api EMIT CHANGES LIMIT 2;"


@pytest.mark.parametrize("http2", [False, True], ids=["http1", "http2"])
def test_rows_a_line_each(http: httpx.Client, http2: bool) -> None:
    with httpx.Client(base_url=http.base_url, http1=not http2, http2=http2, timeout=PATIENCE_S) as client:
        answer = client.post("/query-stream", json={"sql": TWO, "properties": EARLIEST})
    assert (answer.http_version, answer.headers["content-type"]) == (f"HTTP/{2 if http2 else 1.1}", DELIMITED)
    head, *rows = answer.text.splitlines()
    told = json.loads(head)
    assert told["queryId"].startswith("transient_API_")
    assert (told["columnNames"], told["columnTypes"]) == (["K", "V", "M"], ["STRING", "INTEGER", "DECIMAL(20, 2)"])
    assert rows == ['["a",1,1.50]', '["b",2,123456789012345678.25]']  # every digit


def test_rows_as_one_array(http: httpx.Client) -> None:
    body = {"sql": TWO, "properties": EARLIEST}
    answer = http.post("/query-stream", json=body, headers={"accept": "application/json"}).json()
    assert answer[0]["columnNames"] == ["K", "V", "M"]
    assert [row[:2] for row in answer[1:]] == [["a", 1], ["b", 2]]


@pytest.mark.parametrize(
    ("path", "body", "headers"),
    [
        ("/query", {"ksql": TWO, "streamsProperties": EARLIEST}, {}),
        ("/query-stream", {"sql": TWO, "properties": EARLIEST}, {"accept": STREAMED}),
    ],
)
def test_rows_as_the_older_api_has_them(http: httpx.Client, path: str, body: Any, headers: Any) -> None:
    answer = http.post(path, json=body, headers=headers)
    assert answer.headers["content-type"] == STREAMED
    head, *rows, last = answer.json()
    assert head["header"]["schema"] == "`K` STRING, `V` INTEGER, `M` DECIMAL(20, 2)"
    assert [row["row"]["columns"][0] for row in rows] == ["a", "b"]
    assert last == {"finalMessage": "Limit Reached"}
    # A line is whole when it comes: who reads by the line needn't wait for the next.
    assert [line[-1] for line in answer.text.splitlines()] == [",", ",", ",", "]"]


def test_variables_are_put_into_a_query(http: httpx.Client) -> None:
    body = {"sql": "SELECT v FROM ${s} EMIT CHANGES LIMIT 1;", "properties": EARLIEST, "sessionVariables": {"s": "api"}}
    assert http.post("/query-stream", json=body).text.splitlines()[1] == "[1]"


def test_who_leaves_a_print_that_waits_leaves_nothing_behind(http: httpx.Client) -> None:
    with http.stream("POST", "/query-stream", json={"sql": "PRINT 'api' FROM BEGINNING;"}) as response:
        lines = response.iter_lines()
        rows = [json.loads(next(lines)) for _ in range(3)]
    assert [row[3] for row in rows[1:]] == ["a", "b"]


@pytest.mark.parametrize("path", ["/query", "/query-stream"])
def test_what_is_wrong_with_a_query_is_told_before_anything_is_sent(http: httpx.Client, path: str) -> None:
    refused = http.post(path, json={"sql": "SELECT kk FROM api EMIT CHANGES;"})
    assert (refused.status_code, refused.json()["error_code"]) == (400, 40001)
    assert http.post(path, json={}).status_code == 400


@contextmanager
def following(http: httpx.Client, sql: str, **properties: str) -> Iterator[tuple[str, Iterator[str]]]:
    """A push query under way: its id and its lines."""
    body = {"sql": sql, "properties": properties}
    with http.stream("POST", "/query-stream", json=body) as response:
        lines = response.iter_lines()
        yield json.loads(next(lines))["queryId"], lines


def insert(http: httpx.Client, *rows: Any, target: str = "api") -> list[Any]:
    body = "".join(json.dumps(one) + "\n" for one in ({"target": target}, *rows))
    return [json.loads(line) for line in http.post("/inserts-stream", content=body).text.splitlines()]


def test_readers_of_the_same_share_a_stream_which_ends_with_the_last(
    http: httpx.Client, orion: Orion, until: Await
) -> None:
    streams, others = orion.engine.push_queries, {one.id for one in orion.spark.streams.active}
    with ExitStack() as open_:
        same = [open_.enter_context(following(http, "SELECT v FROM api EMIT CHANGES;")) for _ in range(3)]
        assert streams.streams == 1
        limited = open_.enter_context(following(http, "select V  from API emit changes limit 1; -- the same rows"))
        assert streams.streams == 1
        own = open_.enter_context(following(http, "SELECT v FROM api EMIT CHANGES;", **EARLIEST))
        counted = open_.enter_context(following(http, "SELECT k, COUNT(*) AS n FROM api GROUP BY k EMIT CHANGES;"))
        assert streams.streams == 3
        assert insert(http, {"k": "c", "v": 3}, {"k": "d", "v": 4}) == [{"status": "ok", "seq": n} for n in range(2)]
        for _, lines in same:
            assert [next(lines), next(lines)] == ["[3]", "[4]"]
        assert list(limited[1]) == ["[3]"]
        assert [next(own[1]) for _ in range(4)] == ["[1]", "[2]", "[3]", "[4]"]
        assert sorted(next(counted[1]) for _ in range(2)) == ['["c",1]', '["d",1]']
        closed = http.post("/close-query", json={"queryId": same[0][0]})
        assert (closed.status_code, list(same[0][1])) == (200, [])
        insert(http, {"k": "e", "v": 5})
        assert [next(same[1][1]), next(same[2][1])] == ["[5]", "[5]"]
    until(lambda: streams.streams == 0 and {one.id for one in orion.spark.streams.active} <= others, PATIENCE_S)
    assert http.post("/close-query", json={"queryId": same[0][0]}).status_code == 400


def test_a_reader_that_is_too_slow_is_cut_off_and_no_other(
    http: httpx.Client, orion: Orion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broadcast, "MOST_WAITING", 1000)
    monkeypatch.setattr(broadcast, "PATIENCE_S", 2.0)
    query = "SELECT v FROM api EMIT CHANGES;"
    slow = orion.push(query)
    assert isinstance(slow, PushQuery)
    with slow, following(http, query) as (_, lines):
        for n in range(4):
            insert(http, *({"k": "s", "v": n * 10 + m} for m in range(10)))
            assert [next(lines) for _ in range(10)] == [f"[{n * 10 + m}]" for m in range(10)]
        with pytest.raises(UserError) as cut:
            list(slow)
    assert cut.value.code == "READER_TOO_SLOW"


@pytest.mark.timeout(240)
def test_fifty_push_clients_at_once(http: httpx.Client, orion: Orion, until: Await) -> None:
    async def one(client: httpx.AsyncClient, ready: asyncio.Semaphore) -> list[str]:
        body = {"sql": "SELECT k FROM api EMIT CHANGES LIMIT 100;"}
        async with client.stream("POST", "/query-stream", json=body) as response:
            lines = response.aiter_lines()
            await anext(lines)
            ready.release()
            return [line async for line in lines]

    async def all_of_them() -> list[list[str]]:
        limits, ready = httpx.Limits(max_connections=None), asyncio.Semaphore(0)
        async with httpx.AsyncClient(base_url=http.base_url, timeout=PATIENCE_S, limits=limits) as client:
            reading = [asyncio.ensure_future(one(client, ready)) for _ in range(50)]
            for _ in reading:
                await asyncio.wait_for(ready.acquire(), PATIENCE_S)
            assert orion.engine.push_queries.streams == 1
            await asyncio.to_thread(insert, http, *({"k": f"n{n}", "v": n} for n in range(100)))
            return list(await asyncio.gather(*reading))

    assert asyncio.run(all_of_them()) == [[f'["n{n}"]' for n in range(100)]] * 50
    until(lambda: orion.engine.push_queries.streams == 0, PATIENCE_S)


def test_a_query_over_a_websocket(http: httpx.Client) -> None:
    def asked(sql: str) -> str:
        request = json.dumps({"ksql": sql, "streamsProperties": EARLIEST})
        return f"ws://{urlsplit(str(http.base_url)).netloc}/ws/query?request={quote(request)}"

    with connect(asked("SELECT k, v FROM api EMIT CHANGES LIMIT 2;")) as ws:
        columns = json.loads(ws.recv(PATIENCE_S))
        assert [(c["name"], c["schema"]["type"]) for c in columns] == [("K", "STRING"), ("V", "INTEGER")]
        assert [json.loads(ws.recv(PATIENCE_S))["row"]["columns"] for _ in range(2)] == [["a", 1], ["b", 2]]
        with pytest.raises(ConnectionClosed) as ended:
            ws.recv(PATIENCE_S)
    assert (ended.value.rcvd and ended.value.rcvd.code, ended.value.rcvd and ended.value.rcvd.reason) == (1000, "done")
    with connect(asked("SELECT nothing FROM api EMIT CHANGES;")) as ws, pytest.raises(ConnectionClosed) as refused:
        ws.recv(PATIENCE_S)
    assert refused.value.rcvd is not None
    assert (refused.value.rcvd.code, "NOTHING" in refused.value.rcvd.reason) == (1003, True)


# ---- rows in -----------------------------------------------------------------------------------------------------


def test_rows_are_acknowledged_while_others_still_come(http: httpx.Client) -> None:
    """On one connection, the acknowledgement of a row is read before the next row is sent."""
    address = urlsplit(str(http.base_url))
    with socket.create_connection((str(address.hostname), int(address.port or 0)), timeout=PATIENCE_S) as sock:
        sock.sendall(b"POST /inserts-stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        got = b""
        for n, line in enumerate((b'{"target":"api"}\n{"k":"x","v":1}\n', b'{"k":"y",', b'"v":2}\n{"k":"z"}\n')):
            sock.sendall(b"%x\r\n%s\r\n" % (len(line), line))
            while n != 1 and b'"seq":%d' % n not in got.replace(b" ", b""):
                came = sock.recv(4096)
                assert came, got
                got += came
        sock.sendall(b"0\r\n\r\n")
        while not got.endswith(b"0\r\n\r\n"):
            got += sock.recv(4096)
    assert got.count(b'"ok"') == 3


def test_the_first_row_that_is_wrong_is_the_last_that_is_answered(http: httpx.Client, orion: Orion) -> None:
    orion.execute("CREATE STREAM ins_wrong (v INT) WITH (kafka_topic='ins_wrong', value_format='JSON', partitions=1);")
    told = insert(http, {"v": 1}, {"v": "two"}, {"v": 3}, target="`INS_WRONG`")
    assert told[0] == {"status": "ok", "seq": 0}
    assert [(one["status"], one["seq"], one["code"]) for one in told[1:]] == [("error", 1, "ROW_UNFIT")]
    assert orion.kafka.end_offsets("ins_wrong") == {0: 1}
    refused = http.post("/inserts-stream", content='{"target": "nobody"}\n{"v": 1}\n')
    assert (refused.status_code, refused.json()["code"]) == (404, "NOT_FOUND")
    assert http.post("/inserts-stream", content=b"").status_code == 400
    body, accept = b'{"target": "ins_wrong"}\n{"v": 7}', {"accept": "application/json"}
    assert http.post("/inserts-stream", content=body, headers=accept).json() == [{"status": "ok", "seq": 0}]


def test_many_rows_are_written_in_their_order(http: httpx.Client, orion: Orion) -> None:
    orion.execute("CREATE STREAM ins_many (v INT) WITH (kafka_topic='ins_many', value_format='JSON', partitions=1);")
    told = insert(http, *({"v": n} for n in range(20_000)), target="ins_many")
    assert [one["seq"] for one in told if one["status"] == "ok"] == list(range(20_000))
    assert orion.kafka.end_offsets("ins_many") == {0: 20_000}


# ---- the server about itself -------------------------------------------------------------------------------------


def test_statements_have_a_status(http: httpx.Client) -> None:
    create = "CREATE STREAM st (v INT) WITH (kafka_topic='st', value_format='JSON', partitions=1);"
    created, dropped, shown = http.post("/ksql", json={"ksql": f"{create} DROP STREAM st; SHOW TYPES;"}).json()
    assert (created["commandId"], dropped["commandId"]) == ("stream/`ST`/create", "stream/`ST`/drop")
    assert 0 < created["commandSequenceNumber"] < dropped["commandSequenceNumber"]
    assert "commandId" not in shown
    for command in ("stream/ST/create", "stream/`ST`/drop", "stream/API/create"):
        assert http.get(f"/status/{command}").json()["status"] == "SUCCESS"
    assert http.get("/status/stream/NOBODY/create").status_code == 404
    assert http.get("/status").json()["commandStatuses"]["stream/ST/drop"] == "SUCCESS"


def test_the_server_tells_about_itself(http: httpx.Client, orion: Orion) -> None:
    (host,) = http.get("/clusterStatus").json()["clusterStatus"].values()
    assert host["hostAlive"] is True
    assert set(host["activeStandbyPerQuery"]) == set(orion.engine.catalog.queries)
    metadata = http.get("/v1/metadata").json()
    assert http.get("/v1/metadata/id").json() == metadata["clusterId"]
    assert metadata["clusterId"]["scope"]["clusters"] == {
        "kafka-cluster": orion.kafka.cluster_id(),
        "ksql-cluster": "orion",
    }
    assert http.get("/is_valid_property/auto.offset.reset").json() is True
    assert http.get("/is_valid_property/nothing").status_code == 400
    assert [http.get(f"/chc/{what}").status_code for what in ("ready", "live")] == [200, 200]
