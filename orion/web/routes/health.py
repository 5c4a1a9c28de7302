"""GET /info and /healthcheck: is it there, is it well."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from orion import answers
from orion.app import Orion
from orion.errors import OrionError
from orion.runtime.machine import Load
from orion.runtime.states import QueryStatus, State

router = APIRouter()


@router.get("/info")
async def info(request: Request) -> dict[str, Any]:
    orion: Orion = request.app.state.orion
    return await asyncio.to_thread(answers.info, orion.engine)


@router.get("/healthcheck")
async def healthcheck(request: Request) -> JSONResponse:
    orion: Orion = request.app.state.orion
    details = await asyncio.to_thread(_details, orion)
    healthy = all(d["isHealthy"] for d in details.values())
    back, known = orion.engine.restored
    ready = back == known
    state = {"serverState": "READY"} if ready else {"serverState": "STARTING", "message": starting(back, known)}
    body = {"isHealthy": healthy and ready, "details": details, **state}
    return JSONResponse(body, 200 if healthy and ready else 503, {} if ready else {"Retry-After": "1"})


def starting(back: int, known: int) -> str:
    return f"starting, {back} of {known}"


def _details(orion: Orion) -> dict[str, Any]:
    try:
        orion.kafka.check()
        kafka = True
    except OrionError:
        kafka = False
    stopped = orion.failing_tables()
    return {
        "metastore": {"isHealthy": not orion.engine.problems},
        "kafka": {"isHealthy": kafka},
        "commandRunner": {"isHealthy": True},
        "queries": query_health(orion.engine.all_statuses()),
        "machine": machine_health(orion.engine.load),
        "tables": {"isHealthy": not stopped, "failing": stopped},
    }


def query_health(statuses: Iterable[QueryStatus]) -> dict[str, Any]:
    """Whether all statements do what they are meant to. Of those that start nothing is known yet: they are named."""
    found = list(statuses)
    starting = [s.id for s in found if s.state in (State.STARTING, State.RESTORING) and not s.error]
    failing = [s.id for s in found if not s.well and s.id not in starting]
    states = Counter(s.state for s in found)
    return {"isHealthy": not failing, "failing": failing, "starting": starting, "states": dict(states)}


def machine_health(load: Load | None) -> dict[str, Any]:
    """How much of the machine's time is wanted. Too little of it makes things slow: it is told, and isn't an error."""
    if load is None:
        return {"isHealthy": True, "starved": None}
    wanted, there = round(load.wanted, 1), round(load.there, 1)
    told = {"cpuSecondsWanted": wanted, "cpuSecondsThere": there, "message": str(load)}
    return {"isHealthy": True, "starved": load.starved, **told}
