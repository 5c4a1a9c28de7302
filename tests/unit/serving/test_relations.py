"""Tables as clients from outside see them."""

from __future__ import annotations

import datetime as dt
import struct

from orion.serving.relations import relation_of, shown_name
from orion.serving.store import Layout, Store
from tests.unit.serving.world import SOURCES, put


def test_names_that_need_no_quotes_are_small() -> None:
    assert [shown_name(name) for name in ("TOTALS", "A_1", "camelCase", "small", "ÄÖ")] == [
        "totals", "a_1", "camelCase", "small", "äö",
    ]  # fmt: skip


def test_times_are_times_and_instants_have_a_zone() -> None:
    store = Store()
    value = b'{"day":1,"tm":61001,"ts":1001,"arr":[1]}'
    put(store, SOURCES["EVERYTHING"], (struct.pack(">i", 7), value))
    relation = relation_of(Layout(SOURCES["EVERYTHING"]), store.database)
    assert (relation.name, relation.key, relation.is_view) == ("everything", ("k",), False)
    found = store.cursor().sql(relation.select)
    assert "__key" not in found.columns
    kinds = dict(zip(found.columns, map(str, found.types), strict=True))
    assert (kinds["tm"], kinds["ts"], kinds["day"]) == ("TIME", "TIMESTAMP WITH TIME ZONE", "DATE")
    (row,) = found.fetchall()
    values = dict(zip(found.columns, row, strict=True))
    assert values["tm"] == dt.time(0, 1, 1, 1000)
    assert values["ts"] == dt.datetime(1970, 1, 1, 0, 0, 1, 1000, tzinfo=dt.UTC)
    store.close()


def test_windows_are_part_of_the_key_and_the_bytes_of_keys_are_hidden() -> None:
    store = Store()
    put(store, SOURCES["W"], (b'"a"' + struct.pack(">q", 1000), b'{"N":1}'))
    relation = relation_of(Layout(SOURCES["W"]), store.database)
    assert relation.key == ("k", "windowstart", "windowend")
    assert store.cursor().sql(relation.select).columns == ["k", "windowstart", "windowend", "n", "rowtime"]
    store.close()
