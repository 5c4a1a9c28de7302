"""The mongodb sink's own options, on a server: ids, write models, namespaces, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from bson import ObjectId

from orion.errors import ConfigError, ExternalError
from orion.plan.sources import Connector, Kind
from orion.schema import Column, Decimal, Field, Role, Scalar, Struct
from orion.sinks.mongodb import MongoStore, open_sink
from orion.sinks.store import DELETED, ROUTE, Layout, Refusal, Slot
from tests.contracts.rows import TIME_MS, Row, batch
from tests.servers.ferretdb import Database, FerretDB

COLUMNS = (
    Column("ID", Scalar.BIGINT, Role.KEY),
    Column("SITE", Scalar.STRING, Role.KEY),
    Column("NAME", Scalar.STRING),
    Column("STARS", Scalar.INTEGER),
)
PLAYS = Layout("plays", Kind.TABLE, COLUMNS)
EVENTS = Layout("plays", Kind.STREAM, COLUMNS)
A = {"ID": 1, "SITE": "x", "NAME": "a", "STARS": 5}
B = {"ID": 2, "SITE": "y", "NAME": "b", "STARS": 4}
TIME = datetime.fromtimestamp(TIME_MS / 1000, UTC).replace(tzinfo=None)
KEYED = "document.id.strategy.partial.key.projection.list"


@pytest.fixture
def database(ferretdb: FerretDB) -> Iterator[Database]:
    with ferretdb.database() as made:
        yield made


class Stage:
    """A store of one database, and its slots one after the other."""

    def __init__(self, database: Database, options: Mapping[str, str] | None = None, layout: Layout = PLAYS) -> None:
        server = database.server
        uri = f"mongodb://{server.user}:{server.password}@{server.host}:{server.port}/{database.name}?authSource=admin"
        given = {"connection.uri": uri, **(options or {})}
        self.database = database
        self.store: MongoStore = open_sink(Connector("c", "mongodb", (), tuple(given.items())), layout)
        self.epoch = 0

    def put(self, *rows: Row, epoch: int | None = None, task: str = "task", first: int = 0) -> list[Refusal]:
        self.epoch = self.epoch + 1 if epoch is None else epoch
        session = self.store.open()
        try:
            transfer = session.begin(Slot(task, 3, self.epoch))
            assert transfer is not None
            refused = [*transfer.write(batch(self.store.layout, rows, self.store.nested, first)), *transfer.finish()]
            transfer.commit()
        finally:
            session.close()
        return refused

    def found(self, collection: str = "plays") -> list[dict[str, Any]]:
        with self.database.connect() as database:
            return list(database[collection].find())


def without_ids(documents: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in d.items() if name != "_id"} for d in documents]


# ---- ids ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "id_"),
    [
        ({}, {"ID": 1, "SITE": "x"}),
        ({"document.id.strategy": "FullKeyStrategy"}, {"ID": 1, "SITE": "x"}),
        ({"document.id.strategy": "PartialKeyStrategy", KEYED: "site"}, {"SITE": "x"}),
        (
            {
                "document.id.strategy": "PartialValueStrategy",
                "document.id.strategy.partial.value.projection.list": "STARS",
                "document.id.strategy.partial.value.projection.type": "BlockList",
            },
            {"NAME": "a"},
        ),
        (
            {
                "document.id.strategy": "com.mongodb.kafka.connect.sink.processor.id.strategy.KafkaMetaDataStrategy",
            },
            "plays#3#0",
        ),
    ],
)
def test_ids_are_made_of_what_the_strategy_says(database: Database, options: dict[str, str], id_: Any) -> None:
    stage = Stage(database, options)
    assert stage.put(A) == []
    assert stage.found() == [{"_id": id_, **A}]


def test_a_stream_has_the_place_of_its_records_as_ids(database: Database) -> None:
    stage = Stage(database, layout=EVENTS)
    stage.put(A, A)
    assert [d["_id"] for d in stage.found()] == ["plays#3#0", "plays#3#1"]


@pytest.mark.parametrize("strategy", ["BsonOidStrategy", "UuidStrategy"])
def test_ids_that_are_made_up_are_the_same_when_a_slot_comes_again(database: Database, strategy: str) -> None:
    stage = Stage(database, {"document.id.strategy": strategy}, EVENTS)
    session = stage.store.open()
    cut_off = session.begin(Slot("task", 3, 1))
    assert cut_off is not None
    cut_off.write(batch(EVENTS, [A, B], stage.store.nested))
    session.close()
    once = stage.found()
    stage.put(A, B)
    assert stage.found() == once
    stage.put(A, B, task="another")
    assert len(stage.found()) == 4


def test_an_object_id_tells_the_records_time(database: Database) -> None:
    stage = Stage(database, {"document.id.strategy": "BsonOid"}, EVENTS)
    stage.put(A)
    (found,) = stage.found()
    assert isinstance(found["_id"], ObjectId)
    assert found["_id"].generation_time.timestamp() == TIME_MS // 1000


def test_an_id_that_the_value_has_stays_unless_it_is_overwritten(database: Database) -> None:
    layout = Layout("plays", Kind.STREAM, (Column("_id", Scalar.STRING), Column("NAME", Scalar.STRING)))
    rows: list[Row] = [{"_id": "own", "NAME": "a"}, {"_id": None, "NAME": "b"}]
    Stage(database, layout=layout).put(*rows)
    stage = Stage(database, {"document.id.strategy.overwrite.existing": "true", "collection": "other"}, layout)
    stage.put(*rows, task="other")
    assert {d["_id"] for d in stage.found()} == {"own", "plays#3#1"}
    assert {d["_id"] for d in stage.found("other")} == {"plays#3#0", "plays#3#1"}


def test_a_key_that_is_null_is_no_id(database: Database) -> None:
    layout = Layout("plays", Kind.TABLE, (Column("ID", Scalar.BIGINT, Role.KEY), Column("NAME", Scalar.STRING)))
    stage = Stage(database, layout=layout)
    (refused,) = stage.put({"ID": None, "NAME": "a"}, {"ID": 1, "NAME": "b"})
    assert (refused.offset, "ID is NULL" in refused.reason) == (0, True)
    assert stage.found() == [{"_id": 1, "ID": 1, "NAME": "b"}]


# ---- a slot that comes again -------------------------------------------------------------------------------------


def test_an_older_worker_does_not_come_after_a_newer_one(database: Database) -> None:
    stage = Stage(database)
    session = stage.store.open()
    lost = session.begin(Slot("task", 3, 1))
    assert lost is not None
    stage.put({**A, "NAME": "old"}, epoch=1)
    stage.put({**A, "NAME": "new"}, epoch=2)
    with pytest.raises(ExternalError) as told:
        lost.write(batch(PLAYS, [{**A, "NAME": "old"}], stage.store.nested))
    session.close()
    assert told.value.code == "SLOT_TAKEN"
    assert [d["NAME"] for d in stage.found()] == ["new"]


def test_an_insert_that_was_made_before_is_no_refusal(database: Database) -> None:
    stage = Stage(database, {"writemodel.strategy": "InsertOneDefaultStrategy"})
    again = {**A, "NAME": "another"}
    session = stage.store.open()
    cut_off = session.begin(Slot("task", 3, 1))
    assert cut_off is not None
    first = cut_off.write(batch(PLAYS, [A, again, B], stage.store.nested))
    session.close()
    refused = stage.put(A, again, B)
    assert [r.offset for r in refused] == [r.offset for r in first] == [1]
    assert "11000" in refused[0].reason
    assert without_ids(stage.found()) == [A, B]


# ---- write models ------------------------------------------------------------------------------------------------


def test_an_update_keeps_other_fields_and_has_the_records_times(database: Database) -> None:
    stage = Stage(database, {"writemodel.strategy": "UpdateOneTimestampsStrategy"})
    id_ = {"ID": 1, "SITE": "x"}
    with database.connect() as connected:
        connected["plays"].insert_one({"_id": id_, "MORE": True})
    stage.put(A, B)
    stage.put(A, B, first=2)
    kept, made = stage.found()
    assert kept["MORE"] is True
    assert kept["NAME"] == "a"
    assert "_insertedTS" not in kept
    assert made["_insertedTS"] == made["_modifiedTS"] == kept["_modifiedTS"] == TIME


def test_documents_can_be_found_by_fields_of_their_own(database: Database) -> None:
    chosen = {"document.id.strategy": "PartialValue", "writemodel.strategy": "ReplaceOneBusinessKey"}
    listed = {"document.id.strategy.partial.value.projection.list": "NAME"}
    stage = Stage(database, {**chosen, **listed})
    stage.put(A, B, {**A, "STARS": 1})
    assert without_ids(stage.found()) == [{**A, "STARS": 1}, B]


def test_without_an_order_the_last_row_of_a_key_counts_all_the_same(database: Database) -> None:
    stage = Stage(database, {"bulk.write.ordered": "false", "max.batch.size": "3"})
    stage.put(*({**A, "STARS": n} for n in range(7)), B)
    assert without_ids(stage.found()) == [{**A, "STARS": 6}, B]


def test_hundreds_of_rows_replace_those_that_are_there(database: Database) -> None:
    """FerretDB stands still over a request of a hundred that find their documents."""
    layout = Layout("plays", Kind.TABLE, (Column("ID", Scalar.STRING, Role.KEY), Column("STARS", Scalar.INTEGER)))
    stage = Stage(database, {"max.batch.size": "500"}, layout)
    for stars in (1, 2):
        assert stage.put(*({"ID": f"{n}", "STARS": stars} for n in range(300)), first=stars * 300) == []
    assert [d["STARS"] for d in stage.found()] == [2] * 300


def test_tombstones_delete_where_they_should(database: Database) -> None:
    gone = {"ID": 1, "SITE": "x", DELETED: True}
    kept = Stage(database, {"delete.on.null.values": "false"})
    assert kept.put(A, B, gone) == []
    assert len(kept.found()) == 2
    deleting = Stage(database)
    assert deleting.put(gone, task="other") == []
    assert without_ids(deleting.found()) == [B]


# ---- namespaces --------------------------------------------------------------------------------------------------

MAPPED = {"namespace.mapper": "com.mongodb.kafka.connect.sink.namespace.mapping.FieldPathNamespaceMapper"}


def test_rows_go_where_a_field_says(database: Database) -> None:
    stage = Stage(database, {**MAPPED, "namespace.mapper.key.collection.field": "SITE"})
    stage.put(A, B, {"ID": 1, "SITE": "x", DELETED: True}, {**A, "SITE": "$not"})
    assert stage.found("x") == []
    assert without_ids(stage.found("y")) == [B]
    assert without_ids(stage.found("plays")) == [{**A, "SITE": "$not"}]


def test_a_field_inside_of_a_struct_can_say_it_and_can_be_insisted_on(database: Database) -> None:
    to = Column("TO", Struct((Field("PLACE", Scalar.STRING),)))
    layout = Layout("plays", Kind.TABLE, (*COLUMNS, to))
    strict = {"namespace.mapper.error.if.invalid": "true"}
    stage = Stage(database, {**MAPPED, **strict, "namespace.mapper.value.collection.field": "to.PLACE"}, layout)
    refused = stage.put({**A, "TO": {"PLACE": "there"}}, {**B, "TO": None})
    assert [(r.offset, "TO.PLACE" in r.reason) for r in refused] == [(1, True)]
    assert len(stage.found("there")) == 1
    assert stage.found("plays") == []


def test_a_route_stands_in_for_the_topic(database: Database) -> None:
    stage = Stage(database, {"collection": "of_${topic}"})
    stage.put({**A, ROUTE: "east"}, B)
    assert (without_ids(stage.found("of_east")), without_ids(stage.found("of_plays"))) == ([A], [B])
    fixed = Stage(database, {"collection": "fixed"})
    fixed.put({**A, ROUTE: "east"}, task="other")
    assert without_ids(fixed.found("fixed")) == [A]


# ---- what is refused ---------------------------------------------------------------------------------------------


def test_a_reason_has_the_servers_words_and_no_values(database: Database) -> None:
    with database.connect() as connected:
        connected["plays"].create_index("NAME", unique=True)
    stage = Stage(database)
    (refused,) = stage.put({**A, "NAME": "a secret"}, {**B, "NAME": "a secret"})
    assert "E11000 duplicate key" in refused.reason
    assert "a secret" not in refused.reason
    assert len(stage.found()) == 1


def test_a_document_that_is_too_long_leaves_its_neighbours_alone(database: Database) -> None:
    stage = Stage(database, layout=EVENTS)
    refused = stage.put(A, {**A, "NAME": "x" * 49_000_000}, B, B)
    assert [r.offset for r in refused] == [1]
    assert len(stage.found()) == 3


def test_decimals_that_the_server_has_no_type_for_are_refused_at_the_statement(database: Database) -> None:
    layout = Layout("plays", Kind.TABLE, (COLUMNS[0], Column("PRICE", Decimal(10, 2))))
    with pytest.raises(ConfigError) as told:
        Stage(database, layout=layout).store.prepare()
    assert told.value.code == "TYPE_MISMATCH"
    assert "decimal.handling.mode" in str(told.value.hint)
    Stage(database, {"decimal.handling.mode": "double"}, layout).store.prepare()


def test_preparing_leaves_nothing(database: Database) -> None:
    stage = Stage(database)
    stage.store.prepare()
    stage.store.prepare()
    assert stage.found() == []
    assert stage.found("orion_epochs") == []
