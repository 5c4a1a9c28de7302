"""`orion topics`: list, create, describe, delete and alter topics."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from orion import profiles
from orion.cli import output
from orion.cli.output import Json
from orion.cli.target import Bootstrap, ProfileName, connect, options
from orion.errors import UserError
from orion.profiles import Profile

if TYPE_CHECKING:
    from orion.hub.kafka import TopicDetail

app = typer.Typer(no_args_is_help=True, help="Look at and change topics.")

UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}

Name = Annotated[str, typer.Argument(help="The topic.", show_default=False)]
Settings = Annotated[
    list[str] | None, typer.Option("--config", metavar="KEY=VALUE", help="Any topic setting; repeatable.")
]
Retention = Annotated[str | None, typer.Option(help="How long records stay: 7d, 12h, 90m, milliseconds, forever.")]


@app.command("list")
def list_topics(
    ctx: typer.Context,
    internal: Annotated[bool, typer.Option("--internal", help="Kafka's own topics too.")] = False,
    bootstrap: Bootstrap = None,
    json: Json = False,
) -> None:
    """List topics."""
    found = connect(ctx, bootstrap).topics(internal)
    columns = ("name", "partitions", "replication", "internal", "topic_id")
    output.table(columns, [tuple(asdict(topic)[column] for column in columns) for topic in found], as_json=json)


@app.command()
def create(
    ctx: typer.Context,
    name: Name,
    partitions: Annotated[
        int | None, typer.Option(help="How many; hub.partitions of the settings unless told.")
    ] = None,
    replication: Annotated[
        int | None, typer.Option(help="Copies of each record; the cluster's default unless told.")
    ] = None,
    retention: Retention = None,
    compact: Annotated[bool, typer.Option("--compact", help="Keep the last record of every key.")] = False,
    config: Settings = None,
    ordered: Annotated[
        bool, typer.Option("--ordered", help="One partition, so that all records have one order.")
    ] = False,
    profile: ProfileName = None,
    if_not_exists: Annotated[bool, typer.Option("--if-not-exists", help="Succeed when it is there.")] = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Create a topic. Compacted with a retention, it forgets keys as well.

    A profile's settings give way to those that are said. With fewer brokers than copies there is one on each.
    """
    wanted = topic_config(config, retention, compact or None)
    aim = None if profile is None else profiles.of(profile)
    chosen = partitions_of(partitions, ordered, aim)
    kafka = connect(ctx, bootstrap)
    if aim is not None:
        brokers = len(kafka.brokers())
        replication = aim.replication(brokers) if replication is None else replication
        wanted = aim.topic_config(brokers, replication) | wanted
    count = options(ctx).config().hub.partitions if chosen is None else chosen
    made = kafka.create_topic(name, count, replication, wanted, exist_ok=if_not_exists)
    copies = "" if replication is None else f" of {replication} cop{'ies' if replication != 1 else 'y'}"
    shown = f"created topic {name} with {count} partition{'s' * (count != 1)}{copies}"
    output.note(shown if made else f"topic {name} is there")


@app.command()
def describe(ctx: typer.Context, name: Name, bootstrap: Bootstrap = None, json: Json = False) -> None:
    """Show a topic's partitions, offsets and own settings."""
    detail = connect(ctx, bootstrap).describe_topic(name)
    if json:
        output.document(
            {
                **asdict(detail.topic),
                "partitions": [asdict(partition) for partition in detail.partitions],
                "config": dict(detail.config),
            }
        )
        return
    _show(detail)


@app.command()
def delete(
    ctx: typer.Context,
    names: Annotated[list[str], typer.Argument(help="The topics.", show_default=False)],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Delete topics with all their records."""
    kafka = connect(ctx, bootstrap)
    held = {name: sum(part.end - part.earliest for part in kafka.describe_topic(name).partitions) for name in names}
    if not yes:
        described = ", ".join(f"{name} ({count} records)" for name, count in held.items())
        confirm(f"Delete {described}?")
    for name in names:
        kafka.delete_topic(name)
        output.note(f"deleted topic {name}")


@app.command()
def alter(
    ctx: typer.Context,
    name: Name,
    partitions: Annotated[int | None, typer.Option(help="The new number, higher than now.")] = None,
    retention: Retention = None,
    compact: Annotated[
        bool | None, typer.Option("--compact/--no-compact", help="Keep the last record of every key.")
    ] = None,
    config: Settings = None,
    unset: Annotated[list[str] | None, typer.Option(metavar="KEY", help="Back to the default; repeatable.")] = None,
    bootstrap: Bootstrap = None,
) -> None:
    """Change a topic's settings, or add partitions."""
    wanted = topic_config(config, retention, compact)
    if not (wanted or unset or partitions is not None):
        raise UserError("NOTHING_TO_DO", "No change was asked for.", hint="Give --partitions, --retention or --config.")
    connect(ctx, bootstrap).alter_topic(name, wanted, unset or (), partitions)
    output.note(f"altered topic {name}")


def partitions_of(said: int | None, ordered: bool, profile: Profile | None) -> int | None:
    """How many partitions: what is said, one for strict order, else the profile's; none leaves it to the settings."""
    if ordered and said not in (None, 1):
        raise UserError(
            "NOT_ORDERED",
            f"{said} partitions have an order each, and --ordered asks for one of all records.",
            hint="Leave out --partitions, or leave out --ordered: records of one key keep their order in any case.",
        )
    if ordered:
        return 1
    return profile.partitions() if said is None and profile is not None else said


def topic_config(pairs: Sequence[str] | None, retention: str | None, compact: bool | None) -> dict[str, str]:
    """Kafka's settings for the flags; a setting given by its own name beats the flag."""
    config: dict[str, str] = {}
    if retention is not None:
        config["retention.ms"] = str(duration_ms(retention))
    if compact is not None:
        both = "compact,delete" if retention is not None else "compact"
        config["cleanup.policy"] = both if compact else "delete"
    for pair in pairs or ():
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise UserError("INVALID_TOPIC_CONFIG", f"{pair!r} is not a setting.", hint="Write --config key=value.")
        config[key.strip()] = value.strip()
    return config


def duration_ms(text: str) -> int:
    """Milliseconds of `7d`, `12h`, `500ms`, a bare number of them, or -1 for `forever`."""
    if text in ("forever", "-1"):
        return -1
    parts = re.fullmatch(r"(\d+)\s*(ms|[smhdw])?", text.strip().lower())
    if parts is None:
        raise UserError("INVALID_DURATION", f"{text!r} is not a duration.", hint="Write 7d, 12h, 90m, 30s or forever.")
    return int(parts[1]) * UNITS[parts[2] or "ms"]


def confirm(question: str) -> None:
    """Ask a person; without one, refuse rather than guess."""
    if not sys.stdin.isatty():
        raise UserError("CONFIRMATION_NEEDED", f"{question} Nobody is there to ask.", hint="Give --yes.")
    typer.confirm(question, abort=True)


def _show(detail: TopicDetail) -> None:
    topic = detail.topic
    output.facts(
        {
            "topic": topic.name,
            "topic_id": topic.topic_id,
            "replication": topic.replication,
            "records": sum(part.end - part.earliest for part in detail.partitions),
        }
    )
    typer.echo()
    columns = ("partition", "leader", "replicas", "isr", "earliest", "end")
    rows = [(part.id, part.leader, part.replicas, part.isr, part.earliest, part.end) for part in detail.partitions]
    output.table(columns, rows)
    if detail.config:
        typer.echo()
        output.table(("setting", "value"), detail.config.items())
