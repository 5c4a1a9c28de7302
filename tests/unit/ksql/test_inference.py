"""Columns that a registry knows: which a statement takes, and which it refuses."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from orion import ksql
from orion.errors import BindError
from orion.plan.catalog import Catalog
from orion.plan.schemas import Inferred
from orion.plan.sources import Serde, Source
from orion.plan.steps import DefineSource, RegisterSchema, Step
from orion.schema import Column, Field, Role, Scalar, SqlType, Struct

INTEGER, BIGINT, STRING, DOUBLE = Scalar.INTEGER, Scalar.BIGINT, Scalar.STRING, Scalar.DOUBLE


def fields(role: Role = Role.VALUE, **types: SqlType) -> Inferred:
    return Inferred(tuple(Column(n.upper(), t, role, spelling=n) for n, t in types.items()), alone=False)


def alone(name: str, type_: SqlType, role: Role = Role.VALUE) -> Inferred:
    return Inferred((Column(name, type_, role, spelling=name),), alone=True)


ROWKEY, ROWVAL = alone("ROWKEY", BIGINT, Role.KEY), alone("ROWVAL", STRING)
ORDER = fields(id=INTEGER, note=STRING)


Found = dict[tuple[str, Role] | int, Inferred]  # by topic and role, or by id


@dataclass
class Known:
    """A registry that has these schemas, and remembers what it was asked for."""

    found: Found
    asked: list[tuple[str, Role, Serde]] = field(default_factory=list)

    def infer(self, topic: str, role: Role, serde: Serde) -> Inferred | None:
        self.asked.append((topic, role, serde))
        return self.found.get(serde.schema_id if serde.schema_id is not None else (topic, role))


KEY, VALUE = ("t", Role.KEY), ("t", Role.VALUE)
BOTH: Found = {KEY: ROWKEY, VALUE: ORDER}
NOTHING = Catalog()


def steps(text: str, known: Known | None = None, catalog: Catalog = NOTHING) -> tuple[Step, ...]:
    return ksql.compile(text, catalog, schemas=known).steps


def defined(text: str, found: Found) -> Source:
    return next(step.source for step in steps(text, Known(found)) if isinstance(step, DefineSource))


def shown(source: Source) -> list[str]:
    return [f"{c.name} {c.type} {c.role}" for c in source.schema]


def refused(text: str, found: Found, catalog: Catalog = NOTHING) -> BindError:
    with pytest.raises(BindError) as error:
        steps(text, Known(found), catalog)
    return error.value


# ---- sources ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (
            "CREATE STREAM s WITH (KAFKA_TOPIC='t', FORMAT='AVRO')",
            ["ROWKEY BIGINT KEY", "ID INTEGER VALUE", "NOTE VARCHAR(STRING) VALUE"],
        ),
        (
            "CREATE TABLE s WITH (KAFKA_TOPIC='t', FORMAT='AVRO')",
            ["ROWKEY BIGINT KEY", "ID INTEGER VALUE", "NOTE VARCHAR(STRING) VALUE"],
        ),
        (
            "CREATE STREAM s WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON_SR')",
            ["ID INTEGER VALUE", "NOTE VARCHAR(STRING) VALUE"],
        ),
        (
            "CREATE STREAM s (k STRING KEY) WITH (KAFKA_TOPIC='t', FORMAT='AVRO')",
            ["K VARCHAR(STRING) KEY", "ID INTEGER VALUE", "NOTE VARCHAR(STRING) VALUE"],
        ),
        (
            "CREATE TABLE s (k STRING PRIMARY KEY) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='PROTOBUF')",
            ["K VARCHAR(STRING) KEY", "ID INTEGER VALUE", "NOTE VARCHAR(STRING) VALUE"],
        ),
        (
            "CREATE STREAM s (v DOUBLE) WITH (KAFKA_TOPIC='t', FORMAT='AVRO')",
            ["ROWKEY BIGINT KEY", "V DOUBLE VALUE"],
        ),
        (
            "CREATE STREAM s (v DOUBLE) WITH (KAFKA_TOPIC='t', KEY_FORMAT='AVRO', VALUE_FORMAT='JSON')",
            ["ROWKEY BIGINT KEY", "V DOUBLE VALUE"],
        ),
        (
            "CREATE STREAM s (h BYTES HEADER('x')) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO')",
            ["H BYTES HEADERS", "ID INTEGER VALUE", "NOTE VARCHAR(STRING) VALUE"],
        ),
        (
            "CREATE STREAM s (h BYTES HEADER('x'), k INT KEY) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO')",
            ["K INTEGER KEY", "H BYTES HEADERS", "ID INTEGER VALUE", "NOTE VARCHAR(STRING) VALUE"],
        ),
    ],
)
def test_a_side_without_columns_has_those_of_its_schema(text: str, columns: list[str]) -> None:
    assert shown(defined(text, BOTH)) == columns


def test_the_fields_spellings_are_kept() -> None:
    made = defined("CREATE STREAM s WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO')", BOTH)
    assert [c.spelling for c in made.schema.value] == ["id", "note"]


def test_the_registry_is_asked_for_nothing_but_what_is_missing() -> None:
    known = Known(BOTH)
    steps("CREATE STREAM s (k INT KEY, v INT) WITH (KAFKA_TOPIC='t', FORMAT='AVRO')", known)
    steps("CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO')", known)
    steps("CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON')", known)
    assert known.asked == []
    steps("CREATE STREAM s (k INT KEY) WITH (KAFKA_TOPIC='t', FORMAT='AVRO', VALUE_SCHEMA_FULL_NAME='a.B')", known)
    assert known.asked == [("t", Role.VALUE, Serde("AVRO", full_name="a.B"))]


def test_the_formats_of_the_session_count() -> None:
    known = Known(BOTH)
    session = {"ksql.persistence.default.format.value": "AVRO", "ksql.persistence.default.format.key": "JSON_SR"}
    plan = ksql.compile("CREATE STREAM s WITH (KAFKA_TOPIC='t')", Catalog(), session, schemas=known)
    assert [(role, serde.format) for _, role, serde in known.asked] == [(Role.KEY, "JSON_SR"), (Role.VALUE, "AVRO")]
    assert any(isinstance(step, DefineSource) for step in plan.steps)


@pytest.mark.parametrize("declared", ["", "WRAP_SINGLE_VALUE=FALSE, "])
def test_a_value_that_is_the_whole_of_its_schema_stands_alone(declared: str) -> None:
    made = defined(f"CREATE STREAM s WITH (KAFKA_TOPIC='t', {declared}VALUE_FORMAT='AVRO')", {VALUE: ROWVAL})
    assert shown(made) == ["ROWVAL VARCHAR(STRING) VALUE"]
    assert made.value.wrap_single is False


def test_a_value_of_one_field_stands_in_its_record() -> None:
    made = defined("CREATE STREAM s WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO')", {VALUE: fields(a=INTEGER)})
    assert made.value.wrap_single is None


def test_a_lone_key_says_nothing_of_the_value() -> None:
    made = defined("CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', FORMAT='AVRO')", {KEY: ROWKEY})
    assert (made.key.wrap_single, made.value.wrap_single) == (None, None)


@pytest.mark.parametrize(("written", "wrap"), [("TRUE", True), ("FALSE", False)])
def test_the_registry_is_told_how_a_value_is_wrapped(written: str, wrap: bool) -> None:
    known = Known({VALUE: fields(a=INTEGER) if wrap else ROWVAL})
    steps(f"CREATE STREAM s WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO', WRAP_SINGLE_VALUE={written})", known)
    assert known.asked == [("t", Role.VALUE, Serde("AVRO", wrap_single=wrap))]


def test_several_fields_are_not_wrapped() -> None:
    text = "CREATE STREAM s WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO', WRAP_SINGLE_VALUE=TRUE)"
    assert refused(text, BOTH).code == "INVALID_PROPERTY"


def test_a_schema_that_is_named_by_its_id_is_registered_for_nobody() -> None:
    text = "CREATE STREAM s WITH (KAFKA_TOPIC='t', FORMAT='AVRO', KEY_SCHEMA_ID=4, VALUE_SCHEMA_ID=5)"
    made = steps(text, Known({4: ROWKEY, 5: fields(x=DOUBLE)}))
    assert not any(isinstance(step, RegisterSchema) for step in made)
    (source,) = (step.source for step in made if isinstance(step, DefineSource))
    assert shown(source) == ["ROWKEY BIGINT KEY", "X DOUBLE VALUE"]
    assert (source.key.schema_id, source.value.schema_id) == (4, 5)


def test_each_side_is_registered_as_declared() -> None:
    made = steps("CREATE STREAM s (k INT KEY) WITH (KAFKA_TOPIC='t', FORMAT='AVRO')", Known(BOTH))
    assert [(step.role, step.declared) for step in made if isinstance(step, RegisterSchema)] == [
        (Role.KEY, True),
        (Role.VALUE, True),
    ]


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        (
            "CREATE STREAM s WITH (KAFKA_TOPIC='none', FORMAT='AVRO')",
            "SCHEMA_MISSING",
            "A schema for message keys on topic none does not exist",
        ),
        (
            "CREATE STREAM s (k INT KEY) WITH (KAFKA_TOPIC='none', FORMAT='AVRO')",
            "SCHEMA_MISSING",
            "A schema for message values on topic none does not exist",
        ),
        (
            "CREATE STREAM s WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO', VALUE_SCHEMA_ID=7)",
            "SCHEMA_MISSING",
            "A schema with id 7 for message values on topic t does not exist",
        ),
        (
            "CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO', VALUE_SCHEMA_ID=7)",
            "INVALID_PROPERTY",
            "Columns and VALUE_SCHEMA_ID can't both be given",
        ),
        (
            "CREATE STREAM s (k INT KEY) WITH (KAFKA_TOPIC='t', FORMAT='AVRO', KEY_SCHEMA_ID=7)",
            "INVALID_PROPERTY",
            "Columns and KEY_SCHEMA_ID can't both be given",
        ),
        ("CREATE TABLE s WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO')", "PRIMARY_KEY_MISSING", "require a PRIMARY KEY"),
        ("CREATE STREAM s WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON')", "NO_COLUMNS", "names no columns"),
        (
            "CREATE STREAM s (note STRING KEY) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO')",
            "DUPLICATE_COLUMN",
            "The column NOTE is named twice",
        ),
        (
            "CREATE STREAM s (id BYTES HEADER('id')) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO')",
            "DUPLICATE_COLUMN",
            "The column ID is named twice",
        ),
        (
            "CREATE STREAM s WITH (KAFKA_TOPIC='reserved', VALUE_FORMAT='AVRO')",
            "RESERVED_COLUMN",
            "ROWTIME is a system column's name",
        ),
        (
            "CREATE STREAM s WITH (KAFKA_TOPIC='empty', VALUE_FORMAT='AVRO')",
            "NO_COLUMNS",
            "names no columns",
        ),
    ],
)
def test_what_can_not_be_inferred_is_refused_at_the_sources_name(text: str, code: str, told: str) -> None:
    more: Found = {("reserved", Role.VALUE): fields(rowtime=BIGINT), ("empty", Role.VALUE): fields()}
    error = refused(text, BOTH | more)
    assert error.code == code
    assert told in error.message
    assert error.span is not None
    assert text[error.span.start : error.span.end] == "s"


# ---- queries that write by a schema that is named by its id ----------------------------------------------------

(DECLARED,) = (
    step.source
    for step in steps("CREATE STREAM s (k INT KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON')")
    if isinstance(step, DefineSource)
)
OVER_S = Catalog().put(DECLARED)
A_B = fields(a=INTEGER, b=STRING)


@pytest.mark.parametrize(
    ("select", "schema"),
    [
        ("k, a, b", A_B),
        ("k, a", A_B),
        ("k, a, b", fields(a=INTEGER, b=STRING, x=DOUBLE)),
        ("k, a AS c", alone("ROWVAL", INTEGER)),
    ],
)
def test_a_query_may_write_by_a_schema_that_begins_with_its_columns(select: str, schema: Inferred) -> None:
    text = f"CREATE STREAM o WITH (VALUE_FORMAT='AVRO', VALUE_SCHEMA_ID=5) AS SELECT {select} FROM s"
    known = Known({5: schema})
    made = steps(text, known, OVER_S)
    assert [(topic, role, serde.schema_id) for topic, role, serde in known.asked] == [("O", Role.VALUE, 5)]
    assert not any(isinstance(step, RegisterSchema) for step in made)


@pytest.mark.parametrize(
    ("select", "schema"),
    [
        ("k, a, b, a + 1 AS c", A_B),
        ("k, b, a", A_B),
        ("k, b", A_B),
        ("k, a, b", fields(x=DOUBLE, a=INTEGER, y=DOUBLE, b=STRING)),
        ("k, CAST(a AS BIGINT) AS a", A_B),
        ("k, a AS `a`", A_B),
        ("k, a, b", alone("ROWVAL", STRING)),
        ("k, a", alone("ROWVAL", Struct((Field("A", INTEGER),)))),
    ],
)
def test_a_query_whose_columns_the_schema_has_not_is_refused(select: str, schema: Inferred) -> None:
    text = f"CREATE STREAM o WITH (VALUE_FORMAT='AVRO', VALUE_SCHEMA_ID=5) AS SELECT {select} FROM s"
    error = refused(text, {5: schema}, OVER_S)
    assert error.code == "SCHEMA_UNFIT"
    assert "These value columns are changed, missing or reordered" in error.message
    assert "The schema 5 has " in (error.hint or "")


def test_a_querys_key_is_looked_at_too() -> None:
    text = "CREATE STREAM o WITH (KEY_FORMAT='AVRO', KEY_SCHEMA_ID=4) AS SELECT * FROM s"
    steps(text, Known({4: alone("ROWKEY", INTEGER, Role.KEY)}), OVER_S)
    assert "These key columns" in refused(text, {4: ROWKEY}, OVER_S).message


def test_a_schema_that_is_not_there_is_not_written_by() -> None:
    text = "CREATE STREAM o WITH (VALUE_FORMAT='AVRO', VALUE_SCHEMA_ID=5) AS SELECT * FROM s"
    assert refused(text, {}, OVER_S).code == "SCHEMA_MISSING"


def test_a_query_registers_the_schemas_of_its_columns() -> None:
    made = steps("CREATE STREAM o WITH (FORMAT='AVRO') AS SELECT * FROM s", Known({}), OVER_S)
    assert [(step.role, step.declared) for step in made if isinstance(step, RegisterSchema)] == [
        (Role.KEY, False),
        (Role.VALUE, False),
    ]
