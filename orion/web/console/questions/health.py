"""What is wrong, how bad it is, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from orion.runtime.states import QueryStatus
from orion.serving.feed import TableStatus
from orion.web.console import amounts
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
    """All is well only where nothing is wrong and everything is known."""

    findings: tuple[Finding, ...] = ()
    unknown: tuple[str, ...] = ()  # what can't be told yet, in words
    is_idle: bool = False  # there is nothing that could be well or not

    @property
    def bad(self) -> int:
        return sum(f.tone == "bad" for f in self.findings)

    @property
    def warnings(self) -> int:
        return len(self.findings) - self.bad

    @property
    def told(self) -> str:
        if self.bad:
            return f"{self.bad} failing"
        if self.findings:
            return f"{len(self.findings)} to look at"
        if self.unknown:
            return self.unknown[0].capitalize() if len(self.unknown) == 1 else f"{len(self.unknown)} not known yet"
        return "Nothing runs yet" if self.is_idle else "All well"

    @property
    def tone(self) -> str:
        if self.findings:
            return "bad" if self.bad else "warn"
        return "busy" if self.unknown else "idle" if self.is_idle else "ok"


def health(reading: Reading, problems: Iterable[str] = ()) -> Health:
    """All that is wrong, the worst first, and all that isn't known."""
    found: list[Finding] = []
    around = reading.around
    if reading.trouble is not None:
        error = reading.trouble
        found.append(Finding("bad", "Kafka doesn't answer", error.message, error.hint or "Look at the brokers.", "/"))
    found += [one for job in reading.jobs.values() if (one := _of_job(job)) is not None]
    found += [_absent(page, name) for page, name in around.absent]
    found += [one for table in around.tables.values() if (one := _of_table(table)) is not None]
    if around.load is not None and around.load.starved:
        found.append(Finding("warn", "The machine is starved", f"{around.load}.", _STARVED, "/"))
    found += [
        Finding("warn", "The catalog has an entry that can't be read", told, "It is left out; make it anew.", "/")
        for told in problems
    ]
    is_idle = not (reading.jobs or around.tables)
    return Health(tuple(sorted(found, key=lambda f: f.tone != "bad")), _unknown(reading), is_idle)


def _unknown(reading: Reading) -> tuple[str, ...]:
    if not reading.at:
        return ("nothing is known yet",)
    back, of = reading.around.restored
    found = [f"starting, {back} of {of}"] if back < of else []
    for job in reading.jobs.values():
        if job.status.state == "STARTING" and back >= of:
            found.append(f"{job.status.id} is starting")
        elif job.status.state == "RESTORING":
            found.append(f"{job.status.id} is restoring its state")
        elif job.is_going and job.has_lag and job.status.lag is None and job.status.error is None:
            found.append(f"how far {job.status.id} is")
    found += [f"{t.name} is building" for t in reading.around.tables.values() if t.state == "BUILDING"]
    return tuple(found)


def where(job: Job) -> str:
    """The page of a query, or of the connector that a task belongs to."""
    return address("connectors", job.connector) if job.connector else address("queries", job.status.id)


def why_unknown(job: Job | None) -> str:
    """Why there is no number: for the little sign that stands in its place."""
    if job is not None and not job.is_measured:
        return "Kafka Connect runs it, and doesn't tell."
    state = job.status.state if job else "STOPPED"
    return _WHY.get(state, "It isn't running.")


def why_no_lag(job: Job | None) -> str:
    return why_unknown(job) if job is None or job.has_lag else "It reads no topic: there is nothing it could be behind."


_STARVED = "Everything takes longer than it should: pause statements, or give it more cores."
_WHY = {
    "STARTING": "It is starting: nothing is known of it yet.",
    "RESTORING": "It reads its state first: nothing is known of the rest yet.",
    "RUNNING": "It isn't known yet: the run at hand has told nothing of it so far.",
    "PAUSING": "It isn't known until the batch under way has ended.",
    "PAUSED": "It is paused.",
    "RESTARTING": "It has failed and isn't running: nothing is known since.",
    "FAILING": "It fails again and again: nothing is known since it ran last.",
    "WAITING": "It waits for another system, and isn't running.",
    "ERROR": "It has stopped: nothing is known since.",
}
CAUSES = {
    "STARVED": "the machine has too little time",
    "WORKER_GONE": "a Python worker ended",
    "OUT_OF_MEMORY": "out of memory",
    "OTHER_SYSTEM": "another system didn't answer",
    "STATEMENT": "the statement, on the rows it reads",
}


