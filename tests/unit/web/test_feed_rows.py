"""The rows of a body, and what a request gives back."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from orion.errors import ExternalError, OrionError, SchemaError, UserError
from orion.plan.sources import Kind, Serde, Source
from orion.schema import Schema
from orion.web.feed import Fed, Prepared, Refused, rows_of

SOURCE = Source("S", Kind.STREAM, Schema(()), "t", Serde("NONE"), Serde("JSON"))
BAD = SchemaError("ROW_UNFIT", "No.")
AWAY = ExternalError("BROKER_UNREACHABLE", "Away.")


@pytest.mark.parametrize(
    ("raw", "media", "rows"),
    [
        (b'{"a": 1}', "", [{"a": 1}]),
        (b' [{"a": 1},\n {}] ', "", [{"a": 1}, {}]),
        (b'{"a":\n 1}', "", [{"a": 1}]),
        (b'{"a": 1}\n\n{"a": 2}\r\n', "", [{"a": 1}, {"a": 2}]),
        (b'{"a": 1}', "application/x-ndjson", [{"a": 1}]),
        (b"5", "", [5]),
        (b'{"a": 1.10}', "", [{"a": Decimal("1.10")}]),
    ],
)
def test_an_object_an_array_or_a_line_each(raw: bytes, media: str, rows: list[Any]) -> None:
    assert rows_of(raw, media) == rows


def test_a_line_that_is_no_json_is_an_error_in_its_place() -> None:
    first, second, third = rows_of(b"{}\n{\n{}", "")
    assert (first, third) == ({}, {})
    assert isinstance(second, OrionError)


@pytest.mark.parametrize("raw", [b"", b" \n ", b"[{", b"{", b'{"a": NaN}'])
def test_what_is_no_body_is_refused_as_a_whole(raw: bytes) -> None:
    with pytest.raises(UserError) as told:
        rows_of(raw, "")
    assert told.value.code == "BAD_REQUEST"


@pytest.mark.parametrize(
    ("refused", "status"),
    [
        ((), 200),
        ((Refused(0, BAD),), 207),
        ((Refused(0, BAD), Refused(1, BAD)), 422),
        ((Refused(0, BAD), Refused(1, AWAY)), 429),
    ],
)
def test_the_status_says_whether_to_come_again(refused: tuple[Refused, ...], status: int) -> None:
    fed = Fed(Prepared(SOURCE, 2), refused)
    assert fed.status == status
    assert fed.body()["taken"] == 2 - len(refused)
    assert [one.get("retry") for one in fed.body()["refused"]] == [True if one.again else None for one in refused]
