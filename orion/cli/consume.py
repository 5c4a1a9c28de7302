"""`orion consume`: a topic's records on the screen, in a pipe, or as JSON lines."""

from __future__ import annotations

import signal
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from orion.cli import output
from orion.cli.envelope import rendered
from orion.cli.output import Json
from orion.cli.registry_client import registry_of
from orion.cli.target import Bootstrap, ProfileName, connect
from orion.errors import Conflict, ExternalError, OrionError, UserError

if TYPE_CHECKING:
    from orion.hub.kafka import Kafka
    from orion.hub.reader import Reader
    from orion.hub.records import Position, Record
    from orion.plan.sources import WireSchema
    from orion.registry.access import Remote

Commit = Literal["auto", "sync", "async", "async-sync"]
Isolation = Literal["read_committed", "read_uncommitted"]
Binary = Literal["base64", "hex"]

BATCH = 500
SLICE = 0.2
QUIET = 30.0


@dataclass(frozen=True, slots=True)
class Ending:
    """When reading stops: after so many records, after so long without one, and, unless it follows, at the end."""

    most: int | None
    timeout: float | None
    follow: bool


def command(
    ctx: typer.Context,
    topic: Annotated[str, typer.Argument(help="The topic.", show_default=False)],
    start: Annotated[
        str | None,
        typer.Option("--from", help="beginning, end, offset:N, time:ISO-or-ms; end when following, else beginning."),
    ] = None,
    partition: Annotated[list[int] | None, typer.Option(min=0, help="Only this partition; repeatable.")] = None,
    group: Annotated[str | None, typer.Option(help="Read as a member of this group, from where it is.")] = None,
    commit: Annotated[
        Commit | None, typer.Option(help="How the group's offsets are committed; auto unless told.")
    ] = None,
    profile: ProfileName = None,
    most: Annotated[int | None, typer.Option("--max", min=1, help="Stop after so many records.")] = None,
    timeout: Annotated[float | None, typer.Option(min=0.0, help="Stop after so many seconds without a record.")] = None,
    follow: Annotated[
        bool | None, typer.Option("--follow/--no-follow", help="Wait for more; on a terminal unless told.")
    ] = None,
    isolation: Annotated[
        Isolation | None,
        typer.Option(help="Whether records of open transactions show; read_committed unless told."),
    ] = None,
    binary: Annotated[Binary, typer.Option(help="How bytes that are no text are shown.")] = "base64",
    raw: Annotated[
        bool, typer.Option("--raw", help="Don't ask a schema registry what records mean that name a schema.")
    ] = False,
    registry: Annotated[str | None, typer.Option(help="URL of the schema registry.", show_default=False)] = None,
    bootstrap: Bootstrap = None,
    json: Json = False,
) -> None:
    """Show a topic's records. Without a group nothing is committed.

    Records that name a schema are shown as JSON where a registry knows it; --json gives their bytes.
    """
    from orion.hub.reader import Reader

    follows = output.on_terminal() if follow is None else follow
    position = _start(start, follows, group, partition, commit)
    ending = Ending(most, QUIET if timeout is None and not follows else timeout, follows)
    kafka = connect(ctx, bootstrap)
    meaning = Meaning(None if raw or json else _registry(ctx, registry))
    _check(kafka, topic, partition or [])
    reader = Reader(
        kafka, topic, position, group=group, partitions=partition or (), **reading_of(profile, commit, isolation)
    )
    count = 0
    try:
        with _terminable() as heed, reader:
            for batch in _batches(reader, ending, heed):
                lines = [rendered(record) if json else _row(record, binary, meaning) for record in batch]
                sys.stdout.write("\n".join(lines) + "\n")
                sys.stdout.flush()
                reader.shown(batch)
                count += len(batch)
                reader.commit()
    finally:
        output.note(f"read {count} record{'s' * (count != 1)}")
        if reader.failed_commits:
            output.note(f"{reader.failed_commits} commits failed")


def _registry(ctx: typer.Context, named: str | None) -> Remote | None:
    """The registry, unless it can't be told which: records are shown all the same."""
    try:
        return registry_of(ctx, named)
    except Conflict as error:
        output.note(f"records are shown without a schema registry: {error.message}")
        return None


def reading_of(profile: str | None, commit: Commit | None, isolation: Isolation | None) -> dict[str, Any]:
    """How the reader reads: a flag beats the profile."""
    from orion import profiles
    from orion.hub.client_settings import translated_settings

    chosen = {} if profile is None else translated_settings(profiles.of(profile).consumer_settings())
    itself = chosen.pop("enable.auto.commit", "true") == "true"
    said = chosen.pop("isolation.level", "read_committed") if isolation is None else isolation
    return {
        "commit": commit or ("auto" if itself else "sync"),
        "isolation": said,
        "settings": {name: value for name, value in chosen.items() if name != "isolation.level"},
    }


