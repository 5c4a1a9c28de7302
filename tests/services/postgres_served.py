"""Tables as the platform keeps them, in its own store, behind PostgreSQL's door; records come without a broker."""

from __future__ import annotations

import datetime as dt
import json
import struct
from decimal import Decimal

import duckdb

from orion import ksql
from orion.plan.catalog import Catalog
from orion.plan.sources import Source
from orion.serving.folding import Fold
from orion.serving.relations import Relation, relation_of
from orion.serving.store import Layout, Store
from orion.testing import Given

SCRIPT = """
CREATE SOURCE TABLE totals (customer STRING PRIMARY KEY, n INT, amount DECIMAL(10, 2), share DOUBLE, seen TIMESTAMP,
    day DATE, clock TIME, tags ARRAY<STRING>, counts ARRAY<INT>, raw BYTES, big BIGINT, active BOOLEAN,
    `camelCase` STRING) WITH (kafka_topic='totals', value_format='JSON', partitions=1);
CREATE SOURCE TABLE nested (k INT PRIMARY KEY, clocks ARRAY<TIME>, moments ARRAY<TIMESTAMP>,
    by_name MAP<STRING, TIMESTAMP>, place STRUCT<city STRING, opens TIME, visits ARRAY<STRUCT<at TIMESTAMP>>>)
    WITH (kafka_topic='nested', key_format='KAFKA', value_format='JSON', partitions=1);
CREATE STREAM visits (page STRING KEY, v INT) WITH (kafka_topic='visits', format='JSON', partitions=1);
CREATE TABLE hourly AS SELECT page, COUNT(*) AS n FROM visits WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY page;
"""
SEEN = 1_704_164_645_678  # 2024-01-02 03:04:05.678
ANN = {
    "n": 7, "amount": 12.34, "share": 1.5, "seen": SEEN, "day": 19_782, "clock": 36_672_500, "tags": ["a", "b c", None],
    "counts": [1, 2, None], "raw": "q80=", "big": 9_000_000_000, "active": True, "camelCase": "x",
}  # fmt: skip
CEM = b'{"n":1,"seen":-62198755200000}'  # two years before the year 1
NESTED = {
    "clocks": [36_672_500, None], "moments": [SEEN], "by_name": {"first": SEEN},
    "place": {"city": "Ulm", "opens": 0, "visits": [{"at": SEEN}]},
}  # fmt: skip
MOMENT = dt.datetime(2024, 1, 2, 3, 4, 5, 678000, tzinfo=dt.UTC)
ANN_ROW = (
    "Ann", 7, Decimal("12.34"), 1.5, MOMENT, dt.date(2024, 2, 29), dt.time(10, 11, 12, 500000), ["a", "b c", None],
    [1, 2, None], b"\xab\xcd", 9_000_000_000, True, "x",
)  # fmt: skip


def _sources() -> dict[str, Source]:
    found = Catalog()
    for text in ksql.split(SCRIPT):
        for step in ksql.compile(text, found).steps:
            found = found.after(step)
    return dict(found.sources)


class Served:
    """A store with three tables of the platform's, one of them of windows."""

    def __init__(self) -> None:
        self.store = Store()
        self.sources = _sources()
        start = struct.pack(">q", 3_600_000)
        self.put("TOTALS", (b"Ann", json.dumps(ANN).encode()), (b"Bob", b'{"n":3}'), (b"Cem", CEM))
        self.fill_nested()
        self.put("HOURLY", (b'"home"' + start, b'{"N":4}'))

    def fill_nested(self) -> None:
        self.put("NESTED", (struct.pack(">i", 1), json.dumps(NESTED).encode()), (struct.pack(">i", 2), b"{}"))

    def put(self, table: str, *records: tuple[bytes, bytes | None]) -> None:
        source = self.sources[table]
        fold = Fold(source, lambda _: None)
        self.store.opened(source, "id")
        given = [Given(source.topic, key, value, at) for at, (key, value) in enumerate(records, 1)]
        changes, bad = fold.changes(given, {0: len(records)})
        assert not bad
        self.store.apply(fold.layout, changes)

    def cursor(self) -> duckdb.DuckDBPyConnection:
        return self.store.connection()

    def relations(self) -> list[Relation]:
        """As Tables has them, which would need a broker for its feeds."""
        names = self.store.fingerprints()
        return [relation_of(Layout(self.sources[name]), self.store.database) for name in names]

    def ready(self, seconds: float) -> bool:
        return True

    def close(self) -> None:
        self.store.close()
