"""Python functions as Spark SQL: how the JVM calls the workers that know Protobuf.

Spark has a Protobuf of its own, as a package that Orion doesn't ship: a call takes raw bytes to a worker and brings
typed columns back, both by Arrow. What is read or written how is part of the function: as an argument it would travel
with every row. So each way of reading or writing is a function with a name of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.functions import arrow_udf

from orion.formats.messages.read import Reading, reader
from orion.formats.messages.write import Writing, writer
from orion.schema import Column, quote, spark_type


def read(reading: Reading, raw: str) -> str:
    """The Spark SQL of a struct with the fields c0, c1 ...; NULL where the bytes don't fit."""

    def from_protobuf(records: pa.Array) -> pa.Array:
        return reader(reading)(records)

    fields = ", ".join(f"c{at}: {spark_type(type_)}" for at, type_ in enumerate(reading.columns))
    return f"{_known('from', reading, from_protobuf, f'STRUCT<{fields}>')}({raw})"


def write(writing: Writing, columns: Iterable[Column]) -> str:
    """The Spark SQL of a message's bytes."""

    def to_protobuf(*values: pa.Array) -> pa.Array:
        return writer(writing)(*values)

    return f"{_known('to', writing, to_protobuf, 'BINARY')}({', '.join(quote(c.name) for c in columns)})"


def _known(direction: str, task: Reading | Writing, function: Callable[..., pa.Array], returns: str) -> str:
    """The name under which the running session knows the function from now on."""
    name = f"orion_{direction}_protobuf_{sha256(repr(task).encode()).hexdigest()[:32]}"
    spark = SparkSession.active()
    if not spark.catalog.functionExists(name):
        # Spark reads the kind of function off its hints; its stubs don't know that yet.
        spark.udf.register(name, arrow_udf(function, returns))  # type: ignore[call-overload]
    return name
