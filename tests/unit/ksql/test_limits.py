"""Long and deeply nested statements: compiled, or refused by a code; never a RecursionError, never for minutes."""

from __future__ import annotations

import threading
import time

import pytest

from orion import ksql
from orion.errors import OrionError
from orion.ksql.limits import MAX_COLUMNS, MAX_DEPTH, MAX_QUERIES, MAX_STATEMENT
from orion.ksql.pull.cache import shaped
from orion.plan.catalog import Catalog
from orion.plan.codec import dumps, loads
from orion.plan.steps import DefineSource, DefineType, Plan, Pull, StartQuery
from orion.web.postgres.lexer import tokens as words

COLUMNS = "a INT, b BIGINT, d DOUBLE, m DECIMAL(10,2), v STRING, f BOOLEAN, ar ARRAY<INT>"


def _catalog() -> Catalog:
    catalog = Catalog()
    for kind, key in (("STREAM s", "KEY"), ("SOURCE TABLE t", "PRIMARY KEY")):
        text = f"CREATE {kind} (k STRING {key}, {COLUMNS}) WITH (KAFKA_TOPIC='x', VALUE_FORMAT='JSON', PARTITIONS=1);"
        for step in ksql.compile(text, catalog).steps:
            catalog = catalog.put(step.source) if isinstance(step, DefineSource) else catalog
    return catalog


CATALOG = _catalog()


def compiled(text: str, variables: dict[str, str] | None = None) -> Plan:
    [statement] = ksql.split(text)
    return ksql.compile(statement, CATALOG, None, variables)


def code_of(text: str, variables: dict[str, str] | None = None) -> str:
    with pytest.raises(OrionError) as refused:
        compiled(text, variables)
    shown = refused.value.as_dict()
    assert len(str(shown)) < 5_000, "an error is for people to read"
    return refused.value.code


def nested(before: str, inside: str, after: str, depth: int) -> str:
    return before * depth + inside + after * depth


SHAPES = {
    "parentheses": ("(", "a", ")"),
    "calls": ("UCASE(", "v", ")"),
    "sums": ("(1 + ", "a", ")"),
    "CASE": ("CASE WHEN f THEN a ELSE ", "a", " END"),
    "NOT": ("NOT ", "f", ""),
    "signs": ("- ", "a", ""),
    "CAST": ("CAST(", "a", " AS INT)"),
    "arrays": ("ARRAY[", "a", "]"),
    "structs": ("STRUCT(x := ", "a", ")"),
    "maps": ("MAP('x' := ", "a", ")"),
    "IN": ("(", "f", " IN (TRUE))"),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_hundred_levels_compile_and_go_through_the_journal(shape: tuple[str, str, str]) -> None:
    before, inside, after = shape
    plan = compiled(f"CREATE STREAM o AS SELECT k, {nested(before, inside, after, 100)} AS x FROM s;")
    [query] = [step.query for step in plan.steps if isinstance(step, StartQuery)]
    assert loads(dumps(query.relation)) == query.relation
    assert isinstance(compiled(f"SELECT k, {nested(before, inside, after, 100)} AS x FROM t;").ask, Pull)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 3_000])
def test_deeper_ones_are_refused_by_code(shape: tuple[str, str, str], depth: int) -> None:
    before, inside, after = shape
    assert code_of(f"SELECT k, {nested(before, inside, after, depth)} AS x FROM t;") == "TOO_DEEP"


@pytest.mark.parametrize("depth", [100, MAX_DEPTH + 1])
@pytest.mark.parametrize(("before", "after"), [("ARRAY<", ">"), ("STRUCT<x ", ">"), ("MAP<STRING, ", ">")])
def test_types_are_nested_as_deep(before: str, after: str, depth: int) -> None:
    type_ = nested(before, "INT", after, depth)
    text = f"CREATE STREAM w (k STRING KEY, x {type_}) WITH (KAFKA_TOPIC='w', VALUE_FORMAT='JSON');"
    if depth > MAX_DEPTH:
        assert code_of(text) == "TOO_DEEP"
    else:
        compiled(text)


