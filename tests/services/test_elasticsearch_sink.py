"""The elasticsearch sink's own options, on a server: mappings, versions, names of indices, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal as Exact
from typing import Any

import httpx
import pyarrow as pa
import pytest

from orion.errors import ConfigError, ExternalError
from orion.plan.sources import Connector, Kind
from orion.schema import Array, Column, Decimal, Field, Map, Role, Scalar, Struct
from orion.sinks.elasticsearch import SearchStore, open_sink
from orion.sinks.search.bulk import SearchSession, SearchTransfer
from orion.sinks.search.indices import EPOCHS
from orion.sinks.store import DELETED, ROUTE, TIME, Layout, Refusal, Slot, StoreAway
from tests.contracts.rows import Row, batch
from tests.servers.opensearch import OpenSearch

KEY = Column("ID", Scalar.BIGINT, Role.KEY)
COLUMNS = (KEY, Column("NAME", Scalar.STRING), Column("STARS", Scalar.INTEGER))
PLAYS = Layout("Plays", Kind.TABLE, COLUMNS)
EVENTS = Layout("Plays", Kind.STREAM, COLUMNS)
A, B = {"ID": 1, "NAME": "a", "STARS": 5}, {"ID": 2, "NAME": "b", "STARS": 4}


class Server:
    """Indices of one test, and a client of its own to look at them."""

    def __init__(self, server: OpenSearch, prefix: str) -> None:
        self.url = server.url
        self.prefix = prefix
        self._http = httpx.Client(base_url=server.url, timeout=60)

    def close(self) -> None:
        self._http.close()

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._http.request(method, path, json=body)
        answer.raise_for_status()
        return answer.json()

    def index(self, name: str = "plays") -> str:
        return f"/{self.prefix}{name}"

    def found(self, name: str = "plays", query: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Documents by their ids."""
        self.ask("POST", f"{self.index(name)}/_refresh")
        answer = self.ask("POST", f"{self.index(name)}/_search", {"size": 1000, "query": query or {"match_all": {}}})
        return {hit["_id"]: hit["_source"] for hit in answer["hits"]["hits"]}

    def fields(self, name: str = "plays") -> dict[str, Any]:
        told = self.ask("GET", f"{self.index(name)}/_mapping")
        found: dict[str, Any] = told[f"{self.prefix}{name}"]["mappings"]["properties"]
        return found

    def names(self) -> set[str]:
        told = self.ask("GET", f"/_cat/indices/{self.prefix}*?format=json")
        return {row["index"].removeprefix(self.prefix) for row in told}


@pytest.fixture
def server(opensearch: OpenSearch) -> Iterator[Server]:
    with opensearch.indices() as prefix:
        server = Server(opensearch, prefix)
        server.ask("DELETE", f"/{EPOCHS}?ignore_unavailable=true")
        yield server
        server.close()


class Stage:
    """A store, and its slots one after the other."""

    def __init__(self, server: Server, options: Mapping[str, str] | None = None, layout: Layout = PLAYS) -> None:
        given = {"connection.url": server.url, "index.name.format": f"{server.prefix}${{topic}}", **(options or {})}
        self.store: SearchStore = open_sink(Connector("c", "elasticsearch", (), tuple(given.items())), layout)
        self.epoch = 0

    def begin(self, epoch: int, task: str = "task") -> tuple[SearchSession, SearchTransfer]:
        session = self.store.open()
        transfer = session.begin(Slot(task, 3, epoch))
        assert transfer is not None
        return session, transfer

    def put(self, *rows: Row, first: int = 0) -> list[Refusal]:
        return self.put_batch(batch(self.store.layout, rows, self.store.nested, first))

    def put_batch(self, rows: pa.RecordBatch) -> list[Refusal]:
        self.epoch += 1
        session, transfer = self.begin(self.epoch)
        try:
            refused = [*transfer.write(rows), *transfer.finish()]
            transfer.commit()
        finally:
            session.close()
        return refused


# ---- fields ------------------------------------------------------------------------------------------------------

