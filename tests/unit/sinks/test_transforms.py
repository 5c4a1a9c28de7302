"""Kafka Connect's transforms, as what they make of a source's columns."""

from __future__ import annotations

import pytest

from orion import ksql
from orion.errors import ConfigError
from orion.plan.catalog import Catalog
from orion.plan.sources import Connector, Source
from orion.schema import Role
from orion.sinks.store import Nested
from orion.sinks.transforms import Shape, layout_of, shaped

_TYPES = "org.apache.kafka.connect.transforms."


def source() -> Source:
    text = """CREATE TABLE people (id STRING PRIMARY KEY, name STRING, age INT, tags ARRAY<STRING>, paid DECIMAL(8, 2))
              WITH (KAFKA_TOPIC = 'people', VALUE_FORMAT = 'JSON', PARTITIONS = 1)"""
    catalog = Catalog()
    for step in ksql.compile(text, catalog).steps:
        catalog = catalog.after(step)
    return catalog.sources["PEOPLE"]


def shape(**options: str) -> Shape:
    """`t` is the one transform; `t__x_y` is its option x.y."""
    written = {
        "transforms": "t",
        **{n.replace("t__", "transforms.t.").replace("_", "."): v for n, v in options.items()},
    }
    return shaped(Connector("C", "jdbc", (source(),), tuple(written.items())), source())


def names(made: Shape) -> list[str]:
    return [i.column.name for i in made.items]


def test_without_transforms_a_row_is_its_columns_the_keys_first() -> None:
    made = shaped(Connector("C", "jdbc", (source(),), ()), source())
    assert names(made) == ["ID", "NAME", "AGE", "TAGS", "PAID"]
    assert [c.name for c in layout_of(made, source()).key] == ["ID"]
    assert made.where is None
    assert made.select(Nested.TEXT)[3] == "to_json(`TAGS`, map('ignoreNullFields', 'false')) AS `TAGS`"
    assert made.select(Nested.ARROW)[3] == "`TAGS` AS `TAGS`"


def test_rename_and_drop() -> None:
    made = shape(t__type=f"{_TYPES}ReplaceField$Value", t__renames="name:full_name,AGE:years", t__exclude="tags")
    assert names(made) == ["ID", "full_name", "years", "PAID"]
    assert made.items[1].spark == "`NAME`"


def test_only_what_is_included_stays_and_the_other_side_is_left_alone() -> None:
    made = shape(t__type="ReplaceField$Value", t__include="name")
    assert names(made) == ["ID", "NAME"]


def test_mask() -> None:
    made = shape(t__type="MaskField$Value", t__fields="name,age")
    assert made.items[1].spark == "if(`NAME` IS NULL, NULL, '')"
    assert made.items[2].spark == "if(`AGE` IS NULL, NULL, CAST(0 AS INT))"
    said = shape(t__type="MaskField$Value", t__fields="name", t__replacement="it's hidden")
    assert said.items[1].spark == "if(`NAME` IS NULL, NULL, CAST('it\\'s hidden' AS STRING))"


def test_insert() -> None:
    made = shape(
        t__type="InsertField$Value",
        t__topic_field="origin",
        t__offset_field="at",
        t__static_field="team",
        t__static_value="a",
    )
    assert names(made)[5:] == ["origin", "at", "team"]
    assert all(i.column.role is Role.VALUE for i in made.items[5:])


def test_route_by_a_field() -> None:
    made = shape(t__type="io.confluent.connect.transforms.ExtractTopic$Value", t__field="name")
    text = "CAST(`NAME` AS STRING)"
    assert made.route == f"if({text} IS NULL OR {text} = '', 'people', {text})"


def test_route_by_a_pattern_and_by_time() -> None:
    made = shape(t__type="RegexRouter", t__regex="(.*)", t__replacement="hub_$1")
    assert made.route is not None
    assert "regexp_replace('people', '^(?:(.*))$', 'hub_$1')" in made.route
    timed = shape(t__type="TimestampRouter", t__topic_format="${topic}-${timestamp}", t__timestamp_format="YYYY-MM")
    assert timed.route == "concat('', 'people', '-', date_format(timestamp_millis(ROWTIME), 'yyyy-MM'), '')"


def test_tombstones_can_be_dropped() -> None:
    connector = Connector(
        "C",
        "jdbc",
        (source(),),
        (
            ("transforms", "t"),
            ("transforms.t.type", f"{_TYPES}Filter"),
            ("transforms.t.predicate", "gone"),
            ("predicates", "gone"),
            ("predicates.gone.type", "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone"),
        ),
    )
    assert shaped(connector, source()).where == "coalesce(NOT (__deleted), FALSE)"


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"t__type": "ReplaceFields$Value"}, "'transforms.t.type' is no transform", "Did you mean ReplaceField?"),
        ({"t__type": "MaskField$Value", "t__fields": "nam"}, "names nam, which people doesn't", "Did you mean NAME?"),
        ({"t__type": "MaskField$Value", "t__field": "x"}, "no option 'transforms.t.field'", "Did you mean fields?"),
        ({"t__type": "ReplaceField$Value", "t__renames": "name"}, "renames' has 'name'", "A rename is old:new."),
        ({"t__type": "ReplaceField$Value", "t__renames": "name:PAID"}, "has the column PAID twice", None),
        ({"t__type": "ExtractTopic$Value", "t__field": "tags"}, "rows are routed by text", None),
    ],
)
def test_what_does_not_do_is_refused_with_what_is_near(options: dict[str, str], message: str, hint: str | None) -> None:
    with pytest.raises(ConfigError) as refused:
        shape(**options)
    assert refused.value.code == "INVALID_TRANSFORM"
    assert message in refused.value.message
    assert refused.value.hint == hint


def test_options_of_a_transform_that_is_not_named_are_not_passed_over() -> None:
    with pytest.raises(ConfigError, match="'transforms' doesn't name"):
        shape(t__type="MaskField$Value", t__fields="name", transforms_other_type="MaskField")