@pytest.mark.parametrize("depth", [10, MAX_QUERIES + 1])
def test_queries_in_from_are_nested_less_deep(depth: int) -> None:
    text = "SELECT k, a + 1 AS a FROM (" * depth + "SELECT k, a FROM t" + "".join(f") q{n}" for n in range(depth)) + ";"
    if depth > MAX_QUERIES:
        assert code_of(text) == "TOO_DEEP"
    else:
        compiled(text)


@pytest.mark.parametrize(
    ("chain", "op"), [("a = 1", " AND "), ("a = 1", " OR "), ("a", " + "), ("v", " || "), ("d", " * ")]
)
def test_a_chain_of_a_thousand_terms_is_no_deep_tree(chain: str, op: str) -> None:
    text = op.join([chain] * 1_000)
    compiled(f"CREATE STREAM o AS SELECT k, {text} AS x FROM s;")
    compiled(f"SELECT k, {text} AS x FROM t;")


def test_a_long_chain_keeps_its_terms_in_their_order() -> None:
    text = " || ".join(f"'{n}'" for n in range(100))
    ask = compiled(f"SELECT {text} AS x FROM t;").ask
    assert isinstance(ask, Pull)
    places = [ask.spark.index(f"'{n}'") for n in range(100)]
    assert places == sorted(places)


def test_a_long_chain_that_cant_be_paired_is_refused() -> None:
    assert code_of(f"SELECT {'a - ' * 500} a AS x FROM t;") == "TOO_DEEP"
    assert code_of(f"SELECT f{' = f' * 500} AS x FROM t;") == "TOO_DEEP"
    assert code_of(f"SELECT ar{'[1]' * 500} AS x FROM t;") == "TOO_DEEP"


@pytest.mark.parametrize(
    "shape",
    [
        ("ARRAY[", "a", "][1]"),
        ("(", "f", " IN (TRUE))"),
        ("COALESCE(ARRAY[", "a", "][1], 1)"),
    ],
)
def test_what_is_inside_is_bound_once(shape: tuple[str, str, str]) -> None:
    """Bound twice a level, these would take two to the power of sixty steps."""
    before, inside, after = shape
    compiled(f"CREATE STREAM o AS SELECT k, {nested(before, inside, after, 60)} AS x FROM s;")


@pytest.mark.parametrize(
    "shape",
    [
        ("(d / ", "d", ")"),
        ("CASE ", "a", " WHEN 1 THEN 1 WHEN 2 THEN 2 END"),
        ("TRANSFORM(", "ar", ", x => x + 1)"),
        ("CAST(CAST(", "m", " AS STRING) AS DECIMAL(20,10))"),
    ],
)
def test_what_would_grow_with_every_level_is_refused(shape: tuple[str, str, str]) -> None:
    before, inside, after = shape
    assert code_of(f"CREATE STREAM o AS SELECT k, {nested(before, inside, after, 60)} AS x FROM s;") == "TOO_COMPLEX"


# ---- size ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "SELECT k, a IN ({}) AS x FROM t;",
        "CREATE STREAM o AS SELECT k, ARRAY[{}] AS x FROM s;",
        "INSERT INTO s (k, ar) VALUES ('a', ARRAY[{}]);",
    ],
)
def test_thousands_of_literals_compile(text: str) -> None:
    compiled(text.format(", ".join(map(str, range(10_000)))))


def test_a_statement_has_a_longest_length() -> None:
    assert code_of(f"SELECT '{'x' * MAX_STATEMENT}' AS x FROM t;") == "STATEMENT_TOO_LARGE"
    assert code_of(f"SELECT {'1' * 900_000} AS x FROM t;") == "NUMBER_TOO_LARGE"
    assert code_of(f"SELECT 1.{'1' * 900_000} AS x FROM t;") == "NUMBER_TOO_LARGE"
    assert code_of(f"SELECT {'x' * 900_000} AS x FROM t;") == "UNKNOWN_COLUMN"


