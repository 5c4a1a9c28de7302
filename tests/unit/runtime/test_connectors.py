"""Connectors made, replaced and moved, over a supervisor and a cluster that only note what they are told."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from orion.errors import ConfigError, Conflict, NotFound, UserError
from orion.feeds.cdc import Capture
from orion.feeds.connect.tables import CapturedColumn, Table
from orion.hub.groups import Group, GroupDetail, Progress
from orion.hub.positions import Standpoint
from orion.plan.catalog import Catalog
from orion.plan.connectors import Offset
from orion.plan.sources import Connector, Direction, Kind, Serde, Source, Wanted
from orion.runtime import connectors, feed_job, sink_task
from orion.runtime.capturing import Capturing
from orion.runtime.connectors import Connectors, Ground
from orion.runtime.jobs import Surroundings
from orion.runtime.queries import Queries
from orion.schema import Column, Role, Scalar, Schema
from orion.security.secret_places import SecretPlaces

SCHEMA = Schema((Column("K", Scalar.STRING, Role.KEY), Column("V", Scalar.BIGINT)))
ORDERS, USERS = (Source(n.upper(), Kind.STREAM, SCHEMA, n, Serde("KAFKA"), Serde("JSON")) for n in ("orders", "users"))
SINK = Connector("out", "jdbc", (ORDERS,), (("x", "1"),), number=7)
FEED = Connector("in", "jdbc", (USERS,), (), number=8, direction=Direction.SOURCE)
SHOP = Connector("shop", "cdc", (), (("database", "postgresql"),), number=9, direction=Direction.SOURCE)


@dataclass
class FakeQueries:
    """A supervisor whose jobs never run; `refuses` is the id of one that can't start."""

    refuses: str = ""
    held: dict[str, Any] = field(default_factory=dict)
    told: list[tuple[Any, ...]] = field(default_factory=list)

    def start(self, job: Any, *, paused: bool = False) -> None:
        if job.id == self.refuses:
            raise ConfigError("REFUSED", "no")
        self.told.append(("start", job.identity, paused))
        self.held[job.id] = SimpleNamespace(progress=SimpleNamespace(offsets={}))

    def restore(self, job: Any, *, paused: bool, outside: bool) -> None:
        assert outside  # a connector works with another system
        self.told.append(("restore", job.identity, paused))

    def remove(self, job_id: str, *, keep: bool = False) -> None:
        self.told.append(("remove", job_id, keep))
        self.held.pop(job_id, None)

    def get(self, job_id: str) -> Any:
        return self.held.get(job_id)


@dataclass
class FakeCapturing:
    told: list[tuple[Any, ...]] = field(default_factory=list)
    config: dict[str, str] = field(default_factory=dict)

    def check(self, connector: Connector) -> Capture:
        self.told.append(("check", connector))
        table = Table("public.users", (CapturedColumn("id", Scalar.INTEGER),), ("id",))
        return Capture(connector.name, {"topic.prefix": "shop", **self.config}, (table,))

    def create(self, connector: Connector, checked: Capture | None = None) -> None:
        self.told.append(("create", connector, checked is not None))


@dataclass
class FakeKafka:
    partitions: int = 2
    made: list[tuple[Any, ...]] = field(default_factory=list)
    groups: dict[str, list[tuple[str, int, int | None]]] = field(default_factory=dict)

    def create_topic(self, name: str, partitions: int, replication: int | None, config: Any, exist_ok: bool) -> bool:
        self.made.append((name, partitions, replication, dict(config)))
        return True

    def describe_group(self, name: str) -> GroupDetail:
        if name not in self.groups:
            raise NotFound("GROUP_NOT_FOUND", f"There is no group {name}.")
        stands = (Progress(topic, part, at, 9, None) for topic, part, at in self.groups[name])
        return GroupDetail(Group(name, "empty", "classic"), (), tuple(stands))

    def earliest_offsets(self, topic: str) -> dict[int, int]:
        return dict.fromkeys(range(self.partitions), 0)