TYPES = (
    KEY,
    Column("FLAG", Scalar.BOOLEAN),
    Column("SMALL", Scalar.INTEGER),
    Column("REAL", Scalar.DOUBLE),
    Column("PRICE", Decimal(10, 2)),
    Column("NAME", Scalar.STRING),
    Column("RAW", Scalar.BYTES),
    Column("DAY", Scalar.DATE),
    Column("CLOCK", Scalar.TIME),
    Column("AT", Scalar.TIMESTAMP),
    Column("MANY", Array(Scalar.BIGINT)),
    Column("TAGS", Map(Scalar.STRING, Scalar.STRING)),
    Column("INSIDE", Struct((Field("X", Scalar.INTEGER), Field("Y", Array(Struct((Field("Z", Scalar.DATE),))))))),
)
TEXT = {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 256}}}


def test_fields_are_made_from_the_types_of_sql(server: Server) -> None:
    Stage(server, layout=Layout("plays", Kind.TABLE, TYPES)).store.prepare()
    assert server.fields() == {
        "ID": {"type": "long"},
        "FLAG": {"type": "boolean"},
        "SMALL": {"type": "integer"},
        "REAL": {"type": "double"},
        "PRICE": {"type": "double", "fields": {"exact": {"type": "keyword"}}},
        "NAME": TEXT,
        "RAW": {"type": "binary"},
        "DAY": {"type": "date"},
        "CLOCK": {"type": "keyword"},
        "AT": {"type": "date"},
        "MANY": {"type": "long"},
        "TAGS": {"type": "object"},
        "INSIDE": {"properties": {"X": {"type": "integer"}, "Y": {"properties": {"Z": {"type": "date"}}}}},
    }


def test_a_decimal_is_kept_exactly_and_found_as_a_number(server: Server) -> None:
    stage = Stage(server, layout=Layout("plays", Kind.TABLE, (KEY, Column("PRICE", Decimal(30, 2)))))
    long = Exact("1234567890123456789012345678.91")
    stage.put({"ID": 1, "PRICE": long}, {"ID": 2, "PRICE": Exact("12.50")})
    assert {d["PRICE"] for d in server.found().values()} == {str(long), "12.50"}
    assert list(server.found(query={"range": {"PRICE": {"gt": 12, "lt": 13}}})) == ["2"]
    assert list(server.found(query={"term": {"PRICE.exact": str(long)}})) == ["1"]


def test_values_of_a_map_have_the_maps_type_and_are_not_guessed(server: Server) -> None:
    stage = Stage(server, layout=Layout("plays", Kind.TABLE, (KEY, Column("TAGS", Map(Scalar.STRING, Scalar.STRING)))))
    refused = stage.put({"ID": 1, "TAGS": {"when": "2026-09-21"}}, {"ID": 2, "TAGS": {"when": "never", "n": "1"}})
    assert refused == []
    assert server.fields()["TAGS"]["properties"] == {"when": TEXT, "n": TEXT}


def test_a_map_can_be_a_list_of_pairs(server: Server) -> None:
    layout = Layout("plays", Kind.TABLE, (KEY, Column("TAGS", Map(Scalar.STRING, Scalar.INTEGER))))
    stage = Stage(server, {"compact.map.entries": "false"}, layout)
    stage.put({"ID": 1, "TAGS": {"a": 1, "b": None}})
    assert server.found()["1"]["TAGS"] == [{"key": "a", "value": 1}, {"key": "b", "value": None}]
    assert server.fields()["TAGS"]["properties"]["value"] == {"type": "integer"}


def test_fields_can_be_left_to_the_server(server: Server) -> None:
    stage = Stage(server, {"schema.ignore": "true"})
    stage.store.prepare()
    stage.put(A)
    assert server.fields()["STARS"] == {"type": "long"}


def test_an_index_that_is_there_gets_what_it_lacks_also_inside(server: Server) -> None:
    inside = {"properties": {"X": {"type": "long"}}}
    server.ask("PUT", server.index(), {"mappings": {"properties": {"ID": {"type": "keyword"}, "INSIDE": inside}}})
    Stage(server, layout=Layout("plays", Kind.TABLE, TYPES)).store.prepare()
    fields = server.fields()
    assert (fields["ID"], fields["AT"]) == ({"type": "keyword"}, {"type": "date"})
    assert fields["INSIDE"]["properties"]["X"] == {"type": "long"}
    assert "Y" in fields["INSIDE"]["properties"]


