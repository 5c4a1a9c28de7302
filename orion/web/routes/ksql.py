"""POST /ksql: statements in, entities out."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orion.app import Orion
from orion.errors import UserError

router = APIRouter()


class Statements(BaseModel):
    """The request's body. Fields that only ksqlDB's own cluster uses are read and have no effect."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    ksql: str
    streams_properties: dict[str, Any] = Field(default_factory=dict, alias="streamsProperties")
    session_variables: dict[str, Any] = Field(default_factory=dict, alias="sessionVariables")


async def body_of(request: Request, model: type[BaseModel]) -> Any:
    """The JSON body, whatever media type a client gave it: ksqlDB's clients have several."""
    try:
        return model.model_validate(json.loads(await request.body() or b"{}"))
    except (ValueError, ValidationError) as error:
        told = error.errors()[0] if isinstance(error, ValidationError) else None
        what = f"{'.'.join(map(str, told['loc']))}: {told['msg']}" if told else "not JSON"
        raise UserError("BAD_REQUEST", f"The request's body can't be read ({what}).") from error


@router.post("/ksql")
async def ksql(request: Request) -> JSONResponse:
    orion: Orion = request.app.state.orion
    asked: Statements = await body_of(request, Statements)
    answered = await asyncio.to_thread(orion.execute, asked.ksql, asked.streams_properties, asked.session_variables)
    return JSONResponse(answered)