@dataclass
class World:
    """The engine below connectors."""

    folder: Path
    catalog: Catalog = field(default_factory=lambda: Catalog(version=41))
    queries: FakeQueries = field(default_factory=FakeQueries)
    captures: FakeCapturing = field(default_factory=FakeCapturing)
    kafka: FakeKafka = field(default_factory=FakeKafka)
    prepared: list[Connector] = field(default_factory=list)
    reached: list[Connector] = field(default_factory=list)
    declared: list[str] = field(default_factory=list)
    secrets: SecretPlaces = field(default_factory=SecretPlaces)
    refuses: OSError | ConfigError | None = None  # what the other side says
    announced: list[str] = field(default_factory=list)

    @property
    def connectors(self) -> Connectors:
        grounds = SimpleNamespace(kafka=self.kafka, service="svc", announce=self.announced.append)
        around = cast(Surroundings, SimpleNamespace(grounds=grounds, checkpoints=self.folder, secrets=self.secrets))
        return Connectors(
            Ground(
                cast(Queries, self.queries),
                cast(Capturing, self.captures),
                lambda: self.catalog,
                self.put,
                lambda name: None,
                lambda starting: cast(Surroundings, replace_starting(around, starting)),
                lambda topic: None,
                self.declared.append,
            )
        )

    def put(self, connector: Connector) -> None:
        self.catalog = self.catalog.put(connector)

    def open(self, connector: Connector, *_: Any) -> Any:
        def prepare() -> None:
            self.prepared.append(connector)
            if self.refuses is not None:
                raise self.refuses

        def reach() -> None:
            self.reached.append(connector)
            if self.refuses is not None:
                raise self.refuses

        return SimpleNamespace(prepare=prepare, reach=reach, topic="fresh", columns=lambda: SCHEMA)

    def get(self, name: str) -> Connector:
        return self.catalog.connectors[name]


def replace_starting(around: Any, starting: str) -> Any:
    return SimpleNamespace(**vars(around), starting=starting)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(tmp_path)
    monkeypatch.setattr(sink_task, "open_sink", made.open)
    monkeypatch.setattr(feed_job, "open_feed", made.open)
    return made


def beginnings(world: World, name: str) -> list[str]:
    return [cast(Any, job).around.starting for job in world.connectors.tasks_of(world.get(name))]


# ---- checking ----------------------------------------------------------------------------------------------------


def test_a_check_asks_the_other_side_and_makes_nothing(world: World) -> None:
    fresh = replace(FEED, sources=())
    for connector in (SINK, FEED, fresh, SHOP):
        world.connectors.check(connector)
    assert world.reached == [SINK]  # what `prepare` would make there isn't made
    assert world.prepared == [FEED, fresh]  # a feed's makes nothing
    assert (world.queries.told, world.declared, world.kafka.made) == ([], [], [])
    assert dict(world.catalog.connectors) == {}


@pytest.mark.parametrize("connector", [SINK, FEED, replace(FEED, sources=())])
def test_a_check_refuses_what_creating_would(world: World, connector: Connector) -> None:
    world.refuses = ConfigError("REFUSED", "wrong password")
    for attempt in (world.connectors.check, world.connectors.create):
        with pytest.raises(ConfigError, match="wrong password"):
            attempt(connector)
    taken = replace(ORDERS, name="FRESH", topic="another")
    world.refuses, world.catalog = None, world.catalog.put(taken)
    if not connector.sources:
        for attempt in (world.connectors.check, world.connectors.create):
            with pytest.raises(Conflict, match="over another topic"):
                attempt(connector)


# ---- other options ---------------------------------------------------------------------------------------------


def test_tasks_of_topics_that_stay_go_on(world: World) -> None:
    world.put(replace(SINK, starting="{}"))
    changed = replace(SINK, options=(("x", "2"),), number=40, sources=(ORDERS, USERS))
    assert world.connectors.replace(changed) == "Replaced connector out"
    assert world.queries.told == [
        ("remove", "out", True),
        ("start", "out_7.users", False),
        ("restore", "out_7.orders", False),
    ]
    found = world.get("out")
    assert (found.number, found.starting, found.options) == (7, "{}", (("x", "2"),))


