"""The graph of records: who stands where, and what lineage keeps of it."""

from __future__ import annotations

import pytest

from orion import ksql
from orion.plan.catalog import Catalog
from orion.plan.sources import Connector
from orion.runtime.states import QueryStatus
from orion.web.console.pages.flow import drawn
from orion.web.console.questions.flow import Flow, flow
from orion.web.console.questions.pulse import Job, Reading
from orion.web.console.questions.sources import lineage
from orion.web.console.questions.targets import place_of

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
    assert len(found.nodes) == 8  # four topics, two queries, the sink, and the folder it writes
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
    assert {node.name for node in kept.nodes.values()} == {
        "plays",
        "CLEAN",
        "COUNTS",
        "LAKE",
        "/lake",
        *catalog().queries,
    }
    assert {n.name for n in lineage(graph(), "other").nodes.values()} == {"other"}
    assert lineage(graph(), "nowhere") == Flow()


def test_a_topic_that_is_gone_is_no_link_to_it() -> None:
    ends = dict.fromkeys(("plays", "CLEAN", "COUNTS"), 5)
    found = flow(catalog(), Reading(at=1.0, ends=ends)).nodes["topic other"]
    assert (found.note, found.href) == ("gone", "/sources/OTHER")
    assert flow(catalog(), Reading(at=1.0, ends=ends)).nodes["topic plays"].href == "/topics/plays"


def test_dead_letters_stand_beside_what_sent_them() -> None:
    query = next(name for name in catalog().queries if "CLEAN" in name)
    status = QueryStatus(query, "CLEAN", "RUNNING", 10, 7, dead_letters=3, lag=0, rate=None, error=None)
    found = flow(catalog(), Reading(jobs={query: Job(status)}))
    node = found.nodes["letters CLEAN"]
    assert (node.name, node.href, node.letters) == ("dlq.CLEAN", "/dead-letters/CLEAN", 3)
    assert any((edge.start, edge.end) == (f"query {query}", "letters CLEAN") for edge in found.edges)
    assert "letters CLEAN" not in graph().nodes  # none were sent


def test_boxes_are_as_wide_as_names_need() -> None:
    name = "a_topic_with_quite_a_long_name_in_it"
    made = catalog()
    text = f"CREATE STREAM long (x INT) WITH (KAFKA_TOPIC='{name}', VALUE_FORMAT='JSON');"
    for step in ksql.compile(text, made).steps:
        made = made.after(step)
    assert f">{name}<" in drawn(flow(made, Reading()))


def test_what_is_not_looked_for_steps_back() -> None:
    svg = drawn(graph(), "counts")
    assert svg.count("is-dim") == len([n for n in graph().nodes.values() if "counts" not in n.name.lower()])
    assert "is-dim" not in drawn(graph())


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"path": "/lake/orders"}, "/lake/orders"),
        ({"connection.url": "jdbc:postgresql://db:5432/shop?user=me&password=hunter2"}, "db:5432/shop"),
        ({"connection.uri": "mongodb://me:hunter2@host:27017/shop"}, "host:27017/shop"),
        ({"connection.uri": "mongodb://me:hun@ter2@host/shop"}, None),
        ({"connection.url": "http://me:hunter2@a:9200,http://b:9200"}, "a:9200"),
        ({"connection.url": "http://${env:HOST}:9200"}, None),
        ({"s3.bucket.name": "lake"}, "lake"),
        ({}, None),
    ],
)
def test_a_connector_s_other_end_is_shown_without_its_login(options: dict[str, str], place: str | None) -> None:
    connector = Connector("c", "x", (), tuple(options.items()))
    assert place_of(connector) == place
