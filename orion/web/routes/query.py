"""POST /query: the older way to ask for rows, as one JSON array of a header, rows, and how it ended."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request
from fastapi.responses import Response

from orion.web.questions import Question, asked, body_of, client_leaves
from orion.web.shapes import STREAMED, Rows

router = APIRouter()


@router.post("/query")
async def query(request: Request) -> Response:
    question = await body_of(request, Question)
    return Rows(await asked(request.app, question, partial(client_leaves, request)), STREAMED, request)