def test_variables_cant_make_it_longer() -> None:
    assert code_of(f"SELECT '{'${x}' * 200_000}' AS x FROM t;", {"X": "y" * 10_000}) == "STATEMENT_TOO_LARGE"
    assert code_of(f"SELECT {'${x}, ' * 1_000} 1 AS x FROM t;", {"X": f"'{'y' * 10_000}'"}) == "STATEMENT_TOO_LARGE"
    doubling = ksql.split("DEFINE a = 'xxxxxxxxxx';" + "DEFINE a = '${a}${a}';" * 60)
    with pytest.raises(OrionError, match="characters"):
        ksql.check_syntax(doubling, CATALOG)


def test_a_statement_has_a_largest_number_of_columns() -> None:
    columns = [f"c{n}" for n in range(2_000)]
    declared = ", ".join(f"{c} INT" for c in columns)
    [*_, define] = ksql.compile(
        f"CREATE STREAM w (k STRING KEY, {declared}) WITH (KAFKA_TOPIC='w', VALUE_FORMAT='JSON', PARTITIONS=1);",
        Catalog(),
    ).steps
    assert isinstance(define, DefineSource)
    over = Catalog().put(define.source)
    ksql.compile("CREATE STREAM o AS SELECT * FROM w", over)
    ksql.compile(f"CREATE TABLE o AS SELECT k, {', '.join(f'SUM({c})' for c in columns)} FROM w GROUP BY k", over)
    ksql.compile(f"INSERT INTO w (k, {', '.join(columns)}) VALUES ('a', {', '.join('1' for _ in columns)})", over)
    assert code_of(f"SELECT {', '.join(['a + 1'] * (MAX_COLUMNS + 1))} FROM t;") == "TOO_MANY_COLUMNS"
    wide = ", ".join(f"c{n} INT" for n in range(MAX_COLUMNS + 1))
    assert code_of(f"CREATE STREAM x ({wide}) WITH (KAFKA_TOPIC='x', VALUE_FORMAT='JSON');") == "TOO_MANY_COLUMNS"


def test_types_that_hold_types_twice_end_somewhere() -> None:
    catalog, inner = Catalog(), "INT"

    def define(n: int) -> DefineType:
        [step] = ksql.compile(f"CREATE TYPE t{n} AS STRUCT<a {inner}, b {inner}>", catalog).steps
        assert isinstance(step, DefineType)
        return step

    for n in range(12):
        catalog, inner = catalog.put(define(n).type), f"t{n}"
    with pytest.raises(OrionError) as refused:
        define(12)
    assert refused.value.code == "TYPE_TOO_LARGE"


# ---- what a tokenizer may stumble over -----------------------------------------------------------------------------


@pytest.mark.parametrize("opening", ["'", "`", '"', "/*", "$$", "'" * 99_999, "/*" * 50_000])
def test_what_is_never_closed_is_refused(opening: str) -> None:
    with pytest.raises(OrionError) as refused:
        ksql.split(f"SELECT {opening}{'a' * 100_000}")
    assert refused.value.code == "UNEXPECTED_CHARACTER"
    assert not ksql.is_complete(f"SELECT {opening}{'a' * 100_000}")


@pytest.mark.parametrize("mark", ["'", "`", '"'])
def test_a_long_text_holds_up_nobody(mark: str) -> None:
    """A regular expression keeps all other threads waiting until it is through."""
    text = f"SELECT {mark}{'a' * 900_000}{mark} AS x FROM t;"
    for look in (ksql.split, shaped, lambda given: list(words(given))):
        start = time.process_time()
        look(text)
        assert time.process_time() - start < 0.2


def test_many_semicolons_and_comments_are_nothing() -> None:
    assert ksql.split(";" * 100_000) == []
    assert ksql.split("-- a\n" * 10_000 + "/* b */" * 10_000 + "SELECT 1; ;;; SELECT 2")[1:] == ["SELECT 2"]


def test_depth_holds_in_a_thread_too() -> None:
    """Where requests are answered: with an ordinary thread's stack."""
    told: list[str] = []

    def run() -> None:
        for before, inside, after in SHAPES.values():
            compiled(f"CREATE STREAM o AS SELECT k, {nested(before, inside, after, MAX_DEPTH - 2)} AS x FROM s;")
            told.append(inside)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert len(told) == len(SHAPES)