def test_a_topic_that_goes_takes_its_checkpoint_along(world: World) -> None:
    world.put(replace(SINK, sources=(ORDERS, USERS)))
    world.connectors.replace(replace(SINK, sources=(USERS,), wanted=Wanted.PAUSED))
    assert world.queries.told == [
        ("remove", "out.orders", False),
        ("remove", "out.users", True),
        ("restore", "out_7.users", True),
    ]


def test_options_that_the_other_side_refuses_leave_the_old_ones(world: World) -> None:
    world.put(SINK)
    world.refuses = ConfigError("REFUSED", "no such table")
    with pytest.raises(ConfigError, match="no such table"):
        world.connectors.replace(replace(SINK, options=(("x", "2"),)))
    assert world.queries.told == []
    assert world.get("out") == SINK


@pytest.mark.parametrize("connector", [SINK, FEED], ids=["sink", "source"])
def test_secrets_come_from_their_places_alone_and_stay_out_of_the_catalog(
    world: World, monkeypatch: pytest.MonkeyPatch, connector: Connector
) -> None:
    (world.folder / "key").write_text("s3cret", encoding="utf-8")
    monkeypatch.setenv("DOOR_KEY", "hush")
    world.secrets = SecretPlaces((world.folder,))
    for place in ("${file:/etc/passwd}", "${env:DOOR_KEY}", "http://x/${file:../../etc/passwd}"):
        with pytest.raises(ConfigError) as refused:
            world.connectors.create(replace(connector, options=(("connection.url", place),)))
        assert refused.value.code == "SECRET_NOT_ALLOWED"
    assert (world.prepared, world.queries.told) == ([], [])
    world.connectors.create(replace(connector, options=(("connection.password", "${file:key}"),)))
    assert world.prepared[0].options == (("connection.password", "s3cret"),)
    assert world.get(connector.name).options == (("connection.password", "${file:key}"),)


def test_a_source_keeps_the_stream_that_it_writes(world: World) -> None:
    world.put(FEED)
    world.connectors.replace(replace(FEED, sources=(), options=(("y", "2"),)))
    assert world.get("in").sources == (USERS,)
    assert world.queries.told == [("remove", "in", True), ("restore", "in_8", False)]


def test_a_connector_that_is_not_there(world: World) -> None:
    world.put(SINK)
    with pytest.raises(NotFound, match="no connector oun") as caught:
        world.connectors.replace(replace(SINK, name="oun"))
    assert caught.value.hint == "Did you mean out?"


# ---- captures --------------------------------------------------------------------------------------------------


def test_a_capture_is_checked_once_and_its_tables_are_declared(world: World) -> None:
    world.captures.config = {
        "topic.creation.default.partitions": "5",
        "topic.creation.default.cleanup.policy": "delete",
    }
    assert world.connectors.create(SHOP) == "Created connector shop"
    assert world.captures.told == [("check", SHOP), ("create", SHOP, True)]
    assert world.kafka.made == [("shop.public.users", 5, None, {"cleanup.policy": "delete"})]
    assert [text.partition(" (")[0] for text in world.declared] == ["CREATE TABLE users"]
    assert world.get("shop") == SHOP
    assert world.queries.told == []


def test_tables_of_a_capture_need_not_be_declared(world: World) -> None:
    world.connectors.create(replace(SHOP, options=(*SHOP.options, ("declare.tables", "false"))))
    assert (world.declared, world.kafka.made) == ([], [])


def test_a_capture_with_other_options_keeps_its_number(world: World) -> None:
    world.put(SHOP)
    changed = replace(SHOP, options=(("database", "mysql"),), number=40)
    assert world.connectors.replace(changed) == "Replaced connector shop"
    assert world.get("shop") == replace(changed, number=9)
    assert [what for what, *_ in world.captures.told] == ["check", "create"]


# ---- other places ----------------------------------------------------------------------------------------------


