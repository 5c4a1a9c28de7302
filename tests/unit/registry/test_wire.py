"""Quirks of the wire: prefixes, formats, media types, texts of refusals."""

from __future__ import annotations

import json

import pytest
from starlette.testclient import TestClient

from orion.registry.api import application
from orion.registry.log import MemoryLog
from orion.registry.store import Registry
from tests.unit.registry.conftest import BROKEN, ONE, TWO, Door, record

V1 = "application/vnd.schemaregistry.v1+json"


@pytest.fixture
def client(log: MemoryLog) -> TestClient:
    return TestClient(application(Registry(log)))


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("", [":.team:a", ":.team:b", "a", "ab"]),
        ("?subjectPrefix=:*:", [":.team:a", ":.team:b", "a", "ab"]),
        ("?subjectPrefix=:*:a", [":.team:a", "a", "ab"]),
        ("?subjectPrefix=", ["a", "ab"]),
        ("?subjectPrefix=:.:", ["a", "ab"]),
        ("?subjectPrefix=ab", ["ab"]),
        ("?subjectPrefix=:.team:", [":.team:a", ":.team:b"]),
        ("?subjectPrefix=:.team:b", [":.team:b"]),
        ("?subjectPrefix=:.te", []),
        ("?offset=1&limit=2", [":.team:b", "a"]),
        ("?offset=-3&limit=-1", [":.team:a", ":.team:b", "a", "ab"]),
        ("?offset=9", []),
    ],
)
def test_which_subjects_are_listed(call: Door, query: str, wanted: list[str]) -> None:
    for subject in ("a", "ab", ":.team:a", ":.team:b"):
        call.register(subject, ONE)
    assert call("GET", f"/subjects{query}") == wanted


def test_subjects_and_schemas_of_a_context(call: Door) -> None:
    for subject in ("a", ":.team:a", ":.team:b"):
        call.register(subject, ONE)
    for context in (".team", "team", ":.team:"):
        assert call("GET", f"/contexts/{context}/subjects") == [":.team:a", ":.team:b"]
        assert call("GET", f"/contexts/{context}/subjects?subjectPrefix=b") == [":.team:b"]
        assert [one["subject"] for one in call("GET", f"/contexts/{context}/schemas")] == [":.team:a", ":.team:b"]
    assert [one["subject"] for one in call("GET", "/schemas")] == ["a"]
    assert len(call("GET", "/schemas?subjectPrefix=:*:")) == 3
    assert call("GET", "/contexts/.team/") == {}


def test_an_id_is_of_its_context(call: Door) -> None:
    call.register("s", ONE)
    call.register("s", TWO)
    call.register(":.team:s", TWO)
    call("GET", "/contexts/.team/schemas/ids/2", code=40403)
    call("GET", "/schemas/ids/2?subject=:.team:s", code=40403)
    assert call("GET", "/schemas/ids/2?subject=s") == {"schema": TWO}
    assert call("GET", "/schemas/ids/1?subject=:.team:s&fetchMaxId=true") == {"schema": TWO, "maxId": 1}
    guid = call("GET", "/subjects/s/versions/2")["guid"]
    both = [{"context": ".", "id": 2}, {"context": ".team", "id": 1}]
    assert call("GET", f"/schemas/guids/{guid}/ids") == both
    call("DELETE", "/subjects/s")
    call("DELETE", "/subjects/s?permanent=true")
    assert call("GET", f"/schemas/guids/{guid}/ids") == both[1:]


