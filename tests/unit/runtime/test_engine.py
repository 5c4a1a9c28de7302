"""What the engine refuses before it does anything; what it does is tried on real servers."""

from __future__ import annotations

import threading
from typing import cast

import pytest

from orion import ksql
from orion.errors import Conflict
from orion.hub.durable import DurableWriter
from orion.hub.kafka import Kafka
from orion.plan.catalog import Catalog
from orion.plan.relations import Query
from orion.runtime.engine import Engine
from orion.runtime.journal import Journal

NEWER = b'{"format":99}'
STREAM = "CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1)"


def build_catalog() -> Catalog:
    catalog = Catalog()
    for text in (STREAM, "CREATE STREAM t AS SELECT * FROM s"):
        for step in ksql.compile(text, catalog).steps:
            catalog = catalog.after(step)
    return catalog


def build_engine(catalog: Catalog, newer: bytes) -> Engine:
    """With neither a broker nor Spark: it would fail at anything that it does."""
    engine = object.__new__(Engine)
    engine._lock, engine.catalog = threading.RLock(), catalog
    engine._journal = Journal(cast(Kafka, None), "catalog", cast(DurableWriter, None))
    engine._journal.fold_entries([(newer, NEWER)])
    return engine


@pytest.mark.parametrize(
    ("key", "statement"),
    [
        (b"source/O", "CREATE STREAM o AS SELECT * FROM s"),
        (b"query/Q", "INSERT INTO t WITH (QUERY_ID='q') SELECT * FROM s"),
        (b"query/CSAS_T_1", "CREATE OR REPLACE STREAM t AS SELECT k, v FROM s WHERE v > 1"),
        (b"query/CSAS_T_1", "CREATE OR REPLACE STREAM t AS SELECT /* again */ * FROM s"),
        (b"source/O", "CREATE TABLE o (k STRING PRIMARY KEY) WITH (KAFKA_TOPIC='o', VALUE_FORMAT='JSON')"),
        (b"connector/LAKE", "CREATE SINK CONNECTOR lake WITH ('connector.class'='delta', 'topics'='s', 'path'='/l')"),
        (b"type/KM", "CREATE TYPE km AS DOUBLE"),
        (b"function/F", "CREATE FUNCTION f(x INT) RETURNS INT AS $$ x $$"),
    ],
)
def test_a_statement_over_what_a_newer_orion_made_is_refused_before_its_first_step(key: bytes, statement: str) -> None:
    catalog = build_catalog()
    engine = build_engine(catalog, key)
    with pytest.raises(Conflict) as caught:
        engine.perform(ksql.compile(statement, catalog))
    assert caught.value.code == "NEWER_ORION"


@pytest.mark.parametrize("statement", ["DROP STREAM t", "CREATE OR REPLACE STREAM t AS SELECT k, v FROM s WHERE v > 1"])
def test_a_stream_that_a_newer_orions_query_writes_is_left_alone(statement: str) -> None:
    """The query itself isn't in the catalog, so that it looks as if nobody wrote the stream."""
    catalog = build_catalog().drop(Query, "CSAS_T_1")
    engine = build_engine(catalog, b"query/CSAS_T_1")
    with pytest.raises(Conflict) as caught:
        engine.perform(ksql.compile(statement, catalog))
    assert caught.value.code == "NEWER_ORION"
