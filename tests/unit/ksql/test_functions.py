"""The declarations: complete, well formed, with examples that bind. What Spark answers is in tests/spark."""

from __future__ import annotations

from decimal import Decimal as Number
from pathlib import Path

import pytest

from orion.errors import BindError
from orion.ksql import functions as package
from orion.ksql.bind import constant
from orion.ksql.functions import functions
from orion.ksql.functions.declare import Example, Function, Kind, Overload
from orion.schema import Array, Decimal, Map, Scalar, SqlType, Struct

SCALARS = [f for f in functions().values() if f.kind is Kind.SCALAR]
EXAMPLES = [pytest.param(e, id=f"{f.name}-{at}") for f in SCALARS for at, e in enumerate(f.examples, 1)]
OVERLOADS = [pytest.param(f, o, id=f"{f.name}-{at}") for f in SCALARS for at, o in enumerate(f.overloads, 1)]

# Their results differ each time; tests/spark checks what they have in common.
WITHOUT_EXAMPLES = {"RANDOM"}

# Their first argument is a unit of time, which is read when the statement is compiled.
WITH_UNIT = {"DATEADD", "DATESUB", "TIMEADD", "TIMESUB", "TIMESTAMPADD", "TIMESTAMPSUB"}

# What nearly every project uses.
COMMONEST = (
    "ABS CEIL FLOOR ROUND SIGN SQRT EXP LN POWER RANDOM GREATEST LEAST UCASE LCASE TRIM LEN SUBSTRING CONCAT CONCAT_WS "
    "REPLACE SPLIT INSTR LPAD RPAD INITCAP REGEXP_EXTRACT REGEXP_REPLACE MASK COALESCE IFNULL NULLIF UNIX_TIMESTAMP "
    "FORMAT_TIMESTAMP PARSE_TIMESTAMP TIMESTAMPTOSTRING STRINGTOTIMESTAMP DATEADD ARRAY_CONTAINS AS_MAP SLICE "
    "EXTRACTJSONFIELD URL_EXTRACT_HOST UUID GEO_DISTANCE"
).split()


def test_a_family_is_one_file() -> None:
    files = {f.stem for f in Path(package.__file__).parent.glob("*.py")} - {"__init__", "declare", "signatures"}
    assert set(package.NAMES) == files
    assert list(package.NAMES) == sorted(package.NAMES)


def test_names_are_sorted_and_known() -> None:
    names = list(functions())
    assert names == sorted(set(names))
    assert all(name == function.name == name.upper() for name, function in functions().items())
    assert not set(COMMONEST) - set(names)
    assert len(SCALARS) >= 120


@pytest.mark.parametrize("function", SCALARS, ids=lambda f: f.name)
def test_is_documented(function: Function) -> None:
    assert function.doc.endswith(".")
    assert function.doc[0].isupper() or not function.doc[0].isalpha() or function.doc.startswith("e to")
    assert function.overloads
    assert len(set(function.signatures)) == len(function.signatures)
    assert function.examples or function.name in WITHOUT_EXAMPLES
    assert all(e.call.count(function.name) for e in function.examples)


@pytest.mark.parametrize(("function", "overload"), OVERLOADS)
def test_lowers_with_the_right_number_of_arguments(function: Function, overload: Overload) -> None:
    fixed = len(overload.signature.params)
    for count in (fixed, fixed + 2) if overload.signature.variadic else (fixed,):
        args = [f"`ARG{at}`" for at in range(count)]
        if function.name in WITH_UNIT:
            args[0] = "'DAYS'"
        spark = overload.lower(args)
        assert all(arg in spark for arg in args if arg != "'DAYS'")
        assert _outside_of_quotes(spark).count("(") == _outside_of_quotes(spark).count(")")
        assert "{" not in _outside_of_quotes(spark)


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_binds_to_a_type_of_its_result(example: Example) -> None:
    assert _fits(example.result, constant(example.call).type)


def test_a_unit_that_does_not_exist_is_refused() -> None:
    with pytest.raises(BindError) as refused:
        constant("DATEADD(DAYZ, 1, FROM_DAYS(1))")
    assert refused.value.code == "UNKNOWN_UNIT"
    assert refused.value.hint == "Did you mean DAY?"


@pytest.mark.parametrize(
    ("call", "type_"),
    [
        ("ABS(1)", Scalar.INTEGER),
        ("ABS(1.5)", Decimal(2, 1)),
        ("CEIL(1.25)", Decimal(3, 2)),
        ("ROUND(12.345)", Decimal(2, 0)),
        ("ROUND(12.345, 1)", Decimal(5, 3)),
        ("ROUND(1.5e0)", Scalar.BIGINT),
        ("GREATEST(1.5, 22.75)", Decimal(4, 2)),
        ("GREATEST(1, 2.5e0)", Scalar.DOUBLE),
        ("SUBSTRING(TO_BYTES('ab', 'ascii'), 1)", Scalar.BYTES),
        ("GENERATE_SERIES(2999999990, 3000000000)", Array(Scalar.BIGINT)),
        ("MAP_VALUES(MAP('a' := 1.5e0))", Array(Scalar.DOUBLE)),
    ],
)
def test_type(call: str, type_: SqlType) -> None:
    assert constant(call).type == type_


def _outside_of_quotes(spark: str) -> str:
    """Spark SQL without its string literals."""
    kept, quote, at = [], "", 0
    while at < len(spark):
        character = spark[at]
        if quote:
            at += character == "\\"
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        else:
            kept.append(character)
        at += 1
    assert not quote
    return "".join(kept)


def _fits(value: object, type_: SqlType) -> bool:
    match type_:
        case _ if value is None:
            return True
        case Scalar.BOOLEAN:
            return isinstance(value, bool)
        case Scalar.INTEGER | Scalar.BIGINT:
            return isinstance(value, int) and not isinstance(value, bool)
        case Scalar.DOUBLE:
            return isinstance(value, float)
        case Scalar():  # points in time and bytes are told by their text
            return isinstance(value, str)
        case Decimal(precision, scale):
            return isinstance(value, Number) and value == round(value, scale) and abs(value) < 10 ** (precision - scale)
        case Array(element):
            return isinstance(value, list) and all(_fits(v, element) for v in value)
        case Map(key, item):
            return isinstance(value, dict) and all(_fits(k, key) and _fits(v, item) for k, v in value.items())
        case Struct(fields):
            return isinstance(value, dict) and all(_fits(value[f.name], f.type) for f in fields)
