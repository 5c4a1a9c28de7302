"""Values of SQL's types as Arrow has them, as numbers, and as text."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal as Exact
from typing import Any

import numpy as np
import pyarrow as pa

from orion.arrow import Times
from orion.schema import Scalar, SqlType

# As the files have them; and as numbers, since Python's own dates end where Spark's don't.
WRITTEN = Times(pa.timestamp("us", "UTC"), pa.time32("ms"))
NUMBERS = Times(pa.int64(), pa.int32(), pa.int32())


def shown_as(type_: SqlType) -> Callable[[Any], str]:
    """How plain values of a scalar type are written."""
    match type_:
        case Scalar.BOOLEAN:
            return lambda value: str(value).lower()
        case Scalar.DATE:
            return lambda value: str(np.datetime64(value, "D"))
        case Scalar.TIME:
            return lambda value: str(np.datetime64(value, "ms"))[11:]
        case Scalar.TIMESTAMP:
            return lambda value: str(np.datetime64(value // 1000, "ms"))
        case _:
            return lambda value: format(value, "f") if isinstance(value, Exact) else str(value)
