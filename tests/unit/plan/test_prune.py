"""Columns that nothing reads don't pass through a join."""

from __future__ import annotations

from orion import ksql
from orion.plan.catalog import Catalog
from orion.plan.prune import unread_columns
from orion.plan.relations import Join, Project, Query, inputs, looked_up
from orion.plan.steps import StartQuery

SOURCES = """
CREATE STREAM s (id INT KEY, a INT, b INT, c STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t (id INT PRIMARY KEY, x INT, y INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
CREATE TABLE u (id INT PRIMARY KEY, z INT) WITH (KAFKA_TOPIC='u', VALUE_FORMAT='JSON');
"""


def planned(statement: str) -> Query:
    catalog = Catalog()
    for text in ksql.split(SOURCES):
        for step in ksql.compile(text, catalog).steps:
            catalog = catalog.after(step)
    return next(s.query for s in ksql.compile(statement, catalog).steps if isinstance(s, StartQuery))


def test_a_join_takes_what_is_selected_compared_and_filtered_by() -> None:
    query = planned("CREATE STREAM j AS SELECT s.id, a, x FROM s JOIN t ON s.id = t.id WHERE b > 1;")
    join = inputs(inputs(query.relation)[0])[0]
    assert isinstance(join, Join)
    assert [c.name for c in join.left.columns] == ["S.A", "S.B"]  # the id is the key, which the join carries itself
    assert [c.name for c in join.right.columns] == ["T.X"]
    assert isinstance(join.right.input, Project)
    assert [i.name for i in join.right.input.items] == ["T.ID", "T.X"]


def test_what_a_later_join_needs_passes_through_the_earlier_one() -> None:
    query = planned("CREATE STREAM j AS SELECT u.id, z FROM s JOIN t ON s.id = t.id JOIN u ON t.y = u.id;")
    outer = inputs(query.relation)[0]
    assert isinstance(outer, Join)
    assert [c.name for c in outer.left.columns] == []
    inner = outer.left.input
    assert isinstance(inner, Join)
    assert [c.name for c in inner.right.columns] == ["T.Y"]


def test_an_aggregate_over_a_join_needs_its_keys_and_arguments() -> None:
    query = planned("CREATE TABLE j AS SELECT x, SUM(a) AS n FROM s JOIN t ON s.id = t.id GROUP BY x;")
    join = inputs(query.relation)[0]
    assert isinstance(join, Join)
    assert [c.name for c in (*join.left.columns, *join.right.columns)] == ["S.A", "T.X"]


def test_the_tables_a_stream_looks_into_are_known() -> None:
    query = planned("CREATE STREAM j AS SELECT u.id, z FROM s JOIN t ON s.id = t.id JOIN u ON t.y = u.id;")
    assert looked_up(query.relation) == {"T", "U"}
    assert looked_up(planned("CREATE TABLE j AS SELECT t.id, x, z FROM t JOIN u ON t.id = u.id;").relation) == set()


def test_columns_that_nothing_asks_for_are_known() -> None:
    found = {
        statement: unread_columns(planned(statement).relation)
        for statement in (
            "CREATE STREAM o AS SELECT id, a FROM s WHERE b > 1;",
            "CREATE TABLE o AS SELECT a, COUNT(*) FROM s GROUP BY a;",
            "CREATE STREAM o AS SELECT s.id, a, x FROM s JOIN t ON s.id = t.id;",
            "CREATE STREAM o AS SELECT * FROM s;",
        )
    }
    assert list(map(sorted, found.values())) == [["C"], ["B", "C", "ID"], ["B", "C", "Y"], []]


def test_a_root_that_passes_on_what_it_gets_reads_all() -> None:
    [below] = inputs(planned("CREATE STREAM o AS SELECT id, a FROM s WHERE b > 1;").relation)
    assert unread_columns(below) == frozenset()
