"""${name}: replaced before a statement is parsed, by what the session has defined."""

from __future__ import annotations

import pytest

from orion import ksql
from orion.errors import BindError, UserError
from orion.ksql.session import Session
from orion.ksql.variables import substitute
from orion.plan.catalog import Catalog
from orion.plan.steps import DefineSource, SetVariable

KNOWN = {"TOPIC": "clicks", "N": "3", "QUOTE": "it's", "NESTED": "${TOPIC}", "LITERAL": "'x'", "MINUS": "-1"}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("PRINT ${topic};", "PRINT clicks;"),
        ("PRINT '${topic}-${N}';", "PRINT 'clicks-3';"),
        ("SELECT `${topic}` FROM s", "SELECT `clicks` FROM s"),
        ("SELECT '${quote}'", "SELECT 'it''s'"),
        ("SELECT '${nested}'", "SELECT '${TOPIC}'"),  # a value is not looked through again
        ("SELECT ${literal}, ${minus}", "SELECT 'x', -1"),
        ("-- ${nobody}\nPRINT ${topic} /* ${nobody} */", "-- ${nobody}\nPRINT clicks /* ${nobody} */"),
        ("AS $$ f'${nobody}' $$", "AS $$ f'${nobody}' $$"),
        ("SELECT '$ {x} ${env:X} $'", "SELECT '$ {x} ${env:X} $'"),
    ],
)
def test_a_reference_becomes_its_value(text: str, wanted: str) -> None:
    assert substitute(text, KNOWN) == wanted


@pytest.mark.parametrize("text", ["PRINT ${topik}", "PRINT 'a-${topik}'"])
def test_an_undefined_variable_is_an_error_with_the_nearest_name(text: str) -> None:
    with pytest.raises(BindError) as refused:
        substitute(text, KNOWN)
    error = refused.value
    assert (error.code, error.hint) == ("UNDEFINED_VARIABLE", "Did you mean TOPIC?")
    assert error.caret().count("^") == len("${topik}")


@pytest.mark.parametrize("value", ["s; DROP STREAM s", "a b", "", "1 + 1", "--", "'a"])
def test_a_value_outside_of_quotes_is_one_word(value: str) -> None:
    with pytest.raises(UserError):
        substitute("SELECT * FROM ${x}", {"X": value})


def test_a_script_defines_uses_and_forgets() -> None:
    texts = ksql.split(
        """
        DEFINE fmt = 'JSON';
        DEFINE both = '${fmt}-${fmt}';
        CREATE STREAM s (v INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = '${FMT}');
        UNDEFINE fmt;
        """
    )
    ksql.check_syntax(texts, Catalog())
    session, catalog = Session(), Catalog()
    for text in texts:
        for step in ksql.compile(text, catalog, session.properties, session.variables).steps:
            session, catalog = session.after(step), catalog.after(step)
    assert session.variables == {"BOTH": "JSON-JSON"}
    assert catalog.sources["S"].value.format == "JSON"
    assert "'JSON'" in catalog.sources["S"].statement  # kept as it was meant


def test_undefining_what_is_not_there_is_refused() -> None:
    with pytest.raises(BindError) as refused:
        ksql.compile("UNDEFINE topik;", Catalog(), {}, KNOWN)
    assert refused.value.hint == "Did you mean TOPIC?"


def test_a_type_can_be_used_in_the_script_that_creates_it() -> None:
    script = (
        "CREATE TYPE a AS INT; CREATE TYPE b AS ARRAY<a>; CREATE STREAM s (v b) WITH (KAFKA_TOPIC='t', FORMAT='JSON');"
    )
    ksql.check_syntax(ksql.split(script), Catalog())
    catalog = Catalog()
    for text in ksql.split(script):
        plan = ksql.compile(text, catalog)
        for step in plan.steps:
            catalog = catalog.after(step)
    assert str(catalog.sources["S"].schema.columns[0].type) == "ARRAY<INTEGER>"
    assert any(isinstance(step, DefineSource) for step in plan.steps)


def test_what_a_request_brings_is_spelled_one_way_and_checked() -> None:
    brought = Session.of({"ksql.streams.statestore.cache.max.bytes": 0, "ksql.x": True}, {"a": 1})
    assert brought == Session({"cache.max.bytes.buffering": "0", "ksql.x": "True"}, {"A": "1"})
    assert brought.after(SetVariable("A", None)).variables == {}
    with pytest.raises(UserError, match=r"orion\.tasks"):
        Session.of({"orion.tasks": "none"})
