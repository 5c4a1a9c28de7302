"""`orion.connect` against a server of canned answers: what is asked, what comes back, which errors are raised."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import httpx
import pytest

import orion
from orion.clients import Connection
from orion.clients.values import dumped, row_of
from orion.errors import BindError, ConfigError, ExternalError, InternalError, NotFound, SchemaError, Span, UserError
from orion.schema import Array, Field, Map, Scalar, Struct
from orion.schema import Decimal as SqlDecimal
from orion.web import ksql_errors
from orion.web.shapes import type_name

Answer = Callable[[httpx.Request], httpx.Response]


def server(answer: Answer, **properties: str) -> Connection:
    return Connection("http://orion", properties, {"who": "me"}, transport=httpx.MockTransport(answer))


def lines(*values: Any) -> httpx.Response:
    return httpx.Response(200, text="".join(json.dumps(value) + "\n" for value in values))


def head(query: str | None, **columns: str) -> dict[str, Any]:
    return {"queryId": query, "columnNames": list(columns), "columnTypes": list(columns.values())}


def test_statements_go_with_the_sessions_properties_and_variables() -> None:
    asked: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append((request.url.path, json.loads(request.content)))
        return httpx.Response(200, json=[{"@type": "streams"}])

    with server(answer, a="1", b="2") as connection:
        assert connection.execute("SHOW STREAMS;", {"b": "3"}) == [{"@type": "streams"}]
    body = {"ksql": "SHOW STREAMS;", "streamsProperties": {"a": "1", "b": "3"}, "sessionVariables": {"who": "me"}}
    assert asked == [("/ksql", body)]


def test_a_pull_query_gives_typed_rows_arrow_and_pandas() -> None:
    told = head(None, K="STRING", M="DECIMAL(20, 2)", D="DOUBLE", L="MAP<STRING, INTEGER>")
    rows = [["a", 1, 0.5, {"x": 1}], ["b", None, 2, {}]]
    result = server(lambda _: lines(told, *rows)).pull("SELECT * FROM t;")
    assert result.rows == [["a", Decimal(1), 0.5, {"x": 1}], ["b", None, 2.0, {}]]
    assert (result.columns, len(result), list(result)) == (("K", "M", "D", "L"), 2, result.rows)
    table = result.arrow()
    assert [str(field.type) for field in table.schema] == [
        "string",
        "decimal128(20, 2)",
        "double",
        "map<string, int32>",
    ]
    assert table.column("L").to_pylist() == [[("x", 1)], []]
    assert list(result.pandas()["D"]) == [0.5, 2.0]
    empty = server(lambda _: lines(told)).pull("SELECT * FROM t;")
    assert (empty.rows, empty.arrow().num_rows, list(empty.pandas().columns)) == ([], 0, ["K", "M", "D", "L"])


def test_values_are_pythons_own() -> None:
    types = (
        Scalar.BYTES,
        Scalar.DATE,
        Scalar.TIME,
        Scalar.TIMESTAMP,
        Struct((Field("at", Scalar.TIME), Field("n", Array(SqlDecimal(4, 1))))),
        Map(Scalar.INTEGER, Scalar.DOUBLE),
    )
    given = ["AQI=", "2026-01-31", "12:30:00.250", "2026-01-31T12:00:00.000", {"at": 1000, "n": [1, None]}, {"7": 1}]
    row = row_of(given, types)
    assert row == [
        b"\1\2",
        dt.date(2026, 1, 31),
        dt.time(12, 30, 0, 250_000),
        dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC),
        {"at": dt.time(0, 0, 1), "n": [Decimal(1), None]},
        {7: 1.0},
    ]
    assert json.loads(dumped([*row[:4], Decimal("1.50")])) == [
        "AQI=",
        "2026-01-31",
        "12:30:00.250000",
        "2026-01-31T12:00:00+00:00",
        "1.50",
    ]
    with pytest.raises(TypeError, match="set"):
        dumped({"v": {1}})


def test_types_are_read_as_the_server_writes_them() -> None:
    type_ = Struct((Field("a b", Array(Scalar.STRING)), Field("M", Map(Scalar.STRING, SqlDecimal(4, 2)))))
    assert type_name(type_) == "STRUCT<`a b` ARRAY<STRING>, `M` MAP<STRING, DECIMAL(4, 2)>>"
    with server(lambda _: lines(head("q", S=type_name(type_)))).push("SELECT ...") as rows:
        assert rows.types == (type_,)


def test_closing_a_push_query_ends_it_on_the_server() -> None:
    closed: list[Any] = []
    with server(endless(closed)).push("SELECT v FROM s EMIT CHANGES;") as rows:
        assert (rows.id, rows.columns, next(rows)) == ("q1", ("V",), [1])
    rows.close()
    assert closed == [{"queryId": "q1"}]


def endless(closed: list[Any]) -> Answer:
    """A server whose every query has rows without an end."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/close-query":
            closed.append(json.loads(request.content))
            return httpx.Response(200, json={})
        return httpx.Response(200, stream=Endless())

    return answer


