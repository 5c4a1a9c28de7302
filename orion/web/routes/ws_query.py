"""GET /ws/query: a query over a WebSocket, as Control Center's editor asks. `?request=` is the body of POST /query.

The first message lists the columns, each of the others is a row. What is wrong closes the socket, with the reason.
"""

from __future__ import annotations

import asyncio
from functools import partial

from fastapi import APIRouter, WebSocket, WebSocketDisconnect

from orion.answers import type_tree
from orion.errors import OrionError
from orion.web.questions import Answer, Question, asked, dumped, read
from orion.web.shapes import STREAMED, closed

router = APIRouter()

_DONE, _REFUSED, _FAILED = 1000, 1003, 1011
_LONGEST_REASON = 123  # bytes: the protocol has no room for more


@router.websocket("/ws/query")
async def ws_query(socket: WebSocket) -> None:
    await socket.accept()
    try:
        question = read(socket.query_params.get("request", ""), Question)
        answer = await asked(socket.app, question, partial(_left, socket))
    except OrionError as error:
        await socket.close(_REFUSED, reason_of(error))
        return
    leaving = asyncio.ensure_future(_left(socket))
    sending = asyncio.ensure_future(_send(socket, answer))
    try:
        await asyncio.wait((leaving, sending), return_when=asyncio.FIRST_COMPLETED)
        if sending.done():
            sending.result()
    except (WebSocketDisconnect, RuntimeError):
        pass  # the other side is gone
    finally:
        leaving.cancel()
        sending.cancel()
        await closed(answer)


async def _send(socket: WebSocket, answer: Answer) -> None:
    await socket.send_text(dumped([{"name": name, "schema": type_tree(type_)} for name, type_ in answer.columns]))
    try:
        async for rows in answer.rows:
            for row in rows:
                await socket.send_text(STREAMED.row(row))
    except OrionError as error:
        await socket.close(_FAILED, reason_of(error))
        return
    await socket.close(_DONE, "done")


async def _left(socket: WebSocket) -> None:
    """Until the other side goes. What it says before that has no meaning here."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


def reason_of(error: OrionError) -> str:
    raw = error.message.encode()
    if len(raw) <= _LONGEST_REASON:
        return error.message
    return raw[: _LONGEST_REASON - 3].decode(errors="ignore") + "..."
