"""POST /query-stream and /close-query: rows of a query, a line each, as they come.

The first line tells the query's id and columns; with `application/json` the lines make one array instead. PRINT, which
ksqlDB serves elsewhere, streams its records here too, as rows of (timestamp, partition, offset, key, value).
"""

from __future__ import annotations

import asyncio
from functools import partial

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from orion.app import Orion
from orion.errors import UserError
from orion.web.questions import Question, asked, body_of, client_leaves
from orion.web.shapes import Rows, chosen

router = APIRouter()


class CloseRequest(BaseModel):
    query_id: str = Field(alias="queryId")


@router.post("/query-stream")
async def query_stream(request: Request) -> Response:
    question = await body_of(request, Question)
    return Rows(await asked(request.app, question, partial(client_leaves, request)), chosen(request), request)


@router.post("/close-query")
async def close_query(request: Request) -> JSONResponse:
    orion: Orion = request.app.state.orion
    wanted = await body_of(request, CloseRequest)
    query = orion.engine.push_queries.get(wanted.query_id)
    if query is None:  # 400 and not 404: ksqlDB's clients take that for "closed already"
        raise UserError("NOT_FOUND", f"There is no push query {wanted.query_id}.")
    await asyncio.to_thread(query.close)
    return JSONResponse({})
