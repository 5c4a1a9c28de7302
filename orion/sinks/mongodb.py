"""mongodb: rows as documents of MongoDB collections, by the options of MongoDB's own sink.

A document goes by its id, and all that a row does can be done again: a batch that was cut off runs again and leaves the
same. Done slots are kept in the collection `orion_epochs` beside the documents.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from bson import Decimal128
from pydantic import Field, SecretStr, field_validator
from pymongo import MongoClient
from pymongo.errors import PyMongoError

from orion.errors import ConfigError, hint_nearest
from orion.options import Options, understood
from orion.plan.sources import Connector, Kind
from orion.sinks.mongo import ids, models, namespaces
from orion.sinks.mongo.connection import address_parts, answering, connect
from orion.sinks.mongo.ids import Ids, Projection, Strategy, column_named, projected
from orion.sinks.mongo.models import Document, Model, Writing
from orion.sinks.mongo.namespaces import Namespaces
from orion.sinks.mongo.transfer import EPOCHS, MongoSession, Work
from orion.sinks.mongo.values import Decimals, has_decimal
from orion.sinks.store import Layout, Nested

MOST_ROWS = 10_000  # in one request
MOST_ROWS_OF_FERRETDB = 10
PROBE = "orion: no document has this id"


class MongoOptions(Options):
    uri: SecretStr = Field(alias="connection.uri", description="the servers, as mongodb://user:password@host:port")
    database: str | None = Field(default=None, description="the database; by default the one in connection.uri")
    collection: str = Field(
        default=namespaces.TOPIC, description="the collection; ${topic} is the topic's name", min_length=1
    )
    id_strategy: Strategy | None = Field(
        default=None,
        alias="document.id.strategy",
        description="what _id is; by default a table's key, and of a stream topic#partition#offset",
    )
    overwrite: bool = Field(
        default=False,
        alias="document.id.strategy.overwrite.existing",
        description="whether the strategy's _id stands in place of one that the record has",
    )
    key_list: tuple[str, ...] = Field(
        default=(),
        alias="document.id.strategy.partial.key.projection.list",
        description="columns of the key, for PartialKeyStrategy",
    )
    key_list_type: Projection = Field(
        default=Projection.ALLOW,
        alias="document.id.strategy.partial.key.projection.type",
        description="whether these are the ones taken or those left out: allowlist or blocklist",
    )
    value_list: tuple[str, ...] = Field(
        default=(),
        alias="document.id.strategy.partial.value.projection.list",
        description="columns of the value, for PartialValueStrategy",
    )
    value_list_type: Projection = Field(
        default=Projection.ALLOW,
        alias="document.id.strategy.partial.value.projection.type",
        description="whether these are the ones taken or those left out: allowlist or blocklist",
    )
    uuid_format: Literal["string", "binary"] = Field(
        default="string", alias="document.id.strategy.uuid.format", description="how UuidStrategy writes its ids"
    )
    model: Model = Field(
        default=Model.REPLACE, alias="writemodel.strategy", description="what is done with a document that is there"
    )
    deletes: bool | None = Field(
        default=None,
        alias="delete.on.null.values",
        description="whether a record without a value deletes its document; by default of a table",
    )
    mapper: str = Field(
        default="DefaultNamespaceMapper",
        alias="namespace.mapper",
        description="DefaultNamespaceMapper or FieldPathNamespaceMapper",
    )
    key_database: str | None = Field(
        default=None, alias="namespace.mapper.key.database.field", description="field of the key that is the database"
    )
    key_collection: str | None = Field(
        default=None,
        alias="namespace.mapper.key.collection.field",
        description="field of the key that is the collection",
    )
    value_database: str | None = Field(
        default=None,
        alias="namespace.mapper.value.database.field",
        description="field of the value that is the database",
    )
    value_collection: str | None = Field(
        default=None,
        alias="namespace.mapper.value.collection.field",
        description="field of the value that is the collection",
    )
    strict_mapper: bool = Field(
        default=False,
        alias="namespace.mapper.error.if.invalid",
        description="whether a row whose field is no name is refused; else it goes to 'database' and 'collection'",
    )
    batch_size: int = Field(
        default=0, alias="max.batch.size", description="most rows in one request; 0 means 10000", ge=0
    )
    ordered: bool = Field(
        default=True, alias="bulk.write.ordered", description="whether the server takes rows one after the other"
    )
    decimals: Decimals = Field(
        default=Decimals.PRECISE,
        alias="decimal.handling.mode",
        description="DECIMAL as decimal128 (precise), as a text (string) or rounded (double)",
    )

    @field_validator("key_list", "value_list", mode="before")
    @classmethod
    def _split(cls, written: Any) -> Any:
        return tuple(w.strip() for w in written.split(",") if w.strip()) if isinstance(written, str) else written

    @field_validator("key_list_type", "value_list_type", "decimals", mode="before")
    @classmethod
    def _lower(cls, written: Any) -> Any:
        return written.strip().lower() if isinstance(written, str) else written

    @field_validator("id_strategy", mode="before")
    @classmethod
    def _strategy(cls, written: Any) -> Any:
        return _named(written, [s.value for s in Strategy], ids.PACKAGE) if isinstance(written, str) else written

    @field_validator("model", mode="before")
    @classmethod
    def _model(cls, written: Any) -> Any:
        return _named(written, [m.value for m in Model], models.PACKAGE) if isinstance(written, str) else written

    @field_validator("mapper", mode="before")
    @classmethod
    def _mapper(cls, written: Any) -> Any:
        known = ["DefaultNamespaceMapper", namespaces.BY_FIELDS]
        return _named(written, known, namespaces.PACKAGE) if isinstance(written, str) else written


OPTIONS = MongoOptions


def _named(written: str, known: list[str], package: str) -> str | None:
    """A class of MongoDB's sink, by its full name, its own, or that without its last word."""
    if not written.strip():
        return None
    name = written.strip().removeprefix(package)
    short = {k.lower().removesuffix("strategy"): k for k in known}
    found = short.get(name.lower().removesuffix("strategy"))
    if found is None:
        raise ValueError(f"there is no {name}; {hint_nearest(name, known) or 'there are ' + ', '.join(known)}")
    return found


