"""Lines over time: small ones as SVG beside a number, large ones by ECharts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nicegui import ui

Points = Sequence[tuple[int, float | None]]
COLOURS = ("#6366f1", "#0ea5e9", "#10b981", "#f59e0b", "#ec4899", "#8b5cf6", "#14b8a6", "#ef4444")
_GREY, _LINE = "#8a94a6", "rgba(138,148,166,.18)"
_WIDTH, _HEIGHT = 120, 28


def spark(points: Points, tone: str = "accent") -> str:
    """The last minutes of a number; nothing where there is no time to show yet."""
    known = [(at, value) for at, value in points if value is not None]
    if len(known) < 2 or known[-1][0] == known[0][0]:
        return f'<svg class="o-spark" viewBox="0 0 {_WIDTH} {_HEIGHT}"></svg>'
    first, last = known[0][0], known[-1][0]
    most = max(value for _, value in known) or 1.0
    places = [
        f"{(at - first) / (last - first) * _WIDTH:.1f},{_HEIGHT - 2 - value / most * (_HEIGHT - 5):.1f}"
        for at, value in known
    ]
    line = " ".join(places)
    return (
        f'<svg class="o-spark o-spark--{tone}" viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" '
        f'aria-hidden="true"><polygon points="0,{_HEIGHT} {line} {_WIDTH},{_HEIGHT}"/><polyline points="{line}"/></svg>'
    )


class TimeChart:
    """Lines over time that grow; `show` gives all of them anew."""

    def __init__(self, unit: str, *, height: str = "220px", area: bool = True) -> None:
        self._area = area
        self._chart = ui.echart(options(unit)).classes("o-chart").style(f"height:{height}")

    def show(self, lines: dict[str, Points]) -> None:
        self._chart.options["series"] = [
            _series(name, points, COLOURS[at % len(COLOURS)], self._area and len(lines) <= 3)
            for at, (name, points) in enumerate(lines.items())
        ]
        self._chart.options["legend"]["data"] = list(lines)
        self._chart.update()


def _series(name: str, points: Points, colour: str, area: bool) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": name,
        "type": "line",
        "showSymbol": False,
        "lineStyle": {"width": 1.8},
        "color": colour,
        "data": [[at, None if value is None else round(value, 1)] for at, value in points],
    }
    if area:
        made["areaStyle"] = {"opacity": 0.09}
    return made


def options(unit: str) -> dict[str, Any]:
    return {
        "animation": False,
        "grid": {"left": 8, "right": 12, "top": 30, "bottom": 4, "containLabel": True},
        "legend": {
            "top": 0,
            "left": 0,
            "type": "scroll",
            "icon": "roundRect",
            "itemWidth": 10,
            "itemHeight": 3,
            "textStyle": {"color": _GREY, "fontSize": 11},
            "pageTextStyle": {"color": _GREY},
            "data": [],
        },
        "tooltip": {
            "trigger": "axis",
            "confine": True,
            "backgroundColor": "#111827",
            "borderWidth": 0,
            "textStyle": {"color": "#f3f4f6", "fontSize": 12},
            ":valueFormatter": f"(v) => v == null ? '-' : Number(v).toLocaleString('en') + {unit!r}",
        },
        "xAxis": {
            "type": "time",
            "axisLine": {"lineStyle": {"color": _LINE}},
            "axisTick": {"show": False},
            "axisLabel": {"color": _GREY, "fontSize": 11, "hideOverlap": True},
        },
        "yAxis": {
            "type": "value",
            "min": 0,
            "splitNumber": 3,
            "splitLine": {"lineStyle": {"color": _LINE}},
            "axisLabel": {"color": _GREY, "fontSize": 11},
        },
        "series": [],
    }
