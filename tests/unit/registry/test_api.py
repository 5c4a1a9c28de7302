"""The API as its clients meet it: paths, numbers, quirks."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest

from orion.registry import library
from orion.registry.log import MemoryLog
from orion.registry.records import PutVersion, Version, decode, encode
from orion.registry.schemas import Schema, parse
from orion.registry.store import Registry, Wanted
from tests.unit.registry.conftest import BROKEN, ONE, TWO, Door, record


def test_a_schema_gets_one_id_everywhere(call: Door) -> None:
    assert call("GET", "/") == {}
    assert call("GET", "/subjects") == []
    assert call.register("s", ONE) == 1
    assert call.register("s", json.dumps(json.loads(ONE), indent=2)) == 1
    assert call.register("t", ONE) == 1
    assert call.register("s", TWO) == 2
    assert call("GET", "/subjects?limit=-1&offset=0") == ["s", "t"]
    assert call("GET", "/subjects?limit=1&offset=1") == ["t"]
    assert call("GET", "/subjects/s/versions") == [1, 2]
    assert call("GET", "/schemas/ids/2") == {"schema": TWO}
    assert call("GET", "/schemas/ids/2?fetchMaxId=true")["maxId"] == 2
    assert call("GET", "/schemas/ids/1/schema") == json.loads(ONE)
    assert call("GET", "/schemas/ids/1/subjects") == ["s", "t"]
    assert call("GET", "/schemas/ids/1/versions") == [{"subject": "s", "version": 1}, {"subject": "t", "version": 1}]
    found = call("GET", "/subjects/s/versions/latest")
    assert {key: found[key] for key in ("subject", "version", "id", "schema")} == {
        "subject": "s", "version": 2, "id": 2, "schema": TWO,
    }  # fmt: skip
    assert call("GET", "/subjects/s/versions/-1") == found
    assert call("GET", "/subjects/s/versions/1/schema") == json.loads(ONE)
    assert call("POST", "/subjects/s?normalize=False", {"schema": ONE})["version"] == 1
    assert call("GET", f"/schemas/guids/{found['guid']}")["schema"] == TWO
    assert len(call("GET", "/schemas")) == 3
    assert [one["version"] for one in call("GET", "/schemas?latestOnly=true&subjectPrefix=s")] == [2]
    assert call("GET", "/schemas/types") == ["JSON", "PROTOBUF", "AVRO"]


def test_what_is_not_there(call: Door) -> None:
    call.register("s", ONE)
    call("GET", "/subjects/none/versions", code=40401)
    call("GET", "/subjects/none/versions/1", code=40401)
    call("GET", "/subjects/s/versions/9", code=40402)
    call("GET", "/schemas/ids/9", code=40403)
    call("GET", "/schemas/ids/9/versions", code=40403)
    call("POST", "/subjects/none", {"schema": ONE}, code=40401)
    call("POST", "/subjects/s", {"schema": TWO}, code=40403)
    call("DELETE", "/subjects/none", code=40401)
    call("GET", "/config/s", code=40408)
    call("GET", "/mode/s", code=40409)
    call("GET", "/associations/resources/-/orders?resourceType=topic", code=404)
    call("PUT", "/subjects", {}, code=405)
    for bad in ("0", "-2", "x", "99999999999"):
        call("GET", f"/subjects/s/versions/{bad}", code=42202)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", 422),
        (b"{", 400),
        (b"[]", 422),
        (b"[" * 200_000, 400),
        ({}, 42201),
        ({"schema": ""}, 42201),
        ({"schema": 7}, 42201),
        ({"schema": "{"}, 42201),
        ({"schema": '"int"', "schemaType": "XML"}, 42201),
        ({"schema": '"int"', "schemaType": 3}, 42201),
        ({"schema": '"int"', "references": "r"}, 42201),
        ({"schema": '"int"', "references": [{"name": "r"}]}, 42201),
        ({"schema": '"int"', "references": [{"name": "r", "subject": "none", "version": 1}]}, 42201),
        ({"schema": '"int"', "references": [{"name": "r", "subject": "s", "version": "1"}]}, 42201),
        ({"schema": '"int"', "metadata": 1}, 42201),
        ({"schema": '"int"', "metadata": {"sensitive": [[]]}}, 42201),
        ({"schema": '"int"', "ruleSet": [1]}, 42210),
        ({"schema": '"int"', "ruleSet": {"domainRules": [{"tags": 1}]}}, 42210),
        ({"schema": '"int"', "id": "x"}, 422),
        ({"schema": '"int"', "id": 9}, 42205),
        ({"schema": '{"type":"array","items":' * 200_000}, 42201),
        ({"schema": '{"not":' * 700_000, "schemaType": "JSON"}, 42201),
        ({"schema": "message A {" * 400_000, "schemaType": "PROTOBUF"}, 42201),
    ],
)
def test_what_is_no_request_changes_nothing(call: Door, body: Any, code: int) -> None:
    call.register("s", ONE)
    before = call("GET", "/schemas")
    for path in ("/subjects/s/versions", "/subjects/new/versions"):
        call("POST", path, body, code=code)
    if code != 42205:
        call("POST", "/compatibility/subjects/s/versions/latest", body, code=code)
    assert call("GET", "/schemas") == before


def test_compatibility_guards_a_subject(call: Door) -> None:
    call.register("s", ONE)
    message = call.register("s", BROKEN, code=409)
    assert "/fields/1" in message
    path = "/compatibility/subjects/s/versions/latest?verbose=true"
    answer = call("POST", path, {"schema": BROKEN})
    assert answer["is_compatible"] is False
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in answer["messages"][0]
    assert call("POST", path, {"schema": TWO}) == {"is_compatible": True, "messages": []}
    assert call("POST", "/compatibility/subjects/s/versions", {"schema": TWO}) == {"is_compatible": True}
    assert call("POST", "/compatibility/subjects/new/versions/latest", {"schema": ONE}) == {"is_compatible": True}
    call("POST", "/compatibility/subjects/s/versions/7", {"schema": ONE}, code=40402)
    call("POST", "/compatibility/subjects/new/versions/1", {"schema": ONE}, code=40402)
    call("POST", "/compatibility/subjects/new/versions/1", {"schema": "none"}, code=40402)
    assert call("PUT", "/config/s", {"compatibility": "none"}) == {"compatibility": "NONE"}
    assert call.register("s", BROKEN) == 2


def test_settings(call: Door) -> None:
    assert call("GET", "/config") == {"compatibilityLevel": "BACKWARD"}
    assert call("PUT", "/config", {"compatibility": "FULL"}) == {"compatibility": "FULL"}
    assert call("GET", "/config/s?defaultToGlobal=true") == {"compatibilityLevel": "FULL"}
    call("PUT", "/config", {"compatibility": "SOME"}, code=42203)
    call("PUT", "/config", {}, code=42203)
    call("PUT", "/config/s", {"normalize": True, "compatibilityGroup": "major"})
    call("PUT", "/config/s", {"compatibility": "FORWARD"})
    config = {"compatibilityLevel": "FORWARD", "normalize": True, "compatibilityGroup": "major"}
    assert call("GET", "/config/s") == config
    assert call("DELETE", "/config/s") == config
    call("DELETE", "/config/s", code=40401)
    assert call("DELETE", "/config") == {"compatibilityLevel": "FULL"}
    assert call("GET", "/config") == {"compatibilityLevel": "BACKWARD"}


def test_groups_are_compared_among_themselves(call: Door) -> None:
    call("PUT", "/config/s", {"compatibilityGroup": "major"})
    call.register("s", ONE, metadata={"properties": {"major": "1"}})
    call.register("s", BROKEN, metadata={"properties": {"major": "2"}})
    call.register("s", record(("a", "string")), code=409, metadata={"properties": {"major": "1"}})
    found = call("GET", "/subjects/s/metadata?key=major&value=1")
    assert found["version"] == 1
    assert found["metadata"] == {"properties": {"major": "1"}}


def test_modes(call: Door) -> None:
    assert call("GET", "/mode") == {"mode": "READWRITE"}
    call("PUT", "/mode", {"mode": "SOME"}, code=42204)
    call.register("s", ONE)
    call("PUT", "/mode/s", {"mode": "READONLY"})
    call.register("s", TWO, code=42205)
    assert call.register("s", ONE) == 1
    call("DELETE", "/subjects/s", code=42205)
    assert call("GET", "/mode/s") == {"mode": "READONLY"}
    assert call("DELETE", "/mode/s") == {"mode": "READONLY"}
    call("DELETE", "/mode/s", code=40401)
    call("PUT", "/mode", {"mode": "IMPORT"}, code=42205)
    call("PUT", "/mode/copy", {"mode": "IMPORT"})
    assert call("GET", "/mode/copy?defaultToGlobal=true") == {"mode": "IMPORT"}
    call.register("copy", ONE, code=42205)
    assert call.register("copy", TWO, id=40, version=3) == 40
    call.register("copy", BROKEN, code=42205, id=1)
    call.register("copy", ONE, code=42207, id=50)
    assert call("GET", "/subjects/copy/versions") == [3]
    assert call.register("other", BROKEN) == 41


def test_soft_and_hard_delete(call: Door) -> None:
    for schema in (ONE, TWO):
        call.register("s", schema)
    call("DELETE", "/subjects/s/versions/1?permanent=true", code=40407)
    assert call("DELETE", "/subjects/s/versions/1") == 1
    call("DELETE", "/subjects/s/versions/1", code=40406)
    assert call("GET", "/subjects/s/versions") == [2]
    assert call("GET", "/subjects/s/versions?deleted=true") == [1, 2]
    assert call("GET", "/subjects/s/versions?deletedOnly=true") == [1]
    assert call("GET", "/subjects/s/versions/1?deleted=true")["deleted"] is True
    assert call("GET", "/schemas/ids/1") == {"schema": ONE}
    assert call("GET", "/schemas/ids/1/versions") == []
    call("DELETE", "/subjects/s?permanent=true", code=40405)
    assert call("DELETE", "/subjects/s") == [2]
    call("DELETE", "/subjects/s", code=40404)
    assert call("GET", "/subjects") == []
    assert call("GET", "/subjects?deleted=true") == ["s"]
    assert call("DELETE", "/subjects/s/versions/1?permanent=true") == 1
    call("GET", "/schemas/ids/1", code=40403)
    assert call.register("s", TWO) == 2
    assert call("GET", "/subjects/s/versions") == [3]
    call("DELETE", "/subjects/s")
    assert call("DELETE", "/subjects/s?permanent=true") == [2, 3]
    assert call("GET", "/subjects?deleted=true") == []
    assert call.register("s", ONE) == 3
    assert call("GET", "/subjects/s/versions") == [1]


def test_what_is_set_for_a_subject_goes_with_it(call: Door) -> None:
    call.register("s", ONE)
    call("PUT", "/config/s", {"compatibility": "NONE"})
    call("DELETE", "/subjects/s")
    call("GET", "/config/s", code=40408)


def test_references(call: Door) -> None:
    call.register("inner", record(("x", "int"), name="n.Inner"))
    outer = record(("i", "n.Inner"))
    call.register("s", outer, code=42201)
    to_inner = [{"name": "n.Inner", "subject": "inner", "version": 1}]
    assert call.register("s", outer, references=to_inner) == 2
    assert call("GET", "/schemas/ids/2") == {"schema": outer, "references": to_inner}
    assert call("GET", "/subjects/inner/versions/1/referencedby") == [2]
    call("DELETE", "/subjects/inner", code=42206)
    call("DELETE", "/subjects/inner/versions/1", code=42206)
    latest = [{"name": "n.Inner", "subject": "inner", "version": -1}]
    assert call("POST", "/subjects/s", {"schema": outer, "references": latest})["version"] == 1
    call("DELETE", "/subjects/s")
    call("DELETE", "/subjects/inner")
    call.register("t", outer, code=42201, references=to_inner)


def test_references_that_go_round_in_a_circle(log: MemoryLog, call: Door) -> None:
    for name, other in (("a", "b"), ("b", "a")):
        schema = json.dumps({"type": "object", "properties": {"x": {"$ref": other}}})
        version = {"subject": name, "version": 1, "id": ord(name), "schema": schema, "schemaType": "JSON"}
        version["references"] = [{"name": other, "subject": other, "version": 1}]
        key = {"keytype": "SCHEMA", "subject": name, "version": 1, "magic": 1}
        entry = decode(json.dumps(key).encode(), json.dumps(version).encode())
        assert entry is not None
        log.state.apply(entry)
    to_a = [{"name": "a", "subject": "a", "version": 1}]
    assert "circle" in call.register("s", "{}", code=42201, schemaType="JSON", references=to_a)


def test_contexts_keep_apart(call: Door) -> None:
    assert call.register("s", ONE) == 1
    assert call("POST", "/contexts/.team/subjects/s/versions", {"schema": TWO}) == {"id": 1}
    assert call("POST", "/subjects/:.team:t/versions", {"schema": ONE}) == {"id": 2}
    assert call("GET", "/contexts") == [".", ".team"]
    assert call("GET", "/contexts/.team/subjects") == [":.team:s", ":.team:t"]
    assert call("GET", "/contexts/team/subjects/s/versions/1")["schema"] == TWO
    assert call("GET", "/schemas/ids/1") == {"schema": ONE}
    assert call("GET", "/schemas/ids/1?subject=:.team:") == {"schema": TWO}
    assert call("GET", "/contexts/.team/schemas/ids/1") == {"schema": TWO}
    call("PUT", "/contexts/.team/config", {"compatibility": "NONE"})
    assert call("GET", "/contexts/.team/config/s?defaultToGlobal=true") == {"compatibilityLevel": "NONE"}
    assert call("GET", "/config") == {"compatibilityLevel": "BACKWARD"}
    assert call("GET", "/subjects?subjectPrefix=:.team:") == [":.team:s", ":.team:t"]


def test_a_subject_may_hold_anything_but_control_characters(call: Door) -> None:
    assert call.register("a%2Fb%20c%3F", ONE) == 1
    assert call("GET", "/subjects") == ["a/b c?"]
    assert call("GET", "/subjects/a%2Fb%20c%3F/versions") == [1]
    call.register("a%07", ONE, code=42208)
    call.register("__GLOBAL", ONE, code=42208)
    call.register(":.team:", ONE, code=42208)
    call.register(":.team:__EMPTY", ONE, code=42208)
    assert call("GET", "/contexts") == ["."]


def test_protobuf_as_text_and_as_descriptor(call: Door) -> None:
    text = 'syntax = "proto3";\nmessage M { int32 a = 1; } // kept\n'
    assert call.register("p", text, schemaType="PROTOBUF") == 1
    assert call("GET", "/schemas/ids/1") == {"schema": text, "schemaType": "PROTOBUF"}
    descriptor = call("GET", "/schemas/ids/1?format=serialized")["schema"]
    assert call.register("p", descriptor, schemaType="PROTOBUF") == 1
    body = {"schema": text, "schemaType": "PROTOBUF"}
    shown = call("POST", "/subjects/p/versions?format=serialized", body)
    assert (shown["id"], shown["version"], shown["schema"]) == (1, 1, descriptor)
    assert call("POST", "/subjects/p", {"schema": descriptor, "schemaType": "PROTOBUF"})["version"] == 1
    call.register("p", ONE, code=409)


def test_normalising_finds_the_same(call: Door) -> None:
    left, right = '{"type":"object","title":"t"}', '{"title":"t","type":"object"}'
    first = call("POST", "/subjects/j/versions?normalize=true", {"schema": left, "schemaType": "JSON"})
    assert call("POST", "/subjects/j/versions?normalize=True", {"schema": right, "schemaType": "JSON"}) == first


def test_a_primitive_is_found_whatever_else_is_said_of_it(call: Door) -> None:
    """A name is no part of an int: Avro's own parser drops it, and so does Confluent's registry."""
    number = call.register("s", '{"type":"int","name":"x"}')
    for query in ("", "?normalize=true"):
        assert call("POST", f"/subjects/s{query}", {"schema": '{"type":"int"}'})["id"] == number
    assert call.register("s", '"int"') == number
    assert call("GET", "/subjects/s/versions/1")["schema"] == '"int"'


def test_a_thousand_subjects_are_quick(log: MemoryLog) -> None:
    """Folded within seconds, and an id found in well under two milliseconds."""
    records = [
        encode(PutVersion(Version(f"s{n}", v, 5 * n + v, Schema(record((f"f{n}", "int"), (f"v{v}", "int", 0))))))
        for n in range(1000)
        for v in range(1, 6)
    ]
    start = time.perf_counter()
    for one in records:
        entry = decode(*one)
        assert entry is not None
        log.state.apply(entry)
    assert time.perf_counter() - start < 5
    registry = Registry(log)
    start = time.perf_counter()
    for number in range(1, 1001):
        registry.schema(number)
    assert (time.perf_counter() - start) / 1000 < 0.002


def test_a_slow_text_holds_nobody_up(log: MemoryLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts are read before the registry is asked for a turn."""
    registry = Registry(log)
    registry.register("s", Wanted(Schema(ONE)))
    reading, go_on = threading.Event(), threading.Event()

    def slowly(*given: Any, **more: Any) -> Any:
        reading.set()
        assert go_on.wait(30)
        return parse(*given, **more)

    monkeypatch.setattr(library, "parse", slowly)
    thread = threading.Thread(target=registry.register, args=("t", Wanted(Schema(TWO))))
    thread.start()
    assert reading.wait(30)
    answered = threading.Event()

    def ask() -> None:
        assert registry.schema(1).text == ONE
        assert registry.subjects() == ["s"]
        answered.set()

    asking = threading.Thread(target=ask)
    asking.start()
    assert answered.wait(30)
    go_on.set()
    for one in (thread, asking):
        one.join(30)
    assert registry.subjects() == ["s", "t"]
