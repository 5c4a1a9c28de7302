"""A registry seen from this process and over HTTP: both doors lead to the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest

from orion.errors import Conflict, ExternalError, OrionError, SchemaError, UserError
from orion.plan.sources import WireSchema
from orion.registry.access import Access, Local, Remote
from orion.registry.log import MemoryLog
from orion.registry.schemas import Reference, Schema
from orion.registry.store import Registry, Wanted
from orion.web.platform import serving_registry
from orion.web.sockets import bound
from tests.unit.registry.conftest import BROKEN, ONE, TWO, record

REGISTRY = Registry(MemoryLog())  # one for all tests, and each has subjects of its own
PROTO = 'syntax = "proto3";\n\nmessage M {\n  int32 a = 1;\n}\n'
Answers = Callable[..., None]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with closing(bound("127.0.0.1", 0)) as sock, serving_registry(REGISTRY, sock) as url:
        yield url


@pytest.fixture(params=["local", "remote"])
def door(request: pytest.FixtureRequest, url: str) -> Access:
    return Local(REGISTRY) if request.param == "local" else Remote(url)


@pytest.fixture
def subject(request: pytest.FixtureRequest) -> str:
    """A name that no other test has."""
    return f"{request.node.name}-value"


@pytest.mark.parametrize(("kind", "text"), [("AVRO", ONE), ("JSON", '{"type":"object"}'), ("PROTOBUF", PROTO)])
def test_what_is_registered_is_found_by_subject_and_by_id(door: Access, subject: str, kind: str, text: str) -> None:
    made = door.register(subject, kind, text)
    assert made == WireSchema(made.id, kind, text)
    assert door.latest(subject) == door.by_id(made.id) == made
    assert door.versions(subject) == [made]


def test_versions_are_in_their_order_and_the_last_one_is_the_latest(door: Access, subject: str) -> None:
    first, second = (door.register(subject, "AVRO", text) for text in (ONE, TWO))
    assert door.versions(subject) == [first, second]
    assert door.latest(subject) == second


def test_what_is_not_there_is_none(door: Access) -> None:
    assert door.latest("nowhere") is None
    assert door.versions("nowhere") == []
    assert door.by_id(1_000_000) is None


def test_a_deleted_version_is_still_found_by_its_id(door: Access, subject: str) -> None:
    first, second = (door.register(subject, "AVRO", text) for text in (ONE, TWO))
    REGISTRY.delete_version(subject, 2)
    assert door.versions(subject) == [first]
    assert door.latest(subject) == first
    assert door.by_id(second.id) == second
    REGISTRY.delete_subject(subject)
    assert door.latest(subject) is None


def test_a_subject_may_have_any_name(door: Access, subject: str) -> None:
    odd = f"../ä b?c=d&e#f%20{subject}"
    assert door.latest(odd) is None
    assert door.register(odd, "AVRO", ONE) == door.latest(odd)


def test_what_a_schema_refers_to_stands_around_it_each_after_what_it_needs(door: Access, subject: str) -> None:
    """D over B and C, which both are over A."""

    def put(name: str, text: str, *over: str) -> int:
        references = tuple(Reference(one, f"{subject}-{one}", 1) for one in over)
        return REGISTRY.register(f"{subject}-{name}", Wanted(Schema(text, "AVRO", references))).id

    a, b = record(("x", "int"), name="A"), record(("a", "A"), name="B")
    c, d = record(("a", "A"), name="C"), record(("b", "B"), ("c", "C"), name="D")
    put("A", a)
    put("B", b, "A")
    put("C", c, "A")
    number = put("D", d, "B", "C")
    wanted = WireSchema(number, "AVRO", d, (("A", a), ("B", b), ("C", c)))
    assert door.by_id(number) == wanted


@pytest.mark.parametrize(("text", "code"), [(BROKEN, "REGISTRY_409"), (record(("a", "none")), "REGISTRY_42201")])
def test_what_is_refused_is_refused_with_its_code(door: Access, subject: str, text: str, code: str) -> None:
    door.register(subject, "AVRO", ONE)
    with pytest.raises(UserError) as error:
        door.register(subject, "AVRO", text)
    assert error.value.code == code


# ---- over HTTP alone -------------------------------------------------------------------------------------------


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    """From now on a registry answers so."""

    def answer(status: int, content: Any) -> None:
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        monkeypatch.setattr(httpx.HTTPTransport, "handle_request", lambda *_: httpx.Response(status, content=raw))

    return answer


@pytest.fixture
def nobody() -> str:
    """An address, without http://, where nobody listens."""
    with closing(bound("127.0.0.1", 0)) as sock:
        return f"127.0.0.1:{sock.getsockname()[1]}"


