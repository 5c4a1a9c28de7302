"""Questions that give rows, whichever endpoint they come by: the request, and an answer that is read as it comes.

No client holds a thread: a push query wakes the event loop when there are rows. PRINT, which reads a topic, is the
exception; its reads go to the gateway's threads.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from orion.app import Orion
from orion.errors import ExternalError, UserError
from orion.hub.records import Record
from orion.plan.interruption import Interruption
from orion.runtime.push import PushQuery, one_line
from orion.schema import Scalar, SqlType
from orion.serving.pull import Pulled
from orion.web.gateway import Gateway

M = TypeVar("M", bound=BaseModel)
Columns = tuple[tuple[str, SqlType], ...]

LIMIT_REACHED = "Limit Reached"
COMPLETED = "Query Completed"
_PRINTED = (
    ("TIMESTAMP", Scalar.BIGINT),
    ("PARTITION", Scalar.INTEGER),
    ("OFFSET", Scalar.BIGINT),
    ("KEY", Scalar.STRING),
    ("VALUE", Scalar.STRING),
)


class Question(BaseModel):
    """The request's body, by the names of /query-stream or of the older /query."""

    model_config = ConfigDict(extra="ignore")

    sql: str = Field(validation_alias=AliasChoices("sql", "ksql"))
    properties: dict[str, Any] = Field(
        default_factory=dict, validation_alias=AliasChoices("properties", "streamsProperties")
    )
    variables: dict[str, Any] = Field(default_factory=dict, validation_alias="sessionVariables")


async def body_of(request: Request, model: type[M]) -> M:
    """The JSON body, whatever media type a client gave it: ksqlDB's clients have several."""
    return read(await request.body(), model)


async def client_leaves(request: Request) -> None:
    """Until the connection ends. The request has been read: what follows has nothing to say."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def read(body: bytes | str, model: type[M]) -> M:
    try:
        found = json.loads(body or b"{}")
        json.dumps(found, ensure_ascii=False).encode()  # half of a pair of surrogates is no text
        return model.model_validate(found)
    except (ValueError, RecursionError) as error:
        told = error.errors()[0] if isinstance(error, ValidationError) else None
        if told is None:
            what = "not JSON"
        elif not told["loc"]:
            what = "not a JSON object"
        else:
            what = f"{'.'.join(map(str, told['loc']))}: {told['msg']}"
        raise UserError("BAD_REQUEST", f"The request's body can't be read ({what}).") from error


# ---- answers -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """Rows as JSON arrays, some at a time; `close` ends the query, and must be called in any case."""

    id: str | None
    columns: Columns
    rows: AsyncIterator[list[str]]
    ending: Callable[[], str | None]  # what to tell after the last row, where the form has a place for it
    close: Callable[[], Any]
    warnings: tuple[str, ...] = ()  # what is wrong with the tables that the rows come from


async def asked(app: FastAPI, question: Question, leaving: Callable[[], Awaitable[object]]) -> Answer:
    """Start to answer. Raises what is wrong with the statement.

    A pull query ends when `leaving` does: who asked is gone.
    """
    gateway: Gateway = app.state.gateway
    interruption = Interruption()
    work = asyncio.ensure_future(_answer(app.state.orion, gateway, question, interruption))
    watch = asyncio.ensure_future(leaving())
    try:
        await asyncio.wait((work, watch), return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            interruption.interrupt(_left())
        return await work
    except asyncio.CancelledError:
        interruption.interrupt(_left())
        raise
    finally:
        watch.cancel()


def _left() -> ExternalError:
    return ExternalError("CLIENT_LEFT", "Who asked is gone, and the query with it.")


async def _answer(orion: Orion, gateway: Gateway, question: Question, interruption: Interruption) -> Answer:
    found = await gateway.run(orion.query, question.sql, question.properties, question.variables, interruption)
    if isinstance(found, PushQuery):
        columns = tuple((c.name, c.expr.type) for c in found.columns)
        return Answer(found.id, columns, _pushed(found), lambda: _why_over(found), found.close)
    if isinstance(found, Pulled):
        return Answer(None, columns_of(found), _pulled(found.rows), lambda: None, _nothing, found.warnings)
    printed = Printed(found, orion)
    return Answer(None, _PRINTED, printed.rows(gateway), lambda: COMPLETED, printed.close)


def columns_of(found: Pulled) -> Columns:
    return tuple((c.name, c.type) for c in found.columns)


def _why_over(query: PushQuery) -> str:
    return LIMIT_REACHED if query.reader.has_all else COMPLETED


async def _pushed(query: PushQuery) -> AsyncIterator[list[str]]:
    loop, changed = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        with suppress(RuntimeError):  # the loop is gone, and the reader with it
            loop.call_soon_threadsafe(changed.set)

    query.reader.on_change(wake)
    while not query.is_done:
        changed.clear()
        found = query.reader.take()
        if found:
            yield found
        else:
            await changed.wait()


async def _pulled(rows: list[list[Any]]) -> AsyncIterator[list[str]]:
    yield [dumped(row) for row in rows]


class Printed:
    """Records of PRINT. A read that is under way ends before the topic is left."""

    def __init__(self, records: Iterator[Record | None], orion: Orion) -> None:
        self._records, self._orion = records, orion
        self._reading = threading.Lock()

    async def rows(self, gateway: Gateway) -> AsyncIterator[list[str]]:
        while (found := await gateway.run(self._following)) is not None:
            if found:
                yield found

    def _following(self) -> list[str] | None:
        """The next record as a row, nothing where none came for a while; None at the end."""
        with self._reading:
            try:
                record = next(self._records)
            except StopIteration:
                return None
            if record is None:
                return []
            return [dumped([record.timestamp, record.partition, record.offset, *self._texts(record)])]

    def _texts(self, record: Record) -> Iterator[str | None]:
        """Key and value as a person can read them: JSON of a record that names a schema, UTF-8, else escaped."""
        for raw in (record.key, record.value):
            shown = self._orion.engine.schemas.shown
            yield None if raw is None else shown(raw) or raw.decode("utf-8", "backslashreplace")

    def close(self) -> None:
        with self._reading:
            getattr(self._records, "close", _nothing)()


def dumped(value: Any) -> str:
    """JSON on one line, with every digit of a number."""
    text = json.dumps(value, default=_marked, ensure_ascii=False)
    return one_line(_NUMBER.sub(r"\1", text) if _MARK in text else text)


# A character for private use, which stands around the digits of a number until its quotes are taken off.
_MARK = "\ue0f0"
_NUMBER = re.compile(f'"{_MARK}([^"{_MARK}]*){_MARK}"')


def _marked(value: Any) -> str:
    """json has no way to write a number's own digits."""
    if isinstance(value, Decimal):
        return f"{_MARK}{value}{_MARK}"
    raise TypeError(type(value))


def _nothing() -> None:
    pass
