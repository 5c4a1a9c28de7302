"""Answers that the catalog alone gives."""

from __future__ import annotations

from orion import ksql
from orion.answers import creation_of
from orion.plan.catalog import Catalog
from orion.plan.steps import ShowCreate

STREAM = "CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 'in', VALUE_FORMAT = 'JSON')"
TABLE = "CREATE TABLE t AS SELECT k, COUNT(*) AS n FROM s GROUP BY k"
ALTERED = "ALTER STREAM s ADD COLUMN w STRING"
SINK = (
    "CREATE SINK CONNECTOR pg WITH ('connector.class' = 'jdbc', 'topics' = 'in', "
    "'connection.url' = 'jdbc:postgresql://me:s3cret@here/db', 'connection.password' = 's3cret')"
)


def shown(catalog: Catalog, question: str) -> str:
    ask = ksql.compile(question, catalog).ask
    assert isinstance(ask, ShowCreate)
    entity = creation_of(ask, catalog)
    assert (entity["@type"], entity["type"], entity["name"]) == ("show_create", ask.what, ask.name)
    return str(entity["statement"])


def catalog_of(*statements: str) -> Catalog:
    catalog = Catalog()
    for statement in statements:
        for step in ksql.compile(statement, catalog).steps:
            catalog = catalog.after(step)
    return catalog


def test_the_statement_comes_back_as_it_was_written() -> None:
    catalog = catalog_of(STREAM, TABLE)
    assert shown(catalog, "SHOW CREATE STREAM s") == f"{STREAM};"
    assert shown(catalog, "SHOW CREATE TABLE t") == f"{TABLE};"


def test_what_was_altered_stands_behind_and_both_make_it_again() -> None:
    catalog = catalog_of(STREAM, ALTERED)
    text = shown(catalog, "SHOW CREATE STREAM s;")
    assert text == f"{STREAM};\n{ALTERED};"
    again = catalog_of(*ksql.split(text))
    assert again.sources["S"].schema == catalog.sources["S"].schema


def test_a_connector_comes_back_without_its_secrets() -> None:
    text = shown(catalog_of(STREAM, SINK), "SHOW CREATE CONNECTOR pg")
    assert text.startswith("CREATE SINK CONNECTOR pg WITH ('connector.class' = 'jdbc', 'topics' = 'in'")
    assert text.endswith(");")
    assert "s3cret" not in text