@dataclass(frozen=True)
class MongoStore:
    layout: Layout
    uri: SecretStr
    work: Work
    guarantee: ClassVar[str] = "each row once, by its document's id"
    nested: ClassVar[Nested] = Nested.ARROW

    def reach(self) -> None:
        self.prepare()  # it makes nothing: collections come with their first document

    def prepare(self) -> None:
        client = connect(self.uri.get_secret_value())
        try:
            with answering(self.work.where):
                client.admin.command("ping")
                for name in (self.work.namespaces.main.collection, EPOCHS):
                    # Touches nothing, and is refused to one who may not write.
                    place = client[self.work.database][name]
                    place.update_one({"_id": PROBE}, {"$set": {"epoch": 0}})
                    place.delete_one({"_id": PROBE})
            if self.work.decimals is Decimals.PRECISE and any(has_decimal(c.type) for c in self.layout.columns):
                self._check_decimals(client)
        finally:
            client.close()

    def _check_decimals(self, client: MongoClient[Document]) -> None:
        """FerretDB hangs up on a decimal128; MongoDB has had it since 3.4."""
        try:
            client[self.work.database][EPOCHS].find_one({"_id": PROBE, "epoch": Decimal128("0")})
        except PyMongoError:
            with answering(self.work.where):
                client.admin.command("ping")
            told = f"MongoDB at {self.work.where} doesn't take decimal128, which DECIMAL would be."
            hint = "'decimal.handling.mode' can be string or double."
            raise ConfigError("TYPE_MISMATCH", told, hint=hint) from None

    def open(self) -> MongoSession:
        client = connect(self.uri.get_secret_value())
        try:
            with answering(self.work.where):
                told = client.admin.command("buildInfo")
        except BaseException:
            client.close()
            raise
        # FerretDB 1 keeps a connection to its own database for each row of a request, and stands still without more.
        most = MOST_ROWS_OF_FERRETDB if "ferretdbVersion" in told else MOST_ROWS
        return MongoSession(client, replace(self.work, at_a_time=min(self.work.at_a_time or most, most)))


