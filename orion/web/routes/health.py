"""GET /info and /healthcheck: is it there, is it well."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from orion import answers
from orion.app import Orion
from orion.errors import OrionError

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
    return JSONResponse({"isHealthy": healthy, "details": details, "serverState": "READY"}, 200 if healthy else 503)


def _details(orion: Orion) -> dict[str, Any]:
    try:
        orion.kafka.check()
        kafka = True
    except OrionError:
        kafka = False
    failing = [s.id for s in orion.queries() if s.error]
    return {
        "metastore": {"isHealthy": not orion.engine.problems},
        "kafka": {"isHealthy": kafka},
        "commandRunner": {"isHealthy": True},
        "queries": {"isHealthy": not failing, "failing": failing},
    }
