"""Tables of several kinds, and records put into them without a broker."""

from __future__ import annotations

from orion import ksql
from orion.plan.catalog import Catalog
from orion.plan.sources import Source
from orion.serving.folding import Fold
from orion.serving.store import Store
from orion.testing import Given

SCRIPT = """
CREATE STREAM s (k STRING KEY, a INT, v INT) WITH (kafka_topic='s', format='JSON', partitions=1);
CREATE TABLE t AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;
CREATE TABLE two AS SELECT k, a, COUNT(*) AS n FROM s GROUP BY k, a;
CREATE TABLE w AS SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY k;
CREATE TABLE se AS SELECT k, COUNT(*) AS n FROM s WINDOW SESSION (1 SECOND) GROUP BY k;
CREATE SOURCE TABLE everything (k INT PRIMARY KEY, b BOOLEAN, l BIGINT, d DOUBLE, t STRING, x BYTES, m DECIMAL(10, 2),
    day DATE, tm TIME, ts TIMESTAMP, arr ARRAY<INT>, mp MAP<STRING, INT>, st STRUCT<A INT, B STRING>)
    WITH (kafka_topic='e', key_format='KAFKA', value_format='JSON', partitions=1);
CREATE SOURCE TABLE flat (k BIGINT PRIMARY KEY, a INT, b STRING) WITH (kafka_topic='f', value_format='DELIMITED',
    partitions=1);
"""


def catalog() -> Catalog:
    found = Catalog()
    for text in ksql.split(SCRIPT):
        for step in ksql.compile(text, found).steps:
            found = found.after(step)
    return found


SOURCES = catalog().sources


def put(store: Store, source: Source, *records: tuple[bytes, bytes | None]) -> list[str]:
    fold = Fold(source, lambda _: None)
    store.opened(source, "id")
    given = [Given(source.topic, key, value, at) for at, (key, value) in enumerate(records, 1)]
    changes, bad = fold.changes(given, {0: len(records)})
    store.apply(fold.layout, changes)
    return [one.reason for one in bad]
