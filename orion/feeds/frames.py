"""What the rows of a feed look like to whoever writes them.

A feed's frame has the target's columns of key and value, ROWTIME in milliseconds, which is never NULL, and beside them
those below. No SQL name can collide with these, since a leading `__` is ours.
"""

from __future__ import annotations

from orion.errors import ConfigError
from orion.plan.sources import ROWTIME, Source
from orion.schema import Column, spark_type

BAD = "__bad"  # STRING: a code, a colon and why the row can't be read; NULL: it can
RAW_KEY, RAW_VALUE = "__raw_key", "__raw_value"  # BINARY: what a bad row was read from
PLACE = "__place"  # STRING: the file or table that a row is from
NUMBER = "__number"  # BIGINT: which of the place's rows it is, if that is known
BESIDE = {BAD: "STRING", RAW_KEY: "BINARY", RAW_VALUE: "BINARY", PLACE: "STRING", NUMBER: "BIGINT"}

# In place of a reason: the row notes where the feed stands. RAW_KEY and RAW_VALUE are the record of the offsets' topic.
NOTE = ""

UNREADABLE = "VALUE_UNREADABLE"


def wanted(target: Source) -> tuple[Column, ...]:
    """The columns that a feed fills."""
    if target.window is not None:
        message = f"{target.name} has windowed keys: only queries write such a topic."
        raise ConfigError("INVALID_CONNECTOR", message, hint="Declare a stream without WINDOW_TYPE over it.")
    return (*target.schema.key, *target.schema.value)


def spark_types(target: Source) -> dict[str, str]:
    """Names and types of all columns of the frame, in Spark's DDL."""
    own = {column.name: spark_type(column.type) for column in wanted(target)}
    return {**own, ROWTIME: "BIGINT", **BESIDE}
