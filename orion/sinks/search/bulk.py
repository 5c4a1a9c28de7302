"""A slot on its way into a search server, through the bulk API.

Every document goes with the offset of its record as its version: the server takes nothing older than what it has, in
whatever order requests arrive, and what it has already is no news. The epoch comes last.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple
from urllib.parse import quote

import pyarrow as pa

from orion.errors import ConfigError, ExternalError
from orion.sinks.documents.rows import Row, read
from orion.sinks.documents.values import Convert, Unfit, converter
from orion.sinks.search.client import BUSY, Connection, SearchClient, is_blocked, reason, refusal
from orion.sinks.search.indices import EPOCHS, Indices
from orion.sinks.search.names import Naming
from orion.sinks.search.values import as_id, entries_of, plain, written
from orion.sinks.store import Layout, Refusal, Slot, StoreAway

PROBE = "orion-has-no-such-document"


class Method(StrEnum):
    INSERT = "insert"  # a document takes the place of the one before
    UPSERT = "upsert"  # its fields do, and others stay


class Tombstones(StrEnum):
    """What becomes of records without a value."""

    IGNORE = "ignore"
    DELETE = "delete"
    FAIL = "fail"  # each becomes a dead letter


@dataclass(frozen=True, slots=True)
class Work:
    """All that a transfer goes by."""

    layout: Layout
    connection: Connection
    naming: Naming
    by_key: bool  # ids are keys; else where a record stands
    method: Method
    tombstones: Tombstones
    explicit: bool  # fields of indices are made from the columns
    compact: bool  # a map is an object, not a list of pairs
    most_rows: int  # in one request
    most_bytes: int


class _Action(NamedTuple):
    offset: int
    lines: bytes


class SearchSession:
    def __init__(self, work: Work) -> None:
        self._work = work
        self._client = SearchClient(work.connection)
        self._indices = Indices(self._client, work.layout, explicit=work.explicit, compact=work.compact)
        entries = entries_of(work.compact)
        self._converters = {c.name: converter(c.type, plain, entries) for c in work.layout.columns}

    def prepare(self) -> None:
        fixed = self._work.naming.fixed
        if fixed is not None:
            self._indices.ensure(fixed)
        self._indices.ensure_epochs()
        for name in (fixed, EPOCHS):
            if name is not None:
                # Takes nothing away, and is refused to one who may not write.
                self._client.ask("DELETE", f"/{quote(name)}/_doc/{PROBE}", fine=(404,))

    def reach(self) -> None:
        self._client.ask("GET", "/")

    def begin(self, slot: Slot) -> SearchTransfer | None:
        transfer = SearchTransfer(self._client, self._indices, self._work, self._converters, slot)
        return None if transfer.is_done() else transfer

    def close(self) -> None:
        self._client.close()


@dataclass
class SearchTransfer:
    _client: SearchClient
    _indices: Indices
    _work: Work
    _converters: Mapping[str, Convert | None]
    _slot: Slot
    _waiting: list[_Action] = field(default_factory=list)
    _bytes: int = 0

    def is_done(self) -> bool:
        found = self._client.get(_place(self._slot))
        if found is None or not found.get("found"):
            return False
        with self._client.reading("the epoch of a slot"):
            return int(found["_source"]["epoch"]) >= self._slot.epoch

    def write(self, rows: pa.RecordBatch) -> Sequence[Refusal]:
        if self._work.method is Method.UPSERT and self.is_done():
            # Updates have no versions: a worker that was given up for lost must not come after the one in its place.
            told = f"Partition {self._slot.number} of {self._slot.task} has been written by another worker."
            raise ExternalError("SLOT_TAKEN", told)
        read_, refusals = read(rows, self._work.layout, self._converters)
        for row in read_:
            try:
                action = self._action(row)
            except Unfit as error:
                refusals.append(Refusal(row.offset, str(error)))
                continue
            if action is None:
                continue
            if self._waiting and self._is_full(action):
                refusals += self._flush()
            self._waiting.append(action)
            self._bytes += len(action.lines)
        return refusals

    def finish(self) -> Sequence[Refusal]:
        return self._flush()

    def commit(self) -> None:
        self._indices.ensure_epochs()
        version = f"?version={self._slot.epoch + 1}&version_type=external_gte"
        self._client.put(_place(self._slot) + version, {"epoch": self._slot.epoch}, fine=(409,))

    def abort(self) -> None:
        """What was written stays: it is what the next try writes."""
        self._waiting, self._bytes = [], 0

    # ---- rows as lines -------------------------------------------------------------------------------------------

    def _action(self, row: Row) -> _Action | None:
        if row.deleted and self._work.tombstones is Tombstones.IGNORE:
            return None
        if row.deleted and self._work.tombstones is Tombstones.FAIL:
            raise Unfit("the record has no value ('behavior.on.null.values' is fail)")
        index = self._work.naming.of(row)
        self._indices.ensure(index)
        place = {"_index": index, "_id": self._id(row)}
        version = {"version": row.offset + 1, "version_type": "external"}
        if self._work.method is Method.UPSERT:
            # An update has no version from outside; and then a deletion has none that it could be held against.
            if row.deleted:
                return _action(row, {"delete": place})
            merged = {"doc": row.fields, "doc_as_upsert": True}
            return _action(row, {"update": {**place, "retry_on_conflict": 5}}, merged)
        if row.deleted:
            return _action(row, {"delete": place | version})
        return _action(row, {"index": place | version}, row.fields)

    def _id(self, row: Row) -> str:
        if not self._work.by_key:
            return f"{self._work.layout.topic}+{row.partition}+{row.offset}"
        key = {c.name: row.fields[c.name] for c in self._work.layout.key}
        if all(value is None for value in key.values()):
            raise Unfit(f"{', '.join(key)} would be the document's id, and is NULL")
        return as_id(key)

    def _is_full(self, action: _Action) -> bool:
        return len(self._waiting) >= self._work.most_rows or self._bytes + len(action.lines) > self._work.most_bytes

    # ---- lines to the server -------------------------------------------------------------------------------------

    def _flush(self) -> list[Refusal]:
        actions, self._waiting, self._bytes = self._waiting, [], 0
        return self._send(actions) if actions else []

    def _send(self, actions: list[_Action]) -> list[Refusal]:
        """Until each is taken or refused. Those that a busy server turned away are sent again, and only those."""
        refusals: list[Refusal] = []
        for wait in self._client.pauses():
            answer = self._client.ask(
                "POST",
                "/_bulk?filter_path=errors,items.*.status,items.*.error",
                b"".join(a.lines for a in actions),
                fine=(400, 413),
                lines=True,
            )
            if not answer.is_success:
                if answer.status_code == 400:
                    self._client.read(answer)
                return refusals + self._halved(actions, refusal(answer))
            outcomes = self._outcomes(self._client.read(answer), len(actions))
            if outcomes is None:
                return refusals
            again: list[_Action] = []
            for action, outcome in zip(actions, outcomes, strict=True):
                if outcome["status"] in BUSY:
                    again.append(action)
                elif (why := self._refused(outcome)) is not None:
                    refusals.append(Refusal(action.offset, why))
            if not again:
                return refusals
            if wait is None:
                why = next(reason(o.get("error")) for o in outcomes if o["status"] in BUSY)
                raise StoreAway(f"The search server at {self._client.where}", why)
            actions = again
            time.sleep(wait)
        return refusals

    def _outcomes(self, told: Mapping[str, Any], count: int) -> list[Mapping[str, Any]] | None:
        """What became of each document; None: all are taken."""
        with self._client.reading("documents"):
            if told["errors"] is False:
                return None
            outcomes: list[Mapping[str, Any]] = [dict(*item.values()) for item in told["items"]]
            if len(outcomes) != count or not all(type(one["status"]) is int for one in outcomes):
                raise ValueError("there are others than were asked for")
            return outcomes

    def _halved(self, actions: list[_Action], why: str) -> list[Refusal]:
        """A request that is refused as a whole, for its size or one line in it: its halves tell which one."""
        if len(actions) == 1:
            return [Refusal(actions[0].offset, why)]
        half = len(actions) // 2
        return self._send(actions[:half]) + self._send(actions[half:])

    def _refused(self, outcome: Mapping[str, Any]) -> str | None:
        """Why a document isn't taken; None: it is there, or gone, as it should be."""
        status, error = outcome["status"], outcome.get("error")
        if error is None:
            return None
        told = reason(error)
        if status == 409:
            if self._work.method is Method.UPSERT:
                raise StoreAway(f"The search server at {self._client.where}", told)
            return None  # What is there is this row, or a newer one.
        if status == 403 and not is_blocked(told):
            raise ConfigError("STORE_FORBIDDEN", f"The search server at {self._client.where}: {told}.")
        if status in (403, 404) or status >= 500:  # 404: the index is gone; the next run makes it again
            raise StoreAway(f"The search server at {self._client.where}", told)
        return told


def _action(row: Row, what: Mapping[str, Any], document: Mapping[str, Any] | None = None) -> _Action:
    lines = [written(what)] if document is None else [written(what), written(document)]
    return _Action(row.offset, b"\n".join(lines) + b"\n")


def _place(slot: Slot) -> str:
    return f"/{EPOCHS}/_doc/{quote(f'{slot.task}:{slot.number}', safe='')}"
