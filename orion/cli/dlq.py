"""`orion dlq`: look at dead letters, and send repaired ones back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orion.cli import output
from orion.cli.envelope import shown
from orion.cli.output import Json
from orion.cli.repair import Repair
from orion.cli.target import Bootstrap, connect, options
from orion.cli.topics import confirm
from orion.errors import NotFound, UserError

if TYPE_CHECKING:
    from orion.formats.rows.checking import Fault
    from orion.hub.dead_letters import DeadLetters, Letter, Repaired
    from orion.plan.sources import Source

app = typer.Typer(no_args_is_help=True, help="Look at dead letters, and send repaired ones back.")

Name = Annotated[str, typer.Argument(help="The stream, table or connector; dlq.NAME does too.", show_default=False)]
Code = Annotated[str | None, typer.Option(help="Only letters with this code.", show_default=False)]

_TOLD = 3  # how many letters that can't be repaired are told of


@app.command("list")
def list_letters(ctx: typer.Context, bootstrap: Bootstrap = None, json: Json = False) -> None:
    """List where dead letters are: how many, how many not sent back, and the most frequent code."""
    found = _letters(ctx, bootstrap).summaries()
    columns = ("name", "letters", "not_replayed", "newest", "code")
    rows = [(s.name, s.letters, s.waiting, s.newest if json else _moment(s.newest), s.code) for s in found]
    if not found and not json:
        output.note("no dead letters: no statement has a dead-letter topic yet")
        return
    output.table(columns, rows, as_json=json)


@app.command()
def show(
    ctx: typer.Context,
    name: Name,
    limit: Annotated[int, typer.Option(min=1, help="At most so many, from the oldest.")] = 20,
    code: Code = None,
    bootstrap: Bootstrap = None,
    json: Json = False,
) -> None:
    """Show letters: what is wrong, where the record came from, its key and value."""
    letters = (one for one in _letters(ctx, bootstrap).read(_bare(name)) if code in (None, one.code))
    found = list(islice(letters, limit))
    if json:
        for letter in found:
            output.line(_document(letter))
    elif not found:
        output.note(f"{_bare(name)} has no dead letters{f' with code {code}' if code else ''}")
    else:
        columns = ("offset", "code", "reason", "source", "attempt", "replayed", "key", "value")
        output.table(columns, [_row(letter) for letter in found])


@app.command()
def replay(
    ctx: typer.Context,
    name: Name,
    code: Code = None,
    offset: Annotated[
        list[str] | None, typer.Option(metavar="P:N", help="Only the letter at this place; repeatable.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="Set a field of JSON; repeatable.")
    ] = None,
    command: Annotated[
        str | None, typer.Option(help="A program that takes a value and writes the repaired one.", show_default=False)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be sent.")] = False,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Send values, too, that would become dead letters again.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
    bootstrap: Bootstrap = None,
    json: Json = False,
) -> None:
    """Send letters back to the topic they came from, repaired: all or none, and each once."""
    repair = Repair(set_ or (), command)
    places = [_place(text) for text in offset or ()]
    letters, bare = _letters(ctx, bootstrap), _bare(name)
    chosen = _chosen(letters.read(bare), code, places)
    again = [one for one in chosen if one.replayed]
    staying = [one for one in chosen if one.stays and not one.replayed]
    due = _repaired([one for one in chosen if not one.replayed and not one.stays], repair)
    _tell_left_out(again, staying)
    faults = _faults(ctx, letters, bare, due)
    counts = {"letters": len(chosen), "replayed_before": len(again), "cannot_be_replayed": len(staying)}
    if dry_run or not due:
        if dry_run and due and not json:
            columns = ("letter", "to", "was", "becomes", "unreadable")
            output.table(columns, [_comparison_row(one, faults.get(one.letter.id)) for one in due])
        told = {**counts, "replayed": 0, "would_be_replayed": len(due), "would_be_unreadable": len(faults)}
        _report(told, json=json)
        return
    if faults and not anyway:
        raise _still_unreadable(faults, len(due))
    if not yes:
        topics = ", ".join(sorted({_topic(one.letter) for one in due}))
        confirm(f"Send {len(due)} {_records(len(due))} back to {topics}?")
    outcome = letters.replay(bare, due)
    counts["replayed_before"] += len(outcome.sent_before)
    _report({**counts, "replayed": len(outcome.sent)}, json=json)


def _faults(ctx: typer.Context, letters: DeadLetters, name: str, due: list[Repaired]) -> dict[str, Fault]:
    """Which values are known to be unreadable, by what is declared; schemas of a registry aren't asked for here."""
    from orion.formats.rows.checking import checker
    from orion.hub.durable import DurableWriter
    from orion.runtime.journal import Journal, journal_topic
    from orion.runtime.letter_checks import faults_of, readers, topics_of

    topic = journal_topic(options(ctx).config().service_id)
    try:
        catalog = Journal(letters.kafka, topic, DurableWriter(letters.kafka)).read()
    except NotFound:  # nothing is declared by this service in this cluster
        return {}
    checks = {
        topic: [checker(s, lambda _: None) for s in readers(catalog, name, topic) if not _asks_registry(s)]
        for topic in topics_of(due)
    }
    return faults_of(due, checks)


