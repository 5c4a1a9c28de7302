"""datagen: rows out of nothing, at a rate, for a first try, a load test or a demonstration.

How many rows there are is told by the clock, and what they hold by their numbers: Spark SQL over the number and a seed.
So a batch that runs again makes the same rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field
from pyspark.sql import DataFrame, SparkSession

from orion import ksql
from orion.errors import ConfigError, SqlError, hint_nearest
from orion.feeds import frames, polling
from orion.feeds.generation.expressions import NUMBER, TIME, Wish, generated
from orion.feeds.generation.quickstarts import QUICKSTARTS
from orion.feeds.target import TargetOptions
from orion.options import understood
from orion.plan.catalog import Catalog
from orion.plan.sources import ROWTIME, Connector, Source
from orion.plan.steps import DefineSource
from orion.schema import INTEGRAL, Column, Scalar, Schema, quote, spark_type

_BATCH_MS = 1000
_CHUNK = 50_000
_MOST_ROWS = 1_000_000  # of a batch
# A feed that stood still for longer doesn't make up for it: it goes on at its rate, from now.
_PATIENCE_US = 10_000_000
_FIELD = "field."


class DatagenOptions(TargetOptions):
    quickstart: Literal["orders", "users", "pageviews", "plays", "trucks"] | None = Field(
        default=None, description="rows that are there by name"
    )
    columns: str | None = Field(
        default=None,
        alias="schema",
        description="columns to make up, as in CREATE STREAM, e.g. 'id INT KEY, name STRING'",
    )
    rate: float = Field(
        default=10.0, alias="rows.per.second", gt=0, le=1_000_000, description="how many rows there are each second"
    )
    iterations: int | None = Field(default=None, ge=0, description="after how many rows it makes no more")
    seed: int = Field(default=1, description="another seed makes other rows")


OPTIONS = DatagenOptions


@dataclass(frozen=True)
class DatagenFeed:
    identity: str
    name: str
    options: DatagenOptions
    wishes: Mapping[str, Wish] = field(default_factory=dict)  # by the column's name in capitals
    guarantee: ClassVar[str] = "exactly once"

    @property
    def trigger_ms(self) -> int:
        return _BATCH_MS

    @property
    def topic(self) -> str | None:
        return self.options.topic or None

    @property
    def partition(self) -> Mapping[str, Any] | None:
        return None

    def prepare(self) -> None:
        self._check(self.columns())

    def columns(self) -> Schema | None:
        if self.options.quickstart is not None:
            return QUICKSTARTS[self.options.quickstart].schema
        return declared(self.options.columns, self.name) if self.options.columns else None

    def stream(self, spark: SparkSession, target: Source, position: Mapping[str, Any] | None) -> DataFrame:
        wanted = frames.wanted(target)
        self._check(target.schema)
        made = [f"{self.cell(column)} AS {quote(column.name)}" for column in wanted]
        ticks = polling.stream(spark, self.identity, Ticks(self.options.rate, self.options.iterations))
        place = {frames.PLACE: "'datagen'", frames.NUMBER: NUMBER}
        beside = (f"CAST({place.get(name, 'NULL')} AS {type_}) AS {name}" for name, type_ in frames.BESIDE.items())
        return ticks.selectExpr(*made, f"{TIME} AS {ROWTIME}", *beside)

    def cell(self, column: Column) -> str:
        """The quickstart's, unless the options say something of the column."""
        wish = self.wishes.get(column.name.upper())
        if wish is None and self.options.quickstart is not None:
            cells = QUICKSTARTS[self.options.quickstart].cells(self.options.seed)
            if column.name.upper() in cells:
                made = f"({cells[column.name.upper()]})"
                known = QUICKSTARTS[self.options.quickstart].schema.get(column.name.upper())
                return made if known is None else _as_type(made, known, column)
        return generated(column, wish or Wish(), self.options.seed)

    def _check(self, schema: Schema | None) -> None:
        """What the options say, they say of columns that there are."""
        if schema is None:
            return
        known = {column.name.upper(): column for column in schema}
        for name, wish in self.wishes.items():
            if name not in known:
                message = f"Connector {self.name}: '{_FIELD}{name.lower()}' names no column."
                raise ConfigError("INVALID_CONNECTOR", message, hint=hint_nearest(name, list(known)))
            generated(known[name], wish, self.options.seed)


def _as_type(made: str, known: Column, wanted: Column) -> str:
    """The quickstart's value as the target has the column: a time may be its milliseconds."""
    if known.type is Scalar.TIMESTAMP and wanted.type in INTEGRAL:
        return f"CAST({TIME} AS {spark_type(wanted.type)})"
    return f"CAST({made} AS {spark_type(wanted.type)})"


