"""Whether a server bears many clients at once: 50 that follow a stream, and 200 that ask a table, for a minute each.

The clients are a process of their own. Rows go in by POST /inserts-stream, a hundred in a second; each client of POST
/query-stream must get every one of them, in order. The other side is what was sent, times the clients: the ratio is 1,
or rows came too late. Anything that fails ends the benchmark. Pull queries are asked by key, as fast as answers come.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import IO, Any
from urllib.parse import urlsplit

import httpx

from benchmarks.stage import Measured, Stage
from orion.app import Orion
from orion.clients import connect
from orion.config import load
from orion.runtime.engine import Engine
from orion.web.server import Server
from orion.web.sockets import bound

_PUSH, _PULL = 50, 200
_RATE = 100  # rows in a second
_LAST = -1  # the row after which clients leave
_FIRST = -2  # a row before the others: the JVM compiles for its batch, which is not what is measured
_KEYS = 100
_ANSWER_S = 120.0
_SCRIPT = """
CREATE STREAM http_load (n BIGINT, sent BIGINT) WITH (kafka_topic='http_load', value_format='JSON', partitions=1);
CREATE TABLE http_sent AS SELECT n % 100 AS slot, MAX(sent) AS sent FROM http_load GROUP BY n % 100 EMIT CHANGES;
"""


def _seconds() -> float:
    return float(os.environ.get("BENCH_SECONDS", "60"))


def measure(stage: Stage) -> Measured:
    flags = {"data": stage.folder / "http", "hub.bootstrap": stage.kafka.bootstrap}
    with (
        Orion.over(Engine(load(flags=flags), stage.kafka, stage.spark)) as orion,
        closing(bound("127.0.0.1", 0)) as sock,
    ):
        server = Server.start(orion, sock)
        try:
            orion.execute(_SCRIPT)
            what, delivered, sent = _pushed(stage, server.url)
            what += f"; {_pulled(stage, orion, server.url)}"
        finally:
            server.stop()
    return Measured("http_clients", delivered, sent, delivered / sent, "rows/s", what)


def _pushed(stage: Stage, url: str) -> tuple[str, float, float]:
    """Rows to many clients: what to tell, how many came in a second, and how many should have."""
    with _clients("push", url) as (clients, out), connect(url) as server:
        if out.readline().strip() != "ready":
            raise RuntimeError("the clients didn't start")
        began = time.perf_counter()
        server.insert("http_load", [{"n": _FIRST, "sent": 0}])
        if out.readline().strip() != "warm":
            raise RuntimeError("the first row didn't come")
        stage.say(f"http_clients: the first row took {time.perf_counter() - began:.1f} s")
        start, sent = time.perf_counter(), 0
        while (passed := time.perf_counter() - start) < _seconds():
            due = int(passed * _RATE)
            if due > sent:
                now = time.time_ns() // 1_000_000
                sent += server.insert("http_load", [{"n": n, "sent": now} for n in range(sent, due)])
            time.sleep(0.05)
        server.insert("http_load", [{"n": _LAST, "sent": 0}])
        told = json.loads(out.readline() or "{}")
        taken = time.perf_counter() - start
        clients.wait(_ANSWER_S)
    if told.get("rows") != sent * _PUSH:
        raise RuntimeError(f"{_PUSH} clients got {told} of {sent} rows each")
    what = (
        f"{_PUSH} push clients, each row to all; p50 {told['p50']:.0f} ms, p99 {told['p99']:.0f} ms from insert to row"
    )
    stage.say(f"http_clients: {what}, {told['rows']:,} rows in {taken:.0f} s, no error")
    return what, told["rows"] / taken, sent * _PUSH / _seconds()


def _pulled(stage: Stage, orion: Orion, url: str) -> str:
    orion.drain(60.0)
    with _clients("pull", url) as (clients, out):
        told = json.loads(out.readline() or "{}")
        clients.wait(_ANSWER_S)
    rate = told["answers"] / _seconds()
    what = f"{_PULL} pull clients: {rate:,.0f} answers/s, p50 {told['p50']:.0f} ms, p99 {told['p99']:.0f} ms"
    stage.say(f"http_clients: {what}, no error")
    return what


@contextmanager
def _clients(kind: str, url: str) -> Iterator[tuple[subprocess.Popen[str], IO[str]]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.http_clients", kind, url], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout
        if process.returncode:
            raise RuntimeError("a client failed")
    finally:
        process.kill()
        process.communicate()


# ---- the clients' process ------------------------------------------------------------------------------------------


async def _push_clients(url: str) -> dict[str, Any]:
    ready, warm, delays = asyncio.Semaphore(0), asyncio.Semaphore(0), list[int]()

    async def one(http: httpx.AsyncClient) -> int:
        body, count = {"sql": "SELECT n, sent FROM http_load EMIT CHANGES;"}, 0
        async with http.stream("POST", "/query-stream", json=body) as response:
            lines = response.aiter_lines()
            if "queryId" not in json.loads(await anext(lines)):
                raise RuntimeError("no head")
            ready.release()
            async for line in lines:
                n, sent = json.loads(line)
                if n == _LAST:
                    return count
                if n == _FIRST:
                    warm.release()
                    continue
                if n != count:
                    raise RuntimeError(f"row {n} came where {count} was due")
                delays.append(time.time_ns() // 1_000_000 - sent)
                count += 1
        raise RuntimeError(f"the query ended after {count} rows: {line}")

    async with _http(url) as http:
        reading = [asyncio.ensure_future(one(http)) for _ in range(_PUSH)]
        for word, reached in (("ready", ready), ("warm", warm)):
            for _ in reading:
                await asyncio.wait_for(reached.acquire(), _ANSWER_S)
            print(word, flush=True)
        return {"rows": sum(await asyncio.gather(*reading)), **_shares(delays)}


async def _pull_clients(url: str) -> dict[str, Any]:
    """Each over a connection of its own, by hand: of so many, a client library would cost more than the server."""
    address = urlsplit(url)
    end, delays = time.perf_counter() + _seconds(), list[float]()

    async def one(number: int) -> None:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        body = json.dumps({"sql": f"SELECT sent FROM http_sent WHERE slot = {number % _KEYS};"}).encode()
        while (start := time.perf_counter()) < end:
            writer.write(
                b"POST /query-stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body
            )
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _ANSWER_S)
            answer = await _rest(reader, head)
            if not head.startswith(b"HTTP/1.1 200") or len(answer.splitlines()) != 2:
                raise RuntimeError((head + answer).decode())
            delays.append((time.perf_counter() - start) * 1000)
        writer.close()

    await asyncio.gather(*(one(number) for number in range(_PULL)))
    return {"answers": len(delays), **_shares(delays)}


async def _rest(reader: asyncio.StreamReader, head: bytes) -> bytes:
    """The body of an answer, whichever way its length is told."""
    found = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
    if found:
        return await reader.readexactly(int(found[1]))
    body = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readexactly(2)
    return body


def _http(url: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=url, timeout=_ANSWER_S, limits=httpx.Limits(max_connections=None))


def _shares(delays: Sequence[float]) -> dict[str, float]:
    cuts = statistics.quantiles(delays, n=100)
    return {"p50": cuts[49], "p99": cuts[98]}


if __name__ == "__main__":
    asked = {"push": _push_clients, "pull": _pull_clients}[sys.argv[1]]
    print(json.dumps(asyncio.run(asked(sys.argv[2]))), flush=True)