class Endless(httpx.SyncByteStream):
    def __iter__(self) -> Any:
        yield json.dumps(head("q1", V="INTEGER")).encode() + b"\n"
        while True:
            yield b"[1]\n"


def test_a_query_without_an_end_is_no_pull_query() -> None:
    with pytest.raises(UserError) as refused:
        server(endless([])).pull("SELECT v FROM s EMIT CHANGES;")
    assert refused.value.code == "NOT_A_PULL_QUERY"


def test_an_error_is_raised_as_what_it_is_on_the_server() -> None:
    there = BindError("UNKNOWN_COLUMN", "There is no column KK.", span=Span(7, 9), text="SELECT kk FROM s", hint="K?")
    with pytest.raises(BindError) as refused:
        server(lambda _: httpx.Response(400, json=ksql_errors.body(there))).execute("SELECT kk FROM s;")
    assert (refused.value.code, refused.value.span, refused.value.hint) == ("UNKNOWN_COLUMN", Span(7, 9), "K?")
    cut = ksql_errors.body(UserError("READER_TOO_SLOW", "Too slow."))
    rows = server(lambda _: lines(head("q", V="INTEGER"), [1], cut)).push("SELECT v FROM s EMIT CHANGES;")
    assert next(rows) == [1]
    with pytest.raises(UserError) as slow:
        next(rows)
    assert slow.value.code == "READER_TOO_SLOW"


@pytest.mark.parametrize(
    ("status", "kind"), [(404, NotFound), (500, InternalError), (503, ExternalError), (418, UserError)]
)
def test_of_other_servers_the_status_tells_who_must_act(status: int, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        server(lambda _: httpx.Response(status, json={"message": "no"})).execute("SHOW TOPICS;")


def test_rows_go_in_some_at_a_time_and_the_first_that_is_wrong_is_told() -> None:
    requests: list[list[Any]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        target, *rows = [json.loads(line) for line in request.content.splitlines()]
        requests.append(rows)
        assert target == {"target": "s"}
        bad = next((n for n, row in enumerate(rows) if row["v"] == "bad"), len(rows))
        acks: list[Any] = [{"status": "ok", "seq": n} for n in range(bad)]
        body = ksql_errors.body(SchemaError("ROW_UNFIT", "V is no number."))
        return lines(*acks, *([{"status": "error", "seq": bad, **body}] if bad < len(rows) else []))

    assert server(answer).insert("s", ({"v": n} for n in range(12_000))) == 12_000
    assert list(map(len, requests)) == [5000, 5000, 2000]
    assert server(answer).insert("s", []) == 0
    with pytest.raises(SchemaError, match="Row 5001 isn't taken: V is no number"):
        server(answer).insert("s", [*({"v": n} for n in range(5001)), {"v": "bad"}, {"v": 1}])


def test_a_server_that_is_away_is_told_by_its_address(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    with orion.connect("http://127.0.0.1:9") as connection, pytest.raises(ExternalError, match=r"127\.0\.0\.1:9"):
        connection.execute("SHOW TOPICS;")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("ORION_WEB__PORT", "0")
    with pytest.raises(ConfigError, match="No Orion runs"):
        orion.connect()


def test_asking_needs_neither_spark_nor_a_kafka_client() -> None:
    script = "import sys, orion; orion.connect; print({'pyspark', 'confluent_kafka', 'fastapi'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.strip() == "set()"
