"""Which statement of a text is meant, and where an error stands in it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from orion import ksql
from orion.app import Orion
from orion.errors import BindError, Span, UserError
from orion.plan.catalog import Catalog
from orion.plan.explain import plan_tree
from orion.plan.steps import DefineSource
from orion.web.console.questions.entities import grid_of, type_text
from orion.web.console.questions.sql import (
    BEGINNING,
    END,
    Refused,
    Statement,
    _pointing,
    chosen,
    find_mistake,
    statements,
)
from orion.web.console.questions.vocabulary import read_vocabulary
from orion.web.console.results import chart_columns, newest, rows_html

TEXT = "SHOW STREAMS;\n\n-- all of them\nSELECT * FROM s EMIT CHANGES;\nSELECT 1 FROM t;"


def test_the_statement_at_the_cursor_is_meant() -> None:
    assert [s.text for s in chosen(TEXT, 3, 3)] == ["SHOW STREAMS"]
    assert chosen(TEXT, TEXT.index("FROM s"), TEXT.index("FROM s"))[0].is_question
    assert chosen(TEXT, len(TEXT), len(TEXT))[0].is_pull
    assert [s.text for s in chosen(TEXT, 0, 20)] == ["SHOW STREAMS", "-- all of them\nSELECT * FROM s EMIT CHANGES"]
    assert chosen("", 0, 0) == []


def test_explain_tells_where_a_query_begins() -> None:
    catalog = Catalog()
    declared = "CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON')"
    for step in ksql.compile(declared, catalog).steps:
        catalog = catalog.after(step)

    def told(text: str, properties: dict[str, str]) -> str:
        return plan_tree(ksql.compile(text, catalog, properties))

    made = "CREATE STREAM o AS SELECT * FROM s EMIT CHANGES"
    assert "from the end of its topics" in told(made, END)
    assert "from the end of its topics" not in told(made, BEGINNING)
    assert "push query from the end" in told("SELECT * FROM s EMIT CHANGES", END)
    assert "push query from the beginning" in told("SELECT * FROM s EMIT CHANGES", BEGINNING)


def test_a_text_that_can_t_be_cut_is_pointed_at() -> None:
    with pytest.raises(Refused) as refused:
        statements("SHOW STREAMS; SELECT 'oops")
    assert refused.value.span is not None


def test_an_error_s_place_is_one_in_the_editor() -> None:
    statement = Statement("SELECT x FROM s", 40)
    with pytest.raises(Refused) as refused, _pointing(statement):
        raise BindError("UNKNOWN_COLUMN", "There is no x.", span=Span(7, 8), text=statement.text)
    assert refused.value.span == Span(47, 48)
    with pytest.raises(Refused) as plain, _pointing(statement):
        raise UserError("OTHER", "It is so.")
    assert plain.value.span is None


def test_history_has_no_secrets() -> None:
    written = "CREATE SINK CONNECTOR c WITH ('connector.class'='jdbc', 'connection.password'='hunter2')"
    assert "hunter2" not in Statement(written, 0).shown


def test_answers_are_tables() -> None:
    listed = {"@type": "streams", "streams": [{"name": "S", "topic": "t", "keyFormat": "KAFKA", "valueFormat": "JSON"}]}
    found = grid_of(listed)
    assert found is not None
    assert found.rows == (("S", "t", "KAFKA", "JSON", None),)
    assert grid_of({"@type": "currentStatus", "commandStatus": {"message": "done"}}) is None
    tree = {"type": "STRUCT", "fields": [{"name": "A", "schema": {"type": "ARRAY", "memberSchema": {"type": "INT"}}}]}
    assert type_text(tree) == "STRUCT<A ARRAY<INT>>"


def test_bars_are_the_last_value_of_each_name() -> None:
    assert chart_columns(("COUNTRY", "N", "ROWTIME"), ("VARCHAR(STRING)", "BIGINT", "BIGINT")) == (0, (1,))
    rows = [["DE", 3], ["US", 9], ["DE", 2]]
    assert newest(rows, 0, (1,)) == {"US": ["US", 9], "DE": ["DE", 3]}
    assert newest([[2], [1]], None, (0,)) == {"1": [1], "2": [2]}


# ---- while somebody writes -----------------------------------------------------------------------------------------


def platform_with(*statements: str) -> Orion:
    """As much of a platform as is asked before anything runs."""
    catalog = Catalog()
    for text in statements:
        for step in ksql.compile(text, catalog).steps:
            if isinstance(step, DefineSource):
                catalog = catalog.put(step.source)
    engine: Any = SimpleNamespace(catalog=catalog, schemas=None, defaults={})
    return cast(Orion, SimpleNamespace(engine=engine))


ORDERS = "CREATE STREAM orders (id INT KEY, zip STRING) WITH (kafka_topic='o', value_format='JSON', partitions=1);"


def mistake_in(text: str, cursor: int | None = None) -> str | None:
    found = find_mistake(platform_with(ORDERS), text, len(text) if cursor is None else cursor)
    return None if found is None or found.span is None else text[found.span.start : found.span.end]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("SELECT zip FROM orders EMIT CHANGES;", None),
        ("SELECT nosuch FROM orders EMIT CHANGES;", "nosuch"),
        ("SELECT zip FROM nosuch EMIT CHANGES;", "nosuch"),
        ("SELEC zip FROM orders;", "SELEC"),
        ("SELECT zip, ", None),  # not written to its end yet
        ("SELECT zip FROM", None),
        ("SHOW STREAMS;\nSELECT UCAS(zip) FROM orders EMIT CHANGES;", "UCAS(zip)"),
        ("CREATE STREAM b AS SELECT * FROM orders;\nSELECT * FROM b EMIT CHANGES;", None),  # the first makes it
        ("", None),
    ],
)
def test_a_mistake_is_found_before_the_statement_runs(text: str, wrong: str | None) -> None:
    assert mistake_in(text) == wrong


def test_only_the_statement_at_the_cursor_is_checked() -> None:
    text = "SELECT nosuch FROM orders EMIT CHANGES;\nSHOW STREAMS;"
    assert mistake_in(text) is None
    assert mistake_in(text, 3) == "nosuch"


def test_words_have_columns_and_signatures() -> None:
    words = read_vocabulary(platform_with(ORDERS))
    [orders] = words.sources
    assert [(c.name, c.type, c.role) for c in orders.columns] == [("ID", "INTEGER", "key"), ("ZIP", "STRING", "")]
    assert [c.name for c in orders.pseudo] == ["ROWTIME", "ROWPARTITION", "ROWOFFSET"]
    ucase = next(f for f in words.functions if f.name == "UCASE")
    assert ucase.signatures == ("UCASE(STRING)",)


def test_values_are_shown_as_sql_has_them() -> None:
    shown = rows_html(("WINDOWSTART", "A", "B", "C"), [(0, {"x": [1, None]}, True, None)])
    assert "1970-01-01 00:00:00.000" in shown
    assert 'title="0"' in shown
    assert "{&quot;x&quot;: [1, null]}" in shown
    assert ">true<" in shown
    assert '<span class="o-null">NULL</span>' in shown
