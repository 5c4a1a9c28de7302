"""Whether dead letters could be read if they were sent back now, by what is declared over the topics they came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orion.formats.rows.checking import Check, Fault
from orion.hub.dead_letters import Repaired
from orion.plan.catalog import Catalog
from orion.plan.sources import Source


def readers(catalog: Catalog, name: str, topic: str) -> list[Source]:
    """As what the records of a topic are read where these letters come from; else all that is declared over it."""
    read = [n for query in catalog.queries.values() if query.sink.name == name for n in query.sources]
    own = [catalog.sources[n] for n in dict.fromkeys(read) if n in catalog.sources]
    own += catalog.connectors[name].sources if name in catalog.connectors else ()
    found = [source for source in own if source.topic == topic]
    return found or [source for source in catalog.sources.values() if source.topic == topic]


def topics_of(found: Sequence[Repaired]) -> list[str]:
    return sorted({one.letter.origin.topic for one in found if one.letter.origin})


def faults_of(found: Sequence[Repaired], checks: Mapping[str, Sequence[Check]]) -> dict[str, Fault]:
    """Why letters would become letters again, by their ids; `checks` are by topic."""
    faults: dict[str, Fault] = {}
    for one in found:
        origin = one.letter.origin
        for check in checks.get(origin.topic, ()) if origin else ():
            fault = check(one.letter.record.key, one.value)
            if fault is not None:
                faults[one.letter.id] = fault
    return faults
