"""Records of `_schemas`, as Confluent's registry writes and reads them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orion.registry.records import (
    DeleteSubject,
    Entry,
    PutConfig,
    PutContext,
    PutHighest,
    PutMode,
    PutVersion,
    RemoveVersion,
    Version,
    decode,
    encode,
)
from orion.registry.schemas import Reference, Schema

FULL = Schema("{}", "JSON", (Reference("n", "t", 2),), {"properties": {"a": "b"}}, {"domainRules": []})


@pytest.mark.parametrize(
    "entry",
    [
        PutVersion(Version("s", 1, 2, FULL)),
        PutVersion(Version("größe", 1, 2, Schema('"int"'), deleted=True)),
        RemoveVersion("s", 3),
        DeleteSubject("s", 3),
        PutConfig("s", {"compatibilityLevel": "FULL", "normalize": True}),
        PutConfig(None, None),
        PutMode("s", "READONLY"),
        PutMode(None, None),
        PutContext(".team"),
        PutContext(".team", there=False),
        PutHighest({".": 7}),
    ],
)
def test_what_is_written_is_read(entry: Entry) -> None:
    assert decode(*encode(entry)) == entry


@pytest.mark.parametrize(
    ("entry", "key"),
    [
        (RemoveVersion("s", 3), '{"keytype":"SCHEMA","subject":"s","version":3,"magic":1}'),
        (DeleteSubject("s", 3), '{"keytype":"DELETE_SUBJECT","subject":"s","magic":0}'),
        (PutConfig("s", None), '{"keytype":"CONFIG","subject":"s","magic":0}'),
        (PutMode(None, None), '{"keytype":"MODE","subject":null,"magic":0}'),
        (PutContext(".t"), '{"keytype":"CONTEXT","tenant":"default","context":".t","magic":0}'),
    ],
)
def test_keys_are_confluents_to_the_letter(entry: Entry, key: str) -> None:
    """Compaction compares bytes: another order would be another key."""
    assert encode(entry)[0].decode() == key


def record(key: Any, value: Any) -> Entry | None:
    return decode(json.dumps(key).encode(), json.dumps(value).encode())


def test_what_confluents_registry_says_beyond_is_passed_over() -> None:
    assert record({"keytype": "CONFIG", "subject": "s", "magic": 0}, {"subject": "s", "normalize": None}) == PutConfig(
        "s", {}
    )
    assert record({"keytype": "CLEAR_SUBJECT", "subject": "s", "magic": 0}, {"subject": "s"}) is None
    assert decode(b'{"keytype":"NOOP","magic":0}', None) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ([], {}),
        ({}, {}),
        ({"keytype": "SCHEMA", "version": 1}, {"id": 1, "schema": ""}),
        ({"keytype": "SCHEMA", "subject": 3, "version": 1}, {"id": 1, "schema": ""}),
        ({"keytype": "SCHEMA", "subject": "s", "version": 1}, {"id": 1}),
        ({"keytype": "SCHEMA", "subject": "s", "version": 1}, {"id": "x", "schema": ""}),
        ({"keytype": "SCHEMA", "subject": "s", "version": 1}, {"id": 1, "schema": "", "schemaType": "XML"}),
        ({"keytype": "DELETE_SUBJECT", "subject": None}, {"version": 1}),
        ({"keytype": "CONFIG", "subject": None}, {"compatibilityLevel": "SOME"}),
        ({"keytype": "CONFIG", "subject": 5}, {}),
        ({"keytype": "MODE", "subject": None}, {"mode": "SOME"}),
    ],
)
def test_what_is_no_record_is_refused(key: Any, value: Any) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever it is, the log passes it over
        record(key, value)


@pytest.mark.parametrize(
    "bad", [[1], "text", 3, {"domainRules": 1}, {"domainRules": [1]}, {"domainRules": [{"name": []}]}]
)
def test_a_setting_of_another_shape_is_passed_over(bad: Any) -> None:
    """An older version stored whatever it was given, and every later registration failed on it."""
    key = json.dumps({"keytype": "CONFIG", "subject": "s", "magic": 0}).encode()
    value = {"compatibilityLevel": "FULL", "defaultRuleSet": bad, "overrideMetadata": {"tags": [bad]}, "alias": [1]}
    assert decode(key, json.dumps(value).encode()) == PutConfig("s", {"compatibilityLevel": "FULL"})


def test_a_version_keeps_its_schema_where_its_metadata_has_another_shape() -> None:
    key = json.dumps({"keytype": "SCHEMA", "subject": "s", "version": 1, "magic": 1}).encode()
    value = {"id": 1, "schema": '"int"', "metadata": [1], "ruleSet": "none"}
    assert decode(key, json.dumps(value).encode()) == PutVersion(Version("s", 1, 1, Schema('"int"')))
