"""To which task a key goes, where that is to be as in Kafka Streams: to the one with the number of the partition in
which Kafka's producers put the key. Then a task sees the rows of one partition, and has its clock.

It is computed from the key and not taken from the partition in which a record was found: a key has one task, whoever
has written its records, and however many partitions the topic had at that time. Once in the JVM, for rows, and once in
Python, for state records that are at hand; either way from the key as an operator has it (`packing`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, SparkSession

from orion.hub.partitioning import partition_of
from orion.plan.relations import Expr
from orion.runtime import packing
from orion.schema import Scalar

# Of these Spark makes the bytes that the format KAFKA writes. A key of another type, or of several columns, has no one
# form in Kafka: it is spread by a hash.
_WIDTHS = {Scalar.INTEGER: 4, Scalar.BIGINT: 8}
_AS_IN_KAFKA = (Scalar.STRING, Scalar.BYTES, *_WIDTHS)
_PARTITIONER = "org.apache.kafka.common.utils.Utils"
_NO_SIGN = 0x7FFFFFFF


def placed_type(key: Sequence[Expr]) -> Scalar | None:
    """The type of a key that Kafka has one form of, so that it is known where a producer puts it."""
    type_ = key[0].type if len(key) == 1 else None
    return type_ if isinstance(type_, Scalar) and type_ in _AS_IN_KAFKA else None


def kafka_bytes(key: str, type_: Scalar) -> str:
    """The Spark SQL of the bytes that are in Kafka, of a packed key's Spark SQL."""
    if type_ is Scalar.STRING:
        return f"substring({key}, 2)"
    return f"CAST({packing.column(packing.unpacked(key, [type_]), 0, type_)} AS BINARY)"


def kafka_hash(spark: SparkSession, bytes_: Column) -> Column:
    """What Kafka's partitioner makes of bytes, without a sign: its own code, called by what Spark generates."""
    jvm: Any = spark._jvm
    catalyst, columns = jvm.org.apache.spark.sql.catalyst, jvm.org.apache.spark.sql.classic.ExpressionUtils
    in_sequence = jvm.org.apache.spark.api.python.PythonUtils.toSeq
    arguments = jvm.java.util.ArrayList()
    arguments.add(columns.expression(bytes_._jc))
    call = catalyst.expressions.objects.StaticInvoke(
        jvm.org.apache.spark.util.Utils.classForName(_PARTITIONER, True, False),
        jvm.org.apache.spark.sql.types.DataTypes.IntegerType,
        "murmur2",
        in_sequence(arguments),
        in_sequence(jvm.java.util.ArrayList()),
        True,  # NULL gives NULL
        True,  # so NULL may come out
        True,  # deterministic
        jvm.scala.Option.empty(),
    )
    return Column(columns.column(call)).bitwiseAND(_NO_SIGN)


def find_placed_task(key: bytes, type_: Scalar, tasks: int) -> int:
    """The same in Python: the task of a packed key, of so many."""
    return partition_of(_read_bytes(key, type_), tasks)


def _read_bytes(key: bytes, type_: Scalar) -> bytes:
    """A packed key as it is in Kafka. Text has one byte in front; the others are Avro, a union of nothing and them."""
    if type_ is Scalar.STRING:
        return key[1:]
    number, end = _read_number(key, 1)
    if type_ is Scalar.BYTES:
        return key[end : end + number]
    return number.to_bytes(_WIDTHS[type_], "big", signed=True)


def _read_number(packed: bytes, at: int) -> tuple[int, int]:
    """A whole number as Avro writes it, seven bits a byte and the sign last; and where it ends."""
    found = shift = 0
    while True:
        byte = packed[at]
        found |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return (found >> 1) ^ -(found & 1), at
