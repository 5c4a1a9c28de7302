"""What a dead letter tells, as one run of bytes: so it passes by operators, which let only their results through.

A frame behind an operator carries rows.BAD and rows.LETTER: a row that has a reason is none of the result's. The bytes
are JSON: hardly any row has them, and reading it costs Spark nothing where there are none. For Avro each task would
load Hadoop's settings anew, for every column that is made of them.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from orion.plan.sources import ROWOFFSET, ROWPARTITION, ROWTIME
from orion.runtime import rows
from orion.schema import Array, Field, Scalar, SqlType, Struct, literal, quote, spark_type

PARTITION, OFFSET = "__partition", "__offset"
# By the names that a frame has them under before it comes to its first operator.
_TOLD: dict[str, SqlType] = {
    rows.RAW_KEY: Scalar.BYTES,
    rows.RAW_VALUE: Scalar.BYTES,
    rows.TOPIC: Scalar.STRING,
    rows.STAMP: Scalar.BIGINT,
    ROWPARTITION: Scalar.INTEGER,
    ROWOFFSET: Scalar.BIGINT,
    rows.RECORD_HEADERS: Array(Struct((Field("key", Scalar.STRING), Field("value", Scalar.BYTES)))),
}
_NAMES = {ROWPARTITION: PARTITION, ROWOFFSET: OFFSET}
_UNKNOWN = {rows.TOPIC: "''", rows.STAMP: ROWTIME}
NO_LETTER = "CAST(NULL AS BINARY)"


def letter_of(frame: DataFrame) -> str:
    """The Spark SQL of a frame's letters: those it carries, or what its bad records tell."""
    if rows.LETTER in frame.columns:
        return rows.LETTER
    if rows.BAD not in frame.columns:
        return NO_LETTER
    return f"CASE WHEN {rows.BAD} IS NOT NULL THEN {_pack_letter(frame, {})} END"


def reason_of(frame: DataFrame) -> str:
    return rows.BAD if rows.BAD in frame.columns else "CAST(NULL AS STRING)"


def letter_of_row(frame: DataFrame) -> str:
    """The Spark SQL of a good row's letter, should it come too late: the row as JSON, and where it came from if that is
    known."""
    columns = [c for c in frame.columns if not c.startswith("__") and c not in (ROWPARTITION, ROWOFFSET)]
    fields = ", ".join(f"{literal(c)}, {quote(c)}" for c in columns)
    return _pack_letter(frame, {rows.RAW_VALUE: f"CAST(to_json(named_struct({fields})) AS BINARY)"})


def _pack_letter(frame: DataFrame, known: dict[str, str]) -> str:
    there = {name: name for name in _TOLD if name in frame.columns} | known
    unknown = {n: _UNKNOWN.get(n, f"CAST(NULL AS {spark_type(t)})") for n, t in _TOLD.items()}
    fields = ", ".join(f"'c{at}', {(unknown | there)[name]}" for at, name in enumerate(_TOLD))
    return f"CAST(to_json(named_struct({fields})) AS BINARY)"


def with_letters_read(frame: DataFrame) -> DataFrame:
    """A frame behind an operator with what its letters tell in columns: as its records had it, PARTITION and OFFSET."""
    others = [quote(c) for c in frame.columns if c != rows.LETTER]
    read = frame.selectExpr(*others, rows.LETTER, f"{_unpack_letter()} AS __told")
    told = [f"__told.c{at} AS {_NAMES.get(name, name)}" for at, name in enumerate(_TOLD)]
    return read.selectExpr(*others, rows.LETTER, *told)


def _unpack_letter() -> str:
    # A note's bytes aren't a letter's.
    text = f"CAST(CASE WHEN {rows.BAD} <> '{rows.NOTE}' THEN {rows.LETTER} END AS STRING)"
    schema = ", ".join(f"c{at} {spark_type(type_)}" for at, type_ in enumerate(_TOLD.values()))
    return f"from_json({text}, '{schema}')"
