"""Values at the edges of their types on streams, in pull queries on Spark, on DuckDB and through PostgreSQL's port: all
of them are held to one table. All cases of a kind run in one query, since a query costs far more than an expression."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, TypeVar

import pytest
from pyspark.errors import PySparkException

from orion.errors import OrionError
from orion.ksql.functions import functions
from orion.ksql.functions.declare import Kind
from orion.ksql.functions.signatures import LambdaOf
from orion.moments import DAYS, MILLIS
from orion.plan.steps import Pull
from orion.runtime.pull import PullBatch
from orion.runtime.session import Frame, Spark
from orion.schema import Decimal as Digits
from orion.schema import Scalar, SqlType, spark_type
from orion.serving.pull import Pulled
from orion.serving.store import Store
from orion.testing import Desk, Given
from tests.edges import BAD, COLUMNS, MADE, READ, ROWS, Made, Read
from tests.spark.test_function_examples import _arguments, _types
from tests.unit.serving.world import put

TYPES = list(dict.fromkeys(case.type for case in READ))
EXPRESSIONS = list(dict.fromkeys(case.expression for case in MADE))
Answers = dict[str, dict[str, Any]]  # by row, and by expression or column
T = TypeVar("T")


@pytest.fixture(scope="module")
def read(spark: Spark) -> Answers:
    """What a persistent query makes of the records, read from the topic that it writes; of dead letters the code."""

    def ask(places: Sequence[int]) -> Answers:
        desk = Desk(spark)
        columns = ", ".join(f"c{at} {type_}" for at, type_ in enumerate(TYPES))
        desk.execute(_declared("STREAM r (k STRING KEY", columns, "reads"))
        desk.execute("CREATE STREAM o AS SELECT * FROM r;")
        for at in places:
            value = f'{{"c{TYPES.index(READ[at].type)}": {READ[at].json}}}'.encode(errors="surrogateescape")
            desk.log.append(Given("reads", str(at).encode(), value, 1))
        rows = desk.rows(desk.execute("SELECT * FROM o EMIT CHANGES;").ask)
        letters = [record for record in desk.log if record.topic == "dlq.O"]
        told = {(r.key or b"").decode(): {"code": dict(r.headers)["orion.error.code"]} for r in letters}
        return _by_row(rows, [f"c{at}" for at in range(len(TYPES))]) | told

    return _by_halves(ask, range(len(READ)), lambda at, error: {str(at): {"stopped": error}})


@pytest.fixture(scope="module")
def streamed(spark: Spark) -> Answers:
    """What a persistent query computes, read from the topic that it writes."""

    def ask(expressions: Sequence[str]) -> Answers:
        desk = Desk(spark)
        desk.execute(_declared("STREAM s (k STRING KEY", COLUMNS, "edges"))
        desk.log += [Given("edges", key.encode(), value.encode(), 1) for key, value in ROWS.items()]
        desk.execute(f"CREATE STREAM e AS SELECT k, {_list(expressions)} FROM s;")
        return _by_row(desk.rows(desk.execute("SELECT * FROM e EMIT CHANGES;").ask), expressions)

    return _by_halves(ask, EXPRESSIONS, lambda text, error: {key: {text: error} for key in ROWS})


@pytest.fixture(scope="module")
def pulled(spark: Spark) -> Answers:
    """What Spark answers over the rows of the table."""
    desk = Desk(spark)
    desk.execute(_declared("SOURCE TABLE t (k STRING PRIMARY KEY", COLUMNS, "edges"))
    store = Store()
    put(store, desk.catalog.sources["T"], *((key.encode(), value.encode()) for key, value in ROWS.items()))

    def ask(expressions: Sequence[str]) -> Answers:
        plan = desk.execute(f"SELECT k, {_list(expressions)} FROM t;").ask
        assert isinstance(plan, Pull)
        found = PullBatch(desk.spark, desk.schemas).answer(plan, lambda _: pytest.fail("no stream"), store.arrow)
        return _by_row(Pulled(plan.columns, found).rows, expressions)

    found = _by_halves(ask, EXPRESSIONS, lambda text, error: {key: {text: error} for key in ROWS})
    store.close()
    return found


def _declared(head: str, columns: str, topic: str) -> str:
    return f"CREATE {head}, {columns}) WITH (kafka_topic='{topic}', value_format='JSON', partitions=1);"


def _list(expressions: Sequence[str]) -> str:
    return ", ".join(f"{text} AS e{at}" for at, text in enumerate(expressions))


def _by_row(rows: list[list[Any]], names: Sequence[str]) -> Answers:
    return {key: dict(zip(names, values, strict=True)) for key, *values in rows}


def _by_halves(
    ask: Callable[[Sequence[T]], Answers], cases: Sequence[T], failed: Callable[[T, str], Answers]
) -> Answers:
    """All cases in one query; where that stops, in halves, down to the one that stops it."""
    try:
        return ask(cases)
    except (PySparkException, OrionError) as error:
        if len(cases) == 1:
            return failed(cases[0], f"stopped: {str(error)[:300]}")
        half = len(cases) // 2
        parts = _by_halves(ask, cases[:half], failed), _by_halves(ask, cases[half:], failed)
        return {key: parts[0].get(key, {}) | parts[1].get(key, {}) for key in parts[0].keys() | parts[1].keys()}


@pytest.mark.parametrize(("at", "case"), list(enumerate(READ)), ids=[f"{c.type}-{c.json[:24]!a}" for c in READ])
def test_a_stream_reads_the_value(at: int, case: Read, read: Answers) -> None:
    row = read[str(at)]
    if case.shown == BAD:
        assert row == {"code": b"VALUE_UNREADABLE"}
    else:
        name = f"c{TYPES.index(case.type)}"
        assert name in row, row
        _check(row[name], case.shown)


@pytest.mark.parametrize("case", MADE, ids=[f"{c.row}-{c.expression}" for c in MADE])
def test_a_stream_computes_it(case: Made, streamed: Answers) -> None:
    _check(streamed[case.row][case.expression], case.shown)


@pytest.mark.parametrize("case", MADE, ids=[f"{c.row}-{c.expression}" for c in MADE])
def test_spark_answers_it(case: Made, pulled: Answers) -> None:
    _check(pulled[case.row][case.expression], case.shown)


# Values that functions are given, each type's turned round against the others'.
EDGES: dict[SqlType, list[str]] = {
    Scalar.BOOLEAN: ["TRUE", "FALSE", "NULL"],
    Scalar.INTEGER: ["2147483647", "INT('-2147483648')", "0", "-1", "NULL", "1"],
    Scalar.BIGINT: ["9223372036854775807L", "BIGINT('-9223372036854775808')", "0L", "-1L", "NULL", "253402300800000L"],
    Scalar.DOUBLE: ["DOUBLE('NaN')", "DOUBLE('Infinity')", "-0.0D", "1.7976931348623157E308D", "-1.5D", "NULL", "1D"],
    Scalar.STRING: ["''", "'x'", "NULL", "'-271821-04-20'", "'{'", "'UTC'", "'9'", "'[1]'", "'%'"],
    Scalar.BYTES: ["X''", "X'00FF'", "NULL", "X'7FF8000000000000'", "X'80000000'"],
    Scalar.DATE: [f"date_from_unix_date({n})" for n in (*DAYS, 0, 2_932_897)] + ["NULL"],
    Scalar.TIME: ["0", "86400000", "NULL", "1"],
    Scalar.TIMESTAMP: [f"timestamp_millis({n}L)" for n in (*MILLIS, 0)] + ["NULL"],
    Digits(9, 2): ["9999999.99BD", "-9999999.99BD", "0BD", "NULL"],
}
TURNED = list(EDGES)
# How much they make is limited elsewhere.
AS_LARGE_AS_ASKED = ("GENERATE_SERIES", "LPAD", "REPEAT", "RPAD")


def test_no_function_stops_over_values_at_the_edges(spark: Spark) -> None:
    """What one row holds must not stop a query."""
    frame = spark.range(12).selectExpr(*(_turned(n, type_) for n, type_ in enumerate(EDGES)))
    calls = {
        f"{f.name}{o.shown}": o.lower(_given(f.name, [f"c{TURNED.index(t)}" for t in _types(o.signature)]))
        for f in functions().values()
        if f.kind is Kind.SCALAR and f.name not in AS_LARGE_AS_ASKED
        for o in f.overloads
        if not any(isinstance(p, LambdaOf) for p in o.signature.params) and all(t in EDGES for t in _types(o.signature))
    }
    assert len(calls) > 100
    assert _stopping(frame, list(calls.items())) == {}


def _given(name: str, columns: list[str]) -> list[str]:
    """Columns; but patterns, which a statement spells out, as constants."""
    if name.startswith(("FORMAT_", "PARSE_", "STRINGTO", "TIMESTAMPTOSTRING", "DATETOSTRING")):
        return [columns[0], "'yyyy-MM-dd HH'", *columns[2:]]
    if name.startswith("REGEXP_"):
        at = 0 if name.startswith("REGEXP_EXTRACT") else 1
        return [*columns[:at], "'[a-z]([0-9])'", *columns[at + 1 :]]
    return _arguments(name, columns)


def _turned(number: int, type_: SqlType) -> str:
    """A column that goes through a type's values, out of step with those of other types."""
    values = ", ".join(f"CAST({value} AS {spark_type(type_)})" for value in EDGES[type_])
    at = f"CAST((id * {number + 1} + {number}) % {len(EDGES[type_])} + 1 AS INT)"
    return f"try_element_at(array({values}), {at}) AS c{number}"


def _stopping(frame: Frame, calls: list[tuple[str, str]]) -> dict[str, str]:
    """The calls that stop a query, looked for by halves."""
    try:
        frame.selectExpr(*(f"({text}) IS NULL" for _, text in calls)).collect()
    except PySparkException as error:
        if len(calls) == 1:
            return {calls[0][0]: str(error)[:300]}
        half = len(calls) // 2
        return _stopping(frame, calls[:half]) | _stopping(frame, calls[half:])
    return {}


def _check(found: Any, wanted: Any) -> None:
    if isinstance(wanted, float):
        assert isinstance(found, float | Decimal)
        assert float(found) == wanted
        assert math.copysign(1, float(found)) == math.copysign(1, wanted)
        return
    assert found == wanted
    assert isinstance(found, bool) == isinstance(wanted, bool)
