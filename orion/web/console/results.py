"""Rows as a table and as a chart: of a statement's answer, and of rows that come."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

from nicegui import ui

from orion.clients.exporting import FileFormat, export_rows
from orion.web.console import amounts, charts, markup
from orion.web.console.questions.entities import Grid
from orion.web.console.tables import framed
from orion.web.console.view import button, html, replace_with

KEPT, SHOWN = 2_000, 200
_BARS = 20
# Columns that hold milliseconds since 1970, whatever type they have.
_MOMENTS = ("WINDOWSTART", "WINDOWEND", "ROWTIME", "TIMESTAMP")


def grid_html(grid: Grid) -> str:
    """An answer as HTML."""
    title = f'<div class="o-panel__head"><h2>{markup.text(grid.title)}</h2></div>' if grid.title else ""
    if grid.text:
        return f'{title}<pre class="o-code">{markup.text(grid.text)}</pre>'
    if not grid.rows:
        return title + markup.empty("No rows")
    more = len(grid.rows) - SHOWN
    rest = f'<p class="o-about">{amounts.count(more)} more rows; an export has all.</p>' if more > 0 else ""
    return title + rows_html(grid.columns, grid.rows[:SHOWN]) + rest


def rows_html(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    rows = list(rows)
    moments = {at for at, name in enumerate(columns) if name.upper() in _MOMENTS}
    numeric = {at for row in rows for at, value in enumerate(row) if _is_number(value)} - moments
    head = "".join(
        f'<th class="{"num" if at in numeric else ""}">{markup.text(n)}</th>' for at, n in enumerate(columns)
    )
    body = "".join(f"<tr>{''.join(map(_cell, columns, row))}</tr>" for row in rows)
    return framed(head, body)


def _cell(name: str, value: Any) -> str:
    if value is None:
        return '<td class="data"><span class="o-null">NULL</span></td>'
    if name.upper() in _MOMENTS and isinstance(value, int):
        return f'<td class="data" title="{value}">{markup.text(amounts.moment(value))}</td>'
    return f'<td class="data{" num" if _is_number(value) else ""}">{markup.text(_as_text(value))}</td>'


def _as_text(value: Any) -> str:
    """As SQL's users write it, never as Python does."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False, default=str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


class LiveRows:
    """Rows as they come, the newest first; and the last value of each first column as bars."""

    def __init__(self, columns: Sequence[str], types: Sequence[str]) -> None:
        self.count = 0
        self._columns = columns
        self._rows: deque[Sequence[Any]] = deque(maxlen=KEPT)
        self._label, self._numbers = chart_columns(columns, types)
        self._table = html(markup.empty("Waiting for rows", "They show here as they come.", "queries"))
        self._table.classes("o-table-place o-live")
        self._chart = ui.echart(_bars()).classes("o-chart").style("height:360px")
        self._chart.set_visibility(False)

    @property
    def kept(self) -> list[Sequence[Any]]:
        """The rows that are kept, the oldest first."""
        return list(reversed(self._rows))

    @property
    def can_be_drawn(self) -> bool:
        return bool(self._numbers)

    def draw_as(self, chart: bool) -> None:
        self._table.set_visibility(not chart)
        self._chart.set_visibility(chart)
        self._draw()

    def add(self, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            self.count += len(rows)
            self._rows.extendleft(rows)
            self._draw()

    def _draw(self) -> None:
        if self._chart.visible:
            bars = newest(self._rows, self._label, self._numbers)
            self._chart.options["xAxis"]["data"] = list(bars)
            self._chart.options["series"] = [
                _bar_series(self._columns[at], [row[at] for row in bars.values()], charts.COLOURS[n % 8])
                for n, at in enumerate(self._numbers)
            ]
            self._chart.update()
        elif self._rows:
            shown = [row for _, row in zip(range(SHOWN), self._rows, strict=False)]
            replace_with(self._table, rows_html(self._columns, shown))


def export_buttons(
    columns: Sequence[str], types: Sequence[str], rows: Callable[[], Sequence[Sequence[Any]]], name: str = "rows"
) -> None:
    """Buttons that hand a browser the rows as a file."""

    async def hand_over(to: FileFormat) -> None:
        content = await asyncio.to_thread(export_rows, columns, types, rows(), to)
        ui.download.content(content, f"{name}.{to.value}")

    for to in FileFormat:
        button(to.name if to is not FileFormat.PARQUET else "Parquet", partial(hand_over, to), picture="download")


def chart_columns(columns: Sequence[str], types: Sequence[str]) -> tuple[int | None, tuple[int, ...]]:
    """Which column names a bar and which are its height: the first text, and up to three numbers."""
    numeric = ("INTEGER", "BIGINT", "DOUBLE", "DECIMAL")
    times = ("ROWTIME", "WINDOWSTART", "WINDOWEND", "ROWOFFSET", "ROWPARTITION", "OFFSET", "TIMESTAMP", "PARTITION")
    numbers = [at for at, type_ in enumerate(types) if type_.startswith(numeric) and columns[at].upper() not in times]
    label = next((at for at, type_ in enumerate(types) if type_.startswith(("STRING", "VARCHAR"))), None)
    return label, tuple(numbers[:3])


def newest(rows: Iterable[Sequence[Any]], label: int | None, numbers: tuple[int, ...]) -> dict[str, Sequence[Any]]:
    """The last row of each label, the largest first; without a label, the last rows themselves."""
    if label is None:
        last = [row for _, row in zip(range(_BARS), rows, strict=False)]
        return {str(at): row for at, row in enumerate(reversed(last), 1)}
    found: dict[str, Sequence[Any]] = {}
    for row in rows:
        found.setdefault(str(row[label]), row)
    first = numbers[0] if numbers else 0
    ranked = sorted(found.items(), key=lambda item: -float(item[1][first] or 0))
    return dict(ranked[:_BARS])


def _bar_series(name: str, values: list[Any], colour: str) -> dict[str, Any]:
    told = [float(v) if isinstance(v, Decimal) else v for v in values]
    shape = {"borderRadius": [3, 3, 0, 0]}
    return {"name": name, "type": "bar", "data": told, "color": colour, "barMaxWidth": 34, "itemStyle": shape}


def _bars() -> dict[str, Any]:
    options = charts.options("")
    options["xAxis"] |= {"type": "category", "data": []}
    options["animation"] = True
    options["animationDurationUpdate"] = 300
    return options
