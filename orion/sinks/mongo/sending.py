"""Operations on their way to the server, and which of them it refuses.

They go in one request as long as that works. Where a request is refused as a whole, or an ordered one ends at the first
operation that is refused, they go one by one from there, and in growing requests again as long as those work.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bson import encode
from bson.errors import BSONError
from pymongo import MongoClient
from pymongo.collection import Collection
from pymongo.errors import (
    BulkWriteError,
    ConnectionFailure,
    NetworkTimeout,
    NotPrimaryError,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
    WaitQueueTimeoutError,
    WriteError,
)

from orion.errors import ExternalError
from orion.sinks.mongo.connection import answering, briefly, failed
from orion.sinks.mongo.models import Act, Document, Operation
from orion.sinks.mongo.namespaces import Namespace
from orion.sinks.store import Refusal, StoreAway

DUPLICATE = 11000
_DUPLICATED = re.compile(r"\s*dup key: .*", re.DOTALL)
_GONE = (NetworkTimeout, NotPrimaryError, ServerSelectionTimeoutError, WaitQueueTimeoutError)
# A request can't be sent, or its answer not be read: a document too long, a name with a zero byte, an answer of
# FerretDB's without the count that the client looks for.
_UNSENT = (BSONError, PyMongoError, OverflowError, ValueError, KeyError)


@dataclass(frozen=True, slots=True)
class Step:
    """What is done for one record."""

    namespace: Namespace
    id: Any
    offset: int
    operation: Operation


@dataclass(frozen=True, slots=True)
class Outcome:
    over: int  # how many steps are over with; the rest is still to do
    refusals: tuple[Refusal, ...] = ()


@dataclass(frozen=True, slots=True)
class Sender:
    client: MongoClient[Document]
    where: str  # the servers, for errors
    ordered: bool
    by_fields: bool  # documents are found by fields, not by their ids

    def send(self, steps: list[Step]) -> list[Refusal]:
        """All steps, which are for one collection."""
        refusals: list[Refusal] = []
        at, width = 0, len(steps)
        while at < len(steps):
            part = steps[at : at + width]
            outcome = self._alone(part[0]) if len(part) == 1 else self._together(part)
            refusals += outcome.refusals
            at += outcome.over
            width = width * 2 if outcome == Outcome(len(part)) else 1
        return refusals

    def _together(self, steps: list[Step]) -> Outcome:
        try:
            self._collection(steps[0]).bulk_write([s.operation.request() for s in steps], ordered=self.ordered)
            return Outcome(len(steps))
        except BulkWriteError as error:
            return self._sorted_out(steps, error.details or {})
        except ConnectionFailure as error:
            self._must_live(error)
            return Outcome(0)
        except OperationFailure as error:
            self._must_be_refused(error)
            return Outcome(0)
        except _UNSENT:
            return Outcome(0)

    def _alone(self, step: Step, *, again: bool = False) -> Outcome:
        try:
            step.operation.alone(self._collection(step))
            return Outcome(1)
        except WriteError as error:
            told = {"index": 0, "code": error.code, "errmsg": (error.details or {}).get("errmsg", str(error))}
            return self._sorted_out([step], {"writeErrors": [told]})
        except ConnectionFailure as error:
            # The server may have just come back. One that hangs up twice, and lives, can't read this.
            self._must_live(error)
            return self._refused(step, "the server closes the connection") if again else self._alone(step, again=True)
        except OperationFailure as error:
            self._must_be_refused(error)
            return self._refused(step, f"{briefly(error)} (code {error.code})")
        except _UNSENT as error:
            return self._refused(step, f"it can't be sent: {type(error).__name__}")

    def _refused(self, step: Step, why: str) -> Outcome:
        return Outcome(1, (Refusal(step.offset, why),))

    def _sorted_out(self, steps: list[Step], details: Mapping[str, Any]) -> Outcome:
        """What a server has done of a request that it refuses in part."""
        errors: list[Mapping[str, Any]] = list(details.get("writeErrors", ()))
        if not errors:
            told = "; ".join(str(e.get("errmsg")) for e in details.get("writeConcernErrors", ()))
            raise StoreAway(f"MongoDB at {self.where}", told or "the write isn't confirmed")
        refusals = [
            Refusal(steps[e["index"]].offset, _reason(e)) for e in errors if not self._is_there(steps[e["index"]], e)
        ]
        over = errors[0]["index"] + 1 if self.ordered else len(steps)
        return Outcome(over, tuple(refusals))

    def _is_there(self, step: Step, error: Mapping[str, Any]) -> bool:
        """Whether what was refused has been written by a try before; raises for what isn't the document's fault."""
        code, told = error.get("code"), str(error.get("errmsg"))
        why = failed(self.where, code, told)
        if not _is_refusal(why):
            raise why
        if code != DUPLICATE:
            return False
        if step.operation.act is Act.INSERT:
            with answering(self.where):
                found = self._collection(step).find_one({"_id": step.id})
            return found is not None and encode(found) == encode(step.operation.document)
        if "_id_" in told and not self.by_fields:
            # Two have put the same document there in the same moment.
            raise StoreAway(f"MongoDB at {self.where}", "another writer was there in the same moment")
        return False

    def _collection(self, step: Step) -> Collection[Document]:
        return self.client[step.namespace.database][step.namespace.collection]

    def _must_live(self, error: ConnectionFailure) -> None:
        """Raises unless the server has only hung up, and answers."""
        away = StoreAway(f"MongoDB at {self.where}", briefly(error))
        if isinstance(error, _GONE):
            raise away from None
        try:
            self.client.admin.command("ping")
        except PyMongoError:
            raise away from None

    def _must_be_refused(self, error: OperationFailure) -> None:
        """Raises unless it is what was sent that the server doesn't take."""
        why = failed(self.where, error.code, briefly(error), error)
        if not _is_refusal(why):
            raise why from None


def _is_refusal(why: Exception) -> bool:
    return isinstance(why, ExternalError) and not isinstance(why, StoreAway)


def _reason(error: Mapping[str, Any]) -> str:
    """The server's words, without the values it quotes."""
    return f"{_DUPLICATED.sub('', str(error.get('errmsg', ''))).rstrip('. ')} (code {error.get('code')})"
