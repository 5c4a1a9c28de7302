"""Format 1 to 2: what the golden journals can't show, since no single version has written it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orion.plan.migrations.v1_to_v2 import migrate_entry
from tests.golden.journals.performing import FOLDER

# Fields that the first versions of format 1 didn't write yet, and that its last one read as their defaults.
LATE_FIELDS = {
    "Source": ("read_only", "headed"),
    "Serde": ("schema_id", "full_name", "nullable", "wiring"),
    "Column": ("header", "spelling"),
    "Filter": ("of_table",),
    "Settle": ("ttl_ms",),
    "Join": ("left_key",),
    "Aggregate": ("of_table", "final", "each", "ttl_ms"),
    "Query": ("tasks", "tolerance", "keeps_late", "guarantee", "profile"),
}
DEFAULTS: tuple[Any, ...] = (None, False, [], 16)


def drop_late_fields(value: Any) -> Any:
    """The value as it was before these fields came, as far as they have their defaults."""
    if isinstance(value, list):
        return [drop_late_fields(item) for item in value]
    if not isinstance(value, dict):
        return value
    late = LATE_FIELDS.get(value["@"], ())
    return {n: drop_late_fields(item) for n, item in value.items() if n not in late or item not in DEFAULTS}


def read_queries(name: str) -> list[dict[str, Any]]:
    lines = (FOLDER / "1" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [record for record in map(json.loads, lines) if record.get("checkpoint") and record["value"]]


@pytest.mark.parametrize("record", read_queries("varied"), ids=lambda record: record["key"])
def test_a_query_of_an_early_version_finds_its_checkpoint_too(record: dict[str, Any]) -> None:
    early = drop_late_fields(record["value"])
    assert len(json.dumps(early)) < len(json.dumps(record["value"]))
    assert f"{early['id']}-{migrate_entry(early)['incarnation']}" == record["checkpoint"]


def test_it_changes_nothing_that_it_is_given() -> None:
    (record, *_) = read_queries("music")
    before = json.dumps(record["value"])
    migrated = migrate_entry(record["value"])
    assert json.dumps(record["value"]) == before
    assert migrated["@"] == "query"
    assert migrate_entry({"@": "CustomType", "name": "T", "type": {"@": "Scalar", "value": "DATE"}}) == {
        "@": "type",
        "name": "T",
        "type": {"@": "scalar", "value": "DATE"},
    }
