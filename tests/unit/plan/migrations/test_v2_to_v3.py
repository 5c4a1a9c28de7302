"""Format 2 to 3: what the golden journals don't show."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from orion.plan.migrations.v2_to_v3 import migrate_entry


def build_query(*calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A query of format 2 with an aggregate below a join's side, as far as the migration looks at it."""
    aggregate = {"@": "aggregate", "input": {"@": "scan"}, "calls": list(calls), "keyed": None, "final": True}
    joined = {"@": "join", "left": {"@": "side", "input": aggregate}, "right": {"@": "side", "input": {"@": "scan"}}}
    return {"@": "query", "id": "Q", "relation": joined, **fields}


def build_call(function: str, columns: int, native: str | None = None) -> dict[str, Any]:
    args = [{"@": "expr", "spark": f"`C{at}`", "text": f"C{at}"} for at in range(columns)]
    return {
        "@": "aggregate-call",
        "name": "__a0",
        "function": function,
        "args": args,
        "parameters": [],
        "native": native,
    }


def get_aggregate(query: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = query["relation"]["left"]["input"]
    return found


@pytest.mark.parametrize(
    ("function", "columns", "ordered"),
    [
        ("LATEST_BY_OFFSET", 1, True),
        ("EARLIEST_BY_OFFSET", 1, True),
        ("COLLECT_LIST", 1, True),
        ("COLLECT_SET", 1, True),
        ("HISTOGRAM", 1, True),
        ("TOPK_FREQUENT", 1, True),
        ("TOPK", 1, False),
        ("TOPK", 2, True),
        ("TOPK", 3, True),
        ("TOPKDISTINCT", 1, False),
        ("ATTR", 1, False),
        ("COUNT", 0, False),
        ("CORRELATION", 2, False),
    ],
)
@pytest.mark.parametrize("native", [None, "max_by(`C0`, `ROWOFFSET`)"])
def test_a_call_is_ordered_by_its_function_however_it_ran(
    function: str, columns: int, ordered: bool, native: str | None
) -> None:
    call = build_call(function, columns, native)
    (migrated,) = get_aggregate(migrate_entry(build_query(call)))["calls"]
    kept = {name: value for name, value in call.items() if name != "native"}
    assert migrated == kept | ({"ordered": True} if ordered else {})


@pytest.mark.parametrize("keyed", [None, "sessions merge, and a merged one is withdrawn"])
def test_why_an_aggregate_was_keyed_goes_and_all_else_stays(keyed: str | None) -> None:
    query = build_query()
    get_aggregate(query)["keyed"] = keyed
    assert get_aggregate(migrate_entry(query)) == {"@": "aggregate", "input": {"@": "scan"}, "calls": [], "final": True}


@pytest.mark.parametrize(
    ("fields", "tasks"),
    [
        ({}, None),
        ({"tasks": 16}, None),  # of format 1, which wrote all fields
        ({"tasks": 4}, 4),
        ({"tasks": 4, "properties": [["orion.tasks", "4"]]}, 4),
        ({"properties": [["auto.offset.reset", "latest"]]}, None),
        ({"properties": [["orion.tasks", "16"]]}, 16),  # the default of then, which is none of today
    ],
)
def test_tasks_are_as_many_as_were_asked_for(fields: dict[str, Any], tasks: int | None) -> None:
    migrated = migrate_entry(build_query(**fields))
    assert migrated.get("tasks") == tasks
    assert migrated.get("properties") == fields.get("properties")


def test_it_changes_nothing_that_it_is_given_and_no_entry_of_another_kind() -> None:
    query = build_query(build_call("COLLECT_LIST", 1), tasks=16)
    before = copy.deepcopy(query)
    assert migrate_entry(query) != before
    assert query == before
    other = {"@": "connector", "name": "C", "options": [["tasks", "16"], ["keyed", "x"]], "tasks": 16}
    assert migrate_entry(other) == other
