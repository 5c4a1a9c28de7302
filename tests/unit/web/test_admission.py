"""Every HTTP door as somebody meets it who shouldn't get in: pages of other sites, foreign names, endless bodies."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import FastAPI, WebSocket
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from orion.config import Web
from orion.hub.kafka import Kafka
from orion.plan.catalog import Catalog
from orion.pulling import Pulls
from orion.registry import api
from orion.registry.access import Local
from orion.registry.log import MemoryLog
from orion.registry.store import Registry
from orion.runtime.schemas import Schemas
from orion.schema import Column, Scalar
from orion.serving.pull import Pulled
from orion.web.console.door import Door
from orion.web.gateway import Gateway
from orion.web.lookups import Lookups
from orion.web.own_hosts import OwnHosts
from orion.web.server import Server, over
from orion.web.sockets import bound

PATIENCE_S = 150.0
MOST = 100_000
EVIL = "https://evil.example"
SECRET_ROW = "a row of the table"


class AtHand(Pulls):
    """Look-ups that are answered before anything else is done."""

    def __init__(self) -> None:
        pass

    def at_hand(self, statement: str, properties: Mapping[str, Any]) -> Pulled | None:
        return Pulled((Column("K", Scalar.STRING),), [(SECRET_ROW,)]) if statement == "known" else None


@dataclass(frozen=True)
class Doors:
    platform: str
    registry: str

    def url(self, door: str) -> str:
        server, _, path = door.partition(" ")
        return f"{self.registry if server == 'registry' else self.platform}{path}"


def platform() -> FastAPI:
    """All that the server has, over a cluster that isn't there: what gets as far as that has got too far."""
    settings = Web(max_body_bytes=MOST)
    app = over(Gateway(Kafka("127.0.0.1:1"), Schemas(Local(Registry(MemoryLog()))), settings, Catalog))

    app.state.orion = SimpleNamespace(engine=SimpleNamespace(push_queries={}))

    def no_desk() -> Any:
        raise AssertionError("somebody is at the console's desk")

    app.add_middleware(Door, desk=no_desk)
    app.add_middleware(Lookups, pulls=AtHand())
    return app


@pytest.fixture(scope="module", autouse=True)
def clients() -> Iterator[None]:
    yield
    for client in CLIENTS.values():
        client.close()


@pytest.fixture(scope="module")
def doors() -> Iterator[Doors]:
    settings = Web(max_body_bytes=MOST, body_s=PATIENCE_S, allowed_hosts=("orion.example", "console.example:8443"))
    with ExitStack() as stack:
        urls = []
        for app in (platform(), api.application(Registry(MemoryLog()))):
            sock = stack.enter_context(closing(bound("127.0.0.1", 0)))
            server = Server.serve(app, sock, settings)
            stack.callback(server.stop)
            urls.append(server.url)
        yield Doors(*urls)


CLIENTS = {http2: httpx.Client(http1=not http2, http2=http2, timeout=PATIENCE_S) for http2 in (False, True)}
KSQL = "application/vnd.ksql.v1+json"
V2 = "application/vnd.kafka.v2+json"
# A request of each family, as its clients send it: server and path, method, media type.
FAMILIES = [
    ("platform /ksql", "POST", KSQL),
    ("platform /query", "POST", KSQL),
    ("platform /query-stream", "POST", "application/json"),
    ("platform /close-query", "POST", KSQL),
    ("platform /inserts-stream", "POST", "application/vnd.ksqlapi.delimited.v1"),
    ("platform /feeds/orders", "POST", "application/x-ndjson"),
    ("platform /info", "GET", None),
    ("platform /healthcheck", "GET", None),
    ("platform /is_valid_property/auto.offset.reset", "GET", None),
    ("platform /chc/live", "GET", None),
    ("platform /status", "GET", None),
    ("platform /connectors", "POST", "application/json"),
    ("platform /connect/connectors", "POST", "application/json"),
    ("platform /connectors/c/config", "PUT", "application/json"),
    ("platform /connectors/c/pause", "PUT", None),
    ("platform /connectors/c", "DELETE", None),
    ("platform /topics", "GET", None),
    ("platform /topics/orders", "POST", "application/vnd.kafka.json.v2+json"),
    ("platform /topics/orders/partitions/0", "POST", "application/vnd.kafka.avro.v2+json"),
    ("platform /consumers/g", "POST", V2),
    ("platform /consumers/g/instances/i/subscription", "POST", V2),
    ("platform /consumers/g/instances/i/records", "GET", None),
    ("platform /consumers/g/instances/i", "DELETE", None),
    ("platform /v3/clusters", "GET", None),
    ("platform /v3/clusters/c/topics", "POST", "application/json"),
    ("platform /v3/clusters/c/topics/t", "DELETE", None),
    ("platform /v3/clusters/c/topics/t/records", "POST", "application/json"),
    ("platform /v3/clusters/c/topics/t/records:batch", "POST", "application/json"),
    ("platform /_nicegui_ws/socket.io/?EIO=4&transport=polling", "POST", None),
    ("platform /_console/x/console.css", "GET", None),
    ("platform /no/such/path", "GET", None),
    ("registry /subjects", "GET", None),
    ("registry /subjects/s/versions", "POST", "application/vnd.schemaregistry.v1+json"),
    ("registry /subjects/s", "DELETE", None),
    ("registry /config", "PUT", "application/vnd.schemaregistry.v1+json"),
    ("registry /contexts/c/subjects", "GET", None),
]
# What needs a cluster, an engine or a whole console.
NEEDS_MORE = re.compile("/(feeds|topics|consumers|v3|healthcheck|info|status|_)")
WITH_BODY = [family for family in FAMILIES if family[2] is not None]
BODY = json.dumps({"ksql": "SHOW STREAMS;", "sql": "known", "schema": '"string"', "name": "one"}).encode()


