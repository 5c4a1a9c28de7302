"""The forms in which rows go out: a JSON value a line, one JSON array, or the array of the older API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import assert_never

from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from orion.errors import OrionError
from orion.schema import Array, Decimal, Map, Scalar, SqlType, Struct, quote
from orion.serving.pull import Pulled
from orion.web import ksql_errors
from orion.web.questions import Answer, Columns, columns_of, dumped

DELIMITED_TYPE = "application/vnd.ksqlapi.delimited.v1"
STREAMED_TYPE = "application/vnd.ksql.v1+json"
WARNING = "Orion-Warning"  # the header of an answer whose rows may be old
_LONGEST = 2_000  # of a header


@dataclass(frozen=True)
class Shape:
    """`array`: all values make one JSON array. `named`: each says what it is, a header, a row, an error or the end."""

    media: str
    array: bool
    named: bool = False

    def head(self, query_id: str | None, columns: Columns) -> str:
        types = [type_name(type_) for _, type_ in columns]
        names = [name for name, _ in columns]
        if not self.named:
            return dumped({"queryId": query_id, "columnNames": names, "columnTypes": types})
        schema = ", ".join(f"{quote(name)} {type_}" for name, type_ in zip(names, types, strict=True))
        return dumped({"header": {"queryId": query_id or "none", "schema": schema}})

    def row(self, text: str) -> str:
        return f'{{"row":{{"columns":{text}}}}}' if self.named else text

    def error(self, error: OrionError) -> str:
        body = ksql_errors.body(error)
        return dumped({"errorMessage": body} if self.named else body)


DELIMITED = Shape(DELIMITED_TYPE, array=False)
ARRAY = Shape("application/json", array=True)
STREAMED = Shape(STREAMED_TYPE, array=True, named=True)


def chosen(request: Request) -> Shape:
    """The form that a client of /query-stream accepts."""
    return accepted(request.headers.get("accept", ""))


def accepted(accept: str) -> Shape:
    if DELIMITED_TYPE in accept:
        return DELIMITED
    if STREAMED_TYPE in accept:
        return STREAMED
    return ARRAY if "application/json" in accept else DELIMITED


def type_name(type_: SqlType) -> str:
    """A type as ksqlDB's API writes it, and as SQL reads it again."""
    match type_:
        case Scalar():
            return type_.value
        case Decimal():
            return str(type_)
        case Array(element):
            return f"ARRAY<{type_name(element)}>"
        case Map(key, value):
            return f"MAP<{type_name(key)}, {type_name(value)}>"
        case Struct(fields):
            return f"STRUCT<{', '.join(f'{quote(field.name)} {type_name(field.type)}' for field in fields)}>"
        case _:
            assert_never(type_)


def whole(found: Pulled, shape: Shape) -> bytes:
    """All that a pull query gives, at once: the same text as `pieces` gives of it."""
    texts = [shape.head(None, columns_of(found)), *(shape.row(dumped(row)) for row in found.rows)]
    if shape.array:
        return ("[" + ",\n".join(texts) + "]\n").encode()
    return "".join(f"{text}\n" for text in texts).encode()


class Rows(StreamingResponse):
    """An answer on its way to a client. The query ends with the response, however that ends."""

    def __init__(self, answer: Answer, shape: Shape, request: Request) -> None:
        # Over HTTP/2, ksqlDB sends each row in a frame of its own, and there are clients that count on it.
        single = request.scope.get("http_version") == "2"
        super().__init__(pieces(answer, shape, single=single), media_type=shape.media, headers=_told(answer.warnings))
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await closed(self._answer)


def _told(warnings: tuple[str, ...]) -> dict[str, str]:
    """A header, which no client of ksqlDB's minds: in the answer itself there is no place for it."""
    text = " | ".join(" ".join(warning.split()) for warning in warnings)
    return {WARNING: text.encode("ascii", "replace").decode()[:_LONGEST]} if warnings else {}


async def closed(answer: Answer) -> None:
    """End the query, which may take a while: also where the one who waits for it is cancelled meanwhile."""
    await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, answer.close))


async def pieces(answer: Answer, shape: Shape, *, single: bool) -> AsyncIterator[str]:
    """The answer as text. What fails on the way is the last of it: the status has been sent long before."""
    # The older API puts a comma behind each value, so that a line is whole when it comes; something always follows.
    behind = shape.named and answer.ending() is not None
    comma, after = (",\n", "") if shape.array and not behind else ("", ",\n" if behind else "\n")
    yield ("[" if shape.array else "") + shape.head(answer.id, answer.columns) + after
    try:
        async for texts in answer.rows:
            rows = [comma + shape.row(text) + after for text in texts]
            if single:
                for row in rows:
                    await asyncio.sleep(0)  # lets go out what came before; else it would go out together
                    yield row
            elif rows:
                yield "".join(rows)
    except OrionError as error:
        yield comma + shape.error(error) + ("" if shape.array else after)
    else:
        if behind:
            yield dumped({"finalMessage": answer.ending()})
    if shape.array:
        yield "]\n"
