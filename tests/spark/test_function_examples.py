"""Every example of every scalar function, run by Spark: the examples say what ksqlDB answers.

They are evaluated many to a query, since a query costs far more than an expression.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from orion.ksql.bind import constant
from orion.ksql.functions import functions
from orion.ksql.functions.declare import Kind
from orion.ksql.functions.signatures import LambdaOf, Signature, instantiate
from orion.plan.relations import Expr
from orion.schema import Decimal, Scalar, SqlType, spark_type

SCALARS = [f for f in functions().values() if f.kind is Kind.SCALAR]
EXAMPLES = [(f"{f.name}-{at}", e.call, e.result) for f in SCALARS for at, e in enumerate(f.examples, 1)]

# Too odd to explain a function by, but easily got wrong.
EDGES = [
    ("CEIL(1e20)", 1e20),
    ("ROUND(0.49999999999999994e0)", 0),
    ("ROUND(1e20, 2)", 1e20),
    ("ROUND(-1.25e0, 1)", -1.2),
    ("ROUND(1.25e0, LEN('x'))", 1.3),
    ("ROUND(12.5, LEN(''))", 13),
    ("ROUND(1250e0, -2)", 1300.0),
    ("TRUNC(-1.29e0, LEN('x'))", -1.2),
    ("TRUNC(1299e0, -2)", 1200.0),
    ("LOG(0.5e0, 0)", float("inf")),
    ("SUBSTRING('stream', 9)", ""),
    ("SUBSTRING('stream', 2, -1)", ""),
    ("SUBSTRING('stream', -3, 2)", "ea"),
    ("SUBSTRING(TO_BYTES('stream', 'ascii'), -3, 2)", "ZWE="),
    ("INSTR('CORPORATE FLOOR', 'OR', -3)", 5),
    ("INSTR('CORPORATE FLOOR', 'OR', 3)", 5),
    ("INSTR('aaa', 'aa', 1, 2)", 2),
    ("INSTR('abc', 'a', -9)", 0),
    ("INSTR('abc', 'a', 1, 0)", 0),
    ("INSTR('', 'a', 1)", 0),
    ("LPAD(TO_BYTES('a', 'ascii'), 3, TO_BYTES('xy', 'ascii'))", "eHlh"),
    ("CONCAT_WS(TO_BYTES(',', 'ascii'), TO_BYTES('a', 'ascii'), NULL, TO_BYTES('b', 'ascii'))", "YSxi"),
    ("SPLIT('', ',')", [""]),
    ("SPLIT('a|b', '|')", ["a", "b"]),
    ("SPLIT('a\\b', '\\')", ["a", "b"]),
    ("FROM_BYTES(SPLIT(TO_BYTES('a12b', 'hex'), TO_BYTES('', 'hex'))[2], 'hex')", "2B"),
    ("ARRAY_LENGTH(SPLIT(TO_BYTES('A12B', 'hex'), TO_BYTES('12', 'hex')))", 1),
    ("SPLIT_TO_MAP('a=b=c;;d', ';', '=')", {"a": "b"}),
    ("CHR('\\ud83d\\ude00')", "\N{GRINNING FACE}"),
    ("CHR('\\ud83d')", None),
    ("CHR('K')", None),
    ("CHR(55296)", None),
    ("MASK_LEFT('abc', -1)", None),
    ("MASK_RIGHT('aB1', 2, 'U', 'l', 'd', NULL)", "aUd"),
    ("REGEXP_EXTRACT('[(](?<year>[0-9]+)', 'in (2024)', 1)", "2024"),
    ("REGEXP_EXTRACT('\\(([0-9]+)', 'in (2024)', 2)", None),
    ("SLICE(ARRAY[1, 2, 3], 0, 2)", None),
    ("SLICE(ARRAY[1, 2, 3], 2, NULL)", [2, 3]),
    ("SLICE(ARRAY[1, 2, 3], 3, 2)", []),
    ("GENERATE_SERIES(5, 1, -2)", [5, 3, 1]),
    ("GENERATE_SERIES(3000000000, 3000000004, 2)", [3000000000, 3000000002, 3000000004]),
    ("GENERATE_SERIES(1, 2, 0)", None),
    ("ARRAY_CONTAINS(ARRAY[1.5, 2.5], 2.50)", True),
    ("ENTRIES(MAP('a' := true), false)", [{"K": "a", "V": True}]),
    ("JSON_ARRAY_CONTAINS('[1.0]', 1)", False),
    ("JSON_ARRAY_CONTAINS('[1.5, true]', 1.5e0)", True),
    ("JSON_ARRAY_CONTAINS('[1.5, true]', true)", True),
    ("JSON_ARRAY_CONTAINS(NULL, 1)", False),
    ("JSON_CONCAT('{}', '{}')", "{}"),
    ("JSON_CONCAT('[]', '[]')", "[]"),
    ('JSON_CONCAT(\'{"a\\"b": 1}\', NULL)', None),
    ('JSON_CONCAT(\'{"a\\"b": [1, {"c": "d"}]}\', \'{}\')', '{"a\\"b":[1,{"c":"d"}]}'),
    ("JSON_RECORDS('{\"a\": null}')", {"a": "null"}),
    ("JSON_ITEMS('[]')", []),
    ("JSON_ITEMS('{}')", None),
    ("TO_JSON_STRING(1e10)", "1.0E10"),
    ("TO_JSON_STRING(NULL)", "null"),
    ("TO_JSON_STRING(TO_BYTES('ab', 'ascii'))", '"YWI="'),
    ("TO_JSON_STRING(STRUCT(a := CAST(NULL AS INT)))", '{"A":null}'),
    ("TO_JSON_STRING(CAST(NULL AS TIME))", "null"),
    ("TO_JSON_STRING(FROM_DAYS(0))", '"1970-01-01"'),
    ("ENCODE('x''4f72''', 'hex', 'ascii')", "Or"),
    ("ENCODE('Größe', 'ascii', 'utf8')", "Gr??e"),
    ("FROM_BYTES(TO_BYTES('61FF', 'hex'), 'utf8')", "a\N{REPLACEMENT CHARACTER}"),
    ("FROM_BYTES(TO_BYTES('61FF', 'hex'), 'rot13')", None),
    ("FROM_BYTES(TO_BYTES('Orion', TRIM('Base64')), CONCAT('UT', 'F8'))", None),
    ("FROM_BYTES(TO_BYTES('Orion', TRIM('UTF8')), TRIM('hex'))", "4F72696F6E"),
    ("ENCODE('4f72', TRIM('HEX'), TRIM('base64'))", "T3I="),
    ("INT_FROM_BYTES(TO_BYTES('E5070000', 'hex'), TRIM('little_endian'))", 2021),
    ("DOUBLE_FROM_BYTES(TO_BYTES('0000000000000001', 'hex'))", 5e-324),
    ("DOUBLE_FROM_BYTES(TO_BYTES('7FF8000000000000', 'hex'))", float("nan")),
    ("URL_EXTRACT_PATH('http://test.com/a+b')", "/a+b"),
    ("URL_EXTRACT_PARAMETER('http://test.com?a.b=1&axb=2', 'a.b')", "1"),
    ("URL_EXTRACT_PORT('http://user@host:80')", 80),
    ("DATEADD(HOURS, -1, FROM_DAYS(10))", "1970-01-10"),
    ("TIMEADD(DAYS, 100, PARSE_TIME('01:00', 'HH:mm'))", "01:00:00.000"),
    ("TIMESTAMPADD(DAYS, 100000, FROM_UNIXTIME(0))", "2243-10-17T00:00:00.000"),
    ("PARSE_TIMESTAMP('2024', 'uuuu')", "2024-01-01T00:00:00.000"),
    ("GREATEST(FROM_DAYS(1), FROM_DAYS(2))", "1970-01-03"),
    ("COALESCE(NULL, ARRAY[1])", [1]),
]


@dataclass(frozen=True)
class Answer:
    value: Any
    type: str
    declared: str


@pytest.fixture(scope="session")
def answers(spark: SparkSession) -> dict[str, Answer | Exception]:
    calls = [call for _, call, _ in EXAMPLES] + [call for call, _ in EDGES]
    found: dict[str, Answer | Exception] = {}
    for start in range(0, len(calls), 100):
        _evaluate(spark, calls[start : start + 100], found)
    return found


@pytest.mark.parametrize(("call", "result"), [pytest.param(c, r, id=i) for i, c, r in EXAMPLES])
def test_example(call: str, result: object, answers: dict[str, Answer | Exception]) -> None:
    _check(answers[call], result)


@pytest.mark.parametrize(("call", "result"), EDGES, ids=[call for call, _ in EDGES])
def test_edge(call: str, result: object, answers: dict[str, Answer | Exception]) -> None:
    _check(answers[call], result)


def test_every_overload_takes_columns_and_no_values(spark: SparkSession) -> None:
    """Not only constants, as above; and a record without any value stops no query."""
    plain = [
        (f, o) for f in SCALARS for o in f.overloads if not any(isinstance(p, LambdaOf) for p in o.signature.params)
    ]
    types = dict.fromkeys(t for _, o in plain for t in _types(o.signature))
    columns = {type_: f"C{at}" for at, type_ in enumerate(types)}
    ddl = ", ".join(f"{name} {spark_type(type_)}" for type_, name in columns.items())
    calls = [o.lower(_arguments(f.name, [columns[t] for t in _types(o.signature)])) for f, o in plain]
    spark.createDataFrame([(None,) * len(columns)], ddl).selectExpr(*calls).collect()


def test_random_is_a_fraction(spark: SparkSession) -> None:
    numbers = _column(spark, "RANDOM()")
    assert all(0 <= n < 1 for n in numbers)
    assert len(set(numbers)) == len(numbers)


def test_uuids_are_random_ones(spark: SparkSession) -> None:
    texts = _column(spark, "UUID()")
    assert all(re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", t) for t in texts)
    assert len(set(texts)) == len(texts)


def test_now_and_today_agree(spark: SparkSession) -> None:
    now, today = constant("UNIX_TIMESTAMP()").spark, constant("UNIX_DATE()").spark
    agree, sane = spark.sql(f"SELECT {now} DIV 86400000 = {today}, {now} > 1700000000000").collect()[0]
    assert agree
    assert sane


def _types(signature: Signature) -> list[SqlType]:
    """Some types that fit the signature; two for what may be repeated."""
    letters: dict[str, SqlType] = {
        "K": Scalar.STRING,
        "T": Scalar.INTEGER,
        "V": Scalar.DOUBLE,
        "DECIMAL": Decimal(9, 2),
    }
    count = len(signature.params) + signature.variadic
    types = [instantiate(signature.param(at), letters) for at in range(count)]
    return [t for t in types if t is not None]


def _arguments(name: str, columns: list[str]) -> list[str]:
    """The columns, but for what must be constant: units of time and the marks of masks."""
    if name.endswith(("ADD", "SUB")):
        return ["'DAYS'", *columns[1:]]
    if name.startswith("MASK"):
        return ["'X'" if len(columns) - at <= 4 < len(columns) else c for at, c in enumerate(columns)]
    return columns


def _column(spark: SparkSession, call: str) -> list[Any]:
    return [row[0] for row in spark.sql(f"SELECT {constant(call).spark} FROM range(20)").collect()]


def _evaluate(spark: SparkSession, calls: Sequence[str], found: dict[str, Answer | Exception]) -> None:
    """All in one query; where it fails, in halves, down to the one that fails."""
    bound = [constant(call) for call in calls]
    columns = [f"{_shown(e)}, typeof({e.spark}), typeof(CAST(NULL AS {spark_type(e.type)}))" for e in bound]
    try:
        row = spark.sql(f"SELECT {', '.join(columns)}").collect()[0]
    except PySparkException as error:
        if len(calls) == 1:
            found[calls[0]] = error
            return
        half = len(calls) // 2
        _evaluate(spark, calls[:half], found)
        _evaluate(spark, calls[half:], found)
        return
    for at, call in enumerate(calls):
        found[call] = Answer(*row[3 * at : 3 * at + 3])


def _shown(expr: Expr) -> str:
    """Points in time and bytes by their text, as ksqlDB shows them."""
    match expr.type:
        case Scalar.DATE:
            return f"CAST({expr.spark} AS STRING)"
        case Scalar.TIME:
            return f"date_format(timestamp_millis({expr.spark}), 'HH:mm:ss.SSS')"
        case Scalar.TIMESTAMP:
            return f"date_format({expr.spark}, \"yyyy-MM-dd'T'HH:mm:ss.SSS\")"
        case Scalar.BYTES:
            return f"base64({expr.spark})"
        case _:
            return expr.spark


def _check(answer: Answer | Exception, result: object) -> None:
    if isinstance(answer, Exception):
        raise answer
    assert answer.type == answer.declared
    value = _plain(answer.value)
    if isinstance(result, float):
        assert value == pytest.approx(result, rel=1e-12, abs=1e-15, nan_ok=True)
    else:
        assert value == result
        assert isinstance(value, bool) == isinstance(result, bool)


def _plain(value: Any) -> Any:
    if isinstance(value, Row):
        return {k: _plain(v) for k, v in value.asDict().items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return value
