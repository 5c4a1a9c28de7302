"""files: a folder of CSV, JSON lines or Parquet, followed as it grows.

Spark's own file source lists the folder and remembers which files it has had; workers read them. So each file is read
once, in the order of their last change. Which ones were read is a record each in Kafka, in the transaction of their
rows: from there Spark's list is made anew where it is lost. A file has to be whole when it appears: write it elsewhere,
or under a name that begins with a dot, and rename it.
"""

from __future__ import annotations

import glob
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal
from urllib.parse import unquote

import pyarrow as pa
from pydantic import Field, field_validator, model_validator
from pyspark.sql import DataFrame, SparkSession

from orion.errors import ConfigError
from orion.feeds import frames
from orion.feeds.reading.batches import FILE, MODIFIED, Format, Reading
from orion.feeds.reading.columns import schema_of
from orion.feeds.reading.entries import Found
from orion.feeds.reading.lines import Dialect, header_of
from orion.feeds.target import TargetOptions
from orion.formats import VALUE, decode_in_steps, evaluate_once, format_of
from orion.hub.positions import Standpoint
from orion.moments import timestamp_sql
from orion.options import understood
from orion.plan.sources import ROWTIME, Connector, Serde, Source
from orion.schema import Array, Column, Decimal, Map, Role, Scalar, Schema, SqlType, Struct, literal, quote, spark_type

_LISTING = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
_AGE = "36500d"  # a file is news whenever it appears, however old it is
_PATTERN = re.compile(r"[*?\[{]")
_SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
}
_PACKED = (".gz", ".bz2", ".xz")


class FilesOptions(TargetOptions):
    path: str = Field(min_length=1, description="the folder, or a pattern such as /data/orders/*.csv")
    format: Format | None = Field(default=None, description="what stands in the files, if their names don't say it")
    poll_ms: int = Field(
        default=1000, alias="poll.interval.ms", ge=0, description="how often the folder is looked at, in milliseconds"
    )
    most_files: int | None = Field(
        default=None, alias="batch.max.files", ge=1, description="how many files a batch has at most"
    )
    most_bytes: int = Field(
        default=128 << 20, alias="batch.max.bytes", ge=1, description="how large the files of a batch are, about"
    )
    cleanup: Literal["none", "delete", "move"] = Field(
        default="none", alias="cleanup.policy", description="what becomes of files that have been read"
    )
    finished: str | None = Field(default=None, alias="finished.path", description="the folder that they are moved to")
    timestamp: Literal["process_time", "file_time"] = Field(
        default="process_time",
        alias="timestamp.mode",
        description="the time of a row that has none itself: when it is read, or when its file was last changed",
    )
    formats: tuple[str, ...] = Field(
        default=(),
        alias="parser.timestamp.date.formats",
        description="patterns of CSV's times, separated by commas; without any they are ISO 8601",
    )
    header: bool = Field(
        default=False, alias="csv.first.row.as.header", description="whether a CSV file's first line names its columns"
    )
    separator: str = Field(default=",", alias="csv.separator.char", description="what stands between cells")
    quote: str = Field(default='"', alias="csv.quote.char", description="what stands around a cell")
    escape: str | None = Field(default=None, alias="csv.escape.char", description="what takes a quote's meaning away")
    skipped: int = Field(
        default=0, alias="csv.skip.lines", ge=0, description="how many lines stand before a CSV's data"
    )
    charset: str = Field(default="UTF-8", alias="csv.file.charset", description="how a CSV file's text is written")
    nulls: tuple[str, ...] = Field(
        default=("",), alias="csv.null.values", description="cells that mean NULL, separated by commas"
    )

    @model_validator(mode="before")
    @classmethod
    def _as_spool_dir(cls, written: Any) -> Any:
        """Names of Kafka Connect's spool-dir connectors: a folder, and an expression over files' names."""
        if not isinstance(written, dict) or "input.path" not in written:
            return written
        rest = {name: value for name, value in written.items() if name not in ("input.path", "input.file.pattern")}
        pattern = written.get("input.file.pattern")
        return {**rest, "path": "/".join(filter(None, (written["input.path"].rstrip("/"), _as_glob(pattern))))}

    @field_validator("formats", "nulls", mode="before")
    @classmethod
    def _split(cls, written: Any) -> Any:
        return tuple(part.strip() for part in written.split(",")) if isinstance(written, str) else written

    @field_validator("cleanup", "timestamp", "format", mode="before")
    @classmethod
    def _lowered(cls, written: Any) -> Any:
        return written.lower() if isinstance(written, str) else written

    @field_validator("separator", "quote", "escape", mode="before")
    @classmethod
    def _sign(cls, written: Any) -> Any:
        """One sign, or its number, as spool-dir has it."""
        if not isinstance(written, str):
            return written
        sign = {"\\t": "\t"}.get(written, chr(int(written)) if written.isdecimal() else written)
        if len(sign) != 1:
            raise ValueError("it is one sign, or the number of one")
        return sign

    @field_validator("charset")
    @classmethod
    def _known(cls, written: str) -> str:
        try:
            "".encode(written)
        except LookupError:
            raise ValueError(f"{written} is no charset") from None
        return written

    @model_validator(mode="after")
    def _whole(self) -> FilesOptions:
        if (self.cleanup == "move") != (self.finished is not None):
            raise ValueError("'finished.path' goes with 'cleanup.policy'='move'")
        return self


