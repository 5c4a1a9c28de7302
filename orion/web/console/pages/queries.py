"""Queries: state, lane, lag and speed of each; its statement, its plan, and steering it."""

from __future__ import annotations

from functools import partial

from nicegui import ui

from orion.runtime.failures import Failure
from orion.web.console import amounts, charts, markup, tables
from orion.web.console.dialogs import sure
from orion.web.console.page import Page
from orion.web.console.questions import queries
from orion.web.console.questions.health import CAUSES, why_unknown
from orion.web.console.questions.pulse import Job
from orion.web.console.questions.queries import Detail, Row
from orion.web.console.view import View, button, heading, html, panel, replace_with, tell, told, toolbar, warning_box

IDLE = ("PAUSED", "ERROR", "STOPPED")


async def draw_list(view: View) -> None:
    heading("Queries", "Statements that run for good: each reads topics and writes one.")
    with toolbar():
        search = tables.search_box("Filter queries", lambda text: table.filter(text), view.query.get("find", ""))
    with panel():
        table = tables.Table(
            COLUMNS, search=_words, empty=_none(), acted=lambda what, name: steer(view, what, name, refresh)
        )

    async def refresh() -> None:
        table.show(queries.rows(view.orion, await view.desk.reading()))

    await refresh()
    table.filter(search.value or "")
    view.every(2.0, refresh)


def _words(row: Row) -> str:
    return f"{row.query.id} {row.state} {row.query.guarantee} {row.query.statement}"


def _status(row: Row, name: str) -> int | None:
    found: int | None = getattr(row.job.status, name) if row.job else None
    return found


def _or_dash(row: Row, shown: str) -> str:
    return markup.or_dash(shown, why_unknown(row.job))


COLUMNS: tuple[tables.Column[Row], ...] = (
    tables.Column("Query", lambda r: markup.link(r.query.id, "queries", r.query.id), lambda r: r.query.id, "mono"),
    tables.Column("State", lambda r: markup.state(r.state), lambda r: r.state),
    tables.Column("Writes", lambda r: markup.link(r.query.sink.name, "sources", r.query.sink.name), None, "mono"),
    tables.Column("Lane", lambda r: markup.tag(r.query.guarantee.value), lambda r: r.query.guarantee.value),
    tables.Column("Read", lambda r: _or_dash(r, amounts.rate(r.job.rate_in if r.job else None)), None, "num"),
    tables.Column("Written", lambda r: _or_dash(r, amounts.rate(r.job.rate_out if r.job else None)), None, "num"),
    tables.Column("Lag", lambda r: _or_dash(r, amounts.count(_status(r, "lag"))), lambda r: _status(r, "lag"), "num"),
    tables.Column("Restarts", lambda r: amounts.count(_status(r, "restarts")), None, "num"),
    tables.Column("", lambda r: _buttons(r), None, "acts"),
)


def _buttons(row: Row) -> str:
    name = row.query.id
    going = row.state not in IDLE
    first = (
        markup.act("pause", name, "Pause", picture="pause")
        if going
        else markup.act("resume", name, "Resume", picture="play")
    )
    return first + markup.act("terminate", name, "Terminate", picture="trash", tone="danger")


async def steer(view: View, what: str, name: str, then: object = None) -> None:
    """Pause, resume or, once somebody has said that they mean it, terminate."""
    if what == "terminate" and not await sure(f"Terminate {name}?", await _lost(view, name), action="Terminate"):
        return
    with told():
        tell(await view.ask(queries.steer, view.orion, what.upper(), name))
    if callable(then):
        await then()


async def _lost(view: View, name: str) -> str:
    query = queries.known(view.orion, name)
    return (
        "<p>It stops for good, and its checkpoint is deleted with its state: what it knows and how far it was.</p>"
        f"<p>{markup.mono(query.sink.name)} and its topic stay as they are, and get no more rows. "
        "To stop for a while, pause it.</p>"
    )


async def draw_one(view: View) -> None:
    found = await view.ask(queries.detail, view.orion, view.path["name"])
    heading(found.query.id, above=markup.link("Queries", "queries"))
    with toolbar():
        state = html("")
        ui.element("div").classes("o-spacer")
        pause = button("Pause", partial(steer, view, "pause", found.query.id, lambda: refresh()), picture="pause")
        resume = button("Resume", partial(steer, view, "resume", found.query.id, lambda: refresh()), picture="play")
        button("Terminate", partial(_terminate, view, found.query.id), tone="danger", picture="trash")
    trouble = html("")
    tiles = html("", classes="o-tiles")
    failures = html("")
    with panel("Rows a second", classes="o-half"):
        rates = charts.TimeChart("/s", height="180px")
    with panel("Lag", classes="o-half"):
        lag = charts.TimeChart("", height="180px")
    _about(found)
    with panel("Spark's plan", note=markup.muted("of its last batch")):
        spark = html(f'<pre class="o-code">{markup.muted("Press Show to ask Spark.")}</pre>')
        button("Show", partial(_show_spark, view, found.query.id, spark))

    async def refresh() -> None:
        reading = await view.desk.reading()
        row = Row(found.query, reading.jobs.get(found.query.id))
        replace_with(state, markup.state(row.state))
        idle = row.state in IDLE
        pause.set_visibility(not idle)
        resume.set_visibility(idle or (row.job is not None and row.job.status.warning is not None))
        replace_with(trouble, _trouble(row))
        replace_with(failures, failures_html(row))
        replace_with(tiles, _tiles(row))
        pulse, name = view.desk.pulse, found.query.id
        rates.show(
            {
                "read": pulse.series(lambda r: r.jobs[name].rate_in if name in r.jobs else None),
                "written": pulse.series(lambda r: r.jobs[name].rate_out if name in r.jobs else None),
            }
        )
        lag.show({"lag": pulse.series(lambda r: r.jobs[name].status.lag if name in r.jobs else None)})

    await refresh()
    view.every(2.0, refresh)


