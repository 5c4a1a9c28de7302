"""delta: a topic's rows in a Delta table, each batch exactly once.

A stream's rows are appended. A table's are merged by key: the last change of a key counts, and a record without value
takes its row away. The table also has ROWTIME, the time of each row's record. Types are Spark's, with TIME as the
milliseconds of the day in an INT.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal
from urllib.parse import unquote, urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator
from pyspark.sql import DataFrame, SparkSession

from orion.errors import ConfigError, hint_nearest
from orion.options import Options, understood
from orion.plan.sources import ROWTIME, Connector, Kind
from orion.schema import Array, Column, Map, Scalar, Struct, quote, spark_type
from orion.sinks.lakehouse import s3a
from orion.sinks.lakehouse.table import FAILURES, Batch, Table, tuned
from orion.sinks.lakehouse.upkeep import Schedule, Upkeep
from orion.sinks.objects.place import Bucket, Folder, Login
from orion.sinks.store import DELETED, OFFSET, PARTITION, TIME, Layout

PROBE = "_orion/probe"


class DeltaOptions(Options):
    path: str = Field(description="folder of the table: a local path, or s3a://bucket/folder", min_length=1)
    mode: Literal["append", "upsert"] | None = Field(
        None, alias="write.mode", description="append or upsert; without it, tables are upserted and streams appended"
    )
    keys: tuple[str, ...] = Field(
        (), alias="merge.keys", description="columns that rows are upserted by, in place of the key's"
    )
    partition_by: tuple[str, ...] = Field((), alias="partition.by", description="columns, separated by commas")
    optimize_ms: int = Field(
        600_000, alias="optimize.interval.ms", ge=0, description="ms between two looks for small files; 0: never"
    )
    min_files: int = Field(
        32, alias="optimize.min.files", ge=2, description="how many small files make it worth to put them together"
    )
    target_bytes: int = Field(
        128 << 20, alias="target.file.size", ge=1 << 10, description="bytes a file should have; smaller ones are small"
    )
    vacuum_ms: int = Field(
        86_400_000, alias="vacuum.interval.ms", ge=0, description="ms between two removals of unused files; 0: never"
    )
    retention_hours: float = Field(
        168, alias="vacuum.retention.hours", ge=0, description="how long unused files stay, for readers of the past"
    )
    endpoint: str | None = Field(
        None, alias="s3.endpoint", description="the address of an S3 server that isn't Amazon's"
    )
    region: str | None = Field(None, alias="s3.region", description="the bucket's region")
    key: str | None = Field(
        None, alias="aws.access.key.id", description="a key; without one, what the AWS SDK finds where Orion runs"
    )
    secret: SecretStr | None = Field(None, alias="aws.secret.access.key", description="the key's secret")
    token: SecretStr | None = Field(None, alias="aws.session.token", description="the token of a temporary key")

    @field_validator("partition_by", "keys", mode="before")
    @classmethod
    def _split(cls, written: Any) -> Any:
        return tuple(w.strip() for w in written.split(",") if w.strip()) if isinstance(written, str) else written

    @model_validator(mode="after")
    def _together(self) -> DeltaOptions:
        if (self.key is None) != (self.secret is None):
            raise ValueError("'aws.access.key.id' and 'aws.secret.access.key' go together")
        return self


OPTIONS = DeltaOptions


@dataclass(frozen=True)
class DeltaSink:
    identity: str
    layout: Layout
    table: Table
    keys: tuple[str, ...]  # none: rows are appended
    bucket: Bucket | None
    upkeep: Upkeep = field(compare=False)
    guarantee: ClassVar[str] = "exactly once"

    def reach(self) -> None:
        if self.bucket is not None:
            _, folder = s3a.parts(self.table.path)
            self.bucket.check(f"{folder}/{PROBE}")
        elif "://" not in self.table.path:
            Folder(self.table.path).check(PROBE)

    def prepare(self) -> None:
        self.reach()
        session = tuned(SparkSession.active())
        if self.bucket is not None:
            s3a.reach(session, self.bucket)
        self.table.make(session, ", ".join(f"{quote(c.name)} {spark_type(c.type)}" for c in self._columns))

    def write(self, batch: DataFrame, epoch: int) -> int:
        rows = batch if self._deletes else batch.where(f"NOT {DELETED}")
        count = rows.count()
        if not count:
            return 0
        tuned(batch.sparkSession)
        try:
            self._put(rows, Batch(f"orion-{self.identity}", epoch))
        except FAILURES:
            if self.bucket is not None:
                self.bucket.check(f"{s3a.parts(self.table.path)[1]}/{PROBE}")  # whether nobody answers is told so
            raise
        self.upkeep.after_batch(batch.sparkSession)
        return count

    def _put(self, rows: DataFrame, batch: Batch) -> None:
        columns = [quote(c.name) for c in self.layout.columns]
        if self._columns != self.layout.columns:
            columns.append(f"timestamp_millis({TIME}) AS {ROWTIME}")
        if self.keys:
            self.table.merge(rows.selectExpr(*columns, DELETED, PARTITION, OFFSET), self.keys, batch)
        else:
            self.table.append(rows.selectExpr(*columns), batch)

    @property
    def _columns(self) -> tuple[Column, ...]:
        if any(c.name.upper() == ROWTIME for c in self.layout.columns):
            return self.layout.columns
        return (*self.layout.columns, Column(ROWTIME, Scalar.TIMESTAMP))

    @property
    def _deletes(self) -> bool:
        """A record without value has its own key alone: by other columns there is nothing to find its row by."""
        return bool(self.keys) and set(self.keys) <= {c.name for c in self.layout.key}


def open_sink(connector: Connector, layout: Layout) -> DeltaSink:
    options = understood(DeltaOptions, connector.own_options, connector.name)
    _check_names(layout)
    placed = tuple(_found(name, layout, "partition.by") for name in options.partition_by)
    table = Table(_path(options.path), placed)
    schedule = Schedule(
        options.optimize_ms, options.min_files, options.target_bytes, options.vacuum_ms, options.retention_hours
    )
    keys = _keys(options, layout)
    # Each topic has batches of its own: two of them may come into one table under the same number.
    writer = f"{connector.identity}.{layout.topic}"
    return DeltaSink(writer, layout, table, keys, _bucket(options), Upkeep(table, schedule))


def _keys(options: DeltaOptions, layout: Layout) -> tuple[str, ...]:
    mode = options.mode or ("upsert" if layout.kind is Kind.TABLE or options.keys else "append")
    if mode == "append":
        if options.keys:
            raise ConfigError("INVALID_CONNECTOR", "'merge.keys' is for 'write.mode' upsert.")
        return ()
    keys = tuple(_found(n, layout, "merge.keys") for n in options.keys) or tuple(c.name for c in layout.key)
    if not keys:
        raise ConfigError(
            "INVALID_CONNECTOR",
            f"{layout.topic} has no key column to upsert rows by.",
            hint="Name the columns in 'merge.keys', or set 'write.mode' to append.",
        )
    return keys


def _found(name: str, layout: Layout, option: str) -> str:
    """The column of a name, of a type that values can be told apart by."""
    column = next((c for c in layout.columns if c.name.upper() == name.upper()), None)
    if column is None:
        raise ConfigError(
            "INVALID_CONNECTOR",
            f"'{option}' names {name}, which {layout.topic} doesn't have.",
            hint=hint_nearest(name, layout.names),
        )
    if isinstance(column.type, Map) or (option == "partition.by" and isinstance(column.type, Array | Struct)):
        raise ConfigError("INVALID_CONNECTOR", f"'{option}' names {column.name}, which is {column.type}.")
    return column.name


def _check_names(layout: Layout) -> None:
    """Delta takes names that differ in case for the same."""
    names = [name.upper() for name in layout.names]
    twice = next((name for name in layout.names if names.count(name.upper()) > 1), None)
    if twice is not None:
        raise ConfigError(
            "INVALID_CONNECTOR",
            f"{layout.topic} has two columns {twice} that differ in case, and Delta doesn't tell them apart.",
            hint="Rename one with a transform.",
        )


def _path(written: str) -> str:
    """A path as Hadoop knows it, whatever folder a process is in."""
    if s3a.is_s3(written):
        bucket, key = s3a.parts(written)
        return f"s3a://{bucket}/{key}"
    if written.startswith("file:"):
        return unquote(urlsplit(written).path)
    return written if "://" in written else str(Path(written).expanduser().absolute())


def _bucket(options: DeltaOptions) -> Bucket | None:
    if not s3a.is_s3(options.path):
        return None
    name, key = s3a.parts(options.path)
    if not name or not key:
        raise ConfigError("INVALID_CONNECTOR", f"'path' names no folder of a bucket: {options.path}.")
    login = Login(options.key, options.secret, options.token) if options.key and options.secret else None
    return Bucket(name, options.region, options.endpoint, login)