@pytest.fixture
def moves(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is noted of where a source stands."""
    noted: list[Any] = []
    monkeypatch.setattr(connectors, "forget_offsets", lambda kafka, service, name: noted.append(("forget", name)))
    monkeypatch.setattr(connectors, "set_offsets", lambda kafka, service, name, at: noted.append((name, list(at))))
    return noted


def at(topic: str, partition: Any, offset: int | None) -> Offset:
    place = None if offset is None else {"kafka_offset": offset}
    return Offset({"kafka_topic": topic, "kafka_partition": partition}, place)


def test_only_a_stopped_connector_is_moved(world: World) -> None:
    world.put(SINK)
    with pytest.raises(Conflict) as caught:
        world.connectors.move("out", None)
    assert caught.value.code == "NOT_STOPPED"


def test_a_capture_is_not_moved(world: World) -> None:
    world.put(replace(SHOP, wanted=Wanted.STOPPED))
    with pytest.raises(UserError, match="Debezium keeps where it stands"):
        world.connectors.move("shop", None)


def test_a_sink_that_begins_anew_is_another(world: World) -> None:
    world.put(replace(SINK, wanted=Wanted.STOPPED, starting='{"orders": {"0": 5, "1": 5}}'))
    world.connectors.move("out", None)
    assert (world.get("out").number, world.get("out").starting) == (41, "")
    assert world.queries.told == [("remove", "out", False), ("start", "out_41.orders", True)]
    assert world.announced == ["svc.connector.out_41.orders"]
    assert beginnings(world, "out") == ["earliest"]


def test_a_sink_goes_on_where_it_is_told_and_elsewhere_where_it_stands(world: World) -> None:
    world.put(replace(SINK, wanted=Wanted.STOPPED, sources=(ORDERS, USERS)))
    reached = SimpleNamespace(progress=SimpleNamespace(offsets={"orders": {0: 3, 1: 4}}))
    world.queries.held["out.orders"] = reached
    world.connectors.move("out", [at("orders", 1, 9), at("users", "0", None)])
    assert json.loads(world.get("out").starting) == {"orders": {"0": 3, "1": 9}, "users": {"0": -2, "1": -2}}
    assert [json.loads(text) for text in beginnings(world, "out")] == [
        {"orders": {"0": 3, "1": 9}},
        {"users": {"0": -2, "1": -2}},
    ]


def test_a_sink_without_a_checkpoint_stands_where_its_group_does(world: World) -> None:
    world.put(SINK)
    group = f"svc.connector.{SINK.identity}.orders"
    world.kafka.groups[group] = [("orders", 0, 7), ("orders", 1, None), ("_orion_batches", 0, 0)]
    assert world.connectors.offsets("out") == [at("orders", 0, 7)]


@pytest.mark.parametrize(
    ("offset", "said"),
    [
        (at("orders", 2, 9), "has no partition 2: it has 2"),
        (at("order", 0, 9), "reads no topic order"),
        (at("orders", "x", 9), "by kafka_topic, kafka_partition and kafka_offset"),
        (Offset({"table": "t"}, {"id": 5}), "by kafka_topic, kafka_partition and kafka_offset"),
    ],
)
def test_places_that_a_sink_does_not_have(world: World, offset: Offset, said: str) -> None:
    stopped = replace(SINK, wanted=Wanted.STOPPED)
    world.put(stopped)
    with pytest.raises(UserError, match=said) as caught:
        world.connectors.move("out", [offset])
    assert caught.value.code == "INVALID_OFFSETS"
    assert (world.queries.told, world.get("out")) == ([], stopped)


def test_a_source_notes_its_place_in_kafka(world: World, moves: list[Any]) -> None:
    world.put(replace(FEED, wanted=Wanted.STOPPED))
    world.connectors.move("in", [Offset({"table": "t"}, {"id": 5})])
    assert moves == [("in", [Standpoint({"table": "t"}, {"id": 5})])]
    assert (world.get("in").number, world.get("in").starting) == (41, "")
    assert world.queries.told == [("remove", "in", False), ("start", "in_41", True)]


def test_tasks_that_were_started_before_one_fails_are_gone(world: World) -> None:
    world.queries.refuses = "out.users"
    with pytest.raises(ConfigError):
        world.connectors.create(replace(SINK, sources=(ORDERS, USERS)))
    assert world.queries.told == [("start", "out_7.orders", False), ("remove", "out.orders", False)]
    assert world.queries.held == {}
    assert "out" not in world.catalog.connectors
