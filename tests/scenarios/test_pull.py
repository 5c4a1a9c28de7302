"""Pull queries on the whole platform: tables kept from their topics, by a real broker and real streams."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import duckdb
import httpx
import pytest

from orion.app import Orion
from orion.clients.connection import connect
from orion.errors import ExternalError, OrionError
from orion.hub.records import Outgoing
from orion.hub.writer import send_all
from orion.plan.interruption import Interruption
from orion.serving.store import Changes, Layout
from orion.serving.tables import Tables
from orion.web.server import Server
from orion.web.sockets import bound
from tests.scenarios.conftest import Await

Offsets = dict[str, dict[int, int]]


def send(orion: Orion, topic: str, *rows: tuple[str, object, int]) -> Offsets:
    """Write records; the offsets up to which the topic is written then."""
    records = [Outgoing(None if v is None else json.dumps(v).encode(), k.encode(), timestamp=t) for k, v, t in rows]
    send_all(orion.kafka, topic, records)
    return {topic: {part: end - 1 for part, end in orion.kafka.end_offsets(topic).items() if end}}


@pytest.fixture(scope="module")
def counted(orion: Orion) -> Iterator[str]:
    """A table of counts with three keys."""
    orion.execute(
        "CREATE STREAM pl_in (k STRING KEY, v INT) WITH (kafka_topic='pl_in', value_format='JSON', partitions=2);"
        "CREATE TABLE pl AS SELECT k, COUNT(*) AS n, SUM(v) AS s FROM pl_in GROUP BY k EMIT CHANGES;"
        "CREATE TABLE pw AS SELECT k, COUNT(*) AS n FROM pl_in WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY k;"
    )
    assert orion.pull("SELECT * FROM pl;").rows == []
    sent = send(orion, "pl_in", ("a", {"v": 4}, 1), ("b", {"v": 3}, 2), ("a", {"v": 1}, 1500), ("c", {"v": 9}, 4))
    orion.pull("SELECT * FROM pl", seen=sent, deadline_s=120)
    orion.pull("SELECT * FROM pw", seen=sent, deadline_s=120)
    yield "PL"
    orion.execute("DROP TABLE pw; DROP TABLE pl; DROP STREAM pl_in DELETE TOPIC;")


def test_what_was_written_is_read(orion: Orion, counted: str) -> None:
    """The fixture has waited for its records to be seen, through the query."""
    found = orion.pull("SELECT k, n, s FROM pl ORDER BY s DESC")
    assert found.rows == [["c", 1, 9], ["a", 2, 5], ["b", 1, 3]]
    assert found.arrow().to_pydict() == {"K": ["c", "a", "b"], "N": [1, 2, 1], "S": [9, 5, 3]}
    assert orion.pull("SELECT * FROM pl WHERE k = 'a';").rows == [["a", 2, 5]]
    assert orion.pull("SELECT COUNT(*) AS c, SUM(s) AS s FROM pl").rows == [[3, 17]]
    windows = [["a", 0, 1000, 1], ["a", 1000, 2000, 1]]
    assert orion.pull("SELECT * FROM pw WHERE k = 'a' ORDER BY WINDOWSTART").rows == windows
    assert orion.pull("SELECT k FROM pw WHERE WINDOWSTART >= '1970-01-01T00:00:01'").rows == [["a"]]
    joined = "SELECT pl.k, pw.n FROM pl JOIN pw ON pl.k = pw.k WHERE pl.k = 'b'"
    assert orion.pull(joined).rows == [["b", 1]]


def test_a_look_up_sees_the_next_change(orion: Orion, counted: str) -> None:
    assert orion.pull("SELECT n FROM pl WHERE k = 'b'").rows == orion.pull("SELECT n FROM pl WHERE k = 'b'").rows
    sent = send(orion, "pl_in", ("b", {"v": 3}, 5))
    found = orion.pull("SELECT n FROM pl WHERE k = 'b'", seen=sent, deadline_s=120)
    assert found.rows == [[2]]
    for text, row in (("SELECT n FROM pl WHERE k = 'b'", [2]), ("SELECT n + 1 AS m FROM pl WHERE k = 'b'", [3])):
        orion.pull(text)
        at_hand = orion.pulls.at_hand(text, {})
        assert at_hand is not None
        assert at_hand.rows == [row]
    with pytest.raises(ExternalError) as caught:
        orion.pull("SELECT n FROM pl", seen={"pl_in": {0: 10_000}}, deadline_s=0.2)
    assert caught.value.code == "NOT_SEEN_YET"


def test_spark_answers_over_streams_and_where_duckdb_can_not(orion: Orion, counted: str) -> None:
    assert orion.pull("SELECT k, v FROM pl_in WHERE v > 3").rows in ([["a", 4], ["c", 9]], [["c", 9], ["a", 4]])
    assert len(orion.pull("SELECT * FROM pl_in LIMIT 2").rows) == 2
    text = "SELECT k, FORMAT_TIMESTAMP(FROM_UNIXTIME(ROWTIME), 'ss') AS at FROM pl WHERE k = 'c'"
    assert "answered by Spark: DuckDB has no equal for FORMAT_TIMESTAMP" in orion.explain(text)
    assert orion.pull(text).rows == [["c", "00"]]
    assert orion.pull("SELECT k, n * 9223372036854775807 AS big FROM pl WHERE k = 'c'").rows == [["c", 2**63 - 1]]


def test_a_restart_goes_on_and_a_lost_file_is_built_again(orion: Orion, counted: str) -> None:
    engine, kept = orion.engine, orion.tables
    assert kept is not None
    status = kept.status("PL")
    assert status is not None
    assert (status.state, status.rows, status.lag, status.bad_records) == ("RUNNING", 3, 0, 0)
    described = orion.execute("DESCRIBE pl EXTENDED;")[0]["sourceDescription"]
    assert described["table"]["rows"] == 3
    assert "rows for pull queries: 3, 0 records behind" in described["statistics"]
    before = sorted(orion.pull("SELECT * FROM pl").rows)
    config, file = engine.config, engine.config.data.absolute() / "serving" / "tables.duckdb"
    kept.close()
    try:
        for lost in (False, True):
            if lost:
                file.unlink()
            again = Tables(engine.kafka, engine.schemas.by_id, config.data.absolute(), config.serving)
            orion.pulls.tables = again
            assert sorted(orion.pull("SELECT * FROM pl", deadline_s=150).rows) == before
            if not lost:
                again.close()
    finally:
        again.follow(engine.catalog)


def test_a_source_table_follows_its_topic_and_deletions(orion: Orion, until: Await) -> None:
    orion.execute(
        "CREATE SOURCE TABLE ps (k STRING PRIMARY KEY, v INT) "
        "WITH (kafka_topic='ps_topic', value_format='JSON', partitions=1);"
    )
    sent = send(orion, "ps_topic", ("a", {"v": 1}, 1), ("b", {"v": 2}, 2), ("a", None, 3), ("b", {"v": "no"}, 4))
    found = orion.pull("SELECT * FROM ps", seen=sent, deadline_s=150)
    assert found.rows == [["b", 2]]
    assert orion.tables is not None
    status = orion.tables.status("PS")
    assert status is not None
    assert status.bad_records == 1
    orion.execute("DROP TABLE ps;")
    with pytest.raises(OrionError):
        orion.pull("SELECT * FROM ps")
    assert orion.tables.status("PS") is None


def test_a_table_that_has_stopped_says_so_in_every_answer(
    orion: Orion, door: str, until: Await, monkeypatch: pytest.MonkeyPatch
) -> None:
    orion.execute(
        "CREATE SOURCE TABLE px (k STRING PRIMARY KEY, v INT, at TIMESTAMP) "
        "WITH (kafka_topic='px_topic', value_format='JSON', partitions=1);"
    )
    far = 253402300800000
    seen = send(orion, "px_topic", ("a", {"v": 1, "at": far}, 1), ("b", {"v": "\ud800"}, 2))
    assert orion.pull("SELECT * FROM px", seen=seen, deadline_s=150).rows == [["a", 1, "+10000-01-01T00:00:00.000"]]
    (described,) = orion.execute("DESCRIBE px EXTENDED;")
    (bad,) = described["sourceDescription"]["table"]["lastBadRecords"]
    assert (bad["topic"], bad["partition"], bad["offset"]) == ("px_topic", 0, 1)
    assert orion.tables is not None
    apply = orion.tables.store.apply

    def on_a_full_disk(layout: Layout, changes: Changes) -> None:
        if layout.source.name == "PX":
            raise duckdb.IOException("No space left on device")
        apply(layout, changes)

    with monkeypatch.context() as patched:
        patched.setattr(orion.tables.store, "apply", on_a_full_disk)
        send(orion, "px_topic", ("c", {"v": 3}, 3))
        until(lambda: bool(orion.failing_tables()), 120.0)
        for path, field in (("/query-stream", "sql"), ("/query", "ksql")):
            answer = httpx.post(f"{door}{path}", json={field: "SELECT k FROM px WHERE k = 'a';"}, timeout=60)
            assert answer.status_code == 200
            assert "PX has stopped following its topic" in answer.headers["Orion-Warning"]
        health = httpx.get(f"{door}/healthcheck", timeout=60)
        assert health.status_code == 503
        assert health.json()["details"]["tables"]["failing"] == {"PX": "IOException: No space left on device"}
        with connect(door) as server:
            pulled = server.pull("SELECT at FROM px WHERE k = 'a';")
            assert pulled.rows == [["+10000-01-01T00:00:00.000"]]
            assert pulled.arrow().column("AT").cast("int64").to_pylist() == [far]
            assert "No space left" in (pulled.warning or "")
            for statement in ("SHOW TABLES;", "DESCRIBE px;"):
                assert "PX has stopped" in server.execute(statement)[0]["warnings"][0]["message"]
    until(lambda: not orion.failing_tables(), 120.0)
    with connect(door) as server:
        until(lambda: len(server.pull("SELECT k FROM px;").rows) == 2, 120.0)
        assert server.pull("SELECT k FROM px;").warning is None
        with server.push("SELECT at FROM px EMIT CHANGES LIMIT 1;", {"auto.offset.reset": "earliest"}) as rows:
            assert next(iter(rows)) == ["+10000-01-01T00:00:00.000"]
    assert orion.pull("SELECT CAST(at AS STRING) AS t FROM px WHERE k = 'a'").rows == [["+10000-01-01T00:00:00.000"]]
    orion.execute("DROP TABLE px;")


def test_many_read_at_once_while_the_table_is_fed(orion: Orion) -> None:
    orion.execute(
        "CREATE SOURCE TABLE pm (k BIGINT PRIMARY KEY, v INT) "
        "WITH (kafka_topic='pm_topic', key_format='JSON', value_format='JSON', partitions=2);"
    )
    keys = [str(n) for n in range(200)]
    sent = send(orion, "pm_topic", *((k, {"v": 0}, 1) for k in keys))
    orion.pull("SELECT * FROM pm", seen=sent, deadline_s=150)
    stop = threading.Event()

    def read(at: int) -> int:
        asked = 0
        while not stop.is_set():
            key = (at * 31 + asked) % 200
            assert orion.pull(f"SELECT k FROM pm WHERE k = {key}").rows == [[key]]
            asked += 1
        return asked

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read, at) for at in range(4)]
        try:
            for turn in range(1, 4):
                sent = send(orion, "pm_topic", *((k, {"v": turn}, turn) for k in keys))
                found = orion.pull("SELECT DISTINCT v FROM pm", seen=sent, deadline_s=150)
                assert found.rows == [[turn]]
        finally:
            stop.set()
        assert all(reader.result(timeout=150) > 0 for reader in readers)
    orion.execute("DROP TABLE pm;")


def test_query_stream_answers(orion: Orion, counted: str) -> None:
    sock = bound("127.0.0.1", 0)
    server = Server.start(orion, sock)
    try:
        with httpx.Client(base_url=server.url, timeout=150) as http:
            body = {"sql": "SELECT k, n FROM pl WHERE k = 'c';", "properties": {"auto.offset.reset": "earliest"}}
            for _ in range(2):
                lines = http.post("/query-stream", json=body).text.splitlines()
                head, *rows = map(json.loads, lines)
                assert (head["columnNames"], head["columnTypes"]) == (["K", "N"], ["STRING", "BIGINT"])
                assert rows == [["c", 1]]
            array = http.post("/query-stream", json=body, headers={"accept": "application/json"}).json()
            assert array[1:] == [["c", 1]]
            refused = http.post("/ksql", json={"ksql": "SELECT * FROM pl;"})
            assert refused.status_code == 400
            assert "query-stream" in refused.text
            unknown = http.post("/query-stream", json={"sql": "SELECT * FROM nowhere;"})
            assert unknown.status_code == 400
            began = time.monotonic()
            waits = {"orion.pull.seen": '{"pl_in": {"0": 99999}}', "orion.pull.deadline.ms": "100"}
            late = http.post("/query-stream", json={"sql": "SELECT * FROM pl;", "properties": waits})
            assert late.status_code == 503
            assert time.monotonic() - began < 30
    finally:
        server.stop()
        sock.close()


# ---- who asks and leaves -------------------------------------------------------------------------------------------

ROWS = 3000
WITHOUT_END = (
    "SELECT COUNT(*) AS c FROM pd x JOIN pd y ON x.v = y.v JOIN pd z ON y.v = z.v "
    "WHERE LEN(x.k) * z.v % 7 = LEN(y.k || z.k) % 11 - 9{more};"
)


@pytest.mark.parametrize(
    "more", ["", " AND FORMAT_TIMESTAMP(FROM_UNIXTIME(x.v), 'ss') <> x.k"], ids=["duckdb", "spark"]
)
@pytest.mark.timeout(600)
def test_a_query_ends_with_who_asked(
    orion: Orion, door: str, until: Await, monkeypatch: pytest.MonkeyPatch, more: str
) -> None:
    """A client that goes in the middle: both engines would need hours for the rest."""
    orion.execute(
        "CREATE SOURCE TABLE IF NOT EXISTS pd (k STRING PRIMARY KEY, v INT) "
        "WITH (kafka_topic='pd_topic', value_format='JSON', partitions=1);"
    )
    if not sum(orion.kafka.end_offsets("pd_topic").values()):
        sent = send(orion, "pd_topic", *((f"k{n}", {"v": 1}, n) for n in range(ROWS)))
        assert orion.pull("SELECT COUNT(*) AS c FROM pd", seen=sent, deadline_s=150).rows == [[ROWS]]
    begun: list[Callable[[], None]] = []
    ended: list[str] = []
    answer, ended_by = orion.pulls.answer, Interruption.ended_by

    def noted(self: Interruption, end: Callable[[], None]) -> Any:
        begun.append(end)
        return ended_by(self, end)

    def watched(*given: Any, **named: Any) -> Any:
        try:
            return answer(*given, **named)
        except OrionError as error:
            ended.append(error.code)
            raise

    monkeypatch.setattr(orion.pulls, "answer", watched)
    monkeypatch.setattr(Interruption, "ended_by", noted)
    body = json.dumps({"sql": WITHOUT_END.format(more=more)}).encode()
    head = f"POST /query-stream HTTP/1.1\r\nHost: {urlsplit(door).netloc}\r\nContent-Type: application/json\r\n"
    address = urlsplit(door)
    with socket.create_connection((address.hostname, address.port)) as client:
        client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        until(lambda: bool(begun), 150.0)
    until(lambda: ended == ["CLIENT_LEFT"], 300.0)
    assert orion.pull("SELECT COUNT(*) AS c FROM pd").rows == [[ROWS]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT GENERATE_SERIES(1, 2000000000) AS s FROM pl;", "VALUE_TOO_LARGE"),
        ("SELECT GENERATE_SERIES(1, CAST(n AS INT) * 2000000000) AS s FROM pl WHERE k = 'c';", [[None]]),
        ("SELECT LPAD(k, CAST(n AS INT) * 2000000000, 'x') AS s FROM pl WHERE k = 'c';", [[None]]),
        ("SELECT ARRAY_LENGTH(GENERATE_SERIES(1, CAST(n AS INT) * 100000)) AS s FROM pl WHERE k = 'c';", [[100_000]]),
    ],
)
def test_a_few_characters_make_no_value_without_end(orion: Orion, counted: str, text: str, expected: Any) -> None:
    if isinstance(expected, str):
        with pytest.raises(OrionError) as refused:
            orion.pull(text)
        assert refused.value.code == expected
    else:
        assert orion.pull(text).rows == expected