def test_contexts_stay_until_they_are_deleted(call: Door) -> None:
    call.register(":.team:s", ONE)
    call("DELETE", "/contexts/.team", code=42211)
    call("DELETE", "/subjects/:.team:s")
    call("DELETE", "/subjects/:.team:s?permanent=true")
    assert call("GET", "/contexts") == [".", ".team"]
    assert call("GET", "/contexts?contextPrefix=.t") == [".team"]
    call("DELETE", "/contexts/.team")
    assert call("GET", "/contexts?offset=0&limit=-1") == ["."]
    call("DELETE", "/contexts/.team", code=404)
    call("DELETE", "/contexts/:.:", code=42211)


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("*/*", V1),
        ("application/json", "application/json"),
        (
            "application/vnd.schemaregistry+json; qs=0.9, application/json; qs=0.5",
            "application/vnd.schemaregistry+json",
        ),
        (f"{V1}, application/vnd.schemaregistry+json, application/json", V1),
        ("text/html, application/*;q=0.5", V1),
        (f"{V1};q=0.2, application/json;q=0.9", "application/json"),
    ],
)
def test_answers_are_of_the_type_that_is_asked_for(client: TestClient, accept: str, wanted: str) -> None:
    for path, status in (("/subjects", 200), ("/schemas/ids/9", 404), ("/nowhere", 404)):
        answer = client.get(path, headers={"accept": accept})
        assert (answer.status_code, answer.headers["content-type"]) == (status, wanted)


@pytest.mark.parametrize("accept", ["text/html", "application/xml, image/*", "application/json;q=0", "json", ";;"])
def test_who_accepts_none_of_our_types_is_refused(client: TestClient, accept: str) -> None:
    for method, path in (("GET", "/subjects"), ("POST", "/subjects/s/versions"), ("GET", "/schemas/ids/9")):
        answer = client.request(method, path, content=b"{}", headers={"accept": accept})
        assert (answer.status_code, answer.headers["content-type"]) == (406, V1)
        assert answer.json() == {"error_code": 406, "message": "HTTP 406 Not Acceptable"}


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (V1, 200),
        ("application/vnd.schemaregistry+json", 200),
        ("application/json; charset=utf-8", 200),
        ("application/octet-stream", 200),
        ("text/xml", 415),
    ],
)
def test_bodies_are_json(client: TestClient, kind: str, status: int) -> None:
    body = json.dumps({"schema": ONE}).encode()
    answer = client.post("/subjects/s/versions", content=body, headers={"content-type": kind})
    assert answer.status_code == status
    assert status == 200 or answer.json()["error_code"] == status


def test_a_slash_at_the_end_says_nothing(call: Door) -> None:
    call.register("s", ONE)
    assert call("GET", "/subjects/") == ["s"]
    assert call("GET", "/subjects/s/versions/") == [1]
    assert call.register("a%2F", ONE) == 1
    assert call("GET", "/subjects/a%2F/versions/latest/")["subject"] == "a/"


def test_numbers_that_are_none(call: Door) -> None:
    call("GET", "/schemas/ids/x", code=404)
    call("GET", "/schemas/ids/99999999999", code=404)
    call("GET", "/schemas/ids/-1", code=40403)
    call("GET", "/schemas/ids/0", code=40403)
    call("GET", "/subjects?limit=x", code=404)
    call.register("s", ONE)
    for bad in ("0", "-2", "x", "1.0", "99999999999", "٣", "LATEST"):
        call("GET", f"/subjects/s/versions/{bad}", code=42202)
        call("DELETE", f"/subjects/s/versions/{bad}", code=42202)
        call("POST", f"/compatibility/subjects/s/versions/{bad}", {"schema": ONE}, code=42202)


