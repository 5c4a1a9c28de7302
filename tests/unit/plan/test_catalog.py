"""The catalog: an immutable fold of what was put and dropped."""

from __future__ import annotations

import pytest

from orion.plan.catalog import Catalog
from orion.plan.relations import Query, Scan
from orion.plan.sources import Connector, Kind, Serde, Source
from orion.schema import Column, Role, Scalar, Schema

SCHEMA = Schema((Column("K", Scalar.STRING, Role.KEY), Column("V", Scalar.INTEGER)))


def source(name: str) -> Source:
    return Source(name, Kind.STREAM, SCHEMA, name.lower(), Serde("KAFKA"), Serde("JSON"))


def query(id: str, reads: str, writes: str) -> Query:
    return Query(id, "1", Scan(source(reads)), source(writes), (reads,))


A, B, C = source("A"), source("B"), source("C")
A_TO_B, B_TO_C, INSERT = query("A_TO_B", "A", "B"), query("B_TO_C", "B", "C"), query("INSERT", "A", "C")
LAKE = Connector("LAKE", "delta", (A, C), ())


def filled() -> Catalog:
    catalog = Catalog()
    for entry in (A, B, C, A_TO_B, B_TO_C, INSERT, LAKE):
        catalog = catalog.put(entry)
    return catalog


def test_what_is_put_is_found_under_its_name() -> None:
    catalog = filled()
    assert dict(catalog.sources) == {"A": A, "B": B, "C": C}
    assert dict(catalog.queries) == {"A_TO_B": A_TO_B, "B_TO_C": B_TO_C, "INSERT": INSERT}
    assert dict(catalog.connectors) == {"LAKE": LAKE}


def test_putting_again_replaces() -> None:
    other = Source("A", Kind.TABLE, SCHEMA, "other", Serde("JSON"), Serde("JSON"))
    assert filled().put(other).sources["A"] is other


def test_a_catalog_never_changes() -> None:
    before = filled()
    before.put(source("D"))
    before.drop(Source, "A")
    assert dict(before.sources) == {"A": A, "B": B, "C": C}
    with pytest.raises(TypeError):
        before.sources["D"] = source("D")  # type: ignore[index]


@pytest.mark.parametrize(("kind", "name"), [(Source, "A"), (Query, "INSERT"), (Connector, "LAKE")])
def test_what_is_dropped_is_gone_and_nothing_else(
    kind: type[Source] | type[Query] | type[Connector], name: str
) -> None:
    before = filled()
    after = before.drop(kind, name)
    left = {*after.sources, *after.queries, *after.connectors}
    assert left == {*before.sources, *before.queries, *before.connectors} - {name}
    assert after.drop(kind, name) == after


def test_readers_are_queries_and_connectors() -> None:
    catalog = filled()
    assert catalog.readers_of("A") == ["A_TO_B", "INSERT", "LAKE"]
    assert catalog.readers_of("B") == ["B_TO_C"]
    assert catalog.readers_of("C") == ["LAKE"]
    assert catalog.readers_of("NOBODY") == []


def test_writers_are_queries() -> None:
    catalog = filled()
    assert catalog.writers_of("A") == []
    assert catalog.writers_of("B") == ["A_TO_B"]
    assert catalog.writers_of("C") == ["B_TO_C", "INSERT"]


def test_the_order_of_putting_is_kept() -> None:
    assert list(Catalog().put(C).put(A).put(B).sources) == ["C", "A", "B"]