def _asks_registry(source: Source) -> bool:
    return bool({source.key.format, source.value.format} & {"AVRO", "JSON_SR", "PROTOBUF"})


def _still_unreadable(faults: dict[str, Fault], count: int) -> UserError:
    letter, fault = next(iter(faults.items()))
    return UserError(
        "STILL_UNREADABLE",
        f"{len(faults)} of {count} {_records(count)} would become dead letters again, so none was sent. "
        f"{letter}: {fault}.",
        hint="Repair them by --set or --command, choose others by --code or --offset, or send them --anyway.",
    )


def _comparison_row(one: Repaired, fault: Fault | None) -> tuple[Any, ...]:
    was, becomes = shown(one.letter.record.value), shown(one.value)
    same = one.value == one.letter.record.value
    return one.letter.id, _topic(one.letter), was, "the same" if same else becomes, str(fault) if fault else ""


def _letters(ctx: typer.Context, bootstrap: str | None) -> DeadLetters:
    from orion.hub.dead_letters import DeadLetters

    return DeadLetters(connect(ctx, bootstrap))


def _bare(name: str) -> str:
    from orion.hub.dead_letters import PREFIX

    return name.removeprefix(PREFIX)


def _place(text: str) -> tuple[int, int]:
    """Partition and offset of `P:N`; a bare N is in partition 0, the only one that Orion's own have."""
    partition, colon, offset = text.rpartition(":")
    partition = partition if colon else "0"
    if not (partition.isdecimal() and offset.isdecimal()):
        raise UserError("INVALID_OFFSET", f"{text!r} is no place of a letter.", hint="Write --offset 0:17, or just 17.")
    return int(partition), int(offset)


def _chosen(letters: Iterable[Letter], code: str | None, places: list[tuple[int, int]]) -> list[Letter]:
    found = [
        one
        for one in letters
        if code in (None, one.code) and (not places or (one.record.partition, one.record.offset) in places)
    ]
    there = {(one.record.partition, one.record.offset) for one in found}
    missing = [place for place in places if place not in there]
    if missing:
        partition, offset = missing[0]
        with_code = f" with code {code}" if code else ""
        raise NotFound(
            "LETTER_NOT_FOUND", f"There is no letter{with_code} at {partition}:{offset}.", hint="See `orion dlq show`."
        )
    return found


def _repaired(letters: list[Letter], repair: Repair) -> list[Repaired]:
    """Each with its new value. If some can't be repaired none is sent: half a repair is hard to find again."""
    from orion.hub.dead_letters import Repaired

    made, failed = [], []
    for letter in letters:
        try:
            made.append(Repaired(letter, repair(letter.record.value)))
        except UserError as error:
            failed.append(f"{letter.id}: {error.message}")
    if failed:
        more = f" And {len(failed) - _TOLD} more." if len(failed) > _TOLD else ""
        raise UserError(
            "REPAIR_FAILED",
            f"{len(failed)} of {len(letters)} letters can't be repaired, so none was sent. "
            f"{' '.join(failed[:_TOLD])}{more}",
            hint="Choose letters by --code or --offset.",
        )
    return made


def _tell_left_out(again: list[Letter], staying: list[Letter]) -> None:
    if again:
        output.note(f"left out: {len(again)} {_records(len(again))} sent back before, such as {again[0].id}")
    for why, count in Counter(one.stays for one in staying).items():
        output.note(f"left out: {count} {_records(count)}: {why}")


def _report(counts: dict[str, int], *, json: bool) -> None:
    if json:
        output.document(counts)
    else:
        output.facts(counts)


def _row(letter: Letter) -> tuple[Any, ...]:
    return (
        f"{letter.record.partition}:{letter.record.offset}",
        letter.code,
        letter.reason,
        letter.origin,
        letter.attempt,
        letter.replayed,
        shown(letter.record.key),
        shown(letter.record.value),
    )


def _document(letter: Letter) -> dict[str, Any]:
    origin = letter.origin
    return {
        "letter": letter.id,
        "partition": letter.record.partition,
        "offset": letter.record.offset,
        "code": letter.code,
        "reason": letter.reason,
        "source": {"topic": origin.topic, "partition": origin.partition, "offset": origin.offset} if origin else None,
        "timestamp": letter.timestamp,
        "attempt": letter.attempt,
        "replayed": letter.replayed,
        "key": shown(letter.record.key),
        "value": shown(letter.record.value),
    }


def _topic(letter: Letter) -> str:
    return letter.origin.topic if letter.origin else ""


def _records(count: int) -> str:
    return "record" if count == 1 else "records"


def _moment(ms: int | None) -> str | None:
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="seconds")
