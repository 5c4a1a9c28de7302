"""What is wrong, how bad it is, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from orion.web.console.page import address
from orion.web.console.questions.pulse import Job, Reading

_BEHIND = 10_000  # records; fewer are read in a batch or two


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that somebody should look at; `href` is where."""

    tone: str  # bad or warn
    what: str
    why: str
    todo: str
    href: str


@dataclass(frozen=True, slots=True)
class Health:
    findings: tuple[Finding, ...] = ()

    @property
    def bad(self) -> int:
        return sum(f.tone == "bad" for f in self.findings)

    @property
    def warnings(self) -> int:
        return len(self.findings) - self.bad

    @property
    def told(self) -> str:
        if not self.findings:
            return "All well"
        return f"{len(self.findings)} to look at" if not self.bad else f"{self.bad} failing"


def health(reading: Reading, problems: Iterable[str] = ()) -> Health:
    """All that is wrong, the worst first."""
    found: list[Finding] = []
    if reading.trouble is not None:
        error = reading.trouble
        found.append(Finding("bad", "Kafka doesn't answer", error.message, error.hint or "Look at the brokers.", "/"))
    found += [one for job in reading.jobs.values() if (one := _of_job(job)) is not None]
    found += [
        Finding("warn", "The catalog has an entry that can't be read", told, "It is left out; make it anew.", "/")
        for told in problems
    ]
    return Health(tuple(sorted(found, key=lambda f: f.tone != "bad")))


def where(job: Job) -> str:
    """The page of a query, or of the connector that a task belongs to."""
    return address("connectors", job.connector) if job.connector else address("queries", job.status.id)


def _of_job(job: Job) -> Finding | None:
    status, href = job.status, where(job)
    match status.state:
        case "ERROR":
            todo = "Fix the cause, then resume it: it goes on from where it stopped."
            return Finding("bad", f"{status.id} has stopped", status.error or "", todo, href)
        case "RESTARTING":
            told = f"{status.restarts} restarts so far" if status.restarts else "It is tried again by itself"
            return Finding("bad", f"{status.id} fails and is tried again", status.error or "", f"{told}.", href)
        case "WAITING":
            todo = "It goes on by itself as soon as the other system answers."
            return Finding("warn", f"{status.id} waits", status.error or "", todo, href)
        case "RUNNING" if status.warning:
            return Finding("warn", f"{status.id} warns", status.warning, "Resume it to accept.", href)
        case "RUNNING" if (status.lag or 0) > _BEHIND and job.rate_in * 60 < (status.lag or 0):
            told = f"{status.lag:,} records wait, and {job.rate_in:,.0f} a second are read."
            return Finding("warn", f"{status.id} falls behind", told, "More partitions, or less per record.", href)
        case "RUNNING" if job.letters > 0:
            letters = address("dead-letters", job.connector or status.sink)
            told = f"{job.letters:.1f} dead letters a second."
            todo = "See why, repair them and send them back."
            return Finding("warn", f"{status.id} meets records it can't use", told, todo, letters)
        case _:
            return None
