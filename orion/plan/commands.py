"""What ksqlDB's API calls a statement's effect: `stream/ORDERS/create`. Its status is asked for by that name."""

from __future__ import annotations

from orion.plan.steps import (
    DefineSource,
    DefineType,
    DropSource,
    DropType,
    InsertRow,
    PauseQuery,
    ReplaceQuery,
    ResumeQuery,
    StartQuery,
    Step,
    StopQuery,
)


def command_id(steps: tuple[Step, ...]) -> str | None:
    """None: nothing that a client could ask about. What happens to a source comes before what happens to its query."""
    ids = [found for step in steps if (found := _of(step)) is not None]
    return min(ids, default=(0, None))[1]


def _of(step: Step) -> tuple[int, str] | None:
    match step:
        case DefineSource(source, done):
            return 0, f"{source.kind.lower()}/`{source.name}`/{'alter' if done == 'altered' else 'create'}"
        case DropSource(name, kind):
            return 0, f"{kind.lower()}/`{name}`/drop"
        case InsertRow(source):
            # ksqlDB answers with nothing at all, on which its clients fail that look for a command.
            return 1, f"{source.kind.lower()}/`{source.name}`/insert"
        case StartQuery(query) | ReplaceQuery(_, query):
            return 1, f"{query.sink.kind.lower()}/`{query.sink.name}`/create"
        case StopQuery(query_id):
            return 1, f"terminate/`{query_id}`/execute"
        case PauseQuery(query_id):
            return 1, f"pause/`{query_id}`/execute"
        case ResumeQuery(query_id):
            return 1, f"resume/`{query_id}`/execute"
        case DefineType(type_):
            return 1, f"type/`{type_.name}`/create"
        case DropType(name):
            return 1, f"type/`{name}`/drop"
        case _:
            return None
