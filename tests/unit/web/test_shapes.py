"""Rows on their way out, in each form: of queries that end and of those that don't, and with an error on the way."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from fastapi import FastAPI, Request

from orion.errors import BindError, ExternalError, NotFound, OrionError
from orion.plan.catalog import Catalog
from orion.schema import Column, Scalar
from orion.serving.pull import Pulled
from orion.web.command_status import CommandStatuses
from orion.web.questions import Answer, Question, asked, dumped, read
from orion.web.routes.inserts_stream import Lines
from orion.web.routes.ws_query import reason_of
from orion.web.shapes import ARRAY, DELIMITED, STREAMED, Rows, Shape, pieces, whole

COLUMNS = (("K", Scalar.STRING), ("v w", Scalar.INTEGER))


def answer(*rows: str, ending: str | None = None, failure: OrionError | None = None) -> Answer:
    async def given() -> AsyncIterator[list[str]]:
        if rows:
            yield list(rows)
        if failure is not None:
            raise failure

    return Answer(None if ending is None else "q", COLUMNS, given(), lambda: ending, lambda: None)


def sent(made: Answer, shape: Shape, *, single: bool = False) -> list[str]:
    async def collect() -> list[str]:
        return [piece async for piece in pieces(made, shape, single=single)]

    return asyncio.run(collect())


def test_a_line_each_together_or_one_by_one() -> None:
    head, rows = sent(answer('["a",1]', '["b",2]'), DELIMITED)
    assert json.loads(head) == {"queryId": None, "columnNames": ["K", "v w"], "columnTypes": ["STRING", "INTEGER"]}
    assert rows == '["a",1]\n["b",2]\n'
    assert sent(answer('["a",1]', '["b",2]'), DELIMITED, single=True)[1:] == ['["a",1]\n', '["b",2]\n']


@pytest.mark.parametrize("ending", [None, "Query Completed"])
@pytest.mark.parametrize("rows", [(), ('["a",1]', '["b",2]')])
@pytest.mark.parametrize("shape", [ARRAY, STREAMED], ids=["array", "older"])
def test_an_array_is_json_however_many_rows_there_are(shape: Shape, rows: tuple[str, ...], ending: str | None) -> None:
    whole = json.loads("".join(sent(answer(*rows, ending=ending), shape)))
    if shape is ARRAY:
        assert whole[1:] == [json.loads(row) for row in rows]
        return
    assert whole[0] == {"header": {"queryId": "q" if ending else "none", "schema": "`K` STRING, `v w` INTEGER"}}
    last = [{"finalMessage": ending}] if ending else []
    assert whole[1:] == [{"row": {"columns": json.loads(row)}} for row in rows] + last


@pytest.mark.parametrize("ending", [None, "Query Completed"])
@pytest.mark.parametrize("shape", [DELIMITED, ARRAY, STREAMED], ids=["lines", "array", "older"])
def test_what_fails_on_the_way_is_the_last_of_it(shape: Shape, ending: str | None) -> None:
    text = "".join(sent(answer('["a",1]', ending=ending, failure=ExternalError("DOWN", "No.")), shape))
    values = [json.loads(line) for line in text.splitlines()] if shape is DELIMITED else json.loads(text)
    last = values[-1]["errorMessage"] if shape is STREAMED else values[-1]
    assert (len(values), last["error_code"], last["code"], last["kind"]) == (3, 50000, "DOWN", "ExternalError")


def test_a_pull_query_is_answered_by_its_result() -> None:
    found = Pulled((Column("K", Scalar.STRING),), [["a"], [None]])
    given: list[Any] = []

    def query(*asked: Any) -> Any:
        given.append(asked)
        return found

    async def run(call: Callable[..., Any], *arguments: Any) -> Any:
        return call(*arguments)

    app = FastAPI()
    app.state.orion = SimpleNamespace(query=query)
    app.state.gateway = SimpleNamespace(run=run)

    async def collect(shape: Shape) -> list[str]:
        question = read('{"sql": "SELECT k FROM t;", "properties": {"a": "b"}}', Question)
        made = await asked(app, question, asyncio.Event().wait)
        return [piece async for piece in pieces(made, shape, single=False)]

    head, rows = asyncio.run(collect(DELIMITED))
    assert (json.loads(head)["queryId"], rows) == (None, '["a"]\n[null]\n')
    assert [one[:3] for one in given] == [("SELECT k FROM t;", {"a": "b"}, {})]
    for shape in (DELIMITED, ARRAY, STREAMED):
        assert whole(found, shape).decode() == "".join(asyncio.run(collect(shape)))


def test_a_pull_query_ends_when_who_asked_is_gone() -> None:
    begun, ended = threading.Event(), threading.Event()

    def query(*asked: Any) -> Any:
        with asked[3].ended_by(ended.set):
            begun.set()
            assert ended.wait(60)
            raise RuntimeError("as an engine tells that it was cancelled")

    app = FastAPI()
    app.state.orion = SimpleNamespace(query=query)
    app.state.gateway = SimpleNamespace(run=asyncio.to_thread)

    async def leave() -> None:
        await asyncio.to_thread(begun.wait, 60)

    with pytest.raises(ExternalError) as raised:
        asyncio.run(_asked(app, leave))
    assert (raised.value.code, ended.is_set()) == ("CLIENT_LEFT", True)


async def _asked(app: FastAPI, leave: Callable[[], Awaitable[None]]) -> Any:
    return await asked(app, read('{"sql": "SELECT k FROM t;"}', Question), leave)


def test_a_question_has_the_names_of_either_api() -> None:
    new = read('{"sql": "s", "properties": {"a": "1"}, "sessionVariables": {"b": "2"}}', Question)
    old = read('{"ksql": "s", "streamsProperties": {"a": "1"}, "sessionVariables": {"b": "2"}}', Question)
    assert new == old == Question.model_validate({"sql": "s", "properties": {"a": "1"}, "sessionVariables": {"b": "2"}})


def test_a_row_is_one_line_for_everybody() -> None:
    assert dumped(["a\u2028b\x85\u2029ä"]) == '["a\\u2028b\\u0085\\u2029ä"]'
    assert json.loads(dumped(["a\u2028b"])) == ["a\u2028b"]


def test_a_reason_fits_into_a_close_of_a_websocket() -> None:
    assert reason_of(BindError("X", "short")) == "short"
    long = reason_of(BindError("X", "ä" * 100))
    assert (len(long.encode()) <= 123, long.startswith("ää"), long.endswith("...")) == (True, True, True)


def test_statuses_are_kept_by_their_names_with_or_without_quotes() -> None:
    statuses = CommandStatuses()
    statuses.note([{"commandId": "stream/`S`/drop", "commandStatus": {"status": "SUCCESS"}}, {"@type": "streams"}])
    assert statuses.get("stream/S/drop", Catalog()) == {"status": "SUCCESS"}
    assert statuses.all(Catalog()) == {"stream/S/drop": "SUCCESS"}
    with pytest.raises(NotFound):
        statuses.get("stream/S/create", Catalog())


class Body:
    """A request whose body comes in pieces."""

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = chunks

    async def stream(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk


@pytest.mark.parametrize(
    ("chunks", "batches"),
    [
        ((b"one\ntwo\nth", b"ree\n"), [[b"one"], [b"two", b"three"]]),
        ((b"one\n\n \ntwo",), [[b"one"], [b"two"]]),
        ((b"one",), [[b"one"]]),
        ((), []),
    ],
)
def test_lines_come_as_they_arrive(chunks: tuple[bytes, ...], batches: list[list[bytes]]) -> None:
    async def collect() -> list[list[bytes]]:
        lines = Lines(Body(*chunks), 1000)
        reading = asyncio.ensure_future(lines.read())
        await asyncio.sleep(0)
        found = [first] if (first := await lines.following(1)) else []
        while more := await lines.following(10):
            found.append(more)
        await reading
        return found

    assert asyncio.run(collect()) == batches


def test_a_line_that_never_ends_is_refused() -> None:
    async def collect() -> None:
        lines = Lines(Body(b"x" * 600, b"x" * 600), 1000)
        reading = asyncio.ensure_future(lines.read())
        try:
            await lines.following(1)
        finally:
            await reading

    with pytest.raises(OrionError, match="more than 1000 bytes"):
        asyncio.run(collect())


def test_rows_that_may_be_old_come_with_a_warning() -> None:
    request = SimpleNamespace(scope={"http_version": "1.1"})
    fresh = Rows(answer('["a", 1]'), DELIMITED, cast(Request, request))
    assert "Orion-Warning" not in fresh.headers
    told = ("The table T has stopped: no space\nleft", "größer")
    stale = Rows(replace(answer('["a", 1]'), warnings=told), DELIMITED, cast(Request, request))
    assert stale.headers["Orion-Warning"] == "The table T has stopped: no space left | gr??er"
