"""How many dead letters a query or a connector bears: all, none, or a share of what it reads."""

from __future__ import annotations

import re
from dataclasses import dataclass

from orion.errors import UserError

PROPERTY = "errors.tolerance"
ALL, NONE = "all", "none"
# A share is judged over this many records, however small the batches are: one bad record among the first ten is no 10%.
SAMPLE = 1_000
# Letters that are no errors: nothing is wrong with a row that came too late.
LATE_ROW = "LATE_ROW"

_SHARE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(%?)")


@dataclass(frozen=True, slots=True)
class Tolerance:
    """`share` of the records may be dead letters: 1.0 is all of them, 0.0 none."""

    share: float = 1.0

    @classmethod
    def parse(cls, text: str) -> Tolerance:
        """`all`, `none`, or a share such as 0.01 or 1%."""
        word = text.strip().lower()
        if word in (ALL, NONE):
            return cls(1.0 if word == ALL else 0.0)
        found = _SHARE.fullmatch(word)
        share = float(found[1]) / (100 if found[2] else 1) if found else -1.0
        if not 0.0 <= share <= 1.0:
            raise UserError(
                "INVALID_TOLERANCE",
                f"'{text}' is not a tolerance.",
                hint="It is all, none, or a share of the records: 0.01 or 1%.",
            )
        return cls(share)

    @property
    def bounded(self) -> bool:
        """Whether there is anything to count."""
        return self.share < 1.0

    def __str__(self) -> str:
        """As it is journaled: what it means, however it was written."""
        if not self.bounded:
            return ALL
        return f"{self.share * 100:.10g}%" if self.share else NONE

    def exceeded(self, good: int, bad: int) -> str | None:
        """Why so many dead letters among so many records are too many; None: they are not."""
        allowed = self.share * max(good + bad, SAMPLE) if self.share else 0.0
        if not self.bounded or bad <= allowed:
            return None
        of = f"{bad} of {good + bad} records can't be used"
        if not self.share:
            return f"{of}, and '{PROPERTY}' is none"
        return f"{of}, and '{PROPERTY}' is {self}: {int(allowed)} of {max(good + bad, SAMPLE)}"


def stopped(why: str, letter: str) -> str:
    """What is said of a statement that has stopped: why, a record as an example, and what to do."""
    return (
        f"{why}. One of them: {letter}. Mend what writes such records, or CREATE OR REPLACE the statement with "
        "another ERRORS_TOLERANCE"
    )


@dataclass(frozen=True, slots=True)
class Recent:
    """Good and bad records of the last batches: as many batches as it takes to make up the sample."""

    batches: tuple[tuple[int, int], ...] = ()

    @property
    def good(self) -> int:
        return sum(good for good, _ in self.batches)

    @property
    def bad(self) -> int:
        return sum(bad for _, bad in self.batches)

    def after(self, good: int, bad: int) -> Recent:
        """With one more batch, and without those that lie further back than the sample reaches."""
        kept, records = [(good, bad)], good + bad
        for batch in reversed(self.batches):
            if records >= SAMPLE:
                break
            kept.append(batch)
            records += sum(batch)
        return Recent(tuple(reversed(kept)))

    def exceeds(self, tolerance: Tolerance) -> str | None:
        """Why to stop: the last batch alone is too bad, or all of them together are."""
        last = tolerance.exceeded(*self.batches[-1]) if self.batches else None
        return last or tolerance.exceeded(self.good, self.bad)
