"""Rows of an Arrow batch, as stores of documents take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from orion.schema import Column
from orion.sinks.documents.values import Convert, Unfit
from orion.sinks.store import BESIDE, DELETED, OFFSET, PARTITION, ROUTE, TIME, Layout, Refusal


class Row(NamedTuple):
    """A record: its columns by name, and where it stands."""

    fields: dict[str, Any]  # of a deleted one the key's only
    deleted: bool
    partition: int
    offset: int
    time: int  # milliseconds
    route: str | None


def read(
    batch: pa.RecordBatch, layout: Layout, converters: Mapping[str, Convert | None]
) -> tuple[list[Row], list[Refusal]]:
    """The rows in their order, without those that have a value no document can hold."""
    unfit: dict[int, str] = {}
    columns = [_column(batch, c, converters[c.name], unfit) for c in layout.columns]
    beside = {name: batch.column(name).to_pylist() for name in BESIDE}
    names, keys = layout.names, [c.name for c in layout.key]
    # Without columns there is still a row for each record.
    values = zip(*columns, strict=True) if columns else ((),) * batch.num_rows
    rows = []
    for at, row in enumerate(values):
        if at in unfit:
            continue
        fields, gone = dict(zip(names, row, strict=True)), bool(beside[DELETED][at])
        if gone:
            fields = {name: fields[name] for name in keys}
        rows.append(Row(fields, gone, beside[PARTITION][at], beside[OFFSET][at], beside[TIME][at], beside[ROUTE][at]))
    return rows, [Refusal(beside[OFFSET][at], why) for at, why in sorted(unfit.items())]


def _column(batch: pa.RecordBatch, column: Column, convert: Convert | None, unfit: dict[int, str]) -> list[Any]:
    array = batch.column(column.name)
    try:
        return _converted(array, convert)
    except (ValueError, OverflowError, ArithmeticError):
        pass
    values = []  # Some value doesn't fit: which one is found one by one.
    for at in range(len(array)):
        try:
            values += _converted(array.slice(at, 1), convert)
        except Unfit as error:
            unfit[at] = f"{column.name}: {error}"
            values.append(None)
        except (ValueError, OverflowError, ArithmeticError):
            unfit[at] = f"{column.name}: a value of {column.type} is out of range"
            values.append(None)
    return values


def _converted(array: pa.Array, convert: Convert | None) -> list[Any]:
    plain: list[Any] = array.to_pylist()
    return plain if convert is None else [None if v is None else convert(v) for v in plain]