def _absent(page: str, name: str) -> Finding:
    todo = "The server's log says why it was not started."
    told = "The catalog has it, and nothing runs for it."
    return Finding("bad", f"{name} isn't running", told, todo, address(page, name))


def _of_table(table: TableStatus) -> Finding | None:
    href = address("sources", table.name)
    if table.state == "ERROR":
        age = "" if table.age_s is None else f" Its rows are {amounts.duration(table.age_s * 1000)} old."
        todo = "Its rows are old until the cause is gone; it is tried again by itself."
        return Finding("bad", f"The table {table.name} has stopped", f"{table.error or ''}{age}", todo, href)
    if table.bad_records:
        many = f"{table.bad_records:,} records of {table.topic} are no rows of it."
        told = many if table.bad_records > 1 else f"A record of {table.topic} is no row of it."
        return Finding("warn", f"The table {table.name} leaves records out", told, "See what they hold.", href)
    return None


def _of_job(job: Job) -> Finding | None:
    status, href = job.status, where(job)
    match status.state:
        case "ERROR":
            todo = "Fix the cause, then resume it: it goes on from where it stopped."
            return Finding("bad", f"{status.id} has stopped", status.error or "", todo, href)
        case "FAILING":
            return Finding("bad", f"{status.id} fails again and again", _reason(status), _tries(status), href)
        case "RESTARTING":
            return Finding("bad", f"{status.id} has failed and is tried again", _reason(status), _tries(status), href)
        case "WAITING":
            todo = "It goes on by itself as soon as the other system answers."
            return Finding("warn", f"{status.id} waits", status.error or "", todo, href)
        case "STARTING" | "RESTORING" if status.error:
            return Finding("bad", f"{status.id} has failed and is tried again", _reason(status), _tries(status), href)
        case "RUNNING" | "PAUSING" | "PAUSED" if status.error:
            return Finding("bad", f"{status.id} has failed", _reason(status), _tries(status), href)
        case "RUNNING" if status.warning:
            return Finding("warn", f"{status.id} warns", status.warning, "Resume it to accept.", href)
        case "RUNNING" if (status.lag or 0) > _BEHIND and (job.rate_in or 0.0) * 60 < (status.lag or 0):
            how = (
                "how fast they are read isn't known" if job.rate_in is None else f"{job.rate_in:,.0f} a second are read"
            )
            told = f"{status.lag:,} records wait, and {how}."
            return Finding("warn", f"{status.id} falls behind", told, "More partitions, or less per record.", href)
        case "RUNNING" if job.letters:
            letters = address("dead-letters", job.connector or status.sink)
            told = f"{job.letters:.1f} dead letters a second."
            todo = "See why, repair them and send them back."
            return Finding("warn", f"{status.id} meets records it can't use", told, todo, letters)
        case "STARTING" | "RESTORING" | "RUNNING" | "PAUSING" | "PAUSED" | "STOPPED":
            return None
        case other:
            return Finding("warn", f"{status.id} is {other.lower()}", status.error or "", "Look at its page.", href)


def _reason(status: QueryStatus) -> str:
    failure = status.last_failure
    told = status.error or (failure.error if failure else "")
    cause = CAUSES.get(failure.cause.value) if failure else None
    return f"{told} ({cause})" if told and cause else told


def _tries(status: QueryStatus) -> str:
    told = f"{status.restarts:,} restarts so far" if status.restarts else "It is tried again by itself"
    if status.next_try_at is None:
        return f"{told}."
    return f"{told}, the next try {amounts.ago(round(status.next_try_at * 1000)).replace('just now', 'now')}."
