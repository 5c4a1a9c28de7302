"""Dead letters: where they are, why, and sending some back repaired."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass

from orion.app import Orion
from orion.errors import NotFound, UserError
from orion.hub.dead_letters import DeadLetters, Letter, Outcome, Repaired, Summary
from orion.hub.repairs import change, with_fields

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
    causes: tuple[Cause, ...]
    letters: tuple[Letter, ...]
    total: int
    waiting: int


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
    """Reads all letters of a name, and keeps the newest."""
    counts: Counter[tuple[str, str]] = Counter()
    waiting: Counter[tuple[str, str]] = Counter()
    stays: dict[tuple[str, str], str | None] = {}
    newest: deque[Letter] = deque(maxlen=KEPT)
    for letter in DeadLetters(orion.kafka).read(name):
        cause = (letter.code, letter.reason)
        counts[cause] += 1
        waiting[cause] += not letter.replayed
        stays[cause] = letter.stays
        if not code or letter.code == code:
            newest.appendleft(letter)
    causes = tuple(Cause(*c, counts[c], waiting[c], stays[c]) for c, _ in counts.most_common(50))
    return Box(name, causes, tuple(newest), counts.total(), waiting.total())


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
