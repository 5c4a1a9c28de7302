"""A registry for cases, as small as ksqlDB's test tool has one: it checks nothing, and numbers what it is given."""

from __future__ import annotations

import json
import re
from typing import Any

from orion.plan.sources import WireSchema, subject
from orion.schema import Role

_TYPES = {"AVRO": "AVRO", "JSON": "JSON", "JSON_SR": "JSON", "PROTOBUF": "PROTOBUF"}


class Shelf:
    """Topics' schemas that a case gives are put up when a statement first speaks of the topic: that numbers them."""

    def __init__(self, topics: list[dict[str, Any]]) -> None:
        self._waiting = [topic for topic in topics if "key_schema" in topic or "value_schema" in topic]
        self._subjects: dict[str, list[int]] = {}
        self._by_id: dict[int, WireSchema] = {}

    def hear(self, statement: str) -> None:
        spoken_of = [t for t in self._waiting if re.search(rf"\b{re.escape(t['name'])}\b", statement, re.IGNORECASE)]
        self._waiting = [t for t in self._waiting if t not in spoken_of]
        for topic in spoken_of:
            for role in (Role.KEY, Role.VALUE):
                side = role.lower()
                if f"{side}_schema" in topic:
                    self._put_up(topic, side, subject(topic["name"], role))

    def _put_up(self, topic: dict[str, Any], side: str, name: str) -> None:
        raw = topic[f"{side}_schema"]
        kind = _TYPES[topic.get(f"{side}_format") or ("PROTOBUF" if "syntax" in str(raw) else "AVRO")]
        text = raw if kind == "PROTOBUF" else json.dumps(raw, default=float)
        references = topic.get(f"{side}_schema_references") or ()
        around = tuple((one["name"], one["schema"]) for one in references)
        self._add(name, kind, text, around, topic.get(f"{side}_schema_id"))

    def _add(
        self, name: str, kind: str, text: str, around: tuple[tuple[str, str], ...] = (), number: int | None = None
    ) -> WireSchema:
        same = (one for one in self._by_id.values() if (one.type, one.text, one.around) == (kind, text, around))
        made = next(same, None) if number is None else None
        if made is None:
            made = WireSchema(number or max(self._by_id, default=0) + 1, kind, text, around)
            self._by_id[made.id] = made
        held = self._subjects.setdefault(name, [])
        if made.id not in held:
            held.append(made.id)
        return made

    # ---- what Orion asks of a registry -------------------------------------------------------------------------

    def latest(self, subject: str) -> WireSchema | None:
        held = self._subjects.get(subject)
        return self._by_id[held[-1]] if held else None

    def versions(self, subject: str) -> list[WireSchema]:
        return list(self.numbered(subject).values())

    def numbered(self, subject: str) -> dict[int, WireSchema]:
        return {at: self._by_id[number] for at, number in enumerate(self._subjects.get(subject, ()), 1)}

    def by_id(self, number: int) -> WireSchema | None:
        return self._by_id.get(number)

    def register(self, subject: str, kind: str, text: str) -> WireSchema:
        return self._add(subject, kind, text)

    def delete(self, subject: str) -> None:
        self._subjects.pop(subject, None)
