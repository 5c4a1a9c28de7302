"""Options of the jdbc sink, as Kafka Connect's has them, and which of them go together."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import Any, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import Field, SecretStr, field_validator, model_validator

from orion.databases.address import Address, Kind, parsed
from orion.options import Options
from orion.sinks.sql.names import TOPIC

_DIALECTS = {
    "PostgreSqlDatabaseDialect": Kind.POSTGRESQL,
    "MySqlDatabaseDialect": Kind.MYSQL,
    "SqliteDatabaseDialect": Kind.SQLITE,
}


class InsertMode(StrEnum):
    INSERT = "insert"
    UPSERT = "upsert"
    UPDATE = "update"


class KeyMode(StrEnum):
    NONE = "none"
    KAFKA = "kafka"
    RECORD_KEY = "record_key"
    RECORD_VALUE = "record_value"


class JdbcOptions(Options):
    # It may hold a password.
    connection_url: str = Field(
        alias="connection.url",
        repr=False,
        description="the database's address, as jdbc:postgresql://HOST:PORT/DATABASE",
    )
    connection_user: str | None = Field(default=None, alias="connection.user", description="who logs in")
    connection_password: SecretStr | None = Field(
        default=None, alias="connection.password", description="that user's password"
    )
    insert_mode: Literal["insert", "upsert", "update"] = Field(
        default="insert", alias="insert.mode", description="what becomes of a row whose key is there already"
    )
    pk_mode: Literal["none", "kafka", "record_key", "record_value"] = Field(
        default="none", alias="pk.mode", description="what a table's primary key is made of"
    )
    pk_fields: tuple[str, ...] = Field(
        default=(), alias="pk.fields", description="columns of the primary key, separated by commas"
    )
    delete_enabled: bool = Field(
        default=False, alias="delete.enabled", description="whether a record without value deletes its key's row"
    )
    auto_create: bool = Field(default=False, alias="auto.create", description="whether a missing table is made")
    auto_evolve: bool = Field(default=False, alias="auto.evolve", description="whether missing columns are added")
    table_name_format: str = Field(
        default=TOPIC, alias="table.name.format", min_length=1, description="the table's name; ${topic} is the topic's"
    )
    fields_whitelist: tuple[str, ...] = Field(
        default=(), alias="fields.whitelist", description="columns beside the key's that are written; all, if empty"
    )
    batch_size: int = Field(
        default=10_000, alias="batch.size", ge=1, le=100_000, description="most rows that go to the server at once"
    )
    db_timezone: str = Field(
        default="UTC", alias="db.timezone", description="zone of times in columns that keep none, as in Europe/Zurich"
    )
    quote_sql_identifiers: Literal["always", "never"] = Field(
        default="always", alias="quote.sql.identifiers", description="whether names are quoted"
    )
    dialect_name: Literal["", "PostgreSqlDatabaseDialect", "MySqlDatabaseDialect", "SqliteDatabaseDialect"] = Field(
        default="", alias="dialect.name", description="the kind of database; the URL says it already"
    )
    epochs_table: str = Field(
        default="orion_epochs",
        alias="epochs.table",
        min_length=1,
        description="the table that keeps how far each partition was written",
    )
    # Orion tries again for as long as a server is away, with a growing pause: these are taken, without effect.
    max_retries: int = Field(
        default=10, alias="max.retries", ge=0, description="without effect: it is tried again until the server answers"
    )
    retry_backoff_ms: int = Field(
        default=3000, alias="retry.backoff.ms", ge=0, description="without effect: see max.retries"
    )
    connection_attempts: int = Field(
        default=3, alias="connection.attempts", ge=1, description="without effect: see max.retries"
    )
    connection_backoff_ms: int = Field(
        default=10_000, alias="connection.backoff.ms", ge=0, description="without effect: see max.retries"
    )

    @field_validator("pk_fields", "fields_whitelist", mode="before")
    @classmethod
    def _split(cls, written: Any) -> Any:
        return tuple(w.strip() for w in written.split(",") if w.strip()) if isinstance(written, str) else written

    @field_validator("connection_url")
    @classmethod
    def _an_address(cls, url: str) -> str:
        parsed(url)
        return url

    @field_validator("db_timezone")
    @classmethod
    def _a_zone(cls, zone: str) -> str:
        try:
            ZoneInfo(zone)
        except (OSError, ValueError, KeyError) as error:
            raise ValueError(f"{zone} is no time zone") from error
        return zone

    @field_validator("table_name_format", "epochs_table")
    @classmethod
    def _a_table(cls, written: str) -> str:
        parts = written.split(".")
        if len(parts) > 2 or not all(parts):
            raise ValueError("must be TABLE or SCHEMA.TABLE")
        return written

    @model_validator(mode="after")
    def _together(self) -> Self:
        if self.insert_mode != "insert" and self.pk_mode == "none":
            raise ValueError(f"'insert.mode' {self.insert_mode} needs a key: set 'pk.mode'")
        if self.delete_enabled and self.pk_mode != "record_key":
            raise ValueError("'delete.enabled' needs 'pk.mode' record_key: a record without value has only its key")
        if self.pk_mode == "none" and self.pk_fields:
            raise ValueError("'pk.fields' needs a 'pk.mode' other than none")
        if self.pk_mode == "kafka" and len(self.pk_fields) not in (0, 3):
            raise ValueError("'pk.fields' with 'pk.mode' kafka has three names: of topic, partition and offset")
        if self.dialect_name and _DIALECTS[self.dialect_name] is not self.address.kind:
            raise ValueError(f"'dialect.name' is {self.dialect_name}, and 'connection.url' is of {self.address.scheme}")
        return self

    @cached_property
    def address(self) -> Address:
        return parsed(self.connection_url)
