"""`orion state`: what the keyed operators of queries keep, read from their changelog topics."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orion.cli import output
from orion.cli.output import Json
from orion.cli.target import Bootstrap, connect, find_server, options
from orion.errors import NotFound, OrionError

if TYPE_CHECKING:
    from orion.hub.changelog import ChangelogName
    from orion.hub.kafka import Kafka

app = typer.Typer(no_args_is_help=True, help="Look at what queries keep.")

_COLUMNS = ("task", "key", "member", "due", "value")


@app.command("list")
def list_states(ctx: typer.Context, bootstrap: Bootstrap = None, json: Json = False) -> None:
    """List the changelogs of queries. A changelog has a record for each change until it is compacted; `restored` is how
    far the tasks of a running query are with reading it."""
    kafka = connect(ctx, bootstrap)
    restored = _ask_restores(ctx, kafka)
    rows = [
        (
            *(name.query, name.operator, tasks, sum(kafka.end_offsets(name.topic).values())),
            *(restored.get(name.query, "unknown"), name.topic),
        )
        for name, tasks in _find_changelogs(kafka, options(ctx).config().service_id)
    ]
    output.table(("query", "operator", "tasks", "changes", "restored", "topic"), rows, as_json=json)


@app.command()
def show(
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help="The query's id.", show_default=False)],
    operator: Annotated[int, typer.Option(help="Which of its keyed operators, from 0 on.")] = 0,
    task: Annotated[int | None, typer.Option(help="Only this task.", show_default=False)] = None,
    most: Annotated[int, typer.Option("--max", help="At most so many records.")] = 100,
    bootstrap: Bootstrap = None,
    json: Json = False,
) -> None:
    """Show the records that an operator keeps: the last one of each key. All of a task's changelog is read for it."""
    from orion.hub.changelog import write_query

    kafka, wanted_query = connect(ctx, bootstrap), write_query(query)
    there = _find_changelogs(kafka, options(ctx).config().service_id)
    found = [one for one in there if (one[0].query, one[0].operator) == (wanted_query, operator)]
    if not found:
        raise NotFound(
            "NO_SUCH_STATE",
            f"There is no changelog of operator {operator} of {query}.",
            hint="`orion state list` has those that there are; a query without GROUP BY or JOIN keeps nothing.",
        )
    (name, tasks), *_ = found
    wanted = range(tasks) if task is None else [task]
    rows: list[tuple[Any, ...]] = []
    for number in wanted:
        for row in _read_records(kafka, name.topic, number):
            if len(rows) == most:
                break
            rows.append((number, *row))
    output.table(_COLUMNS, rows, as_json=json)


def _ask_restores(ctx: typer.Context, kafka: Kafka) -> dict[str, str]:
    """How far the running queries are with reading their state, as the server of this cluster tells it; of those that
    don't run, or whose server isn't known, nothing."""
    from orion.cli.client import Client
    from orion.hub.changelog import write_query

    with suppress(OrionError):
        found = find_server(ctx)
        if found is not None and found.running.bootstrap == kafka.bootstrap:
            with closing(Client(found.running.url)) as client:
                (told,) = client.execute("SHOW QUERIES;")
            restores = {query["id"]: query.get("stateRestore") for query in told["queries"]}
            return {write_query(name): str(restore["message"]) for name, restore in restores.items() if restore}
    return {}


def _find_changelogs(kafka: Kafka, service: str) -> list[tuple[ChangelogName, int]]:
    """Changelogs with their number of tasks."""
    from orion.hub.changelog import parse_changelog_name

    named = ((parse_changelog_name(service, topic.name), topic.partitions) for topic in kafka.topics(internal=True))
    found = [(name, tasks) for name, tasks in named if name is not None]
    return sorted(found, key=lambda one: (one[0].query, one[0].operator))


def _read_records(kafka: Kafka, topic: str, task: int) -> Iterator[tuple[str, str | None, int | None, Any]]:
    """A task's records in the order of their keys."""
    from orion.hub.changelog import committed_end, read_changelog
    from orion.runtime.state.places import CLOCK, parse_place
    from orion.runtime.state.values import decode

    kept: dict[bytes, bytes] = {}
    for _, records in read_changelog(kafka, topic, task, 0, committed_end(kafka, topic, task, 5.0) or 0):
        for place, blob in records:
            if blob is None:
                kept.pop(place, None)
            else:
                kept[place] = blob
    for place, blob in sorted(kept.items()):
        value, due = decode(blob)
        key, member = parse_place(place)
        shown = "(clock)" if place == CLOCK else write_text(key)
        yield shown, None if member is None else write_text(member), due, write_plain(value)


def write_text(text: bytes) -> str:
    """Bytes as text: what can be printed as it is, the rest by its codes."""
    return "".join(chr(code) if 32 <= code < 127 and code != 92 else f"\\x{code:02x}" for code in text)


def write_plain(value: Any) -> Any:
    """A value of a state record as what JSON holds."""
    match value:
        case bytes():
            return write_text(value)
        case Decimal():
            return str(value)
        case dict():
            return {str(write_plain(key)): write_plain(item) for key, item in value.items()}
        case list() | tuple():
            return [write_plain(item) for item in value]
        case set() | frozenset():
            return sorted((write_plain(item) for item in value), key=repr)
        case _:
            return value
