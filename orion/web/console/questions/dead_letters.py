"""Dead letters: where they are, why, and sending some back repaired."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orion.app import Orion
from orion.errors import NotFound, UserError
from orion.formats.rows.checking import Fault, checker
from orion.hub.dead_letters import DeadLetters, Letter, Outcome, Repaired, Summary
from orion.hub.repairs import change, with_fields
from orion.plan.catalog import Catalog
from orion.runtime.letter_checks import faults_of, readers, topics_of
from orion.web.console.questions.comparing import Lines, compare_lines
from orion.web.console.questions.decoding import plain, pretty

KEPT = 500
_TOLD = 3


@dataclass(frozen=True, slots=True)
class Cause:
    """Letters that are wrong in the same way."""

    code: str
    reason: str
    count: int
    waiting: int  # not sent back yet
    stays: str | None  # why they can't be sent back


@dataclass(frozen=True, slots=True)
class Box:
    """The letters of one name: all causes, and the newest letters."""

    name: str
    causes: tuple[Cause, ...] = ()
    letters: tuple[Letter, ...] = ()
    total: int = 0
    waiting: int = 0
    sendable: int = 0  # of those that wait and are chosen: some can't be sent back at all
    has_topic: bool = True


@dataclass(frozen=True, slots=True)
class Choice:
    """Which letters are meant: one by its id, those of a code, or all that can go back."""

    code: str = ""
    id: str = ""

    def takes(self, letter: Letter) -> bool:
        return (not self.id or letter.id == self.id) and (not self.code or letter.code == self.code)


@dataclass(frozen=True, slots=True)
class Repair:
    """How values are made right: fields to set, one a line; or, of a single letter, the whole value."""

    fields: str = ""
    value: str | None = None

    def __call__(self, value: bytes | None) -> bytes | None:
        if self.value is not None:
            return self.value.encode()
        changes = [change(line.strip()) for line in self.fields.splitlines() if line.strip()]
        return with_fields(value, changes) if changes else value


def summaries(orion: Orion) -> list[Summary]:
    return DeadLetters(orion.kafka).summaries()


def box(orion: Orion, name: str, code: str = "") -> Box:
    """Reads all letters of a name, and keeps the newest: by their time, whichever partition they are in."""
    try:
        letters = list(DeadLetters(orion.kafka).read(name))
    except NotFound:
        if not _is_known(orion.engine.catalog, name):
            raise
        return Box(name, has_topic=False)  # the topic is made with the first letter
    return box_of(name, letters, code)


def box_of(name: str, letters: Sequence[Letter], code: str = "") -> Box:
    counts: Counter[tuple[str, str]] = Counter()
    waiting: Counter[tuple[str, str]] = Counter()
    stays: dict[tuple[str, str], str | None] = {}
    for letter in letters:
        cause = (letter.code, letter.reason)
        counts[cause] += 1
        waiting[cause] += not letter.replayed
        stays[cause] = letter.stays
    chosen = [one for one in letters if not code or one.code == code]
    newest = tuple(heapq.nlargest(KEPT, chosen, key=_when))
    sendable = sum(not one.replayed and not one.stays for one in chosen)
    causes = tuple(Cause(*c, counts[c], waiting[c], stays[c]) for c, _ in counts.most_common(50))
    return Box(name, causes, newest, counts.total(), waiting.total(), sendable)


def _when(letter: Letter) -> tuple[int, int, int]:
    record = letter.record
    return record.timestamp or 0, record.partition, record.offset


def _is_known(catalog: Catalog, name: str) -> bool:
    """Whether something is there that would have letters of this name."""
    return name in catalog.connectors or any(query.sink.name == name for query in catalog.queries.values())


@dataclass(frozen=True, slots=True)
class Review:
    """What would be sent, with what is known against it before it goes."""

    repaired: tuple[Repaired, ...]
    faults: Mapping[str, Fault]  # by the id of a letter that would become one again
    unchecked: tuple[str, ...] = ()  # topics over which nothing is declared that tells what can be read

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(topics_of(self.repaired))

    @property
    def changed(self) -> int:
        return sum(one.value != one.letter.record.value for one in self.repaired)


def review(orion: Orion, name: str, choice: Choice, repair: Repair) -> Review:
    """The letters that would be sent back, and which of them whoever reads their topic couldn't read either."""
    catalog, schemas = orion.engine.catalog, orion.engine.schemas
    found = due(orion, name, choice, repair)
    topics = topics_of(found)
    over = {topic: readers(catalog, name, topic) for topic in topics}
    checks = {topic: [checker(source, schemas.by_id) for source in sources] for topic, sources in over.items()}
    return Review(tuple(found), faults_of(found, checks), tuple(t for t in topics if not over[t]))


def difference(one: Repaired) -> Lines:
    """Line by line: what the letter holds, and what would be sent."""
    return compare_lines(pretty(plain(one.letter.record.value)), pretty(plain(one.value)))


def due(orion: Orion, name: str, choice: Choice, repair: Repair) -> list[Repaired]:
    """The letters that would be sent, with their new values. If some can't be repaired none is: half a repair is
    hard to find again."""
    chosen = [one for one in DeadLetters(orion.kafka).read(name) if choice.takes(one)]
    if not chosen:
        raise NotFound("LETTER_NOT_FOUND", f"{name} has no such dead letter.")
    open_ = [one for one in chosen if not one.replayed and not one.stays]
    made, failed = [], []
    for letter in open_:
        try:
            made.append(Repaired(letter, repair(letter.record.value)))
        except UserError as error:
            failed.append(f"{letter.id}: {error.message}")
    if failed:
        told = " ".join(failed[:_TOLD])
        raise UserError(
            "REPAIR_FAILED",
            f"{len(failed)} of {len(open_)} letters can't be repaired, so none is sent. {told}",
            hint="Choose letters by their code, or repair them one by one.",
        )
    if not made:
        raise UserError("NOTHING_TO_REPLAY", "These were sent back before, or can't be.", hint=_why(chosen))
    return made


def _why(chosen: Sequence[Letter]) -> str | None:
    return next((one.stays for one in chosen if one.stays), None)


def replay(orion: Orion, name: str, repaired: Sequence[Repaired]) -> Outcome:
    return DeadLetters(orion.kafka).replay(name, repaired)