def ask(url: str, family: tuple[str, str, str | None], *, http2: bool = False, **headers: str) -> httpx.Response:
    _, method, media = family
    sent = {} if media is None else {"content-type": media}
    return CLIENTS[http2].request(method, url, content=None if media is None else BODY, headers={**sent, **headers})


def refusal_of(answer: httpx.Response) -> tuple[int, str]:
    """The status and Orion's code; an answer has its family's form besides."""
    body = answer.json()
    assert isinstance(body["error_code"], int)
    assert body["message"]
    assert SECRET_ROW not in answer.text
    path = answer.request.url.path
    if any(
        path.startswith(f"/{ksql}")
        for ksql in ("ksql", "query", "inserts", "close", "feeds", "info", "health", "status", "is_", "chc")
    ):
        assert (body["@type"], body["error_code"]) == ("generic_error", answer.status_code * 100)
    else:
        assert body["error_code"] == answer.status_code
    return answer.status_code, body["code"]


# ---- whose request it is -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("http2", [False, True], ids=["http1", "http2"])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: f"{family[1]} {family[0]}")
def test_pages_of_other_sites_and_foreign_names_are_refused(
    doors: Doors, family: tuple[str, str, str | None], http2: bool
) -> None:
    url = doors.url(family[0])
    for origin in (EVIL, "null", "http://127.0.0.1:1", "http://localhost", "file://", ""):
        assert refusal_of(ask(url, family, http2=http2, origin=origin)) == (403, "FOREIGN_ORIGIN"), origin
    for host in ("evil.example", "127.0.0.1.evil.example:8088", "localhost.evil.example", "10.0.0.1", "evil"):
        assert refusal_of(ask(url, family, http2=http2, host=host)) == (403, "FOREIGN_HOST"), host
    assert refusal_of(ask(url, family, http2=http2, **{"sec-fetch-site": "cross-site"})) == (403, "FOREIGN_ORIGIN")


@pytest.mark.parametrize(
    "family", [one for one in FAMILIES if not NEEDS_MORE.search(one[0])], ids=lambda family: f"{family[1]} {family[0]}"
)
def test_programs_and_own_pages_get_in(doors: Doors, family: tuple[str, str, str | None]) -> None:
    """To whatever is behind the door, which here is next to nothing."""
    url, media = doors.url(family[0]), {} if family[2] is None else {"content-type": family[2]}
    port = urlsplit(url).port
    for headers in (
        {},
        {"origin": f"http://127.0.0.1:{port}"},
        {"host": f"localhost:{port}", "origin": f"http://localhost:{port}"},
        {"host": "orion.example", "origin": "https://orion.example"},
        {"host": f"127.0.0.1:{port}", "origin": "https://console.example:8443"},
        {"sec-fetch-site": "same-origin"},
    ):
        body = None if family[2] is None else b"[]"
        answer = CLIENTS[False].request(family[1], url, content=body, headers={**media, **headers})
        assert answer.status_code not in (403, 408, 413, 415), headers