@pytest.mark.parametrize(
    ("type_", "there"),
    [
        (Scalar.STRING, "long"),
        (Scalar.BIGINT, "integer"),
        (Decimal(10, 2), "long"),
        (Scalar.TIMESTAMP, "boolean"),
        (Struct((Field("X", Scalar.INTEGER),)), "keyword"),
        (Array(Scalar.STRING), "double"),
    ],
    ids=str,
)
def test_a_type_that_does_not_fit_is_refused_with_both_named(server: Server, type_: Any, there: str) -> None:
    server.ask("PUT", server.index(), {"mappings": {"properties": {"V": {"type": there}}}})
    layout = Layout("plays", Kind.TABLE, (KEY, Column("V", type_)))
    with pytest.raises(ConfigError) as told:
        Stage(server, layout=layout).store.prepare()
    assert told.value.code == "TYPE_MISMATCH"
    shown = type_.element if isinstance(type_, Array) else type_
    assert told.value.message == f"V is {shown}, and the index {server.index()[1:]} has it as {there}."


# ---- versions ----------------------------------------------------------------------------------------------------


def test_a_late_retry_does_not_overwrite_newer_data(server: Server) -> None:
    stage = Stage(server)
    session, lost = stage.begin(1)
    lost.write(batch(PLAYS, [A, B, {"ID": 3, "NAME": "c"}], stage.store.nested))
    gone = {"ID": 2, DELETED: True}
    assert stage.put({**A, "NAME": "newer"}, gone, {"ID": 1, "NAME": "newest"}, first=10) == []
    assert lost.finish() == []
    lost.commit()
    session.close()
    assert {id_: d["NAME"] for id_, d in server.found().items()} == {"1": "newest", "3": "c"}


def test_an_older_commit_leaves_the_newer_epoch(server: Server) -> None:
    stage = Stage(server)
    session, lost = stage.begin(1)
    stage.epoch = 4
    stage.put(A)
    lost.commit()
    assert session.begin(Slot("task", 3, 5)) is None
    session.close()


def test_an_upsert_keeps_fields_of_others_and_is_fenced(server: Server) -> None:
    stage = Stage(server, {"write.method": "upsert"})
    stage.store.prepare()
    server.ask("PUT", f"{server.index()}/_doc/1", {"MORE": True})
    session, lost = stage.begin(1)
    assert stage.put(A, B, {**A, "STARS": 1}, {"ID": 2, DELETED: True}) == []
    assert server.found() == {"1": {**A, "STARS": 1, "MORE": True}}
    with pytest.raises(ExternalError) as told:
        lost.write(batch(PLAYS, [B], stage.store.nested))
    session.close()
    assert told.value.code == "SLOT_TAKEN"


# ---- records without a value -------------------------------------------------------------------------------------


def test_tombstones_do_what_they_are_told(server: Server) -> None:
    gone = {"ID": 1, DELETED: True}
    ignoring = Stage(server, {"behavior.on.null.values": "IGNORE"})
    assert ignoring.put(A, gone) == []
    assert list(server.found()) == ["1"]
    failing = Stage(server, {"behavior.on.null.values": "fail"})
    failing.epoch = 1
    (refused,) = failing.put(gone, B, first=2)
    assert (refused.offset, "no value" in refused.reason) == (2, True)
    deleting = Stage(server)
    deleting.epoch = 2
    assert deleting.put(gone, {"ID": 9, DELETED: True}, first=4) == []
    assert list(server.found()) == ["2"]


# ---- names -------------------------------------------------------------------------------------------------------


def timed(*times: datetime) -> pa.RecordBatch:
    rows = batch(
        EVENTS, [{"ID": n, ROUTE: "East/1" if n == 9 else None} for n in range(len(times))], SearchStore.nested
    )
    milliseconds = pa.array([int(t.timestamp() * 1000) for t in times], pa.int64())
    return rows.set_column(rows.schema.get_field_index(TIME), TIME, milliseconds)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("${topic}-%Y.%m.%d", {"plays-2026.01.31", "plays-2026.02.01"}),
        ("${topic}-${timestamp}", {"plays-202601", "plays-202602"}),
        ("%G-w%V", {"2026-w05"}),
    ],
)
def test_indices_are_named_by_the_records_time(server: Server, pattern: str, names: set[str]) -> None:
    stage = Stage(server, {"index.name.format": server.prefix + pattern, "timestamp.format": "yyyyMM"}, EVENTS)
    stage.store.prepare()
    times = datetime(2026, 1, 31, 23, 59, 59, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)
    assert stage.put_batch(timed(*times)) == []
    assert server.names() == names
    assert all("ID" in server.fields(name) for name in names)


