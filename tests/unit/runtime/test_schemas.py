"""What queries know of a registry that is in memory, and may be away; time passes when told."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from orion import ksql
from orion.errors import ConfigError, ExternalError, OrionError, SchemaError
from orion.plan.catalog import Catalog
from orion.plan.relations import scans
from orion.plan.sources import Kind, Serde, Source, WireSchema
from orion.plan.steps import AssertSchema, DefineSource, RegisterSchema, StartQuery
from orion.registry.access import Local
from orion.registry.log import MemoryLog
from orion.registry.store import Registry
from orion.runtime import schemas as module
from orion.runtime.schemas import Schemas
from orion.schema import Column, Role, Scalar, Schema

AVRO, JSON_SR, KAFKA = Serde("AVRO"), Serde("JSON_SR"), Serde("KAFKA")
ORDER = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]})
WIDER = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "id", "type": "int"}, {"name": "note", "type": "string", "default": ""}],
    }
)
OBJECT = json.dumps({"type": "object", "properties": {"a": {"type": "string"}}})


@dataclass
class Clock:
    now: float = 1000.0

    def monotonic(self) -> float:
        return self.now


@dataclass
class Door:
    """A registry that can be shut."""

    is_shut: bool = False
    _inside: Local = field(default_factory=lambda: Local(Registry(MemoryLog())))

    @property
    def inside(self) -> Local:
        if self.is_shut:
            raise ExternalError("REGISTRY_UNREACHABLE", "No schema registry answers.")
        return self._inside

    def latest(self, subject: str) -> WireSchema | None:
        return self.inside.latest(subject)

    def versions(self, subject: str) -> list[WireSchema]:
        return self.inside.versions(subject)

    def numbered(self, subject: str) -> dict[int, WireSchema]:
        return self.inside.numbered(subject)

    def by_id(self, number: int) -> WireSchema | None:
        return self.inside.by_id(number)

    def register(self, subject: str, kind: str, text: str) -> WireSchema:
        return self.inside.register(subject, kind, text)

    def delete(self, subject: str) -> None:
        self.inside.delete(subject)


@pytest.fixture
def door() -> Door:
    return Door()


@pytest.fixture
def schemas(door: Door) -> Schemas:
    return Schemas(door, patience_s=3.0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def source(value: Serde = AVRO, query_id: str | None = None, **changed: Any) -> Source:
    columns = (Column("K", Scalar.STRING, Role.KEY), Column("ID", Scalar.INTEGER))
    return replace(Source("T", Kind.STREAM, Schema(columns), "t", KAFKA, value, query_id=query_id), **changed)


def own(made: Source) -> Any:
    """The text of the schema that new values name."""
    assert made.value.wiring is not None
    assert made.value.wiring.writes is not None
    return json.loads(made.value.wiring.writes.text)


def reads(made: Source) -> tuple[list[int], tuple[int, ...]]:
    """The ids that values may name, and those that nobody knows."""
    assert made.value.wiring is not None
    return [one.id for one in made.value.wiring.reads], made.value.wiring.unknown


# ---- for statements --------------------------------------------------------------------------------------------


def test_columns_are_those_of_the_topics_last_schema(door: Door, schemas: Schemas) -> None:
    door.register("t-value", "AVRO", ORDER)
    door.register("t-value", "AVRO", WIDER)
    door.register("t-key", "AVRO", '"long"')
    value, key = schemas.infer("t", Role.VALUE, AVRO), schemas.infer("t", Role.KEY, AVRO)
    assert value is not None
    assert [(c.name, c.type) for c in value.columns] == [("ID", Scalar.INTEGER), ("NOTE", Scalar.STRING)]
    assert key is not None
    assert [(c.name, c.type) for c in key.columns] == [("ROWKEY", Scalar.BIGINT)]


def test_columns_are_those_of_the_schema_that_is_named_by_its_id(door: Door, schemas: Schemas) -> None:
    door.register("t-value", "AVRO", WIDER)
    number = door.register("elsewhere", "AVRO", ORDER).id
    found = schemas.infer("t", Role.VALUE, replace(AVRO, schema_id=number))
    assert found is not None
    assert [c.name for c in found.columns] == ["id"]


def test_where_there_is_no_schema_there_are_no_columns(schemas: Schemas) -> None:
    assert schemas.infer("t", Role.VALUE, AVRO) is None
    assert schemas.infer("t", Role.VALUE, replace(AVRO, schema_id=7)) is None


def test_columns_of_another_type_of_schema_are_refused(door: Door, schemas: Schemas) -> None:
    number = door.register("t-value", "AVRO", ORDER).id
    for serde in (JSON_SR, replace(JSON_SR, schema_id=number)):
        with pytest.raises(SchemaError, match="The schema 1 is AVRO, and the format JSON_SR has JSON") as error:
            schemas.infer("t", Role.VALUE, serde)
        assert error.value.code == "SCHEMA_UNFIT"


def test_without_a_registry_a_format_with_schemas_is_refused() -> None:
    with pytest.raises(ConfigError) as error:
        Schemas(None).infer("t", Role.VALUE, AVRO)
    assert error.value.code == "REGISTRY_MISSING"


def test_a_declared_source_registers_its_schema_only_where_there_is_none(door: Door, schemas: Schemas) -> None:
    step = RegisterSchema(source(), Role.VALUE, declared=True)
    assert schemas.register(step) == "Schema t-value has the id 1."
    assert schemas.register(step) == "Schema t-value is there."
    wider = replace(step, source=source(schema=Schema((Column("ELSE", Scalar.STRING),))))
    assert schemas.register(wider) == "Schema t-value is there."
    assert len(door.versions("t-value")) == 1


def test_a_querys_schema_is_registered_whatever_is_there(door: Door, schemas: Schemas) -> None:
    door.register("t-value", "AVRO", '{"type":"record","name":"KsqlDataSourceSchema","fields":[]}')
    step = RegisterSchema(source(query_id="Q"), Role.VALUE, declared=False)
    assert schemas.register(step) == "Schema t-value has the id 2."
    assert schemas.register(step) == "Schema t-value has the id 2."
    assert len(door.versions("t-value")) == 2


def test_a_querys_schema_that_may_not_follow_is_refused(door: Door, schemas: Schemas) -> None:
    door.register("t-value", "AVRO", '"string"')
    with pytest.raises(OrionError) as error:
        schemas.register(RegisterSchema(source(query_id="Q"), Role.VALUE, declared=False))
    assert error.value.code == "REGISTRY_409"
    assert len(door.versions("t-value")) == 1


@pytest.mark.parametrize(
    ("subject", "number", "exists", "problem"),
    [
        ("a", None, True, None),
        ("none", None, True, "A schema with subject none does not exist."),
        (None, 2, True, None),
        (None, 9, True, "A schema with id 9 does not exist."),
        ("a", 1, True, None),
        ("b", 1, True, "A schema with subject b and id 1 does not exist."),
        ("none", 1, True, "A schema with subject none and id 1 does not exist."),
        ("a", 9, True, "A schema with subject a and id 9 does not exist."),
        ("none", None, False, None),
        ("a", None, False, "A schema with subject a exists."),
        (None, 9, False, None),
        (None, 1, False, "A schema with id 1 exists."),
        ("b", 1, False, None),
        ("b", 2, False, "A schema with subject b and id 2 exists."),
    ],
)
def test_what_is_against_an_assertion(
    door: Door, schemas: Schemas, subject: str | None, number: int | None, exists: bool, problem: str | None
) -> None:
    door.register("a", "AVRO", ORDER)
    door.register("b", "AVRO", WIDER)
    assert schemas.problem(AssertSchema(subject, number, exists, 1000)) == problem


# ---- what queries write ----------------------------------------------------------------------------------------


def test_into_somebody_elses_topic_its_own_schema_is_written(door: Door, schemas: Schemas) -> None:
    door.register("t-value", "AVRO", ORDER)
    latest = door.register("t-value", "AVRO", WIDER)
    made = schemas.written(source())
    assert made.value.wiring is not None
    assert made.value.wiring.writes == latest
    assert made.value.wiring.subject == "t-value"
    assert len(door.versions("t-value")) == 2


def test_into_a_topic_without_a_schema_that_of_the_columns_is_written(door: Door, schemas: Schemas) -> None:
    assert own(schemas.written(source()))["name"] == "KsqlDataSourceSchema"
    assert len(door.versions("t-value")) == 1


def test_a_query_writes_the_schema_of_its_columns(door: Door, schemas: Schemas) -> None:
    door.register("t-value", "AVRO", '{"type":"record","name":"KsqlDataSourceSchema","fields":[]}')
    assert [f["name"] for f in own(schemas.written(source(query_id="Q")))["fields"]] == ["ID"]


def test_a_schema_that_is_named_by_its_id_is_written(door: Door, schemas: Schemas) -> None:
    number = door.register("elsewhere", "AVRO", ORDER).id
    for query_id in (None, "Q"):
        assert own(schemas.written(source(replace(AVRO, schema_id=number), query_id))) == json.loads(ORDER)
    assert door.versions("t-value") == []
    with pytest.raises(SchemaError, match="knows no schema 9") as error:
        schemas.written(source(replace(AVRO, schema_id=9)))
    assert error.value.code == "SCHEMA_MISSING"


def test_a_topic_whose_schema_is_of_another_type_is_not_written(door: Door, schemas: Schemas) -> None:
    door.register("t-value", "JSON", OBJECT)
    with pytest.raises(SchemaError, match="The schema 1 is JSON"):
        schemas.written(source())


def test_formats_without_schemas_and_sides_without_columns_are_told_nothing(schemas: Schemas) -> None:
    plain = source(KAFKA)
    keyless = source(KAFKA, key=AVRO, schema=Schema((Column("ID", Scalar.INTEGER),)))
    for one in (plain, keyless):
        assert schemas.written(one) == schemas.read(one) == one


def test_what_was_registered_once_is_written_without_the_registry(door: Door, schemas: Schemas) -> None:
    sink = source(query_id="Q")
    made = schemas.written(sink)
    door.is_shut = True
    assert schemas.written(sink) == made


# ---- what queries read -----------------------------------------------------------------------------------------


def test_all_versions_of_a_topic_are_read(door: Door, schemas: Schemas) -> None:
    for text in (ORDER, WIDER):
        door.register("t-value", "AVRO", text)
    door.register("other-value", "AVRO", '"string"')
    assert reads(schemas.read(source())) == ([1, 2], ())


def test_schemas_of_another_type_are_not_read(door: Door, schemas: Schemas) -> None:
    door.register("t-value", "JSON", OBJECT)
    assert reads(schemas.read(source())) == ([], ())


def test_a_schema_that_is_named_by_its_id_is_read_besides(door: Door, schemas: Schemas) -> None:
    door.register("t-value", "AVRO", ORDER)
    number = door.register("elsewhere", "AVRO", WIDER).id
    assert reads(schemas.read(source(replace(AVRO, schema_id=number)))) == ([1, number], ())


def test_a_query_is_told_what_it_reads_and_what_it_writes(door: Door, schemas: Schemas) -> None:
    door.register("t-value", "AVRO", ORDER)
    catalog = Catalog()
    for text in (
        "CREATE STREAM t (k STRING KEY, id INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO')",
        "CREATE STREAM o AS SELECT k, id FROM t",
    ):
        steps = ksql.compile(text, catalog).steps
        for step in steps:
            catalog = catalog.put(step.source) if isinstance(step, DefineSource) else catalog
    bound = schemas.bound(next(step.query for step in steps if isinstance(step, StartQuery)))
    assert [reads(one) for one in scans(bound.relation)] == [([1], ())]
    assert own(bound.sink)["name"] == "KsqlDataSourceSchema"


# ---- what queries learn ----------------------------------------------------------------------------------------


def question(number: int) -> str:
    return f"Job aborted: ORION_SCHEMA_UNKNOWN[t-value][{number:08X}] at ..."


def awaited(schemas: Schemas, number: int) -> ExternalError:
    with pytest.raises(ExternalError) as error:
        schemas.learn(question(number))
    assert error.value.code == "SCHEMA_AWAITED"
    assert error.value.retry_after
    return error.value


def test_what_is_no_question_is_not_answered(door: Door, schemas: Schemas) -> None:
    door.is_shut = True
    assert schemas.learn("java.lang.OutOfMemoryError") is False


def test_a_schema_that_the_registry_knows_is_read_from_then_on(door: Door, schemas: Schemas) -> None:
    number = door.register("elsewhere", "AVRO", ORDER).id
    assert reads(schemas.read(source())) == ([], ())
    assert schemas.learn(question(number)) is True
    assert reads(schemas.read(source())) == ([number], ())
    assert reads(schemas.read(source(topic="another"))) == ([], ())


def test_while_the_registry_is_away_what_is_known_is_read_and_the_rest_waits(door: Door, schemas: Schemas) -> None:
    door.register("t-value", "AVRO", ORDER)
    number = door.register("elsewhere", "AVRO", WIDER).id
    before = schemas.read(source())
    door.is_shut = True
    assert "waits for schema 2 of t-value: No schema registry answers." in awaited(schemas, number).message
    assert schemas.read(source()) == before
    door.is_shut = False
    assert schemas.learn(question(number)) is True
    door.is_shut = True
    assert reads(schemas.read(source())) == ([1, 2], ())


def test_while_the_registry_is_away_a_topic_of_which_nothing_is_known_can_not_be_read(
    door: Door, schemas: Schemas
) -> None:
    door.is_shut = True
    with pytest.raises(ExternalError) as error:
        schemas.read(source())
    assert error.value.code == "REGISTRY_UNREACHABLE"


def test_an_id_that_nobody_knows_is_awaited_for_a_while_and_then_unknown(schemas: Schemas, clock: Clock) -> None:
    for _ in range(3):
        assert "the registry doesn't know it yet" in awaited(schemas, 7).message
        clock.now += 1
    assert schemas.learn(question(7)) is True
    assert reads(schemas.read(source())) == ([], (7,))
    assert reads(schemas.read(source(topic="another"))) == ([], ())


def test_each_id_is_awaited_for_itself(schemas: Schemas, clock: Clock) -> None:
    awaited(schemas, 7)
    clock.now += 3
    awaited(schemas, 5)
    assert schemas.learn(question(7)) is True
    clock.now += 3
    assert schemas.learn(question(5)) is True
    assert reads(schemas.read(source())) == ([], (5, 7))


def test_an_id_that_comes_late_is_known(door: Door, schemas: Schemas, clock: Clock) -> None:
    awaited(schemas, 1)
    clock.now += 2
    door.register("elsewhere", "AVRO", ORDER)
    assert schemas.learn(question(1)) is True
    assert reads(schemas.read(source())) == ([1], ())


def test_a_registry_that_is_away_uses_up_nobodys_patience(door: Door, schemas: Schemas, clock: Clock) -> None:
    door.is_shut = True
    awaited(schemas, 1)
    clock.now += 1000
    door.is_shut = False
    awaited(schemas, 1)


def test_an_id_that_is_registered_after_all_is_unknown_no_more(door: Door, schemas: Schemas, clock: Clock) -> None:
    awaited(schemas, 1)
    clock.now += 3
    schemas.learn(question(1))
    door.register("t-value", "AVRO", ORDER)
    assert reads(schemas.read(source())) == ([1], ())
