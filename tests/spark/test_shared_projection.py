"""What statements make of records is the same to the byte, whether each runs by itself or all in one projection."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from orion import ksql
from orion.plan.catalog import Catalog
from orion.plan.relations import Project, Query
from orion.plan.sharing import why_alone
from orion.plan.steps import StartQuery
from orion.runtime.dataframe import outgoing
from orion.runtime.lanes.exact import ORIGIN, SENT, pack_outgoing
from orion.runtime.operators.pooled import MEMBER
from orion.runtime.shared_projection import Branch, NotShareable, project_all
from orion.runtime.simplified import simplified

STREAM = """CREATE STREAM s (k STRING KEY, id BIGINT, v INT, t STRING, u STRUCT<a INT, b STRING>, l ARRAY<INT>)
    WITH (kafka_topic='s', value_format='JSON')"""
TABLE = """CREATE TABLE s (k STRING PRIMARY KEY, id BIGINT, v INT, t STRING, u STRUCT<a INT, b STRING>, l ARRAY<INT>)
    WITH (kafka_topic='s', value_format='JSON')"""
# Behind CREATE ... AS; {n} keeps their names apart.
OVER_STREAM = (
    "STREAM o{n} AS SELECT * FROM s",
    "STREAM o{n} AS SELECT k, v + {n} AS more FROM s WHERE v > {n}",
    "STREAM o{n} AS SELECT k, UCASE(t) AS t, t AS again, LEN(t) AS l FROM s WHERE t LIKE '%a%' AND v IS NOT NULL",
    "STREAM o{n} AS SELECT k, u->b AS b, l[1] AS first FROM s WHERE u->a = 1 OR ARRAY_LENGTH(l) > 1",
    "STREAM o{n} AS SELECT id, k, CASE WHEN v < 0 THEN 'below' WHEN v > 5 THEN t END AS kind FROM s PARTITION BY id",
    "STREAM o{n} AS SELECT k, ROWTIME AS at, ROWPARTITION AS part, ROWOFFSET AS off FROM s WHERE ROWOFFSET > 2",
    "STREAM o{n} WITH (timestamp='ID') AS SELECT k, id, v / 0 AS nothing FROM s",
    "STREAM o{n} WITH (value_format='DELIMITED') AS SELECT k, v, t FROM s WHERE NOT (v = 3)",
    "STREAM o{n} WITH (value_format='KAFKA') AS SELECT k, v FROM s",
    "STREAM o{n} AS SELECT k, TRANSFORM(l, x => x * v) AS scaled FROM s WHERE ARRAY_CONTAINS(l, 2)",
    "STREAM o{n} AS SELECT k, CONCAT(t, '-', CAST(id AS STRING)) AS text FROM s WHERE k <> 'k1'",
)
OVER_TABLE = (
    "TABLE o{n} AS SELECT * FROM s",
    "TABLE o{n} AS SELECT k, v * 2 AS twice, u FROM s",
    "TABLE o{n} AS SELECT k, t FROM s",
)
RECORDS = (
    ("k1", {"id": 1, "v": 3, "t": "abc", "u": {"a": 1, "b": "x"}, "l": [1, 2, 3]}),
    ("k2", {"id": 2, "v": -1, "t": "", "u": None, "l": []}),
    ("k1", {"id": 1_700_000_000_000, "v": 7, "t": "ba", "u": {"b": "y"}, "l": [2]}),
    (None, {"id": 4, "v": None, "t": None}),
    ("k3", {"ID": 5, "V": 9, "T": "A\u00e4\U0001f600"}),
    ("k4", None),
    ("k5", "no JSON"),
    (b"\xff", {"id": 6, "v": 1}),
    ("k6", {"id": "text", "v": 2}),
    ("k7", {"id": 7, "v": 2_000_000_000, "t": "late a", "u": {"a": 1}, "l": [2, 2]}),
)
Row = tuple[Any, ...]


@pytest.fixture(scope="module")
def records(spark: SparkSession) -> DataFrame:
    return kafka_records(spark, lambda at: at)


def kafka_records(spark: SparkSession, time_of: Callable[[int], int]) -> DataFrame:
    """As Spark's Kafka source gives them. `time_of`: milliseconds after the first second, by offset."""
    rows = [
        (_bytes(key), _bytes(value), "s", at % 3, at, 0, [("h", b"1")] if at % 2 else None, 1_000 + time_of(at))
        for at, (key, value) in enumerate(RECORDS)
    ]
    schema = (
        "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestampType INT,"
        " headers ARRAY<STRUCT<key: STRING, value: BINARY>>, at BIGINT"
    )
    frame = spark.createDataFrame(rows, schema).withColumn("timestamp", F.expr("timestamp_millis(at)"))
    return frame.drop("at")