@dataclass(frozen=True)
class Ticks:
    """Rows' numbers and times: as many as the clock says. An offset is a number, and the time that belongs to it."""

    rate: float
    iterations: int | None = None
    schema: ClassVar[str] = f"{NUMBER} BIGINT, {TIME} BIGINT"

    def open(self) -> Clock:
        return Clock(self)

    def read(self, start: polling.Offset, end: polling.Offset) -> Iterator[pa.RecordBatch]:
        first, rows = start["row"], end["row"] - start["row"]
        for at in range(0, rows, _CHUNK):
            numbers = np.arange(at, min(at + _CHUNK, rows), dtype=np.int64)
            times = start["us"] + (numbers + 1) * ((end["us"] - start["us"]) / max(1, rows))
            yield pa.RecordBatch.from_arrays(
                [pa.array(numbers + first), pa.array((times // 1000).astype(np.int64))], names=[NUMBER, TIME]
            )


@dataclass(frozen=True)
class Clock:
    ticks: Ticks

    def begin(self) -> polling.Offset:
        return {"row": 0, "us": _now_us()}

    def ahead(self, start: polling.Offset) -> polling.Offset:
        return after(self.ticks, start, _now_us())

    def close(self) -> None:
        pass


def after(ticks: Ticks, start: polling.Offset, now_us: int) -> polling.Offset:
    """Where the rows have come to by now."""
    since = start["us"]
    if now_us - since > _PATIENCE_US:
        since = now_us - _BATCH_MS * 1000
    due = int(max(0, now_us - since) * ticks.rate / 1_000_000)
    rows = min(due, _MOST_ROWS)
    if ticks.iterations is not None:
        rows = min(rows, ticks.iterations - start["row"])
    if rows <= 0:
        return start
    return {"row": start["row"] + rows, "us": since + round(rows * 1_000_000 / ticks.rate)}


def _now_us() -> int:
    return time.time_ns() // 1000


def declared(columns: str, connector: str) -> Schema:
    """Columns as a CREATE STREAM would take them."""
    text = f"CREATE STREAM made ({columns}) WITH (KAFKA_TOPIC = 'made', KEY_FORMAT = 'JSON', VALUE_FORMAT = 'JSON')"
    try:
        steps = ksql.compile(text, Catalog()).steps
    except SqlError as error:
        message = f"Connector {connector}: 'schema' is no list of columns: {error.message}"
        raise ConfigError("INVALID_CONNECTOR", message, hint="For example 'id INT KEY, name STRING'.") from None
    return next(step.source.schema for step in steps if isinstance(step, DefineSource))


def open_feed(connector: Connector) -> DatagenFeed:
    own = connector.own_options
    fields = {name: value for name, value in own.items() if name.startswith(_FIELD)}
    options = understood(
        DatagenOptions, {name: value for name, value in own.items() if name not in fields}, connector.name
    )
    if options.quickstart is not None and options.columns is not None:
        message = f"Connector {connector.name}: 'quickstart' and 'schema' can't both be given."
        raise ConfigError("INVALID_CONNECTOR", message)
    return DatagenFeed(connector.identity, connector.name, options, wishes_of(fields, connector.name))


def wishes_of(fields: Mapping[str, str], connector: str) -> dict[str, Wish]:
    """Options such as `field.price.min`, by column."""
    told: dict[str, dict[str, Any]] = {}
    for option, value in fields.items():
        name, _, what = option.removeprefix(_FIELD).rpartition(".")
        if not name or what not in _WISHES:
            message = f"Connector {connector}: there is no option '{option}'."
            close = hint_nearest(what, list(_WISHES))
            raise ConfigError(
                "UNKNOWN_OPTION",
                message,
                hint=close or f"A field has {', '.join(f'{_FIELD}NAME.{w}' for w in _WISHES)}.",
            )
        try:
            told.setdefault(name.upper(), {}).update(_WISHES[what](value))
        except ValueError:
            message = f"Connector {connector}: '{option}' is not a number from 0 to 1."
            raise ConfigError("INVALID_CONNECTOR", message) from None
    return {name: Wish(**one) for name, one in told.items()}


def _share(written: str) -> float:
    if not 0 <= float(written) <= 1:
        raise ValueError(written)
    return float(written)


_WISHES: dict[str, Callable[[str], dict[str, Any]]] = {
    "values": lambda v: {"values": tuple(part.strip() for part in v.split(",") if part.strip())},
    "min": lambda v: {"least": v},
    "max": lambda v: {"most": v},
    "nulls": lambda v: {"nulls": _share(v)},
    "sequence": lambda v: {"sequence": v.strip().lower() == "true"},
}
