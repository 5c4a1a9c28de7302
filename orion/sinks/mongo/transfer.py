"""A slot on its way into MongoDB.

There need be no transactions (a single server has none, and neither has FerretDB): a document goes by its id, so that
writing it again changes nothing, and the epoch comes last. A slot that was cut off runs again over what it left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import pyarrow as pa
from pymongo import MongoClient
from pymongo.collection import Collection

from orion.errors import ExternalError
from orion.sinks.documents.rows import Row, read
from orion.sinks.documents.values import Convert, Unfit, converter
from orion.sinks.mongo.connection import answering
from orion.sinks.mongo.ids import Ids
from orion.sinks.mongo.models import Document, Writing
from orion.sinks.mongo.namespaces import Namespaces
from orion.sinks.mongo.sending import Sender, Step
from orion.sinks.mongo.values import Decimals, bson
from orion.sinks.store import Layout, Refusal, Slot

EPOCHS = "orion_epochs"


@dataclass(frozen=True, slots=True)
class Work:
    """All that a transfer goes by."""

    where: str  # the servers, for errors
    database: str
    layout: Layout
    decimals: Decimals
    ids: Ids
    writing: Writing
    namespaces: Namespaces
    at_a_time: int  # rows in one request; 0: whatever the server bears
    ordered: bool


class MongoSession:
    def __init__(self, client: MongoClient[Document], work: Work) -> None:
        self._client = client
        self._work = work
        plain = bson(work.decimals)
        self._converters = {c.name: converter(c.type, plain) for c in work.layout.columns}

    def begin(self, slot: Slot) -> MongoTransfer | None:
        transfer = MongoTransfer(self._client, self._work, self._converters, slot)
        return None if transfer.is_done() else transfer

    def close(self) -> None:
        self._client.close()


class MongoTransfer:
    def __init__(
        self, client: MongoClient[Document], work: Work, converters: Mapping[str, Convert | None], slot: Slot
    ) -> None:
        self._epochs: Collection[Document] = client[work.database][EPOCHS]
        self._sender = Sender(client, work.where, work.ordered, work.writing.model.by_fields)
        self._work = work
        self._converters = converters
        self._slot = slot
        self._place = f"{slot.task}/{slot.number}"

    def is_done(self) -> bool:
        with answering(self._work.where):
            found = self._epochs.find_one({"_id": self._place})
        return found is not None and int(found["epoch"]) >= self._slot.epoch

    def write(self, rows: pa.RecordBatch) -> Sequence[Refusal]:
        if self.is_done():
            # This worker was given up for lost, and another one has done its work and more: nothing old comes after it.
            told = f"Partition {self._slot.number} of {self._slot.task} has been written by another worker."
            raise ExternalError("SLOT_TAKEN", told)
        read_, refusals = read(rows, self._work.layout, self._converters)
        steps: list[Step] = []
        for row in read_:
            if row.deleted and not self._work.writing.deletes:
                continue
            try:
                steps.append(self._step(row))
            except Unfit as error:
                refusals.append(Refusal(row.offset, str(error)))
        for part in self._parts(steps):
            refusals += self._sender.send(part)
        return refusals

    def finish(self) -> Sequence[Refusal]:
        return ()

    def commit(self) -> None:
        with answering(self._work.where):
            self._epochs.update_one({"_id": self._place}, {"$max": {"epoch": self._slot.epoch}}, upsert=True)

    def abort(self) -> None:
        """What was written stays: it is what the next try writes."""

    def _step(self, row: Row) -> Step:
        id_ = self._work.ids.of(row, self._slot.task)
        return Step(self._work.namespaces.of(row), id_, row.offset, self._work.writing.operation(row, id_))

    def _parts(self, steps: list[Step]) -> list[list[Step]]:
        """Steps of one collection at a time; each collection's in their order."""
        # Sorting keeps the order of what is equal.
        by_place = groupby(sorted(steps, key=lambda s: s.namespace), key=lambda s: s.namespace)
        return [part for _, group in by_place for part in self._cut(list(group))]

    def _cut(self, steps: list[Step]) -> list[list[Step]]:
        size = self._work.at_a_time or len(steps)
        parts: list[list[Step]] = []
        part: list[Step] = []
        seen: set[str] = set()
        for step in steps:
            id_ = "" if self._work.ordered else repr(step.id)
            # Without an order, one document must not stand in a request twice.
            if part and (len(part) >= size or (not self._work.ordered and id_ in seen)):
                parts.append(part)
                part, seen = [], set()
            part.append(step)
            seen.add(id_)
        return [*parts, part] if part else parts
