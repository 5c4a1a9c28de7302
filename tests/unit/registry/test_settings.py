"""What is set for a subject, a context or all, and what comes of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.registry.conftest import BROKEN, ONE, TWO, Door, record


def test_a_subject_inherits_what_it_doesnt_set_itself(call: Door) -> None:
    call("PUT", "/config", {"compatibility": "FULL", "normalize": True})
    call("PUT", "/config/s", {"compatibilityGroup": "major"})
    assert call("GET", "/config/s") == {"compatibilityGroup": "major"}
    everything = {"compatibilityLevel": "FULL", "normalize": True, "compatibilityGroup": "major"}
    assert call("GET", "/config/s?defaultToGlobal=true") == everything
    assert call("GET", "/config/s?defaultToGlobal=True") == everything
    call("GET", "/config/t?defaultToGlobal=false", code=40408)


def test_a_context_stands_between_a_subject_and_all(call: Door) -> None:
    call("PUT", "/contexts/.team/config", {"compatibility": "NONE"})
    assert call("GET", "/config/:.team:") == {"compatibilityLevel": "NONE"}
    assert call("GET", "/contexts/.team/config/s?defaultToGlobal=true") == {"compatibilityLevel": "NONE"}
    assert call("GET", "/config/s?defaultToGlobal=true") == {"compatibilityLevel": "BACKWARD"}
    call("PUT", "/contexts/:.team:/mode", {"mode": "READONLY"})
    assert call("GET", "/mode/:.team:s?defaultToGlobal=true") == {"mode": "READONLY"}
    assert call("GET", "/mode") == {"mode": "READWRITE"}


def test_null_takes_a_setting_back(call: Door) -> None:
    assert call("PUT", "/config/s", {"alias": "t", "normalize": True}) == {"alias": "t", "normalize": True}
    assert call("PUT", "/config/s", {"alias": None, "compatibility": "full"}) == {"compatibility": "FULL"}
    assert call("GET", "/config/s") == {"normalize": True, "compatibilityLevel": "FULL"}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"compatibility": "SOME"}, 42203),
        ({"compatibility": 5}, 42203),
        ({"compatibility": None}, 42203),
        ({}, 42203),
        ({"compatibilityPolicy": "SOFT"}, 42203),
        ({"alias": 3}, 422),
        ({"normalize": "yes"}, 422),
        ({"defaultMetadata": []}, 42201),
        ({"defaultMetadata": {"tags": {"a": "b"}}}, 42201),
        ({"overrideMetadata": {"properties": {"a": {}}}}, 42201),
        ({"overrideRuleSet": {"domainRules": 3}}, 42210),
        ({"defaultRuleSet": [1]}, 42210),
        ({"defaultRuleSet": "rules"}, 42210),
        ({"defaultRuleSet": {"migrationRules": [1]}}, 42210),
        ({"defaultRuleSet": {"domainRules": [{"name": "a", "params": []}]}}, 42210),
        ([], 422),
        (b"{", 400),
    ],
)
def test_what_is_no_setting_changes_nothing(call: Door, body: Any, code: int) -> None:
    call("PUT", "/config/s", body, code=code)
    call("GET", "/config/s", code=40408)
    call("PUT", "/config", body, code=code)
    assert call("GET", "/config") == {"compatibilityLevel": "BACKWARD"}


def test_an_alias_stands_for_a_subject(call: Door) -> None:
    call.register("orders-v1", ONE)
    call("PUT", "/config/orders", {"alias": "orders-v1"})
    assert call("GET", "/subjects/orders/versions") == [1]
    assert call("GET", "/subjects/orders/versions/latest")["subject"] == "orders-v1"
    assert call("POST", "/subjects/orders", {"schema": ONE})["id"] == 1
    assert call("POST", "/compatibility/subjects/orders/versions/latest", {"schema": BROKEN}) == {
        "is_compatible": False
    }
    assert call.register("orders", TWO) == 2
    assert call("GET", "/subjects") == ["orders-v1"]
    assert [one["aliases"] for one in call("GET", "/schemas?aliases=true")] == [["orders"], ["orders"]]
    # Settings are those of the name itself: how else could an alias be taken back?
    assert call("GET", "/config/orders") == {"alias": "orders-v1"}
    call("DELETE", "/config/orders")
    call("GET", "/subjects/orders/versions", code=40401)


def test_what_an_alias_refers_to_is_kept(call: Door) -> None:
    call.register("inner", record(("x", "int"), name="Inner"))
    call("PUT", "/config/other", {"alias": "inner"})
    references = [{"name": "Inner", "subject": "other", "version": 1}]
    outer = call.register("s", record(("i", "Inner")), references=references)
    assert call("GET", "/subjects/inner/versions/1/referencedby") == [outer]
    call("DELETE", "/subjects/inner", code=42206)


def test_metadata_comes_from_settings_and_from_the_version_before(call: Door) -> None:
    call("PUT", "/config/s", {"defaultMetadata": {"properties": {"owner": "a", "team": "x"}}})
    call("PUT", "/config/s", {"overrideMetadata": {"properties": {"zone": "eu"}}})
    call.register("s", ONE, metadata={"properties": {"owner": "b", "zone": "us"}})
    merged = {"properties": {"owner": "b", "team": "x", "zone": "eu"}}
    assert call("GET", "/subjects/s/versions/1")["metadata"] == merged
    call.register("s", TWO)
    assert call("GET", "/subjects/s/versions/2")["metadata"] == merged
    assert call.register("s", TWO) == 2
    assert call("GET", "/subjects/s/versions") == [1, 2]


def test_rules_are_merged_by_name(call: Door) -> None:
    def rule(name: str, expr: str) -> dict[str, str]:
        return {"name": name, "kind": "CONDITION", "type": "CEL", "expr": expr}

    call("PUT", "/config/s", {"defaultRuleSet": {"domainRules": [rule("a", "1"), rule("b", "1")]}})
    call("PUT", "/config/s", {"overrideRuleSet": {"domainRules": [rule("c", "3")]}})
    call.register("s", ONE, ruleSet={"domainRules": [rule("b", "2"), rule("c", "2")]})
    kept = call("GET", "/subjects/s/versions/1")["ruleSet"]
    assert kept == {"domainRules": [rule("a", "1"), rule("b", "2"), rule("c", "3")]}
    call.register("t", ONE)
    assert [one["subject"] for one in call("GET", "/schemas?ruleType=CEL")] == ["s"]
    assert call("GET", "/schemas?ruleType=JSONATA") == []


def test_serializers_find_a_schema_whatever_its_metadata(call: Door) -> None:
    """They send the text alone."""
    call.register("s", ONE, metadata={"properties": {"owner": "a"}})
    assert call("POST", "/subjects/s", {"schema": ONE})["version"] == 1
    assert call.register("s", ONE) == 1
    call("POST", "/subjects/s", {"schema": ONE, "metadata": {"properties": {"owner": "b"}}}, code=40403)
    assert call.register("s", ONE, metadata={"properties": {"owner": "b"}}) == 2


def test_reserved_fields(call: Door) -> None:
    def metadata(*names: str) -> dict[str, Any]:
        return {"properties": {"confluent:reserved": ", ".join(names)}}

    call.register("s", ONE, metadata=metadata("b", "z"))
    assert "/fields/1" in call.register("s", TWO, code=409, metadata=metadata("b", "z"))
    assert "RESERVED_FIELD_CONFLICTS_WITH_FIELD" in call.register("s", TWO, code=409)
    assert "RESERVED_FIELD_REMOVED" in call.register("s", TWO, code=409, metadata=metadata("z"))
    assert call.register("s", record(("a", "int"), ("d", "int", 0)), metadata=metadata("b", "z", "y")) == 2


def test_the_lenient_policy_lets_open_objects_grow(call: Door) -> None:
    before, after = '{"properties":{"a":{}}}', '{"properties":{"a":{},"b":{"type":"string"}}}'
    call.register("s", before, schemaType="JSON")
    path, body = "/compatibility/subjects/s/versions", {"schema": after, "schemaType": "JSON"}
    assert call("POST", path, body) == {"is_compatible": False}
    call("PUT", "/config/s", {"compatibilityPolicy": "lenient"})
    assert call("POST", path, body) == {"is_compatible": True}


def test_an_override_further_out_wins(call: Door) -> None:
    call.register("s", ONE)
    call("PUT", "/mode/s", {"mode": "READWRITE"})
    call("PUT", "/mode", {"mode": "READONLY"})
    assert call.register("s", TWO) == 2
    call("PUT", "/mode", {"mode": "READONLY_OVERRIDE"})
    call.register("s", BROKEN, code=42205)
    call("PUT", "/config/s", {"compatibility": "NONE"}, code=42205)
    assert call("DELETE", "/mode") == {"mode": "READONLY_OVERRIDE"}
    assert call("GET", "/mode") == {"mode": "READWRITE"}


def test_modes_inside_of_a_context_go_with_it_where_told(call: Door) -> None:
    call("PUT", "/mode/:.team:", {"mode": "READONLY"})
    call("PUT", "/mode/:.team:s", {"mode": "READWRITE"})
    call("PUT", "/mode/s", {"mode": "READONLY"})
    assert call("DELETE", "/mode/:.team:?recursive=true") == {"mode": "READONLY"}
    call("GET", "/mode/:.team:s", code=40409)
    assert call("GET", "/mode/s") == {"mode": "READONLY"}


@pytest.mark.parametrize("body", [{}, {"mode": None}, {"mode": 1}, {"mode": "SOME"}])
def test_what_is_no_mode(call: Door, body: Any) -> None:
    call("PUT", "/mode", body, code=42204)
    call("PUT", "/mode/s", body, code=42204)
    call("GET", "/mode/s", code=40409)


def test_import_needs_an_empty_subject_or_force(call: Door) -> None:
    call.register("s", ONE)
    call("PUT", "/mode/s", {"mode": "IMPORT"}, code=42205)
    call("PUT", "/mode/s?force=true", {"mode": "IMPORT"})
    call.register("s", TWO, code=42205)
    assert call.register("s", TWO, id=9, version=4) == 9
    # Copied as it is: what is incompatible elsewhere was taken there.
    assert call.register("s", BROKEN, id=10) == 10
    assert call("GET", "/subjects/s/versions") == [1, 4, 5]


def test_no_version_is_written_over(call: Door) -> None:
    call.register("s", ONE)
    before = call("GET", "/schemas")
    call.register("s", TWO, code=42201, version=1)
    call.register("s", TWO, code=42201, version=3)
    call("PUT", "/mode/s?force=true", {"mode": "IMPORT"})
    call.register("s", TWO, code=42205, id=7, version=1)
    assert call("GET", "/schemas") == before
    assert call.register("s", ONE, id=1, version=1) == 1
    call("PUT", "/mode/s", {"mode": "READWRITE"})
    assert call.register("s", TWO, version=2) == 2