def test_a_route_stands_in_for_the_topic_and_becomes_a_name(server: Server) -> None:
    stage = Stage(server, {"topic.to.external.resource.mapping": "other:x,Plays:Mapped"}, EVENTS)
    stage.store.prepare()
    stage.put(A, {**B, ROUTE: "Far East/1"})
    assert server.names() == {"mapped", "far_east_1"}
    assert server.found("far_east_1") == {"Plays+3+1": B}


# ---- what is refused, and who is away ----------------------------------------------------------------------------


def test_a_reason_has_the_servers_words_and_no_values(server: Server) -> None:
    server.ask("PUT", server.index(), {"mappings": {"properties": {"NAME": {"type": "ip"}}}})
    stage = Stage(server)
    assert stage.put({**A, "NAME": "10.0.0.1"}) == []
    (refused,) = stage.put({**B, "NAME": "a secret"}, first=1)
    assert refused.offset == 1
    assert "parsing_exception" in refused.reason
    assert "failed to parse field [NAME] of type [ip]" in refused.reason
    assert "a secret" not in refused.reason


def test_a_request_that_is_refused_as_a_whole_loses_only_what_is_wrong(server: Server) -> None:
    layout = Layout("plays", Kind.TABLE, (Column("ID", Scalar.STRING, Role.KEY),))
    stage = Stage(server, {"batch.size": "4"}, layout)
    keys = [f"{n}" * 600 if n in (2, 3, 9) else f"{n}" for n in range(10)]
    refused = stage.put(*({"ID": key} for key in keys))
    assert [r.offset for r in refused] == [2, 3, 9]
    assert all("id is too long" in r.reason for r in refused)
    assert set(server.found()) == {key for key in keys if len(key) == 1}


def test_a_key_of_several_columns_is_an_id_as_json(server: Server) -> None:
    key = (KEY, Column("SITE", Scalar.STRING, Role.KEY))
    stage = Stage(server, layout=Layout("plays", Kind.TABLE, (*key, Column("NAME", Scalar.STRING))))
    (refused,) = stage.put({"ID": 1, "SITE": "é"}, {"ID": None, "SITE": None})
    assert list(server.found()) == ['{"ID":1,"SITE":"é"}']
    assert "is NULL" in refused.reason


def test_an_index_that_may_not_be_written_now_is_waited_for(server: Server) -> None:
    stage = Stage(server, {"max.retries": "0"})
    stage.store.prepare()
    server.ask("PUT", f"{server.index()}/_settings", {"index.blocks.write": True})
    with pytest.raises(StoreAway, match="cluster_block_exception"):
        stage.put(A)
    server.ask("PUT", f"{server.index()}/_settings", {"index.blocks.write": False})
    stage.epoch = 0
    assert stage.put(A) == []


def test_one_of_several_servers_is_enough_and_requests_can_be_packed(server: Server) -> None:
    options = {"connection.url": f"http://127.0.0.1:1, {server.url}/", "connection.compression": "true"}
    stage = Stage(server, {**options, "bulk.size.bytes": "100"})
    stage.store.prepare()
    assert stage.put(A, B, {**A, "NAME": "x" * 1000}) == []
    assert len(server.found()["1"]["NAME"]) == 1000


def test_a_name_that_the_server_keeps_for_itself_is_refused_at_the_statement(server: Server) -> None:
    layout = Layout("plays", Kind.TABLE, (KEY, Column("_source", Scalar.STRING)))
    with pytest.raises(ConfigError, match="_source"):
        Stage(server, layout=layout).store.prepare()


def test_an_alias_is_written_where_it_says_and_must_say_so(server: Server) -> None:
    for name in ("one", "two"):
        server.ask("PUT", server.index(name), {"aliases": {server.index()[1:]: {}}})
    with pytest.raises(ConfigError, match="alias"):
        Stage(server).store.prepare()
    server.ask("PUT", server.index("three"), {"aliases": {server.index()[1:]: {"is_write_index": True}}})
    stage = Stage(server)
    stage.store.prepare()
    assert stage.put(A) == []
    assert server.found("three") == {"1": A}
    assert "STARS" in server.fields("one")