def test_refusals_in_confluents_words(call: Door) -> None:
    def message(method: str, path: str, code: int) -> str:
        return str(call(method, path, code=code)["message"])

    call.register("s", ONE)
    call.register("s", TWO)
    assert message("GET", "/subjects/t/versions", 40401) == "Subject 't' not found."
    assert message("GET", "/subjects/s/versions/7", 40402) == "Version 7 not found."
    assert message("GET", "/schemas/ids/7", 40403) == "Schema 7 not found"
    assert message("GET", "/config/s", 40408) == "Subject 's' does not have subject-level compatibility configured"
    assert message("GET", "/mode/s", 40409) == "Subject 's' does not have subject-level mode configured"
    never = "was not deleted first before being permanently deleted"
    again = "was soft deleted.Set permanent=true to delete permanently"
    assert message("DELETE", "/subjects/s?permanent=true", 40405) == f"Subject 's' {never}"
    assert message("DELETE", "/subjects/s/versions/1?permanent=true", 40407) == f"Subject 's' Version 1 {never}"
    call("DELETE", "/subjects/s")
    assert message("DELETE", "/subjects/s", 40404) == f"Subject 's' {again}"
    assert message("DELETE", "/subjects/s/versions/1", 40406) == f"Subject 's' Version 1 {again}"


def test_a_refusal_says_where_and_against_what(call: Door) -> None:
    call.register("s", ONE)
    message = call.register("s", BROKEN, code=409)
    start = 'Schema being registered is incompatible with an earlier schema for subject "s", details: ['
    assert message.startswith(start + "{errorType:'READER_FIELD_MISSING_DEFAULT_VALUE', description:'The field c ")
    for part in (
        "at path '/fields/1'",
        "{oldSchemaVersion: 1}",
        f"{{oldSchema: '{ONE}'}}",
        "compatibility: 'BACKWARD'",
    ):
        assert part in message
    answer = call("POST", "/compatibility/subjects/s/versions/1?verbose=True", {"schema": BROKEN})
    assert "at path '/fields/1'" in answer["messages"][0]
    assert answer["messages"][1] == "{oldSchemaVersion: 1}"


def test_avro_with_its_references_spelled_out(call: Door) -> None:
    inner = {"type": "record", "name": "Inner", "namespace": "n", "fields": [{"name": "e", "type": "E"}]}
    call.register("e", '{"type":"enum","name":"n.E","symbols":["X"]}')
    to_e = [{"name": "n.E", "subject": "e", "version": 1}]
    call.register("inner", json.dumps(inner), references=to_e)
    to_inner = [{"name": "n.Inner", "subject": "inner", "version": 1}]
    number = call.register(
        "s", record(("one", "n.Inner"), ("more", {"type": "array", "items": "n.Inner"})), references=to_inner
    )
    text = call("GET", f"/schemas/ids/{number}?format=resolved")["schema"]
    enum = {"type": "enum", "name": "E", "namespace": "n", "symbols": ["X"]}
    spelled = {"type": "record", "name": "Inner", "namespace": "n", "fields": [{"name": "e", "type": enum}]}
    assert json.loads(text)["fields"] == [
        {"name": "one", "type": spelled},
        {"name": "more", "type": {"type": "array", "items": "n.Inner"}},
    ]
    assert call("GET", "/subjects/s/versions/1/schema?format=resolved") == json.loads(text)
    # It is a schema of its own.
    assert call.register("alone", text) != number
    assert call("GET", f"/schemas/ids/{number}?format=unheard-of")["schema"] != text


def test_references_in_full(call: Door) -> None:
    call.register(":.team:inner", record(("x", "int"), name="Inner"))
    references = [{"name": "Inner", "subject": "inner", "version": 1}]
    call.register(":.team:s", record(("i", "Inner")), references=references)
    path = "/subjects/:.team:s/versions/1"
    assert call("GET", path)["references"] == references
    assert call("GET", f"{path}?referenceFormat=qualified")["references"][0]["subject"] == ":.team:inner"


def test_ids_are_never_given_twice(call: Door, log: MemoryLog) -> None:
    """Not even when the highest is gone for good: records that carry it are still there."""
    call.register("s", ONE)
    call.register("s", TWO)
    call("DELETE", "/subjects/s/versions/2")
    call("DELETE", "/subjects/s/versions/2?permanent=true")
    call("GET", "/schemas/ids/2", code=40403)
    assert call.register("t", BROKEN) == 3
