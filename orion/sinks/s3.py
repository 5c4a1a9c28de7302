"""s3: a topic's rows as objects of a bucket or files of a folder, with the options and names of Confluent's S3 sink.

Each row stands in one object, whatever is tried again: see orion.sinks.objects.transfer. Of a table every change is a
row; objects aren't changed. When objects are cut over several batches is the job's part: `S3Store.pace` says how many
rows a batch waits for, and how long at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal
from urllib.parse import unquote, urlsplit
from zoneinfo import ZoneInfo

from pydantic import Field, SecretStr, field_validator, model_validator

from orion.errors import ConfigError, hint_nearest
from orion.options import Options, understood
from orion.plan.sources import Connector
from orion.schema import Struct
from orion.sinks.objects.contents import Avro, Contents, Json, Parquet, check_avro
from orion.sinks.objects.partitioning import (
    ByField,
    ByPartition,
    ByTime,
    Clock,
    Partitioner,
    Path,
    has_time,
    is_foldable,
)
from orion.sinks.objects.patterns import Pattern
from orion.sinks.objects.place import Bucket, Folder, Login, Place
from orion.sinks.objects.transfer import Cut, Naming, ObjectSession, Scheme
from orion.sinks.store import Layout, Nested
from orion.sinks.warehouses import Stage

DAY_MS, HOUR_MS = 86_400_000, 3_600_000
DAILY = "'year'=YYYY/'month'=MM/'day'=dd"
FOREVER_MS = 2**31 - 1

# The names of Confluent's classes, and what they are called here.
_FORMATS = {f"io.confluent.connect.s3.format.{n}.{n.capitalize()}Format": n for n in ("parquet", "avro", "json")}
_PARTITIONERS = {
    f"io.confluent.connect.storage.partitioner.{java}Partitioner": name
    for java, name in (
        ("Default", "default"),
        ("Field", "field"),
        ("TimeBased", "time"),
        ("Daily", "daily"),
        ("Hourly", "hourly"),
    )
}


@dataclass(frozen=True, slots=True)
class Pace:
    """What a batch waits for: this many rows, or the time since the one before it."""

    rows: int
    every_ms: int


class S3Options(Options):
    bucket: str | None = Field(None, alias="s3.bucket.name", description="the bucket, which must exist")
    path: str | None = Field(None, description="a folder of this machine, in place of a bucket; file: or a plain path")
    region: str | None = Field(None, alias="s3.region", description="the bucket's region")
    url: str | None = Field(None, alias="store.url", description="the address of an S3 server that isn't Amazon's")
    path_style: bool = Field(
        True, alias="s3.path.style.access.enabled", description="whether store.url takes the bucket as part of the path"
    )
    key: str | None = Field(
        None, alias="aws.access.key.id", description="a key; without one, what the AWS SDK finds where Orion runs"
    )
    secret: SecretStr | None = Field(None, alias="aws.secret.access.key", description="the key's secret")
    token: SecretStr | None = Field(None, alias="aws.session.token", description="the token of a temporary key")
    topics: str = Field("topics", alias="topics.dir", description="the folder of all topics; may be empty")
    directory_delimiter: str = Field("/", alias="directory.delim", description="what stands between folders")
    file_delimiter: str = Field(
        "+", alias="file.delim", description="what stands between topic, partition and offset in an object's name"
    )
    format: Literal["parquet", "avro", "json"] = Field(
        "parquet", alias="format.class", description="what objects are: parquet, avro or json, or Confluent's class"
    )
    parquet_codec: Literal["none", "gzip", "snappy", "lz4", "brotli", "zstd"] = Field(
        "snappy", alias="parquet.codec", description="how Parquet is compressed"
    )
    avro_codec: Literal["null", "deflate", "snappy", "bzip2"] = Field(
        "null", alias="avro.codec", description="how Avro is compressed"
    )
    compression: Literal["none", "gzip"] = Field(
        "none", alias="s3.compression.type", description="how JSON is compressed"
    )
    flush_size: int = Field(
        10_000, alias="flush.size", ge=1, description="rows an object has at most, and a batch waits for"
    )
    rotate_ms: int = Field(
        -1, alias="rotate.interval.ms", description="ms that the times of an object's rows span at most; -1: any"
    )
    rotate_schedule_ms: int = Field(
        60_000,
        alias="rotate.schedule.interval.ms",
        description="ms that rows wait for more at most; -1: as long as it takes to reach flush.size",
    )
    partitioner: Literal["default", "field", "time", "daily", "hourly"] = Field(
        "default", alias="partitioner.class", description="what folders go by, or Confluent's class"
    )
    fields: tuple[str, ...] = Field(
        (), alias="partition.field.name", description="the columns that folders go by, separated by commas"
    )
    pattern: str | None = Field(
        None, alias="path.format", description="how folders of times are called, as 'year'=YYYY/'month'=MM"
    )
    duration_ms: int | None = Field(
        None, alias="partition.duration.ms", ge=1, description="how many ms of time a folder has"
    )
    locale: str = Field("en-US", description="the language of months and days in folders' names: English")
    zone: str = Field("UTC", alias="timezone", description="the zone that folders' times are of")
    extractor: Literal["Record", "RecordField", "Wallclock"] = Field(
        "Record", alias="timestamp.extractor", description="which time a row has: its ROWTIME, a column's, the clock's"
    )
    time_field: str | None = Field(
        None, alias="timestamp.field", description="the column of RecordField: TIMESTAMP, DATE, BIGINT or ISO text"
    )
    on_null: Literal["ignore", "fail", "write"] = Field(
        "ignore",
        alias="behavior.on.null.values",
        description="what becomes of deletes: nothing, dead letters, or keys in a folder of their own",
    )
    null_folder: str = Field("tombstone", alias="tombstone.encoded.partition", description="the folder of deletes")
    storage: str | None = Field(None, alias="storage.class", description="taken, without effect")
    compatibility: str | None = Field(None, alias="schema.compatibility", description="taken, without effect")
    part_size: int | None = Field(None, alias="s3.part.size", description="taken, without effect")

    @field_validator("fields", mode="before")
    @classmethod
    def _split(cls, written: Any) -> Any:
        return tuple(w.strip() for w in written.split(",") if w.strip()) if isinstance(written, str) else written

    @field_validator("format", mode="before")
    @classmethod
    def _format(cls, written: Any) -> Any:
        return _FORMATS.get(written, written)

    @field_validator("partitioner", mode="before")
    @classmethod
    def _partitioner(cls, written: Any) -> Any:
        return _PARTITIONERS.get(written, written)

    @field_validator("parquet_codec", "avro_codec", "compression", "on_null", mode="before")
    @classmethod
    def _lower(cls, written: Any) -> Any:
        return written.lower() if isinstance(written, str) else written

    @field_validator("url")
    @classmethod
    def _address(cls, written: str | None) -> str | None:
        if written and (urlsplit(written).scheme not in ("http", "https") or not urlsplit(written).netloc):
            raise ValueError("it is no address as http://host:port")
        return written

    @field_validator("zone")
    @classmethod
    def _known_zone(cls, written: str) -> str:
        try:
            ZoneInfo(written)
        except (KeyError, ValueError, OSError):
            raise ValueError(f"there is no zone {written}") from None
        return written

    @field_validator("pattern")
    @classmethod
    def _readable(cls, written: str | None) -> str | None:
        if written is not None:
            Pattern(written)
        return written

    @model_validator(mode="after")
    def _together(self) -> S3Options:
        if (self.bucket is None) == (self.path is None):
            raise ValueError("it takes either 's3.bucket.name' or 'path'")
        if (self.key is None) != (self.secret is None):
            raise ValueError("'aws.access.key.id' and 'aws.secret.access.key' go together")
        if self.partitioner == "field" and not self.fields:
            raise ValueError("'partition.field.name' is missing")
        if self.partitioner == "time" and not (self.pattern and self.duration_ms):
            raise ValueError("a partitioner by time takes 'path.format' and 'partition.duration.ms'")
        if self.extractor == "RecordField" and self.time_field is None:
            raise ValueError("'timestamp.field' is missing")
        if self.pattern and Pattern(self.pattern).has_names and not self.locale.lower().startswith("en"):
            raise ValueError("'path.format' has names of months or days, which are in English only")
        return self


OPTIONS = S3Options


@dataclass(frozen=True)
class S3Store:
    scheme: Scheme
    pace: Pace
    guarantee: ClassVar[str] = "exactly once"
    nested: ClassVar[Nested] = Nested.ARROW

    @property
    def layout(self) -> Layout:
        return self.scheme.layout

    @property
    def stage(self) -> Stage | None:
        """Where a warehouse finds the objects; none in a folder of this machine."""
        place, naming = self.scheme.place, self.scheme.naming
        if not isinstance(place, Bucket):
            return None
        prefix = naming.directory.join(part for part in (naming.topics, self.layout.topic) if part)
        return Stage(place.name, prefix, type(self.scheme.contents).__name__.lower())

    def prepare(self) -> None:
        self.scheme.place.check(self.scheme.naming.probe)

    def reach(self) -> None:
        self.prepare()  # objects are all there is to make

    def open(self) -> ObjectSession:
        return ObjectSession(self.scheme, self.scheme.place.open())


def open_sink(connector: Connector, layout: Layout) -> S3Store:
    options = understood(S3Options, connector.own_options, connector.name)
    if options.format == "avro":
        check_avro(layout.columns)
    waits = [ms for ms in (options.rotate_ms, options.rotate_schedule_ms) if ms > 0]
    scheme = Scheme(
        layout,
        _place(options),
        Naming(options.topics.strip("/"), options.directory_delimiter, options.file_delimiter),
        _partitioner(options, layout),
        _clock(options, layout),
        _contents(options),
        Cut(options.flush_size, max(options.rotate_ms, 0)),
        options.on_null,
        options.null_folder,
    )
    return S3Store(scheme, Pace(options.flush_size, min(waits, default=FOREVER_MS)))


def _place(options: S3Options) -> Place:
    if options.path is not None:
        is_url = options.path.startswith("file:")
        return Folder(unquote(urlsplit(options.path).path) if is_url else options.path)
    login = Login(options.key, options.secret, options.token) if options.key and options.secret else None
    return Bucket(str(options.bucket), options.region, options.url, login, not options.path_style)


def _contents(options: S3Options) -> Contents:
    match options.format:
        case "parquet":
            return Parquet(options.parquet_codec)
        case "avro":
            return Avro(options.avro_codec)
        case "json":
            return Json(options.compression == "gzip")


def _partitioner(options: S3Options, layout: Layout) -> Partitioner:
    match options.partitioner:
        case "default":
            return ByPartition()
        case "field":
            fields = tuple(_found(name, layout, "partition.field.name") for name in options.fields)
            for field in fields:
                if not is_foldable(field.type):
                    raise _unfit("partition.field.name", field, "has no name for a folder")
            return ByField(fields, options.directory_delimiter)
        case "time":
            pattern, duration = str(options.pattern), options.duration_ms or DAY_MS
        case "daily":
            pattern, duration = DAILY, DAY_MS
        case "hourly":
            pattern, duration = f"{DAILY}/'hour'=HH", HOUR_MS
    return ByTime(Pattern(pattern.replace("/", options.directory_delimiter)), duration, options.zone)


def _clock(options: S3Options, layout: Layout) -> Clock:
    if options.extractor == "RecordField":
        field = _found(str(options.time_field), layout, "timestamp.field")
        if not has_time(field.type):
            raise _unfit("timestamp.field", field, "has no time")
        return Clock(field)
    return Clock(is_wall=options.extractor == "Wallclock")


def _found(name: str, layout: Layout, option: str) -> Path:
    """A column by its name, or a field of a STRUCT behind a dot."""
    first, *steps = name.split(".")
    column = _column(layout, name) or _column(layout, first)
    if column is None:
        raise ConfigError(
            "INVALID_CONNECTOR",
            f"'{option}' names {name}, which {layout.topic} doesn't have.",
            hint=hint_nearest(first, layout.names),
        )
    if column.steps == (name,):
        return column
    for step in steps:
        fields = column.type.fields if isinstance(column.type, Struct) else ()
        inner = next((f for f in fields if f.name.upper() == step.upper()), None)
        if inner is None:
            raise ConfigError(
                "INVALID_CONNECTOR",
                f"'{option}' names {name}, and {column.name} has no field {step}.",
                hint=hint_nearest(step, [f.name for f in fields]),
            )
        column = Path((*column.steps, inner.name), inner.type)
    return column


def _column(layout: Layout, name: str) -> Path | None:
    named = [c for c in layout.columns if c.name == name] or [
        c for c in layout.columns if c.name.upper() == name.upper()
    ]
    return Path((named[0].name,), named[0].type) if named else None


def _unfit(option: str, field: Path, why: str) -> ConfigError:
    return ConfigError("INVALID_CONNECTOR", f"'{option}' names {field.name}: {field.type} {why}.")
