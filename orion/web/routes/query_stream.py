"""POST /query-stream and /close-query: rows of a push query, a line each, as they come.

The first line tells the query's id and columns; with `application/json` the lines make one array instead. PRINT, which
ksqlDB serves elsewhere, streams its records here too, as rows of (timestamp, partition, offset, key, value).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from decimal import Decimal
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from orion.app import Orion
from orion.errors import NotFound, OrionError
from orion.hub.records import Record
from orion.runtime.push import PushQuery
from orion.web import ksql_errors
from orion.web.routes.ksql import body_of

router = APIRouter()

DELIMITED = "application/vnd.ksqlapi.delimited.v1"
_PRINT_COLUMNS = {
    "TIMESTAMP": "BIGINT",
    "PARTITION": "INTEGER",
    "OFFSET": "BIGINT",
    "KEY": "STRING",
    "VALUE": "STRING",
}


class QueryRequest(BaseModel):
    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    sql: str
    properties: dict[str, Any] = Field(default_factory=dict)
    session_variables: dict[str, Any] = Field(default_factory=dict, alias="sessionVariables")


class CloseRequest(BaseModel):
    query_id: str = Field(alias="queryId")


@router.post("/query-stream")
async def query_stream(request: Request) -> Response:
    orion: Orion = request.app.state.orion
    asked: QueryRequest = await body_of(request, QueryRequest)
    rows = await asyncio.to_thread(orion.push, asked.sql, asked.properties, asked.session_variables)
    array = "application/json" in request.headers.get("accept", "")
    stream = _pushed(rows, request) if isinstance(rows, PushQuery) else _printed(rows, request)
    media = "application/json" if array else DELIMITED
    return StreamingResponse(_lines(stream, array=array), media_type=media)


@router.post("/close-query")
async def close_query(request: Request) -> JSONResponse:
    asked: CloseRequest = await body_of(request, CloseRequest)
    query = _open_queries(request).get(asked.query_id)
    if query is None:
        raise NotFound("NOT_FOUND", f"There is no push query {asked.query_id}.")
    await asyncio.to_thread(query.close)
    return JSONResponse({})


def _open_queries(request: Request) -> dict[str, PushQuery]:
    state = request.app.state
    if not hasattr(state, "push_queries"):
        state.push_queries = {}
    found: dict[str, PushQuery] = state.push_queries
    return found


async def _pushed(query: PushQuery, request: Request) -> AsyncIterator[Any]:
    open_queries = _open_queries(request)
    open_queries[query.id] = query
    try:
        yield {
            "queryId": query.id,
            "columnNames": [c.name for c in query.columns],
            "columnTypes": [_type_name(c.expr.type) for c in query.columns],
        }
        while not (query.is_done or await request.is_disconnected()):
            row = await asyncio.to_thread(query.poll, 0.25)
            if row is not None:
                yield row
    finally:
        open_queries.pop(query.id, None)
        await asyncio.to_thread(query.close)


def _type_name(type_: object) -> str:
    return str(type_).replace("VARCHAR(STRING)", "STRING")


async def _printed(records: Iterator[Record | None], request: Request) -> AsyncIterator[Any]:
    yield {"queryId": None, "columnNames": list(_PRINT_COLUMNS), "columnTypes": list(_PRINT_COLUMNS.values())}
    done = object()
    try:
        while not await request.is_disconnected():
            record = await asyncio.to_thread(next, records, done)
            if record is done:
                return
            if isinstance(record, Record):
                texts = await asyncio.to_thread(_texts, record, request.app.state.orion)
                yield [record.timestamp, record.partition, record.offset, *texts]
    finally:
        close = getattr(records, "close", None)
        if close:
            await asyncio.to_thread(close)


def _texts(record: Record, orion: Orion) -> list[str | None]:
    """Key and value as a person can read them: JSON of a record that names a schema, UTF-8, else escaped."""
    return [
        None if raw is None else orion.engine.schemas.shown(raw) or raw.decode("utf-8", "backslashreplace")
        for raw in (record.key, record.value)
    ]


async def _lines(values: AsyncIterator[Any], *, array: bool) -> AsyncIterator[bytes]:
    """Each value as a line. What fails on the way is the last of them: the status has been sent long before."""
    first = True
    try:
        async for value in values:
            before = b"[" if array and first else b",\n" if array else b""
            yield before + _dumped(value) + (b"" if array else b"\n")
            first = False
    except OrionError as error:
        yield (b",\n" if array and not first else b"[" if array else b"") + _dumped(ksql_errors.body(error)) + b"\n"
        first = False
    if array:
        yield b"[]" if first else b"]"


def _dumped(value: Any) -> bytes:
    return json.dumps(value, default=_plain, ensure_ascii=False).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(type(value))