@pytest.mark.parametrize(
    ("status", "number", "kind"),
    [
        (409, 409, Conflict),
        (422, 42201, SchemaError),
        (422, 42205, UserError),
        (401, 401, UserError),
        (500, 50001, ExternalError),
        (503, 503, ExternalError),
    ],
)
def test_a_refusal_says_who_must_act(answers: Answers, status: int, number: int, kind: type[OrionError]) -> None:
    answers(status, {"error_code": number, "message": "no"})
    with pytest.raises(kind) as error:
        Remote("http://registry").register("s", "AVRO", ONE)
    assert type(error.value) is kind
    assert (error.value.code, error.value.message) == (f"REGISTRY_{number}", "no")


def test_who_answers_with_a_failure_and_no_json_may_be_no_registry(answers: Answers) -> None:
    answers(502, b"<html>")
    with pytest.raises(ExternalError, match="http://registry answers with no JSON") as error:
        Remote("http://registry").latest("s")
    assert error.value.code == "REGISTRY_502"


def test_who_answers_with_no_json_may_be_no_registry(answers: Answers) -> None:
    answers(200, b"<html>")
    with pytest.raises(ExternalError, match="http://registry answers with no JSON"):
        Remote("http://registry").latest("s")


def test_a_registry_that_is_away_is_an_error_of_its_operators(nobody: str) -> None:
    away = Remote(f"http://{nobody}/")
    asks: list[Callable[[], object]] = [lambda: away.versions("s"), lambda: away.register("s", "AVRO", ONE)]
    for ask in asks:
        with pytest.raises(ExternalError, match=f"No schema registry answers at http://{nobody}:") as error:
            ask()
        assert error.value.code == "REGISTRY_UNREACHABLE"
        assert error.value.hint


def test_what_an_id_stands_for_is_asked_once(url: str, subject: str, answers: Answers) -> None:
    number = Local(REGISTRY).register(subject, "AVRO", ONE).id
    remote = Remote(url)
    found = remote.by_id(number)
    answers(500, {})
    assert remote.by_id(number) == found
    with pytest.raises(ExternalError):
        remote.by_id(number + 1)


def test_an_id_that_was_not_there_is_asked_again(url: str, subject: str) -> None:
    remote = Remote(url)
    number = REGISTRY.highest_id() + 1
    assert remote.by_id(number) is None
    made = Local(REGISTRY).register(subject, "AVRO", record(("new", "int")))
    assert made.id == number
    assert remote.by_id(number) == made


def test_a_password_of_the_address_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def handle(_: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        seen.append((request.url.host, request.headers["authorization"]))
        return httpx.Response(200, json=[])

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", handle)
    assert Remote("http://user:s3cret@registry").versions("s") == []
    assert seen == [("registry", "Basic dXNlcjpzM2NyZXQ=")]


@pytest.mark.parametrize("failure", ["away", "no JSON"])
def test_a_password_of_the_address_is_never_shown(nobody: str, answers: Answers, failure: str) -> None:
    if failure == "no JSON":
        answers(502, b"<html>")
    with pytest.raises(ExternalError) as error:
        Remote(f"http://user:s3cret@{nobody}").latest("s")
    shown = f"{error.value!r} {error.value.as_dict()} {error.value.__cause__!r}"
    assert "s3cret" not in shown
    assert nobody in shown


@pytest.mark.parametrize("address", ["user:s3cret@registry:8081", "http://user:s3cret@[registry"])
def test_a_password_of_an_address_that_is_none_is_not_shown_either(address: str) -> None:
    with pytest.raises(ExternalError) as error:
        Remote(address).latest("s")
    assert "s3cret" not in f"{error.value!r} {error.value.as_dict()} {error.value.__cause__!r}"


@pytest.mark.parametrize("body", [[], 3, {}, {"id": "x"}, {"schema": ONE}, {"id": 1, "schema": []}])
def test_who_answers_with_other_json_is_no_registry(answers: Answers, body: Any) -> None:
    answers(200, body)
    with pytest.raises(ExternalError, match="is no schema registry") as error:
        Remote("http://registry").latest("s")
    assert error.value.code == "REGISTRY_STRANGE"


@pytest.mark.parametrize("body", [[], 3, {}, {"id": "x"}, {"id": None}])
def test_who_answers_a_registration_with_no_id_is_no_registry(answers: Answers, body: Any) -> None:
    answers(200, body)
    with pytest.raises(ExternalError, match="is no schema registry"):
        Remote("http://registry").register("s", "AVRO", ONE)
