"""Values at the edges of their types, read as a table reads them."""

from __future__ import annotations

import math

import pytest

from orion import ksql
from orion.formats.rows.decoding import Bad, decoder
from orion.plan.catalog import Catalog
from orion.schema import Role
from orion.serving.pull import Pulled
from orion.serving.store import Store
from tests.edges import BAD, READ, Read
from tests.unit.serving.world import put


@pytest.mark.parametrize("case", READ, ids=lambda case: f"{case.type}-{case.json[:24]}")
def test_a_table_reads_the_value(case: Read) -> None:
    """From the record through DuckDB to the answer's JSON."""
    text = (
        f"CREATE SOURCE TABLE t (k STRING PRIMARY KEY, v {case.type}) "
        "WITH (kafka_topic='t', value_format='JSON', partitions=1);"
    )
    step = ksql.compile(text, Catalog()).steps[-1]
    source = Catalog().after(step).sources["T"]
    raw = f'{{"v": {case.json}}}'.encode(errors="surrogateescape")
    (found,) = decoder(source, Role.VALUE, lambda _: None)([raw])
    if BAD in (case.shown, case.of_table):
        assert isinstance(found, Bad), found
        return
    store = Store()
    bad = put(store, source, (b"k", raw))
    assert not bad
    ((shown,),) = Pulled((source.schema.value[0],), store.rows("SELECT V FROM T")).rows
    assert shown == case.shown
    assert type(shown) is type(case.shown)
    if isinstance(shown, float):
        assert math.copysign(1, shown) == math.copysign(1, case.shown)
    store.close()
