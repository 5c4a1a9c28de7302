"""From Spark's own aggregation to tasks: an aggregate call says whether it hangs on the order of arrival.

`keyed` was why an aggregate didn't run in Spark's aggregation, `native` the Spark SQL with which it did. Both are gone;
`ordered` is what is left of them, and follows from the function and how many columns it takes. A query without `tasks`
meant 16 and now means as many as its topics have partitions: what Spark kept for those 16 can't be read any more, so
that nothing holds it to them.
"""

from __future__ import annotations

from typing import Any

# The functions whose result hangs on the order of arrival, and from how many columns on.
_ORDERED_FROM = {
    "COLLECT_LIST": 1,
    "COLLECT_SET": 1,
    "EARLIEST_BY_OFFSET": 1,
    "HISTOGRAM": 1,
    "LATEST_BY_OFFSET": 1,
    "TOPK": 2,
    "TOPK_FREQUENT": 1,
}
_TASKS = 16  # of a query that said nothing
_TASKS_PROPERTY = "orion.tasks"


def migrate_entry(plain: dict[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = _migrate_value(plain)
    return _count_tasks(entry) if entry["@"] == "query" else entry


def _migrate_value(value: Any) -> Any:
    if isinstance(value, list):
        return [_migrate_value(item) for item in value]
    if not isinstance(value, dict):
        return value
    fields = {name: _migrate_value(item) for name, item in value.items()}
    match fields["@"]:
        case "aggregate":
            return _drop_field(fields, "keyed")
        case "aggregate-call":
            return _drop_field(fields, "native") | ({"ordered": True} if _is_ordered(fields) else {})
        case _:
            return fields


def _is_ordered(call: dict[str, Any]) -> bool:
    least = _ORDERED_FROM.get(call["function"])
    return least is not None and len(call["args"]) >= least


def _count_tasks(query: dict[str, Any]) -> dict[str, Any]:
    """The query with as many tasks as its session asked for; 16 that nobody asked for are left out."""
    tasks = query.get("tasks", _TASKS)
    rest = _drop_field(query, "tasks")
    is_asked_for = any(name == _TASKS_PROPERTY for name, _ in query.get("properties", []))
    return rest | {"tasks": tasks} if tasks != _TASKS or is_asked_for else rest


def _drop_field(fields: dict[str, Any], name: str) -> dict[str, Any]:
    return {field: item for field, item in fields.items() if field != name}