def _start(
    text: str | None, follow: bool, group: str | None, partitions: list[int] | None, commit: Commit | None
) -> Position:
    """Where to begin; refuses what a group can't do rather than leaving it out silently."""
    from orion.hub.records import Position

    position = Position.parse(text) if text else Position("latest" if follow and not group else "earliest")
    if position.kind == "shift":
        raise UserError("INVALID_POSITION", "shift moves a group.", hint="Use `orion groups reset --to shift:-N`.")
    if commit and not group:
        raise UserError("INVALID_OPTIONS", "--commit needs a --group.", hint="Without a group nothing is committed.")
    if group and partitions:
        raise UserError("INVALID_OPTIONS", "--partition and --group exclude each other: a group shares them out.")
    if group and position.kind not in ("earliest", "latest"):
        raise UserError(
            "INVALID_OPTIONS",
            "A group begins where it is.",
            hint=f"Move it first: `orion groups reset {group} TOPIC --to {text}`.",
        )
    return position


def _check(kafka: Kafka, topic: str, partitions: list[int]) -> None:
    """Fail before reading when the topic or a partition isn't there."""
    count = kafka.describe_topic(topic).topic.partitions
    for partition in partitions:
        if partition >= count:
            raise UserError("INVALID_PARTITION", f"Topic {topic} has partitions 0 to {count - 1}, not {partition}.")


def _batches(reader: Reader, ending: Ending, heed: Callable[[], None]) -> Iterator[list[Record]]:
    """What arrives, until the ending. Every wait is short, so that Ctrl-C is heard."""
    left, last, told = ending.most, time.monotonic(), False
    while left is None or left > 0:
        heed()
        batch = reader.read(BATCH if left is None else min(left, BATCH), SLICE)
        if batch:
            yield batch
            left, last, told = None if left is None else left - len(batch), time.monotonic(), False
            continue
        if not ending.follow and reader.at_end:
            return
        told = _tell(reader.trouble, told)
        if ending.timeout is not None and time.monotonic() - last >= ending.timeout:
            if reader.trouble is not None:
                raise reader.trouble
            return


def _tell(trouble: OrionError | None, told: bool) -> bool:
    """Say once that the cluster is away; the client goes on trying."""
    if trouble is not None and not told:
        output.note(f"{trouble.message} Trying again ...")
    return trouble is not None


@contextmanager
def _terminable() -> Iterator[Callable[[], None]]:
    """Let Ctrl-C and SIGTERM end the reading between two reads: what is given raises then.

    An exception in the middle of one, where the Kafka client calls back, could be lost or leave the client in a state
    that it doesn't get out of. Leaving the group in order spares its other members a timeout. Who presses Ctrl-C again
    waits for nothing.
    """
    heard: list[int] = []

    def stop(number: int, _: FrameType | None) -> None:
        if heard:
            raise KeyboardInterrupt
        heard.append(number)

    def heed() -> None:
        if heard:
            raise KeyboardInterrupt if heard[0] == signal.SIGINT else typer.Exit(128 + heard[0])

    try:
        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # only the main thread may; another one is not what a signal ends
        yield heed
        return
    try:
        yield heed
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Meaning:
    """What bytes mean that name a schema, by a registry, if one answers."""

    def __init__(self, registry: Remote | None) -> None:
        self._registry = registry

    def of(self, value: bytes | None) -> str | None:
        if self._registry is None or not value or value[0] != 0:
            return None
        from orion.formats.wire.shown import shown

        return shown(value, self._schema)

    def _schema(self, number: int) -> WireSchema | None:
        if self._registry is None:
            return None
        try:
            return self._registry.by_id(number)
        except ExternalError as error:  # told once; the bytes are shown as they are
            output.note(error.message)
            self._registry = None
            return None


def _row(record: Record, binary: Binary, meaning: Meaning) -> str:
    """One record on one line: columns for a pipe, colours for a person."""
    key, value = (meaning.of(raw) or shown(raw, binary) for raw in (record.key, record.value))
    headers = ",".join(f"{name}={shown(header, binary)}" for name, header in record.headers)
    moment = iso(record.timestamp)
    if not output.on_terminal():
        return "\t".join((str(record.partition), str(record.offset), moment, key, headers, value))
    parts = [
        typer.style(f"{record.partition}:{record.offset}", fg="cyan"),
        typer.style(moment, dim=True),
        typer.style(key, fg="yellow"),
        typer.style(headers, fg="magenta") if headers else "",
        value,
    ]
    return "  ".join(part for part in parts if part)


def shown(value: bytes | None, binary: Binary) -> str:
    """Bytes for a person: text as it is with control characters spelled out, anything else encoded and marked."""
    if value is None:
        return "null"
    try:
        return output.escaped(value.decode())
    except UnicodeDecodeError:
        return f"hex:{value.hex()}" if binary == "hex" else f"base64:{b64encode(value).decode()}"


def iso(timestamp: int | None) -> str:
    """A record's time in UTC, to the millisecond; the bare number where no calendar reaches."""
    if timestamp is None:
        return "-"
    try:
        moment = datetime.fromtimestamp(timestamp / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return str(timestamp)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