OPTIONS = FilesOptions


@dataclass(frozen=True)
class FilesFeed:
    name: str
    options: FilesOptions
    format: Format
    guarantee: ClassVar[str] = "exactly once"

    @property
    def trigger_ms(self) -> int:
        return self.options.poll_ms

    @property
    def topic(self) -> str | None:
        return self.options.topic or None

    @property
    def partition(self) -> Mapping[str, Any] | None:
        return None

    @property
    def is_remote(self) -> bool:
        return "://" in self.options.path and not self.options.path.startswith("file:")

    @property
    def dialect(self) -> Dialect:
        told = self.options
        signs = (told.separator, told.quote, told.escape)
        return Dialect(*signs, told.header, told.skipped, frozenset(told.nulls), told.charset)

    def prepare(self) -> None:
        if self.is_remote:
            return
        folder = _folder(self.options.path)
        try:
            next(folder.iterdir() if folder.is_dir() else iter(()), None)
        except OSError as error:
            raise ConfigError("PATH_NOT_READABLE", f"{folder} can't be read: {error.strerror}.") from None
        if not folder.exists():
            raise ConfigError("PATH_NOT_FOUND", f"There is no folder {folder}.", hint="Make it, and drop files there.")
        if self.options.finished is not None:
            self._check_finished(folder, Path(self.options.finished).absolute())

    def _check_finished(self, folder: Path, finished: Path) -> None:
        if finished.is_relative_to(folder.absolute()):
            message = f"'finished.path' is inside of {folder}, where files are looked for."
            raise ConfigError("INVALID_CONNECTOR", message, hint="Name a folder beside it.")
        try:
            finished.mkdir(parents=True, exist_ok=True)
            probe = finished / ".orion-probe"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise ConfigError("PATH_NOT_WRITABLE", f"{finished} can't be written: {error.strerror}.") from None

    def columns(self) -> Schema | None:
        """Those of the first file that is there, if files of this format say it: Parquet does, CSV with a header."""
        first = next(self._there(), None)
        try:
            if first is not None and self.format == "parquet":
                return schema_of(first)
            if first is not None and self.format == "csv" and self.options.header:
                names = header_of(first, self.dialect) or []
                return Schema(tuple(Column(name.strip().upper(), Scalar.STRING) for name in names))
        except (pa.ArrowException, OSError, UnicodeDecodeError):
            return None
        return None

    def _there(self) -> Iterator[Found]:
        if self.is_remote:
            return
        path = self.options.path.removeprefix("file:")
        pattern = path if _PATTERN.search(path) or Path(path).is_file() else f"{path.rstrip('/')}/*"
        for name in sorted(glob.glob(pattern)):
            if Path(name).is_file() and not Path(name).name.startswith(("_", ".")):
                yield Found(name, 0)

    def stream(self, spark: SparkSession, target: Source, position: Mapping[str, Any] | None) -> DataFrame:
        wanted = frames.wanted(target)
        reading = Reading(self.format, wanted, self.dialect, self.name, self.options.timestamp == "file_time")
        listed = self._listed(spark).selectExpr(
            "path",
            "unix_millis(modificationTime) AS modified",
            # Files of this machine are opened in place.
            *(["content"] if self.is_remote else []),
        )
        # Spark would read large files first: one worker has them all, and takes them in order.
        read = listed.coalesce(1).mapInArrow(reading, reading.schema)
        match self.format:
            case "csv":
                return _typed(read, wanted, self.options.formats)
            case "json":
                return _decoded(read, wanted)
            case "parquet":
                return read

    def seen_log(self, spark: SparkSession, there: Iterable[Standpoint]) -> tuple[str, ...]:
        """The files that were read, as entries of the log that Spark's source keeps."""
        files = [(one.partition[FILE], (one.offset or {}).get(MODIFIED, 0)) for one in there if FILE in one.partition]
        jvm: Any = spark.sparkContext._jvm
        entries = []
        for name, modified in sorted(files):
            # As Spark spells it: in a URI's signs, with three slashes where it is a file of this machine.
            is_local = "://" not in name
            address = jvm.org.apache.hadoop.fs.Path(f"file:{name}" if is_local else name).toUri()
            address = f"file://{address.getRawPath()}" if is_local else address.toString()
            entries.append(json.dumps({"path": address, "timestamp": modified, "batchId": 0}, separators=(",", ":")))
        return tuple(entries)

    def standpoint(self, address: str, modified_ms: int) -> Standpoint:
        """That a file of Spark's log was read, as the offsets in Kafka say it."""
        found = Found(unquote(address), modified_ms)
        return Standpoint({FILE: found.path}, {MODIFIED: modified_ms})

    def _listed(self, spark: SparkSession) -> DataFrame:
        told = self.options
        pace = ("maxFilesPerTrigger", told.most_files) if told.most_files else ("maxBytesPerTrigger", told.most_bytes)
        reader = (
            spark.readStream.format("binaryFile")
            .schema(_LISTING)
            .option(*pace)
            .option("latestFirst", "false")
            .option("maxFileAge", _AGE)
            # One that somebody takes away before it was read would stop the feed for good.
            .option("ignoreMissingFiles", "true")
        )
        if told.cleanup == "delete":
            reader = reader.option("cleanSource", "delete")
        if told.finished is not None:
            reader = reader.option("cleanSource", "archive").option("sourceArchiveDir", told.finished)
        return reader.load(told.path)


