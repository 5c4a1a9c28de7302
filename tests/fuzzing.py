"""Requests at random, by a seed: paths, queries, headers and bodies that are nearly right, or not right at all."""

from __future__ import annotations

import copy
import http.client
import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

PATIENCE_S = 150.0
# Records of one request are answered each for itself, with a code; 50003 is one that may be sent again.
_FAILED_WITHIN = re.compile(rb'"error_code": ?50(?!003)')
_CLIENTS = 6
_PROBE_EVERY = 50

_DEEP: Any = "core"
for _ in range(60):
    _DEEP = [_DEEP]

# Values that stand where others were meant. No number of partitions among them that a broker would try to make.
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 2**31 - 1, 2**31, -(2**31) - 1, 2**63, 2**64, 10**40, 1.5, -0.0, 1e308),
    *("", " ", "a", "1", "-1", "1e5", "NaN", "true", "\0", "a\0b", "\ud800", "\n", "é", "٣", "🙂", "%", "x" * 5000),
    *([], {}, [1], [None], [[]], [{}], {"a": 1}, {"": {}}, {"a": [1, {"b": None}]}, ["a", 1, None], _DEEP),
)
SEGMENTS = (
    *(
        "%00",
        "a%00b",
        "%2F",
        "a%2Fb",
        "..%2F..",
        ".",
        "..",
        "%20",
        "%25",
        "%0A",
        "%7F",
        "%ED%A0%80",
        "%FF%FE",
        "%C3%A9",
    ),
    *("%F0%9F%99%82", "%D9%A3", "-1", "0", "99", "1.5", "1e3", "NaN", "2147483648", "9" * 30, "latest", "x" * 300),
    *("y" * 5000, "null", "__consumer_offsets%00", "%E2%80%AE", ";", "a,b", "*", "-"),
)
TEXTS = (
    *(b"", b" ", b"null", b"[]", b"{}", b"1", b'"a"', b"nul", b"{", b'{"a":', b"\xff\xfe{}", b"\xef\xbb\xbf{}", b"NaN"),
    *(b'{"a":NaN}', b'{"a":1e999}', b'{"a":"\\ud800"}', b"[" * 3000, b"[" * 3000 + b"]" * 3000, b'{"a":' * 3000),
    *(b"9" * 5000, b"{}{}", b"{}\n{}\n\x00", b"a=b&c=d", b"<html></html>"),
)
_BETWEEN = ("(", "'", '"', "`", "\0", "--", "/*", ";", " AND ", "${x}", "\\", "é", "🙂", "1e999", "[", "=>", "\u202e")
_CONTENT = ("text/plain", "application/xml", "", "application/json; charset=utf-16", "a/b/c;;;", "x" * 200)
_ACCEPT = ("*/*", "text/csv", "application/xml", "application/json;q=0", "", ",,;", "application/*", "x" * 200)


@dataclass(frozen=True)
class Api:
    """What is asked at random: endpoints, names that mean something there, bodies that are right, and its words."""

    endpoints: Sequence[tuple[str, str]]  # method, and path with {parameters}
    names: Mapping[str, Sequence[str]]  # by parameter, or by method and parameter
    bodies: Mapping[str, Sequence[Any]]  # by a part of the path, the first that fits; "" for all others
    queries: Sequence[str] = ()
    media: Sequence[str] = ("application/json",)
    weights: Callable[[str, str], int] = lambda method, path: 4


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes | None

    def __str__(self) -> str:
        body = "" if self.body is None else f" {self.body[:300]!r}"
        return f"{self.method} {self.path[:300]} {self.headers}{body}"


class Generator:
    """Endless requests to one API. The same seed gives the same."""

    def __init__(self, api: Api, seed: int) -> None:
        self._api = api
        self._random = random.Random(seed)
        self._weights = [api.weights(*endpoint) for endpoint in api.endpoints]

    def request(self) -> Asked:
        any_of = self._random
        method, path = any_of.choices(self._api.endpoints, self._weights)[0]
        asked = "/".join(self._segment(part, method) for part in path.split("/")) + self._query()
        body = self._body(path) if method not in ("GET", "DELETE") or any_of.random() < 0.05 else None
        return Asked(method, asked, self._headers(body is not None), body)

    def _segment(self, part: str, method: str) -> str:
        any_of = self._random
        if "{" not in part:
            return part if not part or any_of.random() > 0.005 else any_of.choice(SEGMENTS)
        name, _, rest = part.strip("{").partition("}")
        known = self._api.names.get(f"{method} {name}", self._api.names.get(name))
        if known and any_of.random() < 0.75:
            return quote(any_of.choice(known), safe="") + rest
        return any_of.choice(SEGMENTS) + rest

    def _query(self) -> str:
        any_of = self._random
        if not self._api.queries or any_of.random() < 0.6:
            return ""
        pairs = []
        for _ in range(any_of.randint(1, 3)):
            value = any_of.choice((*SEGMENTS, "true", "false", "", "10", "%", "a&b", "a=b"))
            pairs.append(f"{any_of.choice(self._api.queries)}={value}")
        return "?" + "&".join(pairs)

    def _headers(self, with_body: bool) -> dict[str, str]:
        any_of, headers = self._random, {}
        if with_body:
            headers["Content-Type"] = any_of.choice(self._api.media if any_of.random() < 0.95 else _CONTENT)
        if any_of.random() < 0.2:
            headers["Accept"] = any_of.choice((*self._api.media, *_ACCEPT))
        return headers

    def _body(self, path: str) -> bytes:
        any_of = self._random
        if any_of.random() < 0.06:
            return any_of.choice(TEXTS)
        fitting: Sequence[Any] = next((some for part, some in self._api.bodies.items() if part in path), [{}])
        body = copy.deepcopy(any_of.choice(fitting))
        for _ in range(any_of.choice((0, 1, 1, 1, 2, 3))):
            body = self._changed(body)
        text = json.dumps(body).encode()
        return text if any_of.random() > 0.02 else text[: any_of.randint(0, len(text))]

    def _changed(self, value: Any, depth: int = 0) -> Any:
        """The same with something in it that is another."""
        any_of = self._random
        if isinstance(value, str) and value and any_of.random() < 0.4:
            return self._garbled(value)
        if (depth and any_of.random() < 0.35) or not isinstance(value, dict | list) or not value:
            return copy.deepcopy(any_of.choice(VALUES))
        if isinstance(value, list):
            at = any_of.randrange(len(value))
            act = any_of.random()
            if act < 0.1:
                return [*value, copy.deepcopy(any_of.choice(VALUES))]
            return [*value[:at], self._changed(value[at], depth + 1), *value[at + 1 :]]
        name = any_of.choice(list(value))
        act = any_of.random()
        if act < 0.15:
            return {key: one for key, one in value.items() if key != name}
        if act < 0.22:
            return {**value, any_of.choice(("", "id", "name", "\0", "é", "x" * 300)): any_of.choice(VALUES)}
        return {**value, name: self._changed(value[name], depth + 1)}

    def _garbled(self, text: str) -> str:
        """A text with something cut out of it, or put into it."""
        any_of = self._random
        at, to = sorted(any_of.randint(0, len(text)) for _ in range(2))
        between = any_of.choice(("", text[at:to] * 2, any_of.choice(_BETWEEN), any_of.choice(_BETWEEN) * 50))
        return text[:at] + between + text[to:]


