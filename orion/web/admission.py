"""What every request passes before any door of Orion's: ksqlDB's API, the registry, Kafka Connect's, REST Proxy, feeds,
the console and WebSockets, over HTTP/1.1 and HTTP/2.

There are no logins, so what counts is that no page of another site is behind a request, and that none can take up more
memory or time than it may:

1. Host and Origin are ours: see `own_hosts.py`.
2. A body is JSON by its media type. What a form or a script of another site can send without asking first (a CORS
   preflight, which Orion never grants) is `text/plain`, `application/x-www-form-urlencoded` and `multipart/form-data`;
   these are refused, though curl calls a body the second unless told. No media type at all is let in: ksqlDB's Java
   client sends none. A page can send a body without one, too (a Blob that has no type), but never without an Origin,
   which the first check has refused.
3. A body has `web.max_body_bytes` at most and is there within `web.body_s`. A length that is announced is judged before
   anything is read, any other while it comes. Streams of rows may go on for ever: their lines have the same limit,
   where they are cut. So have messages of WebSockets, in the servers themselves.

A body that is too large is heard out for a while, without being kept: a client that is still sending when it is refused
may lose the connection before it sees why.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orion.config import Web
from orion.errors import BodyLate, Forbidden, OrionError, TooLarge, UnsupportedMedia
from orion.web import ksql_errors
from orion.web.own_hosts import OwnHosts

_JSON = re.compile(
    rb"(application/(json|[\w.-]+\+json|(x-)?ndjson|x-jsonlines|jsonl|json-seq|octet-stream|vnd\.ksqlapi\.delimited\.v1)"
    rb"|text/json)\s*(;.*)?",
    re.IGNORECASE,
)
_STREAMS = re.compile(r"/inserts-stream|/v3/clusters/[^/]+/topics/[^/]+/records")
# The console's own pieces: its pages talk to it over long polling where a WebSocket doesn't get through.
_CONSOLE = ("/_nicegui/", "/_nicegui_ws/", "/_console/")
# Families whose clients read ksqlDB's errors; all others read a number and a message.
_KSQL = re.compile(
    r"/(ksql|query|query-stream|inserts-stream|close-query|feeds|status|info|healthcheck|clusterStatus|is_valid_property"
    r"|v1|chc|ws)(/|$)"
)
_HEARD_OUT = 4  # times the limit
_HEARD_OUT_S = 5.0
_READING = ("GET", "HEAD")
_FROM_ELSEWHERE = (b"cross-site", b"same-site")
_REMEMBERED = 100
_FEW_DIGITS = 4  # of the length of a body that is short


class Admission:
    """Stands before an application."""

    def __init__(self, app: ASGIApp, settings: Web, bound: str) -> None:
        self._app = app
        self._hosts = OwnHosts(bound, settings.allowed_hosts)
        self._most, self._seconds = settings.max_body_bytes, settings.body_s
        self._json: set[bytes] = set()  # names of JSON that were seen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        error, has_little = self.judge_head(scope)
        if scope["type"] == "websocket":
            await (self._app(scope, receive, send) if error is None else _close(receive, send))
        elif error is not None:
            await _refuse_and_hear_out(scope, receive, send, (error, self._most * _HEARD_OUT))
        elif has_little or is_stream(scope):
            await self._app(scope, receive, send)
        else:
            await self._admit(scope, receive, send)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = _BoundedBody(scope, receive, send, (self._most, self._seconds))
        try:
            await self._app(scope, body.receive, body.send)
        except (TooLarge, BodyLate) as error:
            if body.has_answered:
                raise
            await _send_refusal(scope, body.send, error)

    def judge_head(self, scope: Scope) -> tuple[OrionError | None, bool]:
        """What is wrong with where a request comes from, what it calls its body, or how long that is.

        And whether the body is so short that nobody needs to count it: the connection sees to its time.
        """
        host = origin = media = length = fetch_site = fetch_mode = None
        for name, value in scope["headers"]:
            if name == b"host":
                if host is not None and host != value:
                    return _foreign_host(b"two names"), False
                host = value
            elif name == b"origin":
                if origin is not None:
                    return _foreign_origin(b"two of them"), False
                origin = value
            elif name == b"content-type":
                media = value
            elif name == b"content-length":
                length = value
            elif name == b"sec-fetch-site":
                fetch_site = value
            elif name == b"sec-fetch-mode":
                fetch_mode = value
        if host is not None and not self._hosts.owns(host):  # programs of HTTP/1.0 name none, browsers always do
            return _foreign_host(host), False
        if origin is not None:
            if not self._hosts.owns_origin(origin, host or b""):
                return _foreign_origin(origin), False
        elif fetch_site in _FROM_ELSEWHERE and not (fetch_mode == b"navigate" and scope.get("method") in _READING):
            return _foreign_origin(fetch_site), False
        error = self._judge_body(scope, media, length)
        return error, length is not None and len(length) <= _FEW_DIGITS and _is_http1(scope)

    def _judge_body(self, scope: Scope, media: bytes | None, length: bytes | None) -> OrionError | None:
        if scope["type"] != "http" or length == b"0":
            return None
        if media and media not in self._json and not scope["path"].startswith(_CONSOLE):
            if _JSON.fullmatch(media):
                if len(self._json) < _REMEMBERED:
                    self._json.add(media)
            elif _has_body(scope):
                return _no_json(media)
        if length is not None and length.isdigit() and int(length[:20]) > self._most and not is_stream(scope):
            return _too_large(self._most)
        return None


class _BoundedBody:
    """A request's body, counted and timed while it comes; and whether the answer has begun."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, bounds: tuple[int, float]) -> None:
        self._receive, self._send = receive, send
        self._most, self._seconds = bounds
        self._is_http1 = _is_http1(scope)
        self._heard = 0
        self._over = False
        self._failed = False
        self._end: float | None = None
        self.has_answered = False

    async def receive(self) -> Message:
        if self._over:
            return await self._receive()
        now = asyncio.get_running_loop().time()
        if self._end is None:
            self._end = now + self._seconds
        try:
            async with asyncio.timeout_at(self._end):
                message = await self._receive()
        except TimeoutError:
            self._failed = True
            raise BodyLate("BODY_LATE", f"The body didn't arrive within {self._seconds:g} seconds.") from None
        self._over = not message.get("more_body", False)
        self._heard += len(message.get("body", b""))
        if self._heard > self._most:
            await self._hear_out(now)
            self._failed = True
            raise _too_large(self._most)
        return message

    async def _hear_out(self, now: float) -> None:
        rest = self._most * _HEARD_OUT - self._heard
        self._over = self._over or await _discard(self._receive, rest, now + _HEARD_OUT_S)

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_answered = True
            if self._failed and not self._over and self._is_http1:
                message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
        await self._send(message)


