"""Indices with fields for the rows that go into them: made, or held against and widened."""

from __future__ import annotations

from urllib.parse import quote

from orion.sinks.search.client import SearchClient, refusal
from orion.sinks.search.mappings import mappings, missing
from orion.sinks.store import Layout

EPOCHS = "orion_epochs"
# A server forgets versions of what was deleted: later than by itself, so that no retry is as late.
SETTINGS = {"index.gc_deletes": "10m"}


class Indices:
    def __init__(self, client: SearchClient, layout: Layout, *, explicit: bool, compact: bool) -> None:
        self._client = client
        self._layout = layout
        self._explicit = explicit  # fields are made from the columns; else the server guesses
        self._compact = compact
        self._ready: set[str] = set()

    def ensure(self, name: str, *, again: bool = True) -> None:
        if name in self._ready:
            return
        there = self._client.get(f"/{quote(name)}/_mapping")
        if there is None:
            fields = mappings(self._layout.columns, self._compact) if self._explicit else {}
            if not self._make(name, {"settings": SETTINGS, "mappings": fields}):
                if not again:
                    raise self._client.strange(f"the index {name} is there and isn't")
                self.ensure(name, again=False)
                return
        elif self._explicit:
            for index, told in there.items():
                with self._client.reading(f"the fields of {name}"):
                    has = told["mappings"].get("properties", {})
                    added = missing(self._layout.columns, has, index, self._compact)
                if added:
                    self._client.put(f"/{quote(index)}/_mapping", {"properties": added})
        self._ready.add(name)

    def ensure_epochs(self) -> None:
        if EPOCHS not in self._ready and self._client.get(f"/{EPOCHS}/_mapping") is None:
            fields = {"dynamic": "strict", "properties": {"epoch": {"type": "long"}}}
            self._make(EPOCHS, {"settings": {"index.hidden": True, "number_of_shards": 1}, "mappings": fields})
        self._ready.add(EPOCHS)

    def _make(self, name: str, body: dict[str, object]) -> bool:
        """Make an index; False: somebody else has, in the same moment."""
        answer = self._client.put(f"/{quote(name)}", body, fine=(400,))
        if answer.status_code != 400:
            return True
        if "already_exists" in refusal(answer):
            return False
        raise self._client.failed(answer)
