"""What a body of REST Proxy's may say, and in which types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from orion.errors import ExternalError, NotFound, OrionError
from orion.web.rest_proxy.bodies import MOST_INT, MOST_LONG, flag, object_of, optional_text, parsed, text, whole
from orion.web.rest_proxy.instances import Options
from orion.web.rest_proxy.producing import Batch, _headers, _timestamp, batch_answer
from orion.web.rest_proxy.refusals import ProxyError
from orion.web.slashes import NamedRoute


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"NaN",
        b'{"a": NaN}',
        b"[" * 100_000,
        b"9" * 5000,
        b'{"a": "\\ud800"}',
        b'{"\\uDFFF": 1}',
        b"\xff\xfe",
    ],
)
def test_what_is_no_json_is_refused(raw: bytes) -> None:
    with pytest.raises(ProxyError) as refused:
        parsed(raw)
    assert refused.value.number == 400


def test_pairs_of_surrogates_are_text() -> None:
    assert parsed(b'{"a": "\\ud83d\\ude42"}') == {"a": "\U0001f642"}


@pytest.mark.parametrize("raw", [b"[]", b"1", b'"a"', b"null"])
def test_a_body_is_an_object(raw: bytes) -> None:
    with pytest.raises(ProxyError):
        object_of(raw)


@pytest.mark.parametrize("given", [None, True, -1, 1.0, "1", [], {}, MOST_INT + 1, 10**40])
def test_whole_numbers_are_whole_and_fit(given: Any) -> None:
    with pytest.raises(ProxyError) as refused:
        whole({"a": given}, "a")
    assert refused.value.number == 422


def test_whole_numbers() -> None:
    assert [whole({"a": one}, "a") for one in (0, MOST_INT)] == [0, MOST_INT]
    assert whole({"a": MOST_LONG}, "a", MOST_LONG) == MOST_LONG


@pytest.mark.parametrize(
    ("read", "given"),
    [
        (flag, "true"),
        (flag, 1),
        (flag, []),
        (text, ""),
        (text, 1),
        (text, None),
        (optional_text, []),
        (optional_text, {}),
    ],
)
def test_other_types_are_refused(read: Callable[..., Any], given: Any) -> None:
    with pytest.raises(ProxyError) as refused:
        read({"a": given}, "a")
    assert refused.value.number == 422


def test_types_that_are_taken() -> None:
    assert (flag({}, "a"), flag({"a": None}, "a"), flag({"a": True}, "a")) == (False, False, True)
    assert [optional_text({"a": one}, "a") for one in (None, "x", 5, True, 1.5)] == [None, "x", "5", "true", "1.5"]


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ({"name": []}, 422),
        ({"id": {}}, 422),
        ({"format": ["json"]}, 422),
        ({"auto.offset.reset": []}, 422),
        ({"fetch.min.bytes": 1.5}, 42204),
        ({"fetch.min.bytes": "٣"}, 42204),
        ({"fetch.min.bytes": "9" * 40}, 42204),
        ({"consumer.request.timeout.ms": "NaN"}, 42204),
    ],
)
def test_what_a_new_instance_may_not_be(said: dict[str, Any], number: int) -> None:
    with pytest.raises(ProxyError) as refused:
        Options.of(said)
    assert refused.value.number == number


@pytest.mark.parametrize("given", [-1, 10**15, "10000-01-01T00:00:00Z", "soon", [], "9" * 30])
def test_times_outside_of_all_years(given: Any) -> None:
    with pytest.raises(ProxyError) as refused:
        _timestamp(given)
    assert refused.value.number == 400


@pytest.mark.parametrize("given", [1, "a", [1], [{"value": "eA=="}], [{"name": 1}], [{"name": "a", "value": 1}]])
def test_headers_of_another_shape(given: Any) -> None:
    with pytest.raises(ProxyError):
        _headers(given)


def test_a_slash_that_is_escaped_is_part_of_a_name() -> None:
    app = FastAPI()
    app.router.route_class = NamedRoute

    @app.get("/groups/{group}/members/{member}")
    def names(group: str, member: str) -> list[str]:
        return [group, member]

    with TestClient(app) as client:
        assert client.get("/groups/a%2Fb/members/c%2fd").json() == ["a/b", "c/d"]
        assert client.get("/groups/a/members/b/").json() == ["a", "b"]
        assert client.get("/groups/a/b/members/c").status_code == 404


@pytest.mark.parametrize(
    ("error", "number"),
    [
        (NotFound("PARTITION_NOT_FOUND", "Topic t has no such partition."), 40402),
        (NotFound("TOPIC_NOT_FOUND", "There is no topic t."), 40401),
        (ExternalError("KAFKA", "The broker is away.", retry_after=1.0), 50003),
        (ExternalError("KAFKA", "The broker refuses."), 50002),
    ],
)
def test_a_topic_that_goes_under_a_record_is_no_failure_of_the_server(error: OrionError, number: int) -> None:
    """A topic that is deleted while records are on their way to it takes its partitions along."""
    (told,) = batch_answer(Batch([], None, None), [error])["offsets"]
    assert (told["error_code"], told["partition"]) == (number, None)
