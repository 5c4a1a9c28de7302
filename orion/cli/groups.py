"""`orion groups`: list, describe and reset consumer groups."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from orion.cli import output
from orion.cli.output import Json
from orion.cli.target import Bootstrap, connect
from orion.cli.topics import confirm

if TYPE_CHECKING:
    from orion.hub.kafka import GroupDetail

app = typer.Typer(no_args_is_help=True, help="Look at and move consumer groups.")

Name = Annotated[str, typer.Argument(help="The group.", show_default=False)]


@app.command("list")
def list_groups(ctx: typer.Context, bootstrap: Bootstrap = None, json: Json = False) -> None:
    """List consumer groups."""
    found = connect(ctx, bootstrap).groups()
    output.table(("name", "state", "type"), [(group.name, group.state, group.type) for group in found], as_json=json)


@app.command()
def describe(ctx: typer.Context, name: Name, bootstrap: Bootstrap = None, json: Json = False) -> None:
    """Show a group's state, members, offsets and lag."""
    detail = connect(ctx, bootstrap).describe_group(name)
    if json:
        output.document(
            {
                **asdict(detail.group),
                "lag": detail.lag,
                "members": [asdict(member) for member in detail.members],
                "partitions": [{**asdict(part), "lag": part.lag} for part in detail.progress],
            }
        )
        return
    _show(detail)


@app.command()
def reset(
    ctx: typer.Context,
    name: Name,
    topic: Annotated[str, typer.Argument(help="The topic to move in.", show_default=False)],
    to: Annotated[
        str, typer.Option(help="earliest, latest, offset:N, time:ISO-or-ms, or shift:-N.", show_default=False)
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show where it would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
    bootstrap: Bootstrap = None,
    json: Json = False,
) -> None:
    """Move a group that nobody reads with to another place in a topic."""
    from orion.hub.records import Position

    place = Position.parse(to)
    kafka = connect(ctx, bootstrap)
    if not (yes or dry_run):
        kafka.reset_group(name, topic, place, apply=False)
        confirm(f"Move group {name} in {topic} to {to}?")
    moved = kafka.reset_group(name, topic, place, apply=not dry_run)
    columns = ("topic", "partition", "before", "after")
    output.table(columns, [(topic, part.partition, part.before, part.after) for part in moved], as_json=json)


def _show(detail: GroupDetail) -> None:
    output.facts({"group": detail.group.name, "state": detail.group.state, "lag": detail.lag})
    typer.echo()
    columns = ("topic", "partition", "committed", "end", "lag", "member")
    rows = [(part.topic, part.partition, part.committed, part.end, part.lag, part.member) for part in detail.progress]
    output.table(columns, rows)
    if detail.members:
        typer.echo()
        members = [
            (member.id, member.client, member.host, [f"{topic}:{part}" for topic, part in member.partitions])
            for member in detail.members
        ]
        output.table(("member", "client", "host", "partitions"), members)
