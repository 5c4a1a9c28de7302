"""delta's options, without Spark."""

from __future__ import annotations

import pytest

from orion.errors import ConfigError
from orion.plan.sources import Connector, Kind
from orion.schema import Column, Map, Role, Scalar
from orion.sinks.delta import DeltaSink, open_sink
from orion.sinks.store import Layout

COLUMNS = (
    Column("ID", Scalar.BIGINT, Role.KEY),
    Column("NAME", Scalar.STRING),
    Column("TAGS", Map(Scalar.STRING, Scalar.STRING)),
)
TABLE, STREAM = Layout("plays", Kind.TABLE, COLUMNS), Layout("plays", Kind.STREAM, COLUMNS)
KEYLESS = Layout("plays", Kind.STREAM, COLUMNS[1:])


def sink(of: Layout, **options: str) -> DeltaSink:
    written = {"path": "/lake"} | {name.replace("_", "."): value for name, value in options.items()}
    return open_sink(Connector("LAKE", "delta", (), tuple(written.items()), number=7), of)


def refusal(of: Layout, **options: str) -> ConfigError:
    with pytest.raises(ConfigError) as told:
        sink(of, **options)
    return told.value


def test_tables_are_upserted_and_streams_appended() -> None:
    assert sink(TABLE).keys == ("ID",)
    assert sink(STREAM).keys == ()
    assert sink(TABLE, write_mode="append").keys == ()
    assert sink(STREAM, write_mode="upsert").keys == ("ID",)
    assert sink(KEYLESS, merge_keys="name").keys == ("NAME",)


@pytest.mark.parametrize(
    ("of", "options", "told"),
    [
        (KEYLESS, {"write_mode": "upsert"}, "no key column"),
        (TABLE, {"write_mode": "append", "merge_keys": "ID"}, "'merge.keys' is for"),
        (TABLE, {"merge_keys": "TAGS"}, "which is MAP"),
        (TABLE, {"partition_by": "TAGS"}, "which is MAP"),
        (TABLE, {"aws_access_key_id": "k"}, "go together"),
        (TABLE, {"path": "s3a://bucket"}, "no folder of a bucket"),
        (TABLE, {"path": ""}, "'path'"),
        (TABLE, {"optimize_interval_ms": "often"}, "'optimize.interval.ms'"),
        (Layout("plays", Kind.STREAM, (*COLUMNS, Column("name", Scalar.STRING))), {}, "differ in case"),
    ],
)
def test_options_that_are_refused(of: Layout, options: dict[str, str], told: str) -> None:
    assert told in refusal(of, **options).message


def test_the_nearest_names_are_told() -> None:
    assert refusal(TABLE, partition_by="NAMES").hint == "Did you mean NAME?"
    assert refusal(TABLE, optimise_interval_ms="1").hint == "Did you mean optimize.interval.ms?"


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("/lake/", "/lake"),
        ("file:///lake/a%20b", "/lake/a b"),
        ("s3://bucket/lake/plays/", "s3a://bucket/lake/plays"),
        ("hdfs://host/lake", "hdfs://host/lake"),
    ],
)
def test_a_path_is_one_that_hadoop_knows(written: str, path: str) -> None:
    assert sink(TABLE, path=written).table.path == path


def test_a_secret_is_shown_nowhere() -> None:
    made = sink(TABLE, path="s3a://b/c", aws_access_key_id="k", aws_secret_access_key="hush")
    assert "hush" not in repr(made)
