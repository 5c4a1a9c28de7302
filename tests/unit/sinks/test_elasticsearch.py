"""Options of the elasticsearch sink, names of indices, and what a server's answers mean."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from unittest import mock

import httpx
import pytest
from pydantic import SecretStr

from orion import options as written_options
from orion.errors import ConfigError, ExternalError
from orion.plan.sources import Connector, Kind
from orion.schema import Column, Role, Scalar
from orion.sinks.documents.rows import Row
from orion.sinks.documents.values import Unfit
from orion.sinks.elasticsearch import SearchStore, open_sink
from orion.sinks.search.bulk import SearchTransfer, Tombstones, _Action
from orion.sinks.search.client import Connection, SearchClient, reason
from orion.sinks.search.indices import Indices
from orion.sinks.search.names import Naming, legal, pattern_of
from orion.sinks.store import Layout, Slot, StoreAway

KEY, NAME = Column("ID", Scalar.BIGINT, Role.KEY), Column("NAME", Scalar.STRING)
TABLE = Layout("plays", Kind.TABLE, (KEY, NAME))
STREAM = Layout("plays", Kind.STREAM, (NAME,))


def opened(options: dict[str, str] | None = None, layout: Layout = TABLE) -> SearchStore:
    given = {"connection.url": "http://a:9200", **(options or {})}
    return open_sink(Connector("c", "elasticsearch", (), tuple(given.items())), layout)


def test_without_more_a_table_goes_by_its_key_and_a_stream_by_its_places() -> None:
    table, stream = opened().work, opened(layout=STREAM).work
    assert (table.by_key, table.tombstones) == (True, Tombstones.DELETE)
    assert (stream.by_key, stream.tombstones) == (False, Tombstones.IGNORE)
    assert table.naming.fixed == "plays"


def test_a_store_travels_is_hashable_and_shows_no_password() -> None:
    store = opened({"connection.url": "a:9200, https://me:secret@b:9200/path/", "connection.api.key": "secret"})
    travelled = pickle.loads(pickle.dumps(store))
    assert travelled == store
    assert hash(travelled) == hash(store)
    assert "secret" not in repr(store)
    to = store.work.connection
    assert (to.urls, to.username) == (("http://a:9200", "https://b:9200/path"), "me")
    assert to.password is not None
    assert to.password.get_secret_value() == "secret"


def test_an_api_key_is_a_secret_wherever_options_are_shown() -> None:
    assert written_options.shown({"connection.api.key": "x"}) == {"connection.api.key": written_options.HIDDEN}


@pytest.mark.parametrize(
    ("options", "layout", "told"),
    [
        ({"connection.url": ""}, TABLE, "connection.url"),
        ({"connection.url": "ftp://me:secret@a"}, TABLE, "no address"),
        ({"key.ignore": "false"}, STREAM, "has no key"),
        ({"key.ignore": "true", "behavior.on.null.values": "delete"}, TABLE, "'key.ignore' = 'false'"),
        ({"behavior.on.null.values": "explode"}, TABLE, "behavior.on.null.values"),
        ({"index.name.format": "${topic}-%Y"}, TABLE, "would stand in several indices"),
        ({"index.name.format": "${topic}-%Q"}, STREAM, "there is no %Q"),
        ({"index.name.format": "${timestamp}", "timestamp.format": "yyyy.QQ"}, STREAM, "there is no 'QQ'"),
        ({"index.name.format": "--"}, TABLE, "makes no name"),
        ({"topic.to.external.resource.mapping": "plays"}, TABLE, "each is topic:name"),
        ({"write.metod": "upsert"}, TABLE, "Did you mean write.method?"),
    ],
)
def test_what_is_wrong_is_told(options: dict[str, str], layout: Layout, told: str) -> None:
    with pytest.raises(ConfigError) as error:
        opened(options, layout)
    shown = f"{error.value.message} {error.value.hint}"
    assert told in shown
    assert "secret" not in shown


# ---- names -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Plays", "plays"),
        ("_-+plays", "plays"),
        ('a b/c\\d*e?f"g<h>i|j,k#l:m', "a_b_c_d_e_f_g_h_i_j_k_l_m"),
        ("..", ""),
        ("_", ""),
        ("é" * 200, "é" * 127),
    ],
)
def test_names_become_legal(name: str, expected: str) -> None:
    assert legal(name) == expected


@pytest.mark.parametrize(
    ("written", "java", "expected"),
    [
        ("${topic}-%Y.%m.%d", "yyyyMMdd", "t%-2026.01.02"),
        ("${topic}-${timestamp}", "yyyy-MM-dd'T'HH", "t%-2026-01-02t03"),
        ("${timestamp}", "'100%' yy.DDD ''", "100%_26.002_'"),
        ("a%%b-%Y", "", "a%b-2026"),
    ],
)
def test_times_in_names(written: str, java: str, expected: str) -> None:
    row = Row({}, False, 0, 0, 1_767_323_045_678, None)  # 2026-01-02 03:04:05.678
    assert Naming(pattern_of(written, java), "t%").of(row) == expected


def test_a_route_that_is_no_name_is_refused() -> None:
    with pytest.raises(Unfit):
        Naming("${topic}", "t").of(Row({}, False, 0, 0, 0, "--"))


# ---- answers -----------------------------------------------------------------------------------------------------


def answer(status: int, error: Any) -> httpx.Response:
    return httpx.Response(status, json={"error": error, "status": status})


@pytest.mark.parametrize(
    ("status", "type_", "expected", "code"),
    [
        (401, "security_exception", ConfigError, "STORE_LOGIN"),
        (403, "security_exception", ConfigError, "STORE_FORBIDDEN"),
        (403, "cluster_block_exception", StoreAway, "STORE_AWAY"),
        (400, "illegal_argument_exception", ConfigError, "STORE_REFUSES"),
        (500, "exception", ExternalError, "STORE_FAILED"),
    ],
)
def test_who_must_act_on_an_answer(status: int, type_: str, expected: type[Exception], code: str) -> None:
    client = SearchClient(Connection(("http://a:1",), "me", SecretStr("secret")))
    why = client.failed(answer(status, {"type": type_, "reason": "not so"}))
    client.close()
    assert isinstance(why, expected)
    assert getattr(why, "code", None) == code
    assert f"{type_}: not so" in str(why)
    assert "secret" not in str(why)


def test_a_reason_quotes_nothing() -> None:
    parsing = {
        "type": "mapper_parsing_exception",
        "reason": "failed to parse field [A] of type [date] in document with id '7'. Preview of field's value: 'x.y'",
        "caused_by": {"type": "illegal_argument_exception", "reason": "failed to parse date field [x.y] with 'x'"},
    }
    assert reason(parsing) == (
        "mapper_parsing_exception: failed to parse field [A] of type [date]; "
        "illegal_argument_exception: failed to parse date field [...] with [...]"
    )
    assert reason("no such thing.") == "no such thing"


def test_nobody_answers_at_any_address() -> None:
    client = SearchClient(Connection(("http://127.0.0.1:1", "http://127.0.0.1:2")))
    with pytest.raises(StoreAway, match=r"127\.0\.0\.1:2"):
        client.get("/")
    client.close()


# ---- servers that are none ---------------------------------------------------------------------------------------

HTML = (200, {"content-type": "text/html"}, b"<html>Welcome</html>")


class Canned(BaseHTTPRequestHandler):
    """Answers every request alike."""

    answer: ClassVar[tuple[int, dict[str, str], bytes]]

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        status, headers, body = self.answer
        self.send_response(status)
        for name, value in {"content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_PUT = do_POST = do_DELETE = do_GET

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def answering(status: int, headers: dict[str, str], body: bytes) -> Iterator[str]:
    handler = type("Answering", (Canned,), {"answer": (status, headers, body)})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


@pytest.mark.parametrize(
    "given",
    [
        HTML,
        (200, {"content-type": "application/json"}, b"{"),
        (200, {}, b"[]"),
        (200, {}, b"null"),
        (200, {}, b'{"plays": 1}'),
        (200, {}, b'{"plays": {"mappings": []}}'),
        (200, {}, b'{"plays": {"mappings": {"properties": {"ID": "long"}}}}'),
        (200, {}, b"[" * 5000),
        (200, {"content-encoding": "gzip"}, b"no gzip"),
        (302, {"location": "https://me:secret@elsewhere/login?token=secret"}, b""),
    ],
)
def test_a_server_that_is_no_search_server_is_told_to_be_none(given: tuple[int, dict[str, str], bytes]) -> None:
    with answering(*given) as url, pytest.raises(ConfigError) as refused:
        opened({"connection.url": url}).prepare()
    assert refused.value.code == "NOT_A_SEARCH_SERVER"
    assert url in refused.value.message
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "given",
    [
        HTML,
        (400, {"content-type": "text/html"}, b"<html>Bad</html>"),
        (200, {}, b"{}"),
        (200, {}, b'{"errors": true}'),
        (200, {}, b'{"errors": true, "items": []}'),
        (200, {}, b'{"errors": true, "items": [1]}'),
        (200, {}, b'{"errors": true, "items": [{"index": {}}]}'),
        (200, {}, b'{"errors": true, "items": [{"index": {"status": "busy"}}]}'),
    ],
)
def test_documents_that_nobody_understood_are_neither_taken_nor_refused(
    given: tuple[int, dict[str, str], bytes],
) -> None:
    with answering(*given) as url:
        session = opened({"connection.url": url, "schema.ignore": "true"}, STREAM).open()
        transfer = SearchTransfer(session._client, session._indices, session._work, {}, Slot("t", 0, 1))
        transfer._waiting = [_Action(0, b"{}\n{}\n")]
        with pytest.raises(ConfigError) as refused:
            transfer.finish()
        session.close()
    assert refused.value.code == "NOT_A_SEARCH_SERVER"


def test_an_index_that_is_there_and_is_not() -> None:
    client = SearchClient(Connection(("http://a:1",)))
    indices = Indices(client, TABLE, explicit=True, compact=True)
    exists = answer(400, {"type": "resource_already_exists_exception", "reason": "x"})
    with (
        mock.patch.object(SearchClient, "ask", return_value=exists),
        mock.patch.object(SearchClient, "get", return_value=None),
        pytest.raises(ConfigError, match="there and isn't"),
    ):
        indices.ensure("plays")
    client.close()