async def _discard(receive: Receive, most: int, until: float) -> bool:
    """Read on without keeping anything; whether the body has ended."""
    try:
        async with asyncio.timeout_at(until):
            while most > 0:
                message = await receive()
                if not message.get("more_body", False):
                    return True
                most -= len(message.get("body", b""))
    except TimeoutError:
        pass
    return False


def is_stream(scope: Mapping[str, Any]) -> bool:
    """Whether a request's body is rows that may come for ever."""
    return scope["method"] == "POST" and _STREAMS.fullmatch(scope["path"]) is not None


def _is_http1(scope: Scope) -> bool:
    return str(scope.get("http_version", "1.1")) < "2"


def _has_body(scope: Scope) -> bool:
    """Whether a body follows, as far as the head tells: HTTP/2 needn't say."""
    if not _is_http1(scope):
        return True
    return any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])


# ---- refusals ----------------------------------------------------------------------------------------------------


def _foreign_host(host: bytes) -> Forbidden:
    return Forbidden(
        "FOREIGN_HOST",
        f"This server isn't known as {_shown(host)}.",
        hint="Ask for it as localhost or by its address, or have the name listed in the setting web.allowed_hosts.",
    )


def _foreign_origin(origin: bytes) -> Forbidden:
    return Forbidden(
        "FOREIGN_ORIGIN",
        f"A page of another site has sent this request ({_shown(origin)}).",
        hint="Orion answers its own pages and programs; the setting web.allowed_hosts lists other names that it has.",
    )


def _no_json(media: bytes) -> UnsupportedMedia:
    return UnsupportedMedia(
        "UNSUPPORTED_MEDIA_TYPE",
        f"The body is called {_shown(media)}, and must be JSON.",
        hint="Send the header Content-Type: application/json.",
    )


def _too_large(most: int) -> TooLarge:
    return TooLarge(
        "TOO_LARGE",
        f"The body has more than {most} bytes.",
        hint="Send less at a time, or raise the setting web.max_body_bytes.",
    )


def _shown(header: bytes) -> str:
    return ascii(header[:100].decode("latin-1"))


def refusal_body(path: str, error: OrionError) -> dict[str, Any]:
    """An error as the clients of the API under this path read one."""
    if _KSQL.match(path):
        return ksql_errors.body(error)
    message = error.message if error.hint is None else f"{error.message} {error.hint}"
    return {"error_code": error.http_status, "message": message, "code": error.code}


async def _send_refusal(scope: Scope, send: Send, error: OrionError, *, more: bool = False) -> None:
    body = json.dumps(refusal_body(scope["path"], error)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if _is_http1(scope):
        headers.append((b"connection", b"close"))  # nobody reads what is still to come
    await send({"type": "http.response.start", "status": error.http_status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": more})


async def _refuse_and_hear_out(scope: Scope, receive: Receive, send: Send, refused: tuple[OrionError, int]) -> None:
    error, most = refused
    until = asyncio.get_running_loop().time() + _HEARD_OUT_S
    if not _is_http1(scope):  # hypercorn drops the whole connection for data on a stream that was answered
        await _discard(receive, most, until)
        await _send_refusal(scope, send, error)
        return
    hears = isinstance(error, TooLarge) and not any(name == b"expect" for name, _ in scope["headers"])
    await _send_refusal(scope, send, error, more=hears)
    if hears:
        await _discard(receive, most, until)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _close(receive: Receive, send: Send) -> None:
    """Refuse a WebSocket before it is one: the server answers 403."""
    await receive()
    await send({"type": "websocket.close", "code": 1008, "reason": "foreign Host or Origin"})