def _bytes(value: object) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


def compile_all(source: str, statements: Sequence[str]) -> list[Query]:
    catalog, queries = Catalog(), []
    for text in (f"{source};", *(f"CREATE {one.format(n=n)};" for n, one in enumerate(statements))):
        for step in ksql.compile(text, catalog).steps:
            catalog = catalog.after(step)
            queries += [step.query] if isinstance(step, StartQuery) else []
    return queries


def run_alone(query: Query, records: DataFrame) -> list[Row]:
    return _rows(pack_outgoing(outgoing(query, lambda _: records)))


def run_together(queries: Sequence[Query], records: DataFrame) -> list[list[Row]]:
    frame = simplified(project_all([Branch(query) for query in queries], records)).cache()
    try:
        return [_rows(frame.where(f"{MEMBER} = {n}")) for n in range(len(queries))]
    finally:
        frame.unpersist()


def _rows(frame: DataFrame) -> list[Row]:
    found = frame.select(*SENT, ORIGIN).collect()
    return [tuple(bytes(v) if isinstance(v, bytearray) else v for v in row) for row in found]


@pytest.mark.parametrize(
    ("source", "statements"), [(STREAM, OVER_STREAM), (TABLE, OVER_TABLE)], ids=["stream", "table"]
)
def test_all_of_them(records: DataFrame, source: str, statements: tuple[str, ...]) -> None:
    queries = compile_all(source, statements)
    assert [why_alone(query) for query in queries] == [None] * len(queries)
    alone = [run_alone(query, records) for query in queries]
    assert run_together(queries, records) == alone
    assert all(len(rows) > 1 for rows in alone)


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(OVER_STREAM), min_size=2, max_size=5))
def test_any_of_them(records: DataFrame, statements: list[str]) -> None:
    queries = compile_all(STREAM, statements)
    assert run_together(queries, records) == [run_alone(query, records) for query in queries]


def test_one_that_has_read_further_gets_nothing_twice(records: DataFrame) -> None:
    queries = compile_all(STREAM, OVER_STREAM[:1] * 2)
    frame = project_all([Branch(queries[0]), Branch(queries[1], {0: 4, 2: 100})], records)
    offsets = {n: sorted(_offsets(frame.where(f"{MEMBER} = {n}"))) for n in range(2)}
    assert offsets[0] == [*range(len(RECORDS))]
    assert offsets[1] == [at for at in offsets[0] if (at % 3 == 0 and at >= 4) or at % 3 == 1]


def _offsets(frame: DataFrame) -> list[int]:
    return [int(row.timestamp) - 1000 for row in frame.select("timestamp").collect()]


def test_what_calls_python_runs_by_itself(spark: SparkSession, records: DataFrame) -> None:
    """Such a function would be called for every record, whatever the statement's condition says."""
    spark.udf.register("twice_for_sharing", lambda n: n, "int")
    [query, other] = compile_all(STREAM, OVER_STREAM[1:3])
    calling = _calling(query, "twice_for_sharing")
    with pytest.raises(NotShareable, match="a function in Python"):
        project_all([Branch(other), Branch(calling)], records)


def _calling(query: Query, function: str) -> Query:
    relation = query.relation
    assert isinstance(relation, Project)
    items = tuple(
        replace(item, expr=replace(item.expr, spark=f"{function}(`V`)")) if item.name == "MORE" else item
        for item in relation.items
    )
    return replace(query, relation=replace(relation, items=items))
