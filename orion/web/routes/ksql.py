"""POST /ksql: statements in, entities out."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from orion.app import Orion
from orion.web.command_status import CommandStatuses
from orion.web.questions import body_of

router = APIRouter()


class Statements(BaseModel):
    """The request's body. Fields that only ksqlDB's own cluster uses are read and have no effect."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    ksql: str
    streams_properties: dict[str, Any] = Field(default_factory=dict, alias="streamsProperties")
    session_variables: dict[str, Any] = Field(default_factory=dict, alias="sessionVariables")


@router.post("/ksql")
async def ksql(request: Request) -> JSONResponse:
    orion: Orion = request.app.state.orion
    asked = await body_of(request, Statements)
    answered = await asyncio.to_thread(orion.execute, asked.ksql, asked.streams_properties, asked.session_variables)
    CommandStatuses.of(request.app).note(answered)
    return JSONResponse(answered)