def test_a_look_up_is_answered_to_programs_alone(doors: Doors) -> None:
    family = ("platform /query-stream", "POST", "application/json")
    url = doors.url(family[0])
    assert SECRET_ROW in ask(url, family).text
    assert SECRET_ROW in ask(url, family, http2=True).text
    plain = CLIENTS[False].post(url, content=BODY, headers={"content-type": "text/plain"})
    assert refusal_of(plain) == (415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize("path", ["/ws/query?request={}", "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"])
@pytest.mark.parametrize("headers", [{"origin": EVIL}, {"origin": "null"}, {"host": "evil.example"}])
def test_websockets_of_other_sites_are_refused(doors: Doors, path: str, headers: dict[str, str]) -> None:
    given = dict(headers)
    host = given.pop("host", None)
    address = urlsplit(doors.platform)
    with socket.create_connection((address.hostname or "", address.port or 0), PATIENCE_S) as sock:
        uri = f"ws://{host or address.netloc}{path}"
        with pytest.raises(InvalidStatus) as refused, connect(uri, sock=sock, additional_headers=given):
            pass
    assert refused.value.response.status_code == 403


def test_a_link_from_elsewhere_leads_in(doors: Doors) -> None:
    """Who follows one reads, for themselves; what it posts is another matter."""
    navigation = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert CLIENTS[False].get(f"{doors.registry}/subjects", headers=navigation).status_code == 200
    posted = CLIENTS[False].post(f"{doors.registry}/subjects/s", json={}, headers=navigation)
    assert refusal_of(posted) == (403, "FOREIGN_ORIGIN")


@pytest.mark.parametrize(
    ("at", "allowed", "host", "owns"),
    [
        ("127.0.0.1", (), "localhost:8088", True),
        ("127.0.0.1", (), "LocalHost.", True),
        ("127.0.0.1", (), "orion.localhost", True),
        ("127.0.0.1", (), "127.0.0.1:1", True),
        ("127.0.0.1", (), "[::1]:8088", True),
        ("127.0.0.1", (), "0.0.0.0:8088", True),
        ("127.0.0.1", (), "10.0.0.7", False),
        ("127.0.0.1", (), "orion", False),
        ("127.0.0.1", (), "", False),
        ("127.0.0.1", (), "localhost@evil.example", False),
        ("127.0.0.1", (), "localhost evil", False),
        ("127.0.0.1", (), "localhost:80:80", False),
        ("127.0.0.1", (), "notlocalhost", False),
        ("127.0.0.1", ("orion.example",), "orion.example:443", True),
        ("127.0.0.1", ("Orion.Example",), "ORION.example", True),
        ("127.0.0.1", ("orion.example",), "www.orion.example", False),
        ("127.0.0.1", ("*",), "evil.example", True),
        ("::1", (), "evil", False),
        ("0.0.0.0", (), "10.0.0.7:8088", True),
        ("0.0.0.0", (), "[fe80::1]", True),
        ("0.0.0.0", (), "localhost", True),
        ("0.0.0.0", (), "orion:8088", True),
        ("0.0.0.0", (), socket.gethostname(), True),
        ("0.0.0.0", (), "evil.example", False),
        ("10.0.0.7", (), "orion.internal.example", False),
        ("10.0.0.7", ("orion.internal.example",), "orion.internal.example", True),
    ],
)
def test_names_that_are_ours(at: str, allowed: tuple[str, ...], host: str, owns: bool) -> None:
    hosts = OwnHosts(at, allowed)
    assert [hosts.owns(host.encode()) for _ in range(2)] == [owns, owns]


def test_two_names_are_none(doors: Doors) -> None:
    said = _raw(doors.platform, b"GET /info HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 403")


# ---- what it brings ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", WITH_BODY, ids=lambda family: f"{family[1]} {family[0]}")
def test_what_a_form_or_a_script_can_send_is_no_json(doors: Doors, family: tuple[str, str, str | None]) -> None:
    door, method, _ = family
    for media in ("text/plain", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = CLIENTS[False].request(
            method, doors.url(door), content=BODY, headers={"content-type": media}, timeout=PATIENCE_S
        )
        assert refusal_of(answer) == (415, "UNSUPPORTED_MEDIA_TYPE")
        assert "Content-Type: application/json" in answer.text


def test_a_body_without_a_media_type_and_a_media_type_without_a_body_get_in(doors: Doors) -> None:
    url = f"{doors.registry}/subjects/t/versions"
    assert CLIENTS[False].post(url, content=b'{"schema": "\\"int\\""}').status_code == 200
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert CLIENTS[False].delete(f"{doors.registry}/subjects/t", headers=form).status_code == 200


@pytest.mark.parametrize("http2", [False, True], ids=["http1", "http2"])
@pytest.mark.parametrize("family", WITH_BODY, ids=lambda family: f"{family[1]} {family[0]}")
def test_a_body_that_is_too_large_is_refused(doors: Doors, family: tuple[str, str, str | None], http2: bool) -> None:
    door, method, media = family
    if door.endswith(("/inserts-stream", "/records", "/records:batch")):
        pytest.skip("rows may go on for ever, a line may not; and a cluster is asked for first")

    def pieces() -> Iterator[bytes]:
        for _ in range(MOST // 10_000 + 2):
            yield b" " * 10_000

    for content in (b" " * (MOST + 1), pieces()):
        answer = CLIENTS[http2].request(method, doors.url(door), content=content, headers={"content-type": media or ""})
        assert answer.status_code == 413
        assert "100000 bytes" in answer.json()["message"]


def test_an_announced_length_is_judged_before_anything_comes(doors: Doors) -> None:
    for url in (doors.platform, doors.registry):
        head = b"POST /ksql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 314572800\r\n\r\n"
        assert _raw(url, head).startswith(b"HTTP/1.1 413")


def test_a_body_without_end_is_cut_off(doors: Doors) -> None:
    """Chunk after chunk, until nobody takes them any more."""
    address = urlsplit(doors.platform)
    head = b"POST /ksql HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    sent = 0
    with socket.create_connection((address.hostname or "", address.port or 0), PATIENCE_S) as client:
        client.sendall(head)
        try:
            while sent < 1_000 * MOST:
                client.sendall(b"2710\r\n" + b"x" * 10_000 + b"\r\n")
                sent += 10_000
        except OSError:
            pass
    assert sent < 500 * MOST  # what is heard out, and what waits in the system's own buffers


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    head = b"POST /ksql HTTP/1.1\r\nHost: localhost\r\n"
    with _serving(Web(body_s=0.2)) as url:
        for length in (b"Content-Length: 90000", b"Transfer-Encoding: chunked"):
            said = _raw(url, head + length + b"\r\n\r\n")
            assert said.startswith(b"HTTP/1.1 408")
            assert json.loads(said.partition(b"\r\n\r\n")[2])["error_code"] == 40800
        assert _raw(url, head + b"Content-Length: 20\r\n\r\n{") == b""  # for so little nobody sets a clock


def test_rows_may_be_slow() -> None:
    """A stream isn't held to the time of a body: its first line is still waited for when others are late."""
    with _serving(Web(body_s=0.2)) as url:
        address = urlsplit(url)
        with socket.create_connection((address.hostname or "", address.port or 0), PATIENCE_S) as client:
            client.sendall(b"POST /inserts-stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            late = _raw(url, b"POST /ksql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\n{")
            assert late == b""
            client.sendall(b"3\r\n{}\n\r\n0\r\n\r\n")
            assert client.recv(65536).startswith(b"HTTP/1.1 400")


def test_a_head_without_end_is_cut_off(doors: Doors) -> None:
    """Of the first request on a connection and of a later one."""
    first = b"GET /info HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for before in (b"", first.replace(b"/info", b"/is_valid_property/auto.offset.reset")):
        said = _raw(doors.platform, before + b"GET /info HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 200_000)
        assert b"HTTP/1.1 431" in said


def test_messages_of_websockets_have_the_same_limit() -> None:
    app = FastAPI()
    got: list[int] = []

    async def take(websocket: WebSocket) -> None:
        await websocket.accept()
        got.append(len(await websocket.receive_text()))

    app.add_api_websocket_route("/ws", take)
    with _serving(Web(max_body_bytes=1_000), lambda: app) as url, connect(f"{url.replace('http', 'ws')}/ws") as client:
        client.send("x" * 5_000)
        client.recv_events_thread.join(PATIENCE_S)
        assert client.close_code == 1009
    assert got == []


# ---- connections ---------------------------------------------------------------------------------------------------


class _serving:
    def __init__(self, settings: Web, app: Callable[[], FastAPI] = platform) -> None:
        self._sock = bound("127.0.0.1", 0)
        self._server = Server.serve(app(), self._sock, settings)

    def __enter__(self) -> str:
        return self._server.url

    def __exit__(self, *_: object) -> None:
        self._server.stop()
        self._sock.close()


def _raw(url: str, request: bytes) -> bytes:
    """What comes back until the server closes the connection."""
    address = urlsplit(url)
    with socket.create_connection((address.hostname or "", address.port or 0), PATIENCE_S) as client:
        sending = threading.Thread(target=_send, args=(client, request), daemon=True)
        sending.start()
        said = b""
        try:
            while part := client.recv(65536):
                said += part
                if said.startswith(b"HTTP/1.1 413") and b"}" in said:
                    break
        except ConnectionError:
            pass
        sending.join(PATIENCE_S)
        return said


def _send(client: socket.socket, request: bytes) -> None:
    with suppress(OSError):
        client.sendall(request)
