"""How fast a schema is found by its id in process: the registry's application asked without a network; goal: 2 ms.

The other side is an application of the same kind that gives every question the same bytes.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import closing
from dataclasses import replace
from typing import Any

from starlette.types import ASGIApp

from benchmarks.registry_shelf import IDS, answer, bare, fill
from benchmarks.stage import Measured, Stage
from orion.registry.api import application
from orion.registry.log import KafkaLog
from orion.registry.store import Registry


def measure(stage: Stage) -> Measured:
    fill(stage)
    with closing(Registry(KafkaLog(stage.kafka))) as registry:
        ours, theirs = application(registry), bare()
        for number in (1, IDS // 2, IDS):
            if asyncio.run(_asked(ours, number)) != answer(number):
                raise RuntimeError(f"schema {number} isn't what was registered")
        found = stage.take_turns(
            "registry_lookup",
            lambda _: asyncio.run(_rate(ours)),
            lambda _: asyncio.run(_rate(theirs)),
            "lookups/s",
            "registry: a schema by its id, in process (by hand: a constant)",
        )
    return replace(found, what=f"{found.what}, {1000 / found.orion:.2f} ms each")


async def _rate(app: ASGIApp) -> float:
    start = time.perf_counter()
    for number in range(1, IDS + 1):
        await _asked(app, number)
    return IDS / (time.perf_counter() - start)


async def _asked(app: ASGIApp, number: int) -> bytes:
    """The body of an answer."""
    path = f"/schemas/ids/{number}"
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [],
    }
    said = bytearray()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request"}

    async def send(message: Any) -> None:
        said.extend(message.get("body", b""))

    await app(scope, receive, send)
    return bytes(said)
