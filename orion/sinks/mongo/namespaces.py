"""Into which collection of which database a row goes: one for all, where a transform sends it, or by fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from orion.sinks.documents.rows import Row
from orion.sinks.documents.values import Unfit

PACKAGE = "com.mongodb.kafka.connect.sink.namespace.mapping."
TOPIC = "${topic}"
BY_FIELDS = "FieldPathNamespaceMapper"
_ILLEGAL_IN_DATABASES = set('/\\. "$*<>:|?\0')


class Namespace(NamedTuple):
    database: str
    collection: str


Path = tuple[str, ...]  # a column, and fields of what it holds


@dataclass(frozen=True, slots=True)
class Namespaces:
    database: str
    collection: str  # with ${topic}, in whose place a route comes
    topic: str
    database_field: Path | None = None
    collection_field: Path | None = None
    strict: bool = False  # a row whose fields say no name is refused, and doesn't go to the one for all

    @property
    def main(self) -> Namespace:
        """Where a row goes that nothing sends elsewhere."""
        return Namespace(self.database, self.collection.replace(TOPIC, self.topic))

    def of(self, row: Row) -> Namespace:
        collection = self.collection.replace(TOPIC, row.route or self.topic)
        if not _is_collection(collection):
            raise Unfit("where it is sent is no name of a collection")
        database = self._by(self.database_field, row, _is_database) or self.database
        return Namespace(database, self._by(self.collection_field, row, _is_collection) or collection)

    def _by(self, path: Path | None, row: Row, legal: Any) -> str | None:
        if path is None:
            return None
        # A record without a value has fields of its key only.
        found: Any = row.fields
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        if isinstance(found, str) and legal(found):
            return found
        if self.strict and not (row.deleted and found is None):
            raise Unfit(f"{'.'.join(path)} is no name that MongoDB takes")
        return None


def _is_database(name: str) -> bool:
    return 0 < len(name.encode()) < 64 and not _ILLEGAL_IN_DATABASES & set(name)


def _is_collection(name: str) -> bool:
    legal = not name.startswith((".", "system.")) and not name.endswith(".") and ".." not in name
    return 0 < len(name.encode()) < 200 and legal and not {"$", "\0"} & set(name)
