"""What is done with a document: the write models of MongoDB's own sink.

Each can be done again and leaves the same: nothing counts, and times are those of the records.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, assert_never

from bson import DatetimeMS
from pymongo import DeleteOne, InsertOne, ReplaceOne, UpdateOne
from pymongo.collection import Collection

from orion.sinks.documents.rows import Row
from orion.sinks.documents.values import Unfit

PACKAGE = "com.mongodb.kafka.connect.sink.writemodel.strategy."
INSERTED, MODIFIED = "_insertedTS", "_modifiedTS"

Document = dict[str, Any]
Request = InsertOne[Document] | ReplaceOne[Document] | UpdateOne | DeleteOne


class Model(StrEnum):
    DEFAULT = "DefaultWriteModelStrategy"
    REPLACE = "ReplaceOneDefaultStrategy"
    REPLACE_BY_FIELDS = "ReplaceOneBusinessKeyStrategy"
    INSERT = "InsertOneDefaultStrategy"
    UPDATE = "UpdateOneDefaultStrategy"
    UPDATE_WITH_TIMES = "UpdateOneTimestampsStrategy"
    UPDATE_BY_FIELDS = "UpdateOneBusinessKeyTimestampStrategy"

    @property
    def by_fields(self) -> bool:
        """A document is found by fields of its own; what its `_id` is, the server says."""
        return self in (Model.REPLACE_BY_FIELDS, Model.UPDATE_BY_FIELDS)


class Act(StrEnum):
    INSERT, REPLACE, UPDATE, DELETE = "insert", "replace", "update", "delete"


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing to do with one document: as a part of a request, or as a request of its own."""

    act: Act
    by: Document
    document: Document

    def request(self) -> Request:
        match self.act:
            case Act.INSERT:
                return InsertOne(self.document)
            case Act.REPLACE:
                return ReplaceOne(self.by, self.document, upsert=True)
            case Act.UPDATE:
                return UpdateOne(self.by, self.document, upsert=True)
            case Act.DELETE:
                return DeleteOne(self.by)
            case _:
                assert_never(self.act)

    def alone(self, collection: Collection[Document]) -> None:
        match self.act:
            case Act.INSERT:
                collection.insert_one(self.document)
            case Act.REPLACE:
                collection.replace_one(self.by, self.document, upsert=True)
            case Act.UPDATE:
                collection.update_one(self.by, self.document, upsert=True)
            case Act.DELETE:
                collection.delete_one(self.by)
            case _:
                assert_never(self.act)


@dataclass(frozen=True, slots=True)
class Writing:
    model: Model
    columns: tuple[str, ...]  # what a document has, beside its _id
    deletes: bool  # a record without a value takes its document away

    def operation(self, row: Row, id_: Any) -> Operation:
        by = self._filter(id_)
        if row.deleted:
            return Operation(Act.DELETE, by, {})
        fields = {name: row.fields[name] for name in self.columns}
        match self.model:
            case Model.INSERT:
                return Operation(Act.INSERT, by, {"_id": id_, **fields})
            case Model.REPLACE_BY_FIELDS:
                return Operation(Act.REPLACE, by, fields)
            case Model.UPDATE if fields:
                return Operation(Act.UPDATE, by, {"$set": fields})
            case Model.UPDATE_WITH_TIMES | Model.UPDATE_BY_FIELDS:
                at = DatetimeMS(row.time)
                return Operation(Act.UPDATE, by, {"$set": {**fields, MODIFIED: at}, "$setOnInsert": {INSERTED: at}})
            case _:
                return Operation(Act.REPLACE, by, {"_id": id_, **fields})

    def _filter(self, id_: Any) -> Document:
        if not self.model.by_fields:
            return {"_id": id_}
        if not isinstance(id_, dict):
            raise Unfit(f"the _id is no document, and {self.model} finds documents by its fields")
        return id_
