"""Python functions and assertions in Spark: what rows go in, what comes back, and what an error does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orion.errors import BindError, ConfigError, ExpectationFailed
from orion.plan.definitions import PythonFunction
from orion.runtime import python_functions
from orion.runtime.session import Spark
from orion.schema import Array, Field, Map, Scalar
from orion.testing import Desk, Given

TESTED = {"orion.tasks": "1", "cache.max.bytes.buffering": "0"}
S = "CREATE STREAM s (k STRING KEY, v INT, w STRING) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');"


def desk(spark: Spark, *statements: str) -> Desk:
    made = Desk(spark, TESTED)
    for text in (S, *statements):
        made.execute(text)
    return made


def row(key: str, value: dict[str, object], at: int = 0) -> Given:
    return Given("s", key.encode(), json.dumps(value).encode(), at)


def test_an_error_of_one_row_is_null_there_and_nowhere_else(spark: Spark) -> None:
    at = desk(
        spark,
        "CREATE FUNCTION inverse(n INT) RETURNS DOUBLE LANGUAGE PYTHON AS $$ 1 / n $$;",
        "CREATE FUNCTION leave(n INT) RETURNS DOUBLE AS $$ import sys\nsys.exit(n) $$;",
        "CREATE FUNCTION text(n INT) RETURNS STRING AS $$ n $$;",
        "CREATE FUNCTION large(n INT) RETURNS INT AS $$ n * 2**31 $$;",
        "CREATE STREAM o AS SELECT k, inverse(v) AS i, leave(v) AS l, text(v) AS t, large(v) AS b FROM s;",
    )
    at.log += [row("a", {"v": 4}), row("b", {"v": 0}), row("c", {"v": None})]
    nothing = {"I": None, "L": None, "T": None, "B": None}
    assert [json.loads(r.value or b"") for r in at.settle()] == [nothing | {"I": 0.25}, nothing | {"B": 0}, nothing]


def test_a_function_stands_wherever_an_expression_does(spark: Spark) -> None:
    at = desk(
        spark,
        "CREATE FUNCTION parity(n INT) RETURNS STRING AS $$ 'odd' if n % 2 else 'even' $$;",
        "CREATE TABLE o AS SELECT parity(v) AS p, COUNT(*) AS n FROM s WHERE parity(v) <> 'x' GROUP BY parity(v);",
    )
    at.log += [row("a", {"v": 1}), row("b", {"v": 2}), row("c", {"v": 3})]
    assert [(r.key, json.loads(r.value or b"")) for r in at.settle()] == [
        (b"odd", {"N": 1}),
        (b"even", {"N": 1}),
        (b"odd", {"N": 2}),
    ]


def test_code_that_cannot_be_loaded_is_refused(spark: Spark) -> None:
    for body in (
        "import no_such_module_anywhere\ndef f(n): return n",
        "def f(): return 1",
        "1 / 0\ndef f(n): return n",
    ):
        with pytest.raises(BindError) as refused:
            desk(spark, f"CREATE FUNCTION f(n INT) RETURNS INT AS $$ {body} $$;")
        assert refused.value.code == "PYTHON_LOAD"


def test_functions_of_a_module(spark: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_udfs.py").write_text(
        '''
import orion

@orion.udf
def twice(x: str | None, times: list[int], m: dict[str, float]) -> str:
    """The text, twice."""
    return x * 2

@orion.udf("(x STRING, n DECIMAL(4, 1)) -> ARRAY<STRING>", name="cut")
def anything(x, n):
    return [x[: int(n)], x[int(n) :]]

def private(x):
    return x
'''
    )
    twice, cut = python_functions.of_modules(("my_udfs",))
    assert twice == PythonFunction(
        "TWICE",
        (
            Field("x", Scalar.STRING),
            Field("times", Array(Scalar.BIGINT)),
            Field("m", Map(Scalar.STRING, Scalar.DOUBLE)),
        ),
        Scalar.STRING,
        module="my_udfs:twice",
        doc="The text, twice.",
    )
    at = Desk(spark, TESTED)
    for function in (twice, cut):
        python_functions.register(spark, function)
        at.catalog = at.catalog.put(function)
    at.execute(S)
    at.execute("CREATE STREAM o AS SELECT k, cut(w, 1)[2] AS c, twice(w, NULL, NULL) AS t FROM s;")
    at.log.append(row("a", {"w": "xyz"}))
    assert [r.value for r in at.settle()] == [b'{"C":"yz","T":"xyzxyz"}']
    (tmp_path / "no_types.py").write_text("import orion\n\n@orion.udf\ndef f(x):\n    return x\n")
    for name, told in (("no_types", "x has no annotation"), ("nowhere_to_be_found", "can't be imported")):
        with pytest.raises(ConfigError, match=told):
            python_functions.of_modules((name,))


def test_assertions_look_at_one_record_after_the_other(spark: Spark) -> None:
    at = desk(
        spark,
        "CREATE STREAM o AS SELECT k, v + 1 AS v FROM s;",
        "CREATE TABLE t (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');",
        "INSERT INTO s (k, v, ROWTIME) VALUES ('a', 1, 10);",
        "ASSERT VALUES o (k, v, ROWTIME) VALUES ('a', 2, 10);",
        "INSERT INTO s (k, v) VALUES ('b', 5);",
        "ASSERT VALUES o VALUES ('b', 6);",
        "ASSERT STREAM o (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 'O', VALUE_FORMAT = 'JSON');",
        "ASSERT TOPIC O;",
        "ASSERT NOT EXISTS TOPIC p;",
    )
    at.log += [Given("t", b"x", None), Given("t", b"y", b'{"v": 1}')]
    at.execute("ASSERT NULL VALUES t (k) KEY ('x');")
    for wrong, told in (
        ("ASSERT VALUES o VALUES ('c', 7);", "O has 2 records, and no next one."),
        ("ASSERT VALUES s VALUES ('a', 2, 'x');", "Record 1 of S: V is 1, not 2, W is None, not 'x'."),
        ("ASSERT NULL VALUES t (k) KEY ('y');", "Record 2 of T is a row"),
        ("ASSERT STREAM o (k STRING KEY, v BIGINT) WITH (KAFKA_TOPIC = 'P', VALUE_FORMAT = 'JSON');", "columns is"),
        ("ASSERT TOPIC p;", "Topic p does not exist"),
    ):
        with pytest.raises(ExpectationFailed, match=told):
            at.execute(wrong)


def test_a_replaced_query_goes_on_where_the_old_one_was(spark: Spark) -> None:
    at = desk(spark, "CREATE STREAM o AS SELECT k, v FROM s;", "INSERT INTO s (k, v) VALUES ('a', 1);")
    assert [r.value for r in at.settle()] == [b'{"V":1}']
    at.execute("CREATE OR REPLACE STREAM o AS SELECT k, v + 0 AS v, w FROM s WHERE v > 1;")
    at.execute("INSERT INTO s (k, v, w) VALUES ('b', 2, 'x');")
    assert [r.value for r in at.settle()] == [b'{"V":2,"W":"x"}']


def test_altered_columns_are_read(spark: Spark) -> None:
    at = desk(spark, "ALTER STREAM s ADD COLUMN x ARRAY<INT>;", "CREATE STREAM o AS SELECT k, x[1] AS x FROM s;")
    at.log.append(row("a", {"x": [7]}))
    assert [r.value for r in at.settle()] == [b'{"X":7}']


def test_what_a_script_sets_holds_for_what_follows(spark: Spark) -> None:
    at = desk(
        spark, "DEFINE name = 'o';", "SET 'auto.offset.reset' = 'latest';", "CREATE STREAM ${name} AS SELECT * FROM s;"
    )
    (query,) = at.catalog.queries.values()
    assert (query.sink.name, dict(query.properties)["auto.offset.reset"]) == ("O", "latest")
