"""Everything that has a name and a page, for who knows the name and not the way."""

from __future__ import annotations

from dataclasses import dataclass

from orion.app import Orion
from orion.errors import OrionError
from orion.web.console.page import address

MOST = 12


@dataclass(frozen=True, slots=True)
class Place:
    """Something to go to."""

    name: str
    kind: str
    icon: str
    href: str


def places(orion: Orion) -> tuple[list[Place], bool]:
    """What is declared, what runs, topics and groups; and whether that is all there is."""
    catalog = orion.engine.catalog
    found = [
        Place(s.name, s.kind.value.lower(), "sources", address("sources", s.name)) for s in catalog.sources.values()
    ]
    found += [Place(q, "query", "queries", address("queries", q)) for q in catalog.queries]
    found += [Place(c, "connector", "connectors", address("connectors", c)) for c in catalog.connectors]
    try:
        found += [Place(t.name, "topic", "topics", address("topics", t.name)) for t in orion.kafka.outlines()]
        found += [Place(g.name, "group", "groups", address("groups", g.name)) for g in orion.kafka.groups()]
    except OrionError:  # the rest can be gone to all the same
        return found, False
    return found, True


def fitting(all_places: list[Place], wanted: str) -> list[Place]:
    """Those whose name or kind has all the words: the ones that begin so first, then the short ones."""
    words = wanted.lower().split()
    if not words:
        return all_places[:MOST]
    fit = [p for p in all_places if all(word in f"{p.name} {p.kind}".lower() for word in words)]
    return sorted(fit, key=lambda p: (not p.name.lower().startswith(words[0]), len(p.name), p.name))[:MOST]
