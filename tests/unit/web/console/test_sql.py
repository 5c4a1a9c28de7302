"""Which statement of a text is meant, and where an error stands in it."""

from __future__ import annotations

import pytest

from orion.errors import BindError, Span, UserError
from orion.web.console.questions.entities import grid_of, type_text
from orion.web.console.questions.sql import Refused, Statement, _pointing, chosen, statements
from orion.web.console.results import chart_columns, newest

TEXT = "SHOW STREAMS;\n\n-- all of them\nSELECT * FROM s EMIT CHANGES;\nSELECT 1 FROM t;"


def test_the_statement_at_the_cursor_is_meant() -> None:
    assert [s.text for s in chosen(TEXT, 3, 3)] == ["SHOW STREAMS"]
    assert chosen(TEXT, TEXT.index("FROM s"), TEXT.index("FROM s"))[0].is_question
    assert chosen(TEXT, len(TEXT), len(TEXT))[0].is_pull
    assert [s.text for s in chosen(TEXT, 0, 20)] == ["SHOW STREAMS", "-- all of them\nSELECT * FROM s EMIT CHANGES"]
    assert chosen("", 0, 0) == []


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
