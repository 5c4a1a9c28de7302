"""jdbc: a table, or a query's result, asked for new rows every now and then, as Kafka Connect's JDBC source does.

How far it is stands in Kafka, in Kafka Connect's own form, and is written in the transaction of the rows themselves: a
restart loses no row and repeats none. What changes in place, or is deleted, only change data capture sees.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from pydantic import Field, SecretStr, field_validator, model_validator
from pyspark.sql import DataFrame, SparkSession

from orion.databases.address import Database, Kind, database
from orion.databases.connecting import Connection, connected
from orion.databases.tables import TableColumn, columns_of, columns_of_query, found_table, quoted
from orion.errors import ConfigError, hint_nearest
from orion.feeds import frames, polling
from orion.feeds.polled.bounds import Bounds, Mode, Place
from orion.feeds.polled.reading import Pace, Polling
from orion.feeds.target import TargetOptions
from orion.options import understood
from orion.plan.sources import Connector, Source
from orion.schema import INTEGRAL, Column, Decimal, Role, Scalar, Schema

_DAY_US = 86_400_000_000


class JdbcOptions(TargetOptions):
    prefix: str = Field(
        default="", alias="topic.prefix", description="the topic's name without the table's, where 'topic' isn't given"
    )
    url: str = Field(alias="connection.url", min_length=1, description="e.g. jdbc:postgresql://localhost:5432/shop")
    user: str | None = Field(default=None, alias="connection.user", description="who logs in")
    password: SecretStr | None = Field(default=None, alias="connection.password", description="the user's password")
    table: str | None = Field(default=None, alias="table.whitelist", description="the table, e.g. sales.orders")
    query: str | None = Field(default=None, description="a SELECT to poll in place of a table")
    mode: Mode = Field(description="how new rows are told: by a number, a time, both, or not at all")
    number: str | None = Field(
        default=None, alias="incrementing.column.name", description="the column whose numbers only grow"
    )
    times: tuple[str, ...] = Field(
        default=(),
        alias="timestamp.column.name",
        description="the column with a row's time; of several the first filled",
    )
    delay_ms: int = Field(
        default=0,
        alias="timestamp.delay.interval.ms",
        ge=0,
        description="how old a row is before it is read, so that transactions have time to end",
    )
    initial: int | None = Field(
        default=None, alias="timestamp.initial", ge=-1, description="rows up to this time are left out; -1: up to now"
    )
    poll_ms: int = Field(default=5000, alias="poll.interval.ms", ge=0, description="how often new rows are asked for")
    most_rows: int = Field(
        default=10_000, alias="batch.max.rows", ge=1, description="how many rows a batch has at most"
    )
    not_null: bool = Field(
        default=True, alias="validate.non.null", description="whether the columns of 'mode' have to be NOT NULL"
    )
    timezone: str = Field(default="UTC", alias="db.timezone", description="the zone of times that have none")

    @model_validator(mode="before")
    @classmethod
    def _newer_name(cls, written: Any) -> Any:
        if not isinstance(written, dict) or "table.include.list" not in written:
            return written
        rest = {name: value for name, value in written.items() if name != "table.include.list"}
        return {**rest, "table.whitelist": written["table.include.list"]}

    @field_validator("times", mode="before")
    @classmethod
    def _split(cls, written: Any) -> Any:
        return tuple(part.strip() for part in written.split(",")) if isinstance(written, str) else written

    @field_validator("mode", mode="before")
    @classmethod
    def _lowered(cls, written: Any) -> Any:
        return written.lower() if isinstance(written, str) else written

    @field_validator("timezone")
    @classmethod
    def _known(cls, written: str) -> str:
        try:
            ZoneInfo(written)
        except (OSError, ValueError, LookupError):
            raise ValueError(f"{written} is no time zone") from None
        return written

    @model_validator(mode="after")
    def _whole(self) -> JdbcOptions:
        if (self.table is None) == (self.query is None):
            raise ValueError("give 'table.whitelist' or 'query', one of the two")
        if self.table is not None and "," in self.table:
            raise ValueError("'table.whitelist' names one table; make a connector for each")
        needed = {
            "incrementing.column.name": "incrementing" in self.mode,
            "timestamp.column.name": "timestamp" in self.mode,
        }
        given = {"incrementing.column.name": self.number, "timestamp.column.name": self.times}
        for name, is_needed in needed.items():
            if is_needed and not given[name]:
                raise ValueError(f"the mode {self.mode} needs '{name}'")
            if given[name] and not is_needed:
                raise ValueError(f"the mode {self.mode} has no use for '{name}'")
        return self


OPTIONS = JdbcOptions


@dataclass(frozen=True)
class Described:
    """What the database says of the table or query."""

    source: str
    columns: tuple[TableColumn, ...]

    def get(self, name: str) -> TableColumn | None:
        alike = [c for c in self.columns if c.name.lower() == name.lower()]
        return next((c for c in alike if c.name == name), alike[0] if alike else None)


@dataclass(frozen=True)
class JdbcFeed:
    identity: str
    name: str
    options: JdbcOptions
    database: Database = field(repr=False)
    guarantee: ClassVar[str] = "exactly once, as far as the mode tells new rows"

    @property
    def trigger_ms(self) -> int:
        return 0

    @property
    def topic(self) -> str | None:
        told = self.options
        table = re.split(r"[.\"`]", told.table.strip('"`'))[-1] if told.table else ""
        return told.topic or (f"{told.prefix}{table}" if told.prefix else None)

    @property
    def partition(self) -> Mapping[str, Any] | None:
        if self.options.mode == "bulk":
            return None
        return {"table": self.options.table} if self.options.table else {"query": "query"}

    def prepare(self) -> None:
        with connected(self.database) as connection:
            self._bounds(self._described(connection))

    def columns(self) -> Schema | None:
        """The table's, its primary key as the key. Names are in capitals, as SQL has them."""
        with connected(self.database) as connection:
            there = self._described(connection).columns
        key = [Column(c.name.upper(), c.type, Role.KEY) for c in sorted(there, key=lambda c: c.key) if c.key]
        return Schema((*key, *(Column(c.name.upper(), c.type) for c in there if not c.key)))

    def stream(self, spark: SparkSession, target: Source, position: Mapping[str, Any] | None) -> DataFrame:
        return polling.stream(spark, self.identity, self.polling(target, position))

    def polling(self, target: Source, position: Mapping[str, Any] | None) -> Polling:
        """All that it takes to fill the target's columns."""
        wanted = frames.wanted(target)
        with connected(self.database) as connection:
            described = self._described(connection)
        found = [self._column(described, column.name, f"{target.name} has the column") for column in wanted]
        told = self.options
        return Polling(
            self.name,
            told.table or "query",
            self.partition,
            self._bounds(described),
            Pace(told.poll_ms, told.most_rows, told.delay_ms, self._step_us(described)),
            wanted,
            tuple(column.name for column in found),
            tuple("UTC" if column.zoned else told.timezone for column in found),
            tuple(frames.spark_types(target).items()),
            self._initial() if position is None else Place.of(position).offset,
        )

    def _initial(self) -> dict[str, Any]:
        if self.options.initial is None or not self.options.times:
            return {}
        since = time.time_ns() // 1000 if self.options.initial == -1 else self.options.initial * 1000
        return Place(since).offset

    # ---- what the database says ----------------------------------------------------------------------------------

    def _described(self, connection: Connection) -> Described:
        if self.options.query is not None:
            query = self.options.query.strip().rstrip(";")
            columns = columns_of_query(connection, self.database, query)
            return Described(f"({query}) AS orion_query", tuple(columns))
        table = found_table(connection, self.database, self.options.table or "")
        return Described(quoted(self.database, *table), tuple(columns_of(connection, self.database, table)))

    def _bounds(self, described: Described) -> Bounds:
        """With the columns of the mode as the database spells them, once they are fit for it."""
        told = self.options
        number = self._numbered(described, told.number) if told.number else None
        times = [self._timed(described, name) for name in told.times]
        zones = {None if column.zoned else told.timezone for column in times}
        if len(zones) > 1:
            message = "'timestamp.column.name': some of the columns have a time zone and others have none."
            raise ConfigError("COLUMN_UNFIT", message)
        names = tuple(column.name for column in times)
        zone = next(iter(zones), None)
        return Bounds(self.database, described.source, told.mode, number.name if number else None, names, zone)

    def _numbered(self, described: Described, name: str) -> TableColumn:
        column = self._column(described, name, "'incrementing.column.name' is")
        whole = column.type in INTEGRAL or (isinstance(column.type, Decimal) and column.type.scale == 0)
        if not whole:
            raise _unfit("incrementing.column.name", column, "has to be a whole number")
        return self._filled("incrementing.column.name", column)

    def _timed(self, described: Described, name: str) -> TableColumn:
        column = self._column(described, name, "'timestamp.column.name' is")
        numbers = self.database.kind is Kind.SQLITE and column.type in (*INTEGRAL, Scalar.STRING)
        if column.type not in (Scalar.TIMESTAMP, Scalar.DATE) and not numbers:
            raise _unfit("timestamp.column.name", column, "has to be a time")
        # Of several columns one may be empty: the next one counts then.
        return self._filled("timestamp.column.name", column) if len(self.options.times) == 1 else column

    def _filled(self, option: str, column: TableColumn) -> TableColumn:
        # Of a query's columns nobody says whether they may be NULL.
        if self.options.not_null and self.options.table and column.nullable:
            raise ConfigError(
                "COLUMN_UNFIT",
                f"'{option}': {column.name} may be NULL, and such rows would never be read.",
                hint="Make it NOT NULL, or say 'validate.non.null'='false' to leave those rows out.",
            )
        return column

    def _column(self, described: Described, name: str, who: str) -> TableColumn:
        found = described.get(name)
        if found is None:
            there = [column.name for column in described.columns]
            of = self.options.table or "the query"
            raise ConfigError(
                "COLUMN_MISSING",
                f"Connector {self.name}: {who} {name}, which {of} doesn't have.",
                hint=hint_nearest(name, there) or f"It has {', '.join(there)}.",
            )
        return found

    def _step_us(self, described: Described) -> int:
        """How fine the times are. Rows of the second that it is now may yet come, where a time has no finer part."""
        steps = [_fineness(self.database, column) for name in self.options.times if (column := described.get(name))]
        return max(steps, default=1)


def _fineness(database: Database, column: TableColumn) -> int:
    if column.type is Scalar.DATE:
        return _DAY_US
    if database.kind is Kind.SQLITE:
        return 1_000_000
    told = re.search(r"\((\d)\)", column.written)
    digits = int(told[1]) if told else (6 if database.kind is Kind.POSTGRESQL else 0)
    return int(10 ** (6 - digits))


def _unfit(option: str, column: TableColumn, needed: str) -> ConfigError:
    return ConfigError("COLUMN_UNFIT", f"'{option}': {column.name} is {column.written or 'untyped'}, and {needed}.")


def open_feed(connector: Connector) -> JdbcFeed:
    options = understood(JdbcOptions, connector.own_options, connector.name)
    password = options.password.get_secret_value() if options.password is not None else None
    return JdbcFeed(connector.identity, connector.name, options, database(options.url, options.user, password))
