"""`orion produce`: JSON lines into a topic."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Literal

import typer

from orion.cli import output
from orion.cli.envelope import Shape, header_pairs
from orion.cli.target import Bootstrap, ProfileName, connect
from orion.errors import OrionError, UserError

if TYPE_CHECKING:
    from orion.hub.kafka import Kafka
    from orion.hub.writer import Writer

MOST_SHOWN = 20
USUAL_BYTES = 1_000_000

Mode = Literal["fire-and-forget", "sync", "async"]
Acks = Literal["0", "1", "all"]
Compression = Literal["none", "gzip", "snappy", "lz4", "zstd"]


class Run:
    """One run over the lines: sends what is good, reports what is not, and knows how it went."""

    def __init__(self, kafka: Kafka, topic: str, shape: Shape, rate: float | None, **writing: Any) -> None:
        from orion.hub.writer import Writer

        self.malformed = 0
        self._reported = 0
        self._hinted: set[str] = set()
        self._shape = shape
        self._rate = rate
        self._writer: Writer = Writer(kafka, topic, on_failure=self._report, **writing)

    @property
    def failed(self) -> bool:
        return bool(self.malformed or self._writer.tally.failed)

    def send_all(self, lines: Iterable[bytes]) -> None:
        """Send every line, not faster than the rate; interrupted, wait only shortly for what is under way."""
        patience: float | None = 3.0
        began = time.monotonic()
        try:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    self._send(line.strip(), number)
                    if self._rate:
                        self._writer.wait(began + self._writer.tally.sent / self._rate - time.monotonic())
            patience = None
        finally:
            self._writer.close(patience)

    def summary(self, mode: Mode) -> str:
        tally = self._writer.tally
        text = f"sent {tally.sent}, acknowledged {tally.acknowledged}, failed {tally.failed}"
        if self.malformed:
            text += f", malformed {self.malformed}"
        return f"{text} (fire-and-forget: nobody looks)" if mode == "fire-and-forget" else text

    def _send(self, line: bytes, number: int) -> None:
        try:
            record = self._shape.record(line)
        except UserError as error:
            self.malformed += 1
            self._report(number, error)
            return
        self._writer.send(record, number)

    def _report(self, number: int, error: OrionError) -> None:
        self._reported += 1
        if self._reported <= MOST_SHOWN:
            output.problem(error, f"line {number}: ", hint=error.code not in self._hinted)
            self._hinted.add(error.code)
        elif self._reported == MOST_SHOWN + 1:
            output.note("... more lines failed; they are counted, not shown")


def command(
    ctx: typer.Context,
    topic: Annotated[str, typer.Argument(help="The topic.", show_default=False)],
    file: Annotated[
        Path | None, typer.Option(help="Lines to send; standard input unless told.", dir_okay=False)
    ] = None,
    key: Annotated[str | None, typer.Option(help="The key of every record.")] = None,
    key_field: Annotated[
        str | None, typer.Option(help="The field whose value is the key; it stays in the value.")
    ] = None,
    header: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A header; repeatable.")] = None,
    timestamp: Annotated[str | None, typer.Option(help="The time of every record: ISO 8601 or milliseconds.")] = None,
    timestamp_field: Annotated[str | None, typer.Option(help="The field that holds the record's time.")] = None,
    partition: Annotated[int | None, typer.Option(min=0, help="The partition; the key decides unless told.")] = None,
    envelope: Annotated[
        bool, typer.Option("--envelope", help="Lines are {key, value, headers, timestamp, partition}.")
    ] = False,
    mode: Annotated[Mode, typer.Option(help="Wait for no answer, for each answer, or for all at the end.")] = "async",
    profile: ProfileName = None,
    acks: Annotated[
        Acks | None,
        typer.Option(help="Brokers that must have a record: none, the leader, all in sync; all unless told."),
    ] = None,
    compression: Annotated[
        Compression | None, typer.Option(help="How batches are compressed; not at all unless told.")
    ] = None,
    rate: Annotated[float | None, typer.Option(min=0.001, help="Records a second, at most.")] = None,
    timeout: Annotated[
        float | None, typer.Option(min=0.1, help="Seconds until an unanswered record counts as failed; 30 unless told.")
    ] = None,
    bootstrap: Bootstrap = None,
) -> None:
    """Send JSON lines to a topic; null is a tombstone. Ends 1 when a line was malformed or a record failed."""
    from orion.hub.records import milliseconds

    if key is not None and key_field is not None:
        raise UserError("INVALID_OPTIONS", "--key and --key-field exclude each other.")
    moment = milliseconds(timestamp) if timestamp else None
    shape = Shape(envelope, key, key_field, header_pairs(header or ()), moment, timestamp_field, partition)
    with _opened(file) as lines:
        kafka = connect(ctx, bootstrap)
        writing = writing_of(profile, acks, compression, timeout, _checked(kafka, topic, partition))
        run = Run(kafka, topic, shape, rate, mode=mode, **writing)
        try:
            run.send_all(lines)
        finally:
            output.note(run.summary(mode))
    if run.failed:
        raise typer.Exit(1)


def writing_of(
    profile: str | None, acks: Acks | None, compression: Compression | None, timeout: float | None, fits: dict[str, int]
) -> dict[str, Any]:
    """How the writer writes: a flag beats the profile, and no batch is larger than `fits` the topic."""
    from orion import profiles
    from orion.hub.client_settings import translated_settings

    chosen = {} if profile is None else translated_settings(profiles.of(profile).producer_settings())
    said = chosen.pop("acks", "all") if acks is None else acks
    patience = int(chosen.pop("message.timeout.ms", 30_000)) / 1000 if timeout is None else timeout
    settings = {"compression.type": "none", **chosen, **fits}
    if compression is not None:
        settings["compression.type"] = compression
    settings["batch.size"] = min(int(chosen.get("batch.size", fits["batch.size"])), fits["batch.size"])
    for decided in ("acks", "enable.idempotence", "message.timeout.ms"):  # by acks and timeout, in the writer
        settings.pop(decided, None)
    return {"acks": said, "timeout": patience, "settings": settings}


@contextmanager
def _opened(file: Path | None) -> Iterator[BinaryIO]:
    if file is None or str(file) == "-":
        yield sys.stdin.buffer
        return
    try:
        opened = file.open("rb")
    except OSError as error:
        raise UserError("FILE_UNREADABLE", f"{file}: {error.strerror}.") from error
    with opened:
        yield opened


def _checked(kafka: Kafka, topic: str, partition: int | None) -> dict[str, int]:
    """Fail before the first record when topic or partition isn't there, rather than once for each.

    Returns the sizes that fit the topic: its limit holds for a whole batch, and librdkafka, unlike the Java client,
    doesn't split one that is refused.
    """
    detail = kafka.describe_topic(topic)
    count = detail.topic.partitions
    if partition is not None and partition >= count:
        raise UserError("INVALID_PARTITION", f"Topic {topic} has partitions 0 to {count - 1}, not {partition}.")
    limit = int(detail.config.get("max.message.bytes", USUAL_BYTES))
    return {"batch.size": max(1, min(limit, USUAL_BYTES)), "message.max.bytes": max(limit, USUAL_BYTES)}
