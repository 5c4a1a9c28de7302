"""GET /status: what became of statements."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from orion.app import Orion
from orion.web.command_status import CommandStatuses

router = APIRouter()


@router.get("/status")
async def statuses(request: Request) -> dict[str, Any]:
    orion: Orion = request.app.state.orion
    return {"commandStatuses": CommandStatuses.of(request.app).all(orion.engine.catalog)}


@router.get("/status/{kind}/{entity}/{action}")
async def status(request: Request, kind: str, entity: str, action: str) -> dict[str, Any]:
    orion: Orion = request.app.state.orion
    return CommandStatuses.of(request.app).get(f"{kind}/{entity}/{action}", orion.engine.catalog)
