"""Flow: feeds, topics, queries and sinks as one graph, with how fast records go through it."""

from __future__ import annotations

from orion.web.console import amounts, markup
from orion.web.console.icons import icon
from orion.web.console.page import Page
from orion.web.console.questions.flow import HEIGHT, Edge, Flow, Node, flow
from orion.web.console.tables import search_box
from orion.web.console.view import View, heading, html, panel, replace_with, toolbar

_ICONS = {
    "topic": "topics",
    "letters": "letters",
    "query": "queries",
    "source": "connectors",
    "sink": "connectors",
    "place": "inbox",
}


async def draw(view: View) -> None:
    heading("Flow", "Records go from left to right. A line's width is how many go along it each second.")
    with toolbar():
        wanted = search_box("Find in the graph", lambda _: show())
        html("", classes="o-spacer")
        html("".join(map(_zoom_button, _ZOOMS)), classes="o-toolbar")
    with panel(classes="o-flow"):
        place = html("")
    found = Flow()

    def show() -> None:
        replace_with(place, drawn(found, (wanted.value or "").strip().lower()))

    async def refresh() -> None:
        nonlocal found
        found = flow(view.orion.engine.catalog, await view.desk.reading())
        show()

    await refresh()
    view.every(2.0, refresh)


# What a press multiplies the size by; 0: as it fits.
_ZOOMS = ((0.8, "\N{MINUS SIGN}", "Smaller"), (0, "Fit", "As large as fits"), (1.25, "+", "Larger"))


def _zoom_button(zoom: tuple[float, str, str]) -> str:
    by, sign, title = zoom
    return (
        f'<button type="button" class="o-button" data-zoom="{by}" title="{title}" aria-label="{title}">{sign}</button>'
    )


def drawn(found: Flow, wanted: str = "") -> str:
    """The graph as SVG: nodes are links, so that Tab and Enter go there too. What isn't `wanted` steps back."""
    if not found.nodes:
        told = f"Declare a stream on the {markup.link('SQL', 'sql')} page, or make a connector."
        return markup.empty("Nothing flows yet", told, "flow")
    lines = "".join(_line(edge, found) for edge in found.edges)
    boxes = "".join(_box(node, found, wanted not in node.name.lower()) for node in found.nodes.values())
    # It shrinks to fit as long as it can be read; then it scrolls. `--zoom` is the looker's own.
    zoom = "var(--zoom,1)"
    fits = (
        f"width:calc({zoom}*100%);max-width:calc({zoom}*{found.width}px);"
        f"min-width:calc({zoom}*{round(found.width * 0.7)}px)"
    )
    size = f'style="{fits}" viewBox="0 0 {found.width} {found.height}"'
    return f'<svg class="o-graph" {size} role="group" aria-label="Flow of records">{lines}{boxes}</svg>'


def _line(edge: Edge, found: Flow) -> str:
    start, end = found.nodes[edge.start], found.nodes[edge.end]
    x1, y1 = start.x + found.box_width, start.y + HEIGHT // 2
    x2, y2 = end.x, end.y + HEIGHT // 2
    bend = max(40, abs(x2 - x1) // 2)
    way = f"M{x1},{y1} C{x1 + bend},{y1} {x2 - bend},{y2} {x2},{y2}"
    rate = edge.rate or 0.0
    width = 1.5 + min(4.5, (rate**0.5) / 6)
    going = " is-going" if rate > 0 else ""
    label = ""
    if rate > 0:
        # Nearer to the end: there the lines of a node's several readers are apart.
        label = f'<text x="{x2 - 10}" y="{y2 - 7}" text-anchor="end">{amounts.rate(edge.rate)}</text>'
    return f'<path class="o-way{going}" d="{way}" style="stroke-width:{width:.1f}px"/>{label}'


def _box(node: Node, found: Flow, is_dim: bool) -> str:
    width, fit = found.box_width, found.letters_that_fit
    name = node.name if len(node.name) <= fit else f"{node.name[: fit - 1]}…"
    tone = markup.tone_of(node.state) if node.state else "plain"
    dot = f'<circle class="o-dot o-dot--{tone}" cx="{width - 16}" cy="38" r="4"/>' if node.state else ""
    title = f"<title>{markup.text(f'{node.kind} {node.name} {node.state.lower()}'.strip())}</title>"
    picture = icon(_ICONS[node.kind]).replace("<svg ", '<svg x="12" y="11" width="15" height="15" ')
    classes = f"o-node o-node--{node.kind} o-node--{tone}{' is-dim' if is_dim else ''}"
    return (
        f'<a href="{markup.text(node.href)}" class="{classes}" '
        f'transform="translate({node.x},{node.y})">{title}<rect width="{width}" height="{HEIGHT}" rx="9"/>{picture}'
        f'<text class="o-node__name" x="35" y="23">{markup.text(name)}</text>'
        f'<text class="o-node__note" x="35" y="42">{markup.text(_note(node))}</text>{dot}</a>'
    )


def _note(node: Node) -> str:
    """What matters most of it, in a few letters."""
    told = [node.note] if node.note else []
    if node.kind in ("query", "sink"):
        told.append(f"lag {amounts.short(node.lag)}")
    if node.kind == "letters":
        told.append(f"{amounts.short(node.letters)} dead letters")
    elif node.kind in ("topic", "source") and node.rate:
        told.append(amounts.rate(node.rate))
    return " · ".join(told)


PAGE = Page("Flow", "flow", {"/flow": draw}, words=("graph", "lineage", "topology"))