def _decoded(read: DataFrame, wanted: tuple[Column, ...]) -> DataFrame:
    """Lines understood as Orion's JSON format understands the value of a record."""
    serde = Serde("JSON", wrap_single=True)
    columns = tuple(Column(c.name, c.type, Role.VALUE, None, c.spelling or c.name) for c in wanted)
    decoded = format_of(serde).decode(columns, serde, frames.RAW_VALUE, VALUE)
    empty = f" OR {decoded.empty}" if decoded.empty else ""
    reason = f"concat('{frames.UNREADABLE}: ', {decoded.reason})"
    made = decode_in_steps(read, {VALUE: (decoded, f"{frames.BAD} IS NULL")})
    return _judged(made, list(zip(wanted, decoded.fields, strict=True)), f"{decoded.bad}{empty}", reason)


def _typed(read: DataFrame, wanted: tuple[Column, ...], formats: tuple[str, ...]) -> DataFrame:
    """Cells as the types of their columns."""
    cells = ", ".join(f"'c{at}', {_cell(quote(c.name), c, formats)}" for at, c in enumerate(wanted))
    fields = [(column, f"{VALUE}.c{at}") for at, column in enumerate(wanted)]
    missed = (f"WHEN {quote(c.name)} IS NOT NULL AND {field} IS NULL THEN {_misfit(c)}" for c, field in fields)
    why = f"CASE {' '.join(missed)} END"
    made = read.selectExpr("*", f"{evaluate_once(f'named_struct({cells})')} AS {VALUE}")
    return _judged(made, fields, f"{why} IS NOT NULL", f"concat('{frames.UNREADABLE}: ', {why})")


