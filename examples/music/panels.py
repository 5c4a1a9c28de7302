"""How a snapshot looks: on a terminal as panels that fill it, elsewhere as one line."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from rich import box
from rich.layout import Layout
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from examples.music.snapshot import Line, Snapshot

HEADER, FOOTER, FRAME = 4, 1, 2
CLEANED = "clean_plays"  # what all results are made of
UNKNOWN = "-"
_STATES = {"RUNNING": "green", "ERROR": "bold red"}
_HINT = "Ctrl-C ends the demo with an account   ·   in another shell: orion --data {data} sql"


def render(snapshot: Snapshot, width: int, height: int, data: str) -> Layout:
    """The whole screen. What is left by the header and the queries is shared by four panels of results."""
    queries = len(snapshot.queries) + 1 + FRAME + any(line.error for line in snapshot.queries)
    rows = max(1, (height - HEADER - FOOTER - queries) // 2 - FRAME)
    half = width // 2 - FRAME - 2
    screen, body = Layout(), Layout()
    upper, lower = Layout(), Layout()
    upper.split_row(Layout(_countries(snapshot, rows, half)), Layout(_tracks(snapshot, rows)))
    lower.split_row(Layout(_heavy(snapshot, rows)), Layout(_sessions(snapshot, rows)))
    body.split_column(upper, lower)
    screen.split_column(
        Layout(_header(snapshot), size=HEADER),
        Layout(_queries(snapshot), size=queries),
        body,
        Layout(Text(_HINT.format(data=data), style="dim", overflow="ellipsis", no_wrap=True), size=FOOTER),
    )
    return screen


def plain(snapshot: Snapshot) -> str:
    """The same in one line, for a log."""
    minute, tracks = snapshot.results.chart()
    top = f'  top "{snapshot.results.title(tracks[0][0])}" {tracks[0][1]:,}' if minute is not None and tracks else ""
    ill = [f"{line.name} {line.state}" for line in snapshot.queries if line.state != "RUNNING"]
    lake = next((line.rows_out for line in snapshot.queries if line.name == "lake"), 0)
    lag = "not yet known" if snapshot.lag is None else f"{snapshot.lag:,}"
    return (
        f"{snapshot.elapsed:5.0f} s  plays {snapshot.sent.total:,} ({snapshot.rate:,.0f}/s)  lag {lag}  "
        f"fresh {_oldest(snapshot)}  lake {lake:,}  dead letters {snapshot.dead_letters:,}{top}"
        f"{'  ' + _warming(snapshot) if snapshot.cold else ''}{'  ! ' + ', '.join(ill) if ill else ''}"
    )


def _warming(snapshot: Snapshot) -> str:
    """What the demo waits for."""
    warm, cold = len(snapshot.queries) - len(snapshot.cold), snapshot.cold
    return f"warming up: {warm} of {len(snapshot.queries)} have done a batch, waiting for {', '.join(cold)}"


def _oldest(snapshot: Snapshot) -> str:
    """The freshness of the query whose results are oldest, of those that have any: an alert may have none for long."""
    telling = [line.freshness_ms for line in snapshot.queries if line.rows_out > 0]
    known = [millis for millis in telling if millis is not None]
    return _fresh(max(known) if known and len(known) == len(telling) else None)


def _fresh(millis: int | None) -> str:
    return UNKNOWN if millis is None else f"{millis / 1000:,.1f} s"


def _header(snapshot: Snapshot) -> Panel:
    sent = snapshot.sent
    grid = Table.grid(expand=True)
    grid.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    grid.add_column(justify="right", no_wrap=True, min_width=14)
    addresses = Text.assemble(("kafka ", "dim"), snapshot.bootstrap, ("   server ", "dim"), snapshot.url)
    grid.add_row(addresses, Text(_clock(snapshot), style="bold"))
    counts = Text.assemble((f"{sent.total:,} plays", "bold"), f"   {sent.on_time:,} on time   {sent.late:,} late")
    counts.append(f"   {sent.skipped:,} skipped   {sent.malformed:,} malformed")
    if sent.failed:
        counts.append(f"   {sent.failed:,} not acknowledged", style="bold red")
    grid.add_row(counts, f"{snapshot.rate:,.0f} plays/s")
    return Panel(grid, title="Orion · music streaming", title_align="left", box=box.ROUNDED, border_style="cyan")


def _clock(snapshot: Snapshot) -> str:
    elapsed = _minutes(snapshot.elapsed)
    return elapsed if snapshot.seconds is None else f"{elapsed} of {_minutes(snapshot.seconds)}"


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"


def _queries(snapshot: Snapshot) -> Panel:
    table = Table(box=None, expand=True, pad_edge=False, header_style="dim")
    table.add_column("query", no_wrap=True, overflow="ellipsis", ratio=1, min_width=18)
    table.add_column("state", no_wrap=True)
    for title in ("in/s", "out/s", "rows out", "lag", "fresh", "dead"):
        table.add_column(title, justify="right", no_wrap=True, min_width=5)
    for query in snapshot.queries:
        table.add_row(*_query(query, snapshot.rate))
    for query in snapshot.queries:
        if query.error:
            table.add_row(Text(f"{query.name}: {query.error.splitlines()[0]}", style="red"))
            break
    heading = Text.assemble(("queries", "bold"), (f" · {_warming(snapshot)}" if snapshot.cold else "", "yellow"))
    return Panel(table, title=heading, title_align="left", box=box.ROUNDED)


def _query(query: Line, rate: float) -> tuple[Text, ...]:
    behind = query.lag is not None and query.lag > max(1_000.0, 10 * rate)
    return (
        Text(query.name),
        Text(query.state, style=_STATES.get(query.state, "yellow")),
        Text(f"{query.rate_in:,.0f}" if query.is_warm else UNKNOWN),
        Text(f"{query.rate_out:,.0f}" if query.is_warm else UNKNOWN),
        Text(f"{query.rows_out:,}"),
        Text(UNKNOWN if query.lag is None else f"{query.lag:,}", style="yellow" if behind else ""),
        Text(_fresh(query.freshness_ms)),
        Text(f"{query.dead_letters:,}", style="magenta" if query.dead_letters else "dim"),
    )


def _countries(snapshot: Snapshot, rows: int, width: int) -> Panel:
    now, before = snapshot.results.minutes()
    counts = snapshot.results.countries
    current = {country: plays for (start, country), plays in counts.items() if start == now}
    largest = sorted(current.items(), key=lambda item: (-item[1], item[0]))[:rows]
    grid = _grid("left", "right", "wide", "right")
    for country, plays in largest:
        earlier = counts.get((before, country), 0) if before is not None else 0
        bar = _bar(plays, largest[0][1], width - 22)
        grid.add_row(country, f"{plays:,}", bar, Text(f"({earlier:,})" if earlier else "", style="dim"))
    note = f"{_minute(now)} (before)" if largest else ""
    return _result("plays per country", note, grid if largest else _waiting(snapshot, "plays_per_country"))


def _tracks(snapshot: Snapshot, rows: int) -> Panel:
    minute, tracks = snapshot.results.chart()
    grid = _grid("wide", "right", "left")
    for track_id, plays in tracks[:rows]:
        grid.add_row(snapshot.results.title(track_id), f"{plays:,}", _bar(plays, tracks[0][1], 8))
    return _result("top 5 tracks", _minute(minute), grid if tracks else _waiting(snapshot, "top_tracks"))


def _heavy(snapshot: Snapshot, rows: int) -> Panel:
    found = snapshot.results.listeners(rows)
    grid = _grid("left", "wide", "left", "right")
    for minute, plays, user in found:
        when, who = Text(_minute(minute), style="dim"), Text(user, style="dim")
        grid.add_row(when, snapshot.results.name(user), who, f"{plays:,} plays")
    return _result("heavy listeners", "20 plays a minute", grid if found else _waiting(snapshot, "heavy_listeners"))


def _sessions(snapshot: Snapshot, rows: int) -> Panel:
    found = snapshot.results.sessions(rows)
    grid = _grid("left", "wide", "right", "right")
    for session in found:
        length = Text(f"{(session.end - session.start) / 1000:,.0f} s", style="dim")
        since = Text(_second(session.start), style="dim")
        grid.add_row(since, snapshot.results.name(session.user_id), length, f"{session.plays:,} plays")
    return _result("longest sessions", "gap 30 s", grid if found else _waiting(snapshot, "listener_sessions"))


def _grid(*columns: Literal["left", "right", "wide"]) -> Table:
    """Columns without lines; the wide one takes what the others leave."""
    grid = Table.grid(expand=True, padding=(0, 1))
    for column in columns:
        justify: Literal["left", "right"] = "right" if column == "right" else "left"
        grid.add_column(justify=justify, no_wrap=True, overflow="ellipsis", ratio=1 if column == "wide" else None)
    return grid


def _result(title: str, note: str, content: Table | Text) -> Panel:
    heading = Text.assemble((title, "bold"), (f" · {note}" if note else "", "dim"))
    return Panel(content, title=heading, title_align="left", box=box.ROUNDED)


def _waiting(snapshot: Snapshot, name: str) -> Text:
    """Why there are no rows of a query yet: it, or the one whose rows it reads, has done no batch."""
    lines = {line.name: line for line in snapshot.queries}
    held = next((lines[one] for one in (CLEANED, name) if one in lines and not lines[one].is_warm), None)
    if held is None:
        return Text("nothing yet", style="dim")
    why = f"first batch of {held.name} ..." if held.state == "RUNNING" else f"{held.name} is {held.state}"
    return Text(why, style="yellow")


def _bar(part: int, whole: int, width: int) -> Text:
    """A bar in eighths of a character."""
    eighths = round(8 * max(1, width) * part / max(1, whole))
    rest = " ▏▎▍▌▋▊▉"[eighths % 8].strip()
    return Text("█" * (eighths // 8) + rest, style="cyan", no_wrap=True)


def _minute(start: int | None) -> str:
    return "" if start is None else datetime.fromtimestamp(start / 1000).strftime("%H:%M")


def _second(moment: int) -> str:
    return datetime.fromtimestamp(moment / 1000).strftime("%H:%M:%S")
