"""The graph of records: who stands where, and what lineage keeps of it."""

from __future__ import annotations

from orion import ksql
from orion.plan.catalog import Catalog
from orion.web.console.pages.flow import drawn
from orion.web.console.questions.flow import Flow, flow
from orion.web.console.questions.pulse import Reading
from orion.web.console.questions.sources import lineage

SCRIPT = """
CREATE STREAM plays (id STRING KEY, country STRING) WITH (KAFKA_TOPIC='plays', VALUE_FORMAT='JSON');
CREATE STREAM other (id STRING KEY, x INT) WITH (KAFKA_TOPIC='other', VALUE_FORMAT='JSON');
CREATE STREAM clean AS SELECT * FROM plays WHERE country IS NOT NULL EMIT CHANGES;
CREATE TABLE counts AS SELECT country, COUNT(*) AS n FROM clean GROUP BY country EMIT CHANGES;
CREATE SINK CONNECTOR lake WITH ('connector.class'='delta', 'topics'='CLEAN', 'path'='/lake');
"""


def catalog() -> Catalog:
    made = Catalog()
    for text in ksql.split(SCRIPT):
        for step in ksql.compile(text, made).steps:
            made = made.after(step)
    return made


def graph() -> Flow:
    return flow(catalog(), Reading())


def test_records_go_from_left_to_right() -> None:
    found = graph()
    assert len(found.nodes) == 7
    assert all(found.nodes[edge.start].x < found.nodes[edge.end].x for edge in found.edges)
    places = [(node.x, node.y) for node in found.nodes.values()]
    assert len(set(places)) == len(places)


def test_a_node_is_a_link_and_names_are_text() -> None:
    svg = drawn(graph())
    assert 'href="/topics/plays"' in svg
    assert 'href="/connectors/LAKE"' in svg
    assert drawn(Flow()).startswith('<div class="o-empty">')


def test_lineage_is_what_leads_here_and_where_it_leads() -> None:
    kept = lineage(graph(), "CLEAN")
    assert {node.name for node in kept.nodes.values()} == {"plays", "CLEAN", "COUNTS", "LAKE", *catalog().queries}
    assert {n.name for n in lineage(graph(), "other").nodes.values()} == {"other"}
    assert lineage(graph(), "nowhere") == Flow()