@dataclass
class Outcome:
    """What became of a run."""

    statuses: Counter[int] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")
    slowest_probe: float = 0.0
    memory: list[int] = field(default_factory=list)  # bytes that the process holds, at each probe

    @property
    def count(self) -> int:
        return sum(self.statuses.values())

    def told(self) -> str:
        grown = (self.memory[-1] - self.memory[len(self.memory) // 2]) >> 20 if self.memory else 0
        return (
            f"{self.count} requests: {dict(sorted(self.statuses.items()))}, {len(self.failures)} failures; slowest "
            f"{self.slowest[0]:.2f} s ({self.slowest[1][:120]}), slowest probe {self.slowest_probe:.2f} s; "
            f"{[m >> 20 for m in self.memory[:: max(1, len(self.memory) // 8)]]} MB, {grown} in the second half"
        )


class Run:
    """Requests to one server by several clients, with a question between that any server must answer."""

    def __init__(self, url: str, probe: str, refusal: Callable[[int, bytes], str | None]) -> None:
        self._host = urlsplit(url).netloc
        self._probe, self._refusal = probe, refusal
        self._lock = threading.Lock()
        self.outcome = Outcome()

    def of(self, api: Api, count: int, seed: int) -> Outcome:
        generator, numbers = Generator(api, seed), iter(range(count))

        def client() -> None:
            while True:
                with self._lock:
                    number = next(numbers, None)
                    if number is None:
                        return
                    asked = generator.request()
                self._send(asked)
                if number % _PROBE_EVERY == 0:
                    self._look()

        with ThreadPoolExecutor(_CLIENTS) as clients:
            for one in [clients.submit(client) for _ in range(_CLIENTS)]:
                one.result()
        return self.outcome

    def _send(self, asked: Asked) -> None:
        started = time.monotonic()
        try:
            status, body = self._answer(asked)
            wrong = self._refusal(status, body)
        except (OSError, http.client.HTTPException) as error:
            status, wrong = 0, f"no answer: {error!r}"
        took = time.monotonic() - started
        with self._lock:
            self.outcome.statuses[status] += 1
            self.outcome.slowest = max(self.outcome.slowest, (took, str(asked)))
            if wrong is not None:
                self.outcome.failures.append(f"{asked}\n  -> {status} {wrong}")

    def _answer(self, asked: Asked) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self._host, timeout=PATIENCE_S)
        try:
            connection.request(asked.method, asked.path, asked.body, asked.headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def _look(self) -> None:
        """Whether the server still answers, how soon, and how much memory this process has, of which it is a part."""
        started = time.monotonic()
        status, _ = self._answer(Asked("GET", self._probe, {}, None))
        took, held = time.monotonic() - started, resident()
        with self._lock:
            self.outcome.slowest_probe = max(self.outcome.slowest_probe, took)
            self.outcome.memory.append(held)
            if status != 200:
                self.outcome.failures.append(f"the probe is answered with {status}")


def resident() -> int:
    """How much memory this process holds."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096


def refusal_of(*shapes: Iterable[str]) -> Callable[[int, bytes], str | None]:
    """What is wrong with an answer: a failure of the server's, or a refusal that has the fields of no shape."""
    known = [frozenset(fields) for fields in shapes]

    def wrong(status: int, body: bytes) -> str | None:
        if status >= 500 or _FAILED_WITHIN.search(body):
            return f"{body[:300]!r}"
        if status < 400:
            return None
        try:
            said = json.loads(body)
        except ValueError:
            return f"no JSON: {body[:200]!r}"
        fits = isinstance(said, dict) and any(fields <= set(said) for fields in known)
        return None if fits else f"its shape: {body[:200]!r}"

    return wrong
