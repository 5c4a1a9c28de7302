"""Flow: feeds, topics, queries and sinks as one graph, with how fast records go through it."""

from __future__ import annotations

from orion.web.console import amounts, markup
from orion.web.console.icons import icon
from orion.web.console.page import Page
from orion.web.console.questions.flow import HEIGHT, WIDTH, Edge, Flow, Node, flow
from orion.web.console.view import View, heading, html, panel, replace_with

_ICONS = {"topic": "topics", "query": "queries", "source": "connectors", "sink": "connectors"}
_NAME = 23  # letters that fit


async def draw(view: View) -> None:
    heading("Flow", "Records go from left to right. A line's width is how many go along it each second.")
    with panel(classes="o-flow"):
        place = html("")

    async def refresh() -> None:
        reading = await view.desk.reading()
        replace_with(place, drawn(flow(view.orion.engine.catalog, reading)))

    await refresh()
    view.every(2.0, refresh)


def drawn(found: Flow) -> str:
    """The graph as SVG: nodes are links, so that Tab and Enter go there too."""
    if not found.nodes:
        told = f"Declare a stream on the {markup.link('SQL', 'sql')} page, or make a connector."
        return markup.empty("Nothing flows yet", told, "flow")
    lines = "".join(_line(edge, found) for edge in found.edges)
    boxes = "".join(map(_box, found.nodes.values()))
    # It shrinks to fit as long as it can be read; then it scrolls.
    fits = f"width:100%;max-width:{found.width}px;min-width:{round(found.width * 0.7)}px"
    size = f'style="{fits}" viewBox="0 0 {found.width} {found.height}"'
    return f'<svg class="o-graph" {size} role="group" aria-label="Flow of records">{lines}{boxes}</svg>'


def _line(edge: Edge, found: Flow) -> str:
    start, end = found.nodes[edge.start], found.nodes[edge.end]
    x1, y1 = start.x + WIDTH, start.y + HEIGHT // 2
    x2, y2 = end.x, end.y + HEIGHT // 2
    bend = max(40, abs(x2 - x1) // 2)
    way = f"M{x1},{y1} C{x1 + bend},{y1} {x2 - bend},{y2} {x2},{y2}"
    width = 1.5 + min(4.5, (edge.rate**0.5) / 6)
    going = " is-going" if edge.rate > 0 else ""
    label = ""
    if edge.rate > 0:
        # Nearer to the end: there the lines of a node's several readers are apart.
        label = f'<text x="{x2 - 10}" y="{y2 - 7}" text-anchor="end">{amounts.rate(edge.rate)}</text>'
    return f'<path class="o-way{going}" d="{way}" style="stroke-width:{width:.1f}px"/>{label}'


def _box(node: Node) -> str:
    name = node.name if len(node.name) <= _NAME else f"{node.name[: _NAME - 1]}…"
    tone = markup.tone_of(node.state) if node.state else "plain"
    dot = f'<circle class="o-dot o-dot--{tone}" cx="{WIDTH - 16}" cy="38" r="4"/>' if node.state else ""
    title = f"<title>{markup.text(f'{node.kind} {node.name} {node.state.lower()}'.strip())}</title>"
    picture = icon(_ICONS[node.kind]).replace("<svg ", '<svg x="12" y="11" width="15" height="15" ')
    return (
        f'<a href="{markup.text(node.href)}" class="o-node o-node--{node.kind} o-node--{tone}" '
        f'transform="translate({node.x},{node.y})">{title}<rect width="{WIDTH}" height="{HEIGHT}" rx="9"/>{picture}'
        f'<text class="o-node__name" x="35" y="23">{markup.text(name)}</text>'
        f'<text class="o-node__note" x="35" y="42">{markup.text(_note(node))}</text>{dot}</a>'
    )


def _note(node: Node) -> str:
    """What matters most of it, in a few letters."""
    told = [node.note] if node.note else []
    if node.lag is not None:
        told.append(f"lag {amounts.short(node.lag)}")
    if node.letters:
        told.append(f"{amounts.short(node.letters)} dead")
    elif node.kind in ("topic", "source") and node.rate > 0:
        told.append(amounts.rate(node.rate))
    return " · ".join(told)


PAGE = Page("Flow", "flow", {"/flow": draw}, words=("graph", "lineage", "topology"))
