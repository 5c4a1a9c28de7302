"""Overview: what runs, how fast, how far behind, and what is wrong."""

from __future__ import annotations

from orion.web.console import amounts, charts, markup, tables
from orion.web.console.icons import icon
from orion.web.console.page import Page
from orion.web.console.questions.health import Finding, Health, health, where
from orion.web.console.questions.pulse import Job, Pulse, Reading
from orion.web.console.view import View, heading, html, panel, replace_with

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


COLUMNS: tuple[tables.Column[Job], ...] = (
    tables.Column("Name", _name, lambda j: j.status.id),
    tables.Column("State", lambda j: markup.state(j.status.state), lambda j: j.status.state),
    tables.Column("Writes", lambda j: markup.mono(j.status.sink), lambda j: j.status.sink),
    tables.Column("Read", lambda j: amounts.rate(j.rate_in), lambda j: j.rate_in, "num"),
    tables.Column("Lag", lambda j: amounts.count(j.status.lag), lambda j: j.status.lag, "num"),
    tables.Column(
        "Freshness",
        lambda j: amounts.duration(j.status.freshness_ms),
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
    """The five numbers at the top."""
    states = [j.status.state for j in reading.jobs.values()]
    running, total = states.count("RUNNING"), len(states)
    paused = states.count("PAUSED")
    fresh = [j.status.freshness_ms for j in reading.jobs.values() if j.status.freshness_ms is not None]
    lag = pulse.series(lambda r: r.lag)
    return "".join(
        (
            markup.tile(
                "Running",
                f"{running}<small> of {total}</small>",
                f"{paused} paused" if paused else "queries and connectors",
                tone="bad" if found.bad else "",
                href="/queries",
            ),
            markup.tile(
                "Read",
                amounts.rate(reading.rate_in),
                "all queries",
                spark=charts.spark(pulse.series(lambda r: r.rate_in)),
            ),
            markup.tile(
                "Written",
                amounts.rate(reading.rate_out),
                "results",
                spark=charts.spark(pulse.series(lambda r: r.rate_out), "sky"),
            ),
            markup.tile(
                "Lag",
                amounts.short(reading.lag),
                f"stalest {amounts.duration(max(fresh))}" if fresh else "records not read yet",
                spark=charts.spark(lag, "amber"),
            ),
            markup.tile(
                "Dead letters",
                amounts.short(reading.letters),
                "since the start",
                tone="warn" if reading.letters else "",
                href="/dead-letters",
            ),
        )
    )


def findings_of(found: Health) -> str:
    if not found.findings:
        return ""
    return f'<section class="o-panel o-findings">{"".join(map(_finding, found.findings))}</section>'


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
