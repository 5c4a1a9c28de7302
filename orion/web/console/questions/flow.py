"""The way of records through the platform, as a graph laid out from left to right: feeds, topics, queries, sinks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from orion.hub.dead_letters import PREFIX
from orion.plan.catalog import Catalog
from orion.plan.sources import Direction, Source
from orion.web.console.page import address
from orion.web.console.questions.pulse import Job, Reading, sum_known, worst_state
from orion.web.console.questions.targets import place_of

HEIGHT = 56
# A box is as wide as the longest name, within bounds; beside its name it has room for an icon.
_NARROWEST, _WIDEST, _LETTER, _AROUND_NAME = 216, 360, 7.3, 51
_GAP, _DOWN = 60, 76
_MARGIN = 16
_PASSES = 6


@dataclass(frozen=True, slots=True)
class Node:
    """`kind` is topic, letters, query, source, sink or place; `x`, `y` are its upper left corner."""

    id: str
    kind: str
    name: str
    href: str
    state: str = ""
    rate: float | None = None  # records a second that it makes
    lag: int | None = None
    letters: int = 0
    note: str = ""
    layer: int = 0
    x: int = 0
    y: int = 0


@dataclass(frozen=True, slots=True)
class Edge:
    start: str
    end: str
    rate: float | None = None


@dataclass(frozen=True, slots=True)
class Flow:
    nodes: Mapping[str, Node] = field(default_factory=dict)
    edges: tuple[Edge, ...] = ()

    @property
    def box_width(self) -> int:
        return _box_width(self.nodes)

    @property
    def letters_that_fit(self) -> int:
        return int((self.box_width - _AROUND_NAME) / _LETTER)

    @property
    def width(self) -> int:
        return max((n.x + self.box_width for n in self.nodes.values()), default=0) + _MARGIN

    @property
    def height(self) -> int:
        return max((n.y + HEIGHT for n in self.nodes.values()), default=0) + _MARGIN


def _box_width(nodes: Mapping[str, Node]) -> int:
    longest = max((len(node.name) for node in nodes.values()), default=0)
    return min(_WIDEST, max(_NARROWEST, round(_AROUND_NAME + longest * _LETTER)))


def flow(catalog: Catalog, reading: Reading) -> Flow:
    return laid_out(*_drawn(catalog, reading))


def laid_out(nodes: Mapping[str, Node], edges: Sequence[Edge]) -> Flow:
    """A graph with places: what leads to a node stands left of it."""
    layers = _layers(nodes, edges)
    places = _places(layers, edges, _box_width(nodes) + _GAP)
    laid = {}
    for name, node in nodes.items():
        x, y = places[name]
        laid[name] = replace(node, layer=layers[name], x=x, y=y)
    return Flow(laid, tuple(edges))


def _drawn(catalog: Catalog, reading: Reading) -> tuple[dict[str, Node], list[Edge]]:
    nodes: dict[str, Node] = {}
    edges: list[Edge] = []

    def topic(name: str, kinds: Iterable[str]) -> str:
        key = f"topic {name}"
        if key not in nodes:
            rate = reading.topic_rates.get(name)
            is_gone = reading.trouble is None and bool(reading.at) and name in by_topic and name not in reading.ends
            href = address("sources", by_topic[name][0].name) if is_gone else address("topics", name)
            note = "gone" if is_gone else " ".join(kinds)
            nodes[key] = Node(key, "topic", name, href, rate=rate, note=note)
        return key

    by_topic: dict[str, list[Source]] = {}
    for source in catalog.sources.values():
        by_topic.setdefault(source.topic, []).append(source)
    topics = {
        source.name: topic(source.topic, sorted({s.kind.value.lower() for s in by_topic[source.topic]}))
        for source in catalog.sources.values()
    }
    for query in catalog.queries.values():
        job = reading.jobs.get(query.id)
        key = f"query {query.id}"
        status = job.status if job else None
        nodes[key] = Node(
            key,
            "query",
            query.id,
            address("queries", query.id),
            status.state if status else "STOPPED",
            job.rate_out if job else None,
            status.lag if status else None,
            status.dead_letters if status else 0,
            query.guarantee.value,
        )
        rate_in = _share(job.rate_in if job else None, len(query.sources))
        edges += [Edge(topics[s], key, rate_in) for s in dict.fromkeys(query.sources) if s in topics]
        edges.append(Edge(key, topic(query.sink.topic, ("stream",)), job.rate_out if job else None))
        _add_letters(query.sink.name, [job] if job else [], key, nodes, edges)
    _connectors(catalog, reading, nodes, edges)
    return nodes, edges


def _connectors(catalog: Catalog, reading: Reading, nodes: dict[str, Node], edges: list[Edge]) -> None:
    for connector in catalog.connectors.values():
        jobs = [job for job in reading.jobs.values() if job.connector == connector.name]
        is_sink = connector.direction is Direction.SINK
        key = f"connector {connector.name}"
        rate = sum_known(j.rate_in if is_sink else j.rate_out for j in jobs)
        lag = sum_known(j.status.lag for j in jobs)
        nodes[key] = Node(
            key,
            "sink" if is_sink else "source",
            connector.name,
            address("connectors", connector.name),
            worst_state([j.status.state for j in jobs]),
            rate,
            round(lag) if lag is not None and is_sink else None,
            sum(j.status.dead_letters for j in jobs),
            connector.plugin,
        )
        _add_letters(connector.name, jobs, key, nodes, edges)
        place = place_of(connector)
        if place is not None:
            other_end = f"place {connector.name}"
            where = address("connectors", connector.name)
            nodes[other_end] = Node(other_end, "place", place, where, note=connector.plugin)
            edges.append(Edge(key, other_end, rate) if is_sink else Edge(other_end, key, rate))
        for source in connector.sources:
            other = f"topic {source.topic}"
            if other in nodes:
                share = _share(rate, len(connector.sources))
                edges.append(Edge(other, key, share) if is_sink else Edge(key, other, share))


def _add_letters(of: str, jobs: Sequence[Job], key: str, nodes: dict[str, Node], edges: list[Edge]) -> None:
    """The dead-letter topic of a query or connector, where it has sent records there."""
    letters = sum(job.status.dead_letters for job in jobs)
    if letters:
        rate = sum_known(job.letters for job in jobs)
        name = f"{PREFIX}{of}"
        nodes[f"letters {of}"] = Node(
            f"letters {of}", "letters", name, address("dead-letters", of), rate=rate, letters=letters
        )
        edges.append(Edge(key, f"letters {of}", rate))


def _share(rate: float | None, parts: int) -> float | None:
    return None if rate is None else rate / max(1, parts)


def _layers(nodes: Mapping[str, Node], edges: Sequence[Edge]) -> dict[str, int]:
    """How far from the beginning each stands: behind all that lead to it. A way back is no way on."""
    before: dict[str, list[str]] = {name: [] for name in nodes}
    for edge in edges:
        before[edge.end].append(edge.start)
    layers: dict[str, int] = {}

    def layer(name: str, seen: frozenset[str]) -> int:
        if name not in layers:
            ways = [layer(start, seen | {name}) for start in before[name] if start not in seen and start != name]
            layers[name] = max(ways, default=-1) + 1
        return layers[name]

    for name in nodes:
        layer(name, frozenset())
    # A topic that only one reads stands just before it, not at the far left.
    for edge in sorted(edges, key=lambda e: -layers[e.end]):
        follows = [layers[e.end] for e in edges if e.start == edge.start]
        if not before[edge.start] and min(follows) - 1 > layers[edge.start]:
            layers[edge.start] = min(follows) - 1
    return layers


def _places(layers: Mapping[str, int], edges: Sequence[Edge], across: int) -> dict[str, tuple[int, int]]:
    """Corners: each layer is a column, in the order that crosses least; columns are centred."""
    columns: dict[int, list[str]] = {}
    for name in sorted(layers):
        columns.setdefault(layers[name], []).append(name)
    near: dict[str, list[str]] = {name: [] for name in layers}
    for edge in edges:
        near[edge.start].append(edge.end)
        near[edge.end].append(edge.start)
    rank = {name: float(at) for column in columns.values() for at, name in enumerate(column)}
    for turn in range(_PASSES):
        for layer in sorted(columns, reverse=turn % 2 == 1):
            columns[layer].sort(key=lambda name: (_middle(near[name], rank), name))
            offset = (max(map(len, columns.values())) - len(columns[layer])) / 2
            rank |= {name: at + offset for at, name in enumerate(columns[layer])}
    return {name: (_MARGIN + layers[name] * across, round(_MARGIN + rank[name] * _DOWN)) for name in layers}


def _middle(neighbours: Sequence[str], rank: Mapping[str, float]) -> float:
    """Where its neighbours are; what has none stands below everything."""
    return sum(rank[n] for n in neighbours) / len(neighbours) if neighbours else float(len(rank))
