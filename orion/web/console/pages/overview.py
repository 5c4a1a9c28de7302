"""Overview: what runs, how fast, how far behind, and what is wrong."""

from __future__ import annotations

from collections import Counter

from orion.web.console import amounts, charts, markup, tables
from orion.web.console.icons import icon
from orion.web.console.page import Page
from orion.web.console.questions.health import Finding, Health, health, where, why_no_lag, why_unknown
from orion.web.console.questions.pulse import Job, Pulse, Reading
from orion.web.console.view import View, heading, html, panel, replace_with

_UNKNOWN = 5  # that are told of one by one
_LINES = 6  # more than that nobody tells apart


async def draw(view: View) -> None:
    config = view.orion.engine.config
    about = f"Service {markup.mono(config.service_id)} on Kafka {markup.mono(view.orion.bootstrap)}"
    heading("Overview", about)
    tiles = html("", classes="o-tiles")
    findings = html("")
    with panel("Rows a second", classes="o-half"):
        rates = charts.TimeChart("/s")
    with panel("Lag", note=markup.muted("records that are there and not read yet"), classes="o-half"):
        lags = charts.TimeChart("", area=False)
    with panel("What runs", note=markup.link("All queries", "queries")):
        table = tables.Table(COLUMNS, empty=_nothing_runs(), sort=(4, True))

    async def refresh() -> None:
        reading = await view.desk.reading()
        pulse = view.desk.pulse
        found = health(reading, view.orion.engine.problems)
        replace_with(tiles, tiles_of(reading, pulse, found))
        replace_with(findings, findings_of(found))
        rates.show({"read": pulse.series(lambda r: r.rate_in), "written": pulse.series(lambda r: r.rate_out)})
        lags.show(lag_lines(reading, pulse))
        table.show(list(reading.jobs.values()))

    await refresh()
    view.every(2.0, refresh)


def _name(job: Job) -> str:
    return f'<a class="o-link o-mono" href="{markup.text(where(job))}">{markup.text(job.status.id)}</a>'


def _or_dash(job: Job, shown: str) -> str:
    return markup.or_dash(shown, why_unknown(job))


COLUMNS: tuple[tables.Column[Job], ...] = (
    tables.Column("Name", _name, lambda j: j.status.id),
    tables.Column("State", lambda j: markup.state(j.status.state), lambda j: j.status.state),
    tables.Column("Writes", lambda j: markup.mono(j.status.sink), lambda j: j.status.sink),
    tables.Column("Read", lambda j: _or_dash(j, amounts.rate(j.rate_in)), lambda j: j.rate_in, "num"),
    tables.Column(
        "Lag", lambda j: markup.or_dash(amounts.count(j.status.lag), why_no_lag(j)), lambda j: j.status.lag, "num"
    ),
    tables.Column(
        "Freshness",
        lambda j: _or_dash(j, amounts.duration(j.status.freshness_ms)),
        lambda j: j.status.freshness_ms,
        "num",
        "from the newest event's time to when its result could be read",
    ),
    tables.Column("Dead letters", lambda j: _letters(j), lambda j: j.status.dead_letters, "num"),
)


def _letters(job: Job) -> str:
    status = job.status
    if not status.dead_letters:
        return markup.muted("0")
    return markup.link(amounts.count(status.dead_letters), "dead-letters", job.connector or status.sink)


def tiles_of(reading: Reading, pulse: Pulse, found: Health) -> str:
    """The five numbers at the top. A sum of which a part isn't known isn't known, and says whose."""
    jobs = list(reading.jobs.values())
    states = Counter(j.status.state for j in jobs)
    others = [f"{states[s]} {s.lower()}" for s in sorted(states) if s != "RUNNING"]
    fresh = [j.status.freshness_ms for j in jobs if j.status.freshness_ms is not None]
    stalest = f"stalest {amounts.duration(max(fresh))}" if fresh else "records not read yet"
    lag, rate_in, rate_out = (
        _sum(amounts.short(reading.lag), [j for j in jobs if j.has_lag and j.status.lag is None], stalest),
        _sum(amounts.rate(reading.rate_in), [j for j in jobs if j.is_measured and j.rate_in is None], "all queries"),
        _sum(amounts.rate(reading.rate_out), [j for j in jobs if j.is_measured and j.rate_out is None], "results"),
    )
    series = pulse.series
    return "".join(
        (
            markup.tile(
                "Running",
                f"{states['RUNNING']}<small> of {len(jobs)}</small>",
                ", ".join(others) or "queries and connectors",
                tone="bad" if found.bad else "",
                href="/queries",
            ),
            markup.tile("Read", *rate_in, spark=charts.spark(series(lambda r: r.rate_in))),
            markup.tile("Written", *rate_out, spark=charts.spark(series(lambda r: r.rate_out), "sky")),
            markup.tile("Lag", *lag, spark=charts.spark(series(lambda r: r.lag), "amber")),
            markup.tile(
                "Dead letters",
                amounts.short(reading.letters),
                "since the start",
                tone="warn" if reading.letters else "",
                href="/dead-letters",
            ),
        )
    )


def _sum(shown: str, unknown: list[Job], note: str) -> tuple[str, str]:
    """What a tile shows, and under it: how many of them aren't known."""
    if not shown.startswith(amounts.NONE) or not unknown:
        return shown, note
    names = ", ".join(job.status.id for job in unknown[:5]) + (" …" if len(unknown) > 5 else "")
    return markup.or_dash(shown, f"It isn't known of {names}."), f"not known of {len(unknown)}"


def findings_of(found: Health) -> str:
    rows = [*map(_finding, found.findings), *map(_unknown, found.unknown[:_UNKNOWN])]
    return f'<section class="o-panel o-findings">{"".join(rows)}</section>' if rows else ""


def _unknown(told: str) -> str:
    text = markup.text(told[:1].upper() + told[1:])
    note = "It isn't known yet whether all is well."
    return f'<a class="o-finding o-finding--busy" href="/">{icon("restart")}<div><b>{text}</b></div><em>{note}</em></a>'


def _finding(one: Finding) -> str:
    return (
        f'<a class="o-finding o-finding--{one.tone}" href="{markup.text(one.href)}">{icon("alert")}'
        f"<div><b>{markup.text(one.what)}</b><p>{markup.text(one.why)}</p></div><em>{markup.text(one.todo)}</em></a>"
    )


def lag_lines(reading: Reading, pulse: Pulse) -> dict[str, charts.Points]:
    """Lag of those that are, or were, furthest behind."""
    history = pulse.history()
    most = {
        name: max((r.jobs[name].status.lag or 0 for r in history if name in r.jobs), default=0) for name in reading.jobs
    }
    chosen = sorted(most, key=lambda name: (-most[name], name))[:_LINES]

    def line(name: str) -> charts.Points:
        return pulse.series(lambda r: r.jobs[name].status.lag if name in r.jobs else None)

    return {name: line(name) for name in chosen}


def _nothing_runs() -> str:
    told = f"Write a CREATE STREAM … AS SELECT on the {markup.link('SQL', 'sql')} page; it runs from then on."
    return markup.empty("Nothing runs yet", told, "queries")


PAGE = Page("Overview", "overview", {"/": draw}, words=("home", "health", "status"))