def _about(found: Detail) -> None:
    query = found.query
    reads = " ".join(markup.link(name, "sources", name) for name in query.sources)
    with panel("What it is", classes="o-half"):
        html(
            markup.facts(
                {
                    "Reads": reads,
                    "Writes": f"{markup.link(query.sink.name, 'sources', query.sink.name)} → "
                    f"{markup.link(query.sink.topic, 'topics', query.sink.topic)}",
                    "Dead letters": markup.link(query.dead_letters, "dead-letters", query.sink.name),
                    "Lane": f"{markup.tag(query.guarantee.value)} {markup.text(found.lane)}",
                    "Stream": markup.text(found.stream),
                    "State": "kept in changelog topics, with local copies" if found.stateful else "none",
                    "Tolerates": f"{markup.text(query.tolerance)} dead letters",
                }
            )
        )
    with panel("Statement", classes="o-half"):
        html(f'<pre class="o-code">{markup.text(query.statement)}</pre>')
    with panel("Plan", note=markup.muted("what EXPLAIN prints")):
        html(f'<pre class="o-code">{markup.text(found.plan)}</pre>')


def _trouble(row: Row) -> str:
    if row.job is None:
        return warning_box("<b>It isn't running.</b><p>The catalog has it, and nothing runs for it.</p>")
    status = row.job.status
    if not (status.error or status.warning):
        return ""
    tone, text = "bad" if status.error else "warn", markup.text(status.error or status.warning)
    next_try = status.next_try_at
    when = f"<p>The next try: {amounts.ago(round(next_try * 1000))}.</p>" if next_try is not None else ""
    return f'<div class="o-error o-error--{tone}" role="alert"><div><pre>{text}</pre>{when}</div></div>'


def restore_tile(job: Job | None) -> str:
    """How far the tasks are with reading their state, while they do."""
    restore = job.status.restore if job else None
    if restore is None or not (restore.is_going and restore.is_notable):
        return ""
    percent = amounts.NONE if restore.percent is None else f"{restore.percent} %"
    shown = markup.or_dash(percent, "Not every task has told yet how much it has to read.")
    since = (
        "" if restore.since is None else f"; since {amounts.moment(round(restore.since * 1000), date=False)[:8]} UTC"
    )
    return markup.tile("State read", shown, f"{restore}{since}")


def _tiles(row: Row) -> str:
    if row.job is None:
        return ""
    status = row.job.status
    return "".join(
        (
            restore_tile(row.job),
            markup.tile("Lag", _or_dash(row, amounts.short(status.lag)), "records not read yet"),
            markup.tile(
                "Freshness", _or_dash(row, amounts.duration(status.freshness_ms)), "newest event to its result"
            ),
            markup.tile("Rows in", amounts.short(status.rows_in), _or_dash(row, amounts.rate(row.job.rate_in))),
            markup.tile("Rows out", amounts.short(status.rows_out), _or_dash(row, amounts.rate(row.job.rate_out))),
            markup.tile("Dead letters", amounts.short(status.dead_letters), f"{amounts.count(status.late)} late rows"),
            markup.tile("Batches", amounts.short(status.batches), _since(row)),
            markup.tile("Restarts", amounts.short(status.restarts), _restarted(row), tone="bad" if _fails(row) else ""),
        )
    )


def _since(row: Row) -> str:
    began = row.job.status.running_since if row.job else None
    return "not running" if began is None else f"running since {amounts.moment(round(began * 1000), date=False)[:8]}"


def _restarted(row: Row) -> str:
    times = row.job.status.restarted_at if row.job else ()
    return f"the last {amounts.ago(round(times[-1] * 1000))}" if times else "since the start"


def _fails(row: Row) -> bool:
    return row.state in ("FAILING", "RESTARTING", "ERROR")


def failures_html(row: Row) -> str:
    """The last failures, the newest first: when, what, and what caused it."""
    if row.job is None or not row.job.status.failures:
        return ""
    status = row.job.status
    columns: tuple[tables.Column[Failure], ...] = (
        tables.Column("When (UTC)", lambda f: markup.text(amounts.moment(round(f.at * 1000))), None, "mono"),
        tables.Column("Cause", lambda f: markup.text(CAUSES.get(f.cause.value, f.cause.value.lower()))),
        tables.Column("Error", lambda f: markup.text(f.error), None, "wide"),
    )
    times = ", ".join(amounts.moment(round(at * 1000), date=False)[:8] for at in status.restarted_at[-8:])
    note = f"started again at {times}" if times else ""
    head = f'<div class="o-panel__head"><h2>Failures</h2><span>{markup.muted(note)}</span></div>'
    place = f'<div class="o-table-place">{tables.rendered(columns, status.failures[::-1])}</div>'
    return f'<section class="o-panel">{head}{place}</section>'


async def _terminate(view: View, name: str) -> None:
    await steer(view, "terminate", name)
    if name not in view.orion.engine.catalog.queries:
        view.go("queries")


async def _show_spark(view: View, name: str, place: ui.html) -> None:
    with told():
        plan = await view.ask(queries.spark_plan, view.orion, name)
        replace_with(place, f'<pre class="o-code">{markup.text(plan or "It has run no batch since this start.")}</pre>')


def _none() -> str:
    told_how = f"A {markup.mono('CREATE STREAM … AS SELECT')} on the {markup.link('SQL', 'sql')} page makes one."
    return markup.empty("No queries", told_how, "queries")


PAGE = Page("Queries", "queries", {"/queries": draw_list, "/queries/{name}": draw_one}, group="Processing")