def _misfit(column: Column) -> str:
    return literal(f"{column.name} is no {column.type}")


def _judged(made: DataFrame, fields: list[tuple[Column, str]], bad: str, reason: str) -> DataFrame:
    """The columns, of a frame that has them evaluated under VALUE; and BAD where they don't fit."""
    others = [name for name in frames.BESIDE if name != frames.BAD]
    return made.selectExpr(
        *(f"{field} AS {quote(column.name)}" for column, field in fields),
        ROWTIME,
        f"CASE WHEN {frames.BAD} IS NOT NULL THEN {frames.BAD} WHEN {bad} THEN {reason} END AS {frames.BAD}",
        *others,
    )


def _cell(cell: str, column: Column, formats: tuple[str, ...]) -> str:
    type_: SqlType = column.type
    match type_:
        case Scalar.STRING:
            return cell
        case Scalar.BYTES:
            return f"try_to_binary({cell}, 'base64')"
        case Scalar.TIME:
            return f"CAST(unix_millis(try_cast(concat('1970-01-01 ', {cell}) AS TIMESTAMP)) AS INT)"
        case Scalar.TIMESTAMP:
            return _time(cell, formats)
        case Scalar.DATE if formats:
            return f"CAST({_time(cell, formats)} AS DATE)"
        case Scalar() | Decimal():
            return f"try_cast({cell} AS {spark_type(type_)})"
        case Array() | Map() | Struct():
            message = f"CSV has no {type_} for {column.name}."
            raise ConfigError("INVALID_CONNECTOR", message, hint="Use JSON or Parquet, or declare it as a STRING.")


def _time(cell: str, formats: tuple[str, ...]) -> str:
    if formats:
        tried = ", ".join(f"try_to_timestamp({cell}, {literal(pattern)})" for pattern in formats)
        return f"coalesce({tried})"
    number = f"{cell} RLIKE '^-?[0-9]{{5,}}$'"  # milliseconds; fewer digits are a year
    return f"if({number}, {timestamp_sql(f'try_cast({cell} AS BIGINT)')}, try_cast({cell} AS TIMESTAMP))"


def _as_glob(pattern: Any) -> str:
    r"""A simple expression such as `^orders.*\.csv$` as a pattern of files' names."""
    if not pattern:
        return "*"
    plain = str(pattern).removeprefix("^").removesuffix("$")
    parts = re.split(r"(\.\*|\.\+|\\.)", plain)
    made = "".join("*" if part in (".*", ".+") else part[1:] if part.startswith("\\") else part for part in parts)
    if re.search(r"[()|+\[\]{}^$\\]", "".join(parts[::2])) or "." in "".join(parts[::2]) or re.search(r"\\\w", plain):
        raise ValueError("'input.file.pattern' is too much of an expression; write 'path' with * instead")
    return made


def _folder(path: str) -> Path:
    """What must be there: a folder, a file, or the folder before the first sign of a pattern."""
    plain = path.removeprefix("file:")
    found = _PATTERN.search(plain)
    return Path(plain) if found is None else Path(plain[: found.start()] + "x").parent


def open_feed(connector: Connector) -> FilesFeed:
    options = understood(FilesOptions, connector.own_options, connector.name)
    return FilesFeed(connector.name, options, options.format or _by_name(options.path, connector.name))


def _by_name(path: str, connector: str) -> Format:
    plain = path.lower()
    for packed in _PACKED:
        plain = plain.removesuffix(packed)
    found = next((told for suffix, told in _SUFFIXES.items() if plain.endswith(suffix)), None)
    if found is None:
        message = f"Connector {connector}: 'format' is missing, and 'path' doesn't say it."
        raise ConfigError("INVALID_CONNECTOR", message, hint="It is csv, json or parquet.")
    return found
