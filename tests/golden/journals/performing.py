"""What an engine journals of a script, without a broker: every record's key and entry; None is an end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from orion import ksql
from orion.ksql.session import Session
from orion.plan.catalog import Catalog, Entry
from orion.plan.steps import DefineSource, Step

FOLDER = Path(__file__).parent
SCRIPTS = sorted(path.stem for path in (FOLDER / "scripts").glob("*.sql"))
_KINDS = {"sources": "source", "queries": "query", "connectors": "connector", "types": "type", "functions": "function"}


def perform_script(name: str) -> Iterator[tuple[str, Entry | None]]:
    """The script's steps, each done as the engine does it: a query is journaled before its sink is."""
    catalog, session = Catalog(), Session.of(None)
    for text in ksql.split((FOLDER / "scripts" / f"{name}.sql").read_text(encoding="utf-8")):
        plan = ksql.compile(text, catalog, session.properties, session.variables)
        for step in sorted(plan.steps, key=lambda step: isinstance(step, DefineSource)):
            session = session.after(step)
            records = list(_journal_step(catalog, step))
            yield from records
            catalog = replace(catalog.after(step), version=catalog.version + len(records))


def _journal_step(catalog: Catalog, step: Step) -> Iterator[tuple[str, Entry | None]]:
    after = catalog.after(step)
    for field in fields(Catalog):
        if field.name in _KINDS:
            old: Mapping[str, Any] = getattr(catalog, field.name)
            new: Mapping[str, Any] = getattr(after, field.name)
            kind = _KINDS[field.name]
            yield from ((f"{kind}/{name}", entry) for name, entry in new.items() if old.get(name) != entry)
            yield from ((f"{kind}/{name}", None) for name in old if name not in new)