def open_sink(connector: Connector, layout: Layout) -> MongoStore:
    options = understood(MongoOptions, connector.own_options, connector.name)
    where, named, _ = address_parts(options.uri.get_secret_value())
    database = options.database or named
    if not database:
        told = f"Connector {connector.name}: 'database' is missing."
        raise ConfigError("INVALID_CONNECTOR", told, hint="It may stand in 'connection.uri' too, behind the host.")
    found = _ids(options, layout)
    work = Work(
        where=where,
        database=database,
        layout=layout,
        decimals=options.decimals,
        ids=found,
        writing=_writing(options, layout, found),
        namespaces=_namespaces(options, layout, database),
        at_a_time=options.batch_size,
        ordered=options.ordered,
    )
    return MongoStore(layout, options.uri, work)


def _ids(options: MongoOptions, layout: Layout) -> Ids:
    table = layout.kind is Kind.TABLE and bool(layout.key)
    strategy = options.id_strategy or (Strategy.KEY if table else Strategy.KAFKA_METADATA)
    columns = ids.columns_of(strategy, layout)
    if strategy is Strategy.PARTIAL_KEY:
        option = "document.id.strategy.partial.key.projection.list"
        columns = projected(layout.key, options.key_list_type, options.key_list, option)
    if strategy is Strategy.PARTIAL_VALUE:
        option = "document.id.strategy.partial.value.projection.list"
        columns = projected(layout.value, options.value_list_type, options.value_list, option)
    kept = None if options.overwrite else ids.id_column(layout.value)
    return Ids(strategy, layout.topic, columns, kept, options.uuid_format == "binary")


def _writing(options: MongoOptions, layout: Layout, found: Ids) -> Writing:
    by_key = found.strategy.by_key and found.kept is None
    if options.deletes and not by_key:
        told = "'delete.on.null.values' needs ids that are made of the key: a record without a value has nothing else."
        hint = "'document.id.strategy' can be FullKeyStrategy, PartialKeyStrategy or ProvidedInKeyStrategy."
        raise ConfigError("INVALID_CONNECTOR", told, hint=hint)
    if options.model.by_fields and found.strategy not in (Strategy.PARTIAL_KEY, Strategy.PARTIAL_VALUE):
        told = f"'writemodel.strategy' {options.model} finds documents by the fields that an _id would be made of."
        hint = "'document.id.strategy' must be PartialKeyStrategy or PartialValueStrategy, which list them."
        raise ConfigError("INVALID_CONNECTOR", told, hint=hint)
    deletes = by_key and layout.kind is Kind.TABLE if options.deletes is None else options.deletes
    return Writing(options.model, tuple(n for n in layout.names if n.lower() != "_id"), deletes)


def _namespaces(options: MongoOptions, layout: Layout, database: str) -> Namespaces:
    fields = {
        "key.database": options.key_database,
        "key.collection": options.key_collection,
        "value.database": options.value_database,
        "value.collection": options.value_collection,
    }
    given = {place: path for place, path in fields.items() if path}
    by_fields = options.mapper == namespaces.BY_FIELDS
    if by_fields is not bool(given):
        told = f"'namespace.mapper' is {options.mapper}, and "
        told += f"'namespace.mapper.{next(iter(given))}.field' is set." if given else "names no field."
        raise ConfigError("INVALID_CONNECTOR", told, hint=f"{namespaces.BY_FIELDS} goes with fields, and they with it.")
    paths = {place: _path(layout, place, path) for place, path in given.items()}
    for what in ("database", "collection"):
        if f"key.{what}" in paths and f"value.{what}" in paths:
            raise ConfigError("INVALID_CONNECTOR", f"The {what} comes from a field of the key, or of the value.")
    return Namespaces(
        database,
        options.collection,
        layout.topic,
        database_field=paths.get("key.database") or paths.get("value.database"),
        collection_field=paths.get("key.collection") or paths.get("value.collection"),
        strict=options.strict_mapper,
    )


def _path(layout: Layout, place: str, written: str) -> namespaces.Path:
    """A column, which is checked, and what is inside of it, which only rows can tell."""
    first, *inside = written.split(".")
    columns = layout.key if place.startswith("key.") else layout.value
    return (column_named(columns, first, f"namespace.mapper.{place}.field"), *inside)
