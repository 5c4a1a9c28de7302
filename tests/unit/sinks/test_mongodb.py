"""Options of the mongodb sink: what is understood, and what is refused before a server is asked."""

from __future__ import annotations

import pickle

import pytest

from orion.errors import ConfigError
from orion.plan.sources import Connector, Kind
from orion.schema import Column, Role, Scalar
from orion.sinks.mongo.connection import address_parts
from orion.sinks.mongo.ids import Strategy
from orion.sinks.mongo.models import Model
from orion.sinks.mongo.namespaces import Namespace
from orion.sinks.mongodb import MongoStore, open_sink
from orion.sinks.store import Layout

KEY, NAME = Column("ID", Scalar.BIGINT, Role.KEY), Column("NAME", Scalar.STRING)
TABLE = Layout("plays", Kind.TABLE, (KEY, NAME))
STREAM = Layout("plays", Kind.STREAM, (NAME,))
URI = "mongodb://me:hid%2Fden@host:27017/db"


def opened(options: dict[str, str] | None = None, layout: Layout = TABLE) -> MongoStore:
    given = {"connection.uri": URI, **(options or {})}
    return open_sink(Connector("c", "mongodb", (), tuple(given.items())), layout)


def test_without_more_a_table_goes_by_its_key_and_a_stream_by_its_places() -> None:
    table, stream = opened().work, opened(layout=STREAM).work
    assert (table.ids.strategy, table.writing.deletes) == (Strategy.KEY, True)
    assert (stream.ids.strategy, stream.writing.deletes) == (Strategy.KAFKA_METADATA, False)
    assert table.writing.model is Model.REPLACE
    assert table.namespaces.main == Namespace("db", "plays")


@pytest.mark.parametrize(
    "written",
    ["com.mongodb.kafka.connect.sink.processor.id.strategy.FullKeyStrategy", "FullKeyStrategy", "fullkey", " FullKey "],
)
def test_strategies_have_long_and_short_names(written: str) -> None:
    assert opened({"document.id.strategy": written}).work.ids.strategy is Strategy.FULL_KEY


def test_a_store_travels_is_hashable_and_shows_no_password() -> None:
    store = opened()
    travelled = pickle.loads(pickle.dumps(store))
    assert travelled == store
    assert hash(travelled) == hash(store)
    assert "den" not in repr(store)
    assert store.work.where == "host:27017"


@pytest.mark.parametrize(
    ("options", "layout", "told"),
    [
        ({"document.id.strategy": "FulKeyStrategy"}, TABLE, "Did you mean FullKeyStrategy?"),
        ({"document.id.strategy": "FullKey"}, STREAM, "plays has none"),
        ({"document.id.strategy": "ProvidedInValue"}, TABLE, "takes _id from the value"),
        ({"document.id.strategy": "PartialKey"}, TABLE, "leaves nothing"),
        (
            {
                "document.id.strategy": "PartialValue",
                "document.id.strategy.partial.value.projection.list": "NAMES",
            },
            TABLE,
            "names NAMES, which isn't there",
        ),
        ({"writemodel.strategy": "ReplaceOneBusinessKey"}, TABLE, "PartialKeyStrategy or PartialValueStrategy"),
        ({"writemodel.strategy": "Upsert"}, TABLE, "there is no Upsert"),
        ({"delete.on.null.values": "true"}, STREAM, "needs ids that are made of the key"),
        ({"namespace.mapper": "FieldPathNamespaceMapper"}, TABLE, "names no field"),
        ({"namespace.mapper.key.collection.field": "ID"}, TABLE, "is set"),
        (
            {"namespace.mapper": "FieldPathNamespaceMapper", "namespace.mapper.value.database.field": "NAM"},
            TABLE,
            "Did you mean NAME?",
        ),
        ({"connection.uri": "mongodb://host"}, TABLE, "'database' is missing"),
        ({"connection.uri": "http://me:secret@host"}, TABLE, "isn't an address"),
        ({"connection.uri": "mongodb://me:sec:ret@host@x"}, TABLE, "isn't an address"),
        ({"max.batch.size": "-1"}, TABLE, "max.batch.size"),
        ({"documnet.id.strategy": "Uuid"}, TABLE, "Did you mean document.id.strategy?"),
    ],
)
def test_what_is_wrong_is_told(options: dict[str, str], layout: Layout, told: str) -> None:
    with pytest.raises(ConfigError) as error:
        opened(options, layout)
    shown = f"{error.value.message} {error.value.hint}"
    assert told in shown
    assert "sec" not in shown


def test_an_address_is_shown_without_its_login() -> None:
    assert address_parts("mongodb://me:secret@a:1,b:2/db?tls=true")[:2] == ("a:1,b:2", "db")
