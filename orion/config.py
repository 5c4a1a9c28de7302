"""Settings: one frozen tree, read once.

Flags beat the environment (`ORION_HUB__BOOTSTRAP=...`), which beats the file (`orion.yaml`), which beats the defaults.
Unknown keys are refused. With no file at all the defaults run everything on this machine.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from orion.errors import ConfigError, hint_nearest

FILE = "orion.yaml"


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Hub(Section):
    """Where the log lives."""

    bootstrap: str | None = Field(
        default=None, description="host:port of a Kafka cluster; none: an embedded broker is started"
    )
    brokers: Literal[1, 3] = Field(default=1, description="embedded brokers; 3 gives replication 3 with min.insync 2")
    port: int = Field(
        default=9092,
        description="port of the first embedded broker; one that isn't asked for gives way where it is taken, and a "
        "cluster keeps the port it got; 0 picks a free one",
    )
    heap: str = Field(default="512m", description="heap of an embedded broker")
    partitions: int = Field(
        default=2,
        ge=1,
        description="partitions of a topic that `orion topics create` or a capture of a database makes without saying",
    )


class Engine(Section):
    """How Spark runs."""

    master: str = Field(default="local[*]", description="Spark master")
    memory: str = Field(default="1g", description="driver heap; Spark's process takes some 500 MB more")
    shuffle_partitions: int = Field(
        default=2,
        ge=1,
        description="partitions of Spark's own shuffles: pull queries that Spark answers, merges into Delta tables",
    )
    trigger_ms: int = Field(default=300, ge=0, description="shortest time from one micro-batch to the next")
    freshness_ms: int = Field(
        default=1_000,
        ge=0,
        description="how old results may get: batches that take long are made fewer and larger up to that",
    )
    max_records_per_batch: int = Field(default=100_000, ge=1, description="most records a micro-batch reads")
    share_statements: bool = Field(
        default=True, description="statements over the same source run as one stream, where they can"
    )
    grace_s: float = Field(
        default=20.0, ge=0, description="seconds that a batch under way has to end when the server stops"
    )
    errors_tolerance: str = Field(
        default="all",
        pattern=r"^(all|none|\d+(\.\d*)?%?|\.\d+%?)$",
        description="dead letters a statement bears: all, none, or a share such as 1%",
    )
    max_future_ms: int = Field(
        default=86_400_000,
        ge=0,
        description="how far beyond the present day a record's time may be before it is a dead letter; 0: any",
    )
    guarantee: Literal["exact", "fast"] = Field(
        default="exact", description="lane of statements that don't say; one that can't be fast is exact"
    )
    fast_batch_ms: int = Field(
        default=60_000, ge=5_000, description="time from one checkpoint of a fast statement to the next"
    )
    fast_slots: int = Field(
        default=8, ge=0, description="task slots for fast statements, beside those of all others; one a partition read"
    )
    profile: Literal["throughput", "latency", "durability", "availability"] | None = Field(
        default=None, description="profile of topics and statements that don't say"
    )
    conf: dict[str, str] = Field(default_factory=dict, description="any other Spark setting")


class Web(Section):
    """The HTTP door."""

    host: str = Field(default="127.0.0.1", description="address to bind; loopback unless told otherwise")
    port: int = Field(default=8088, ge=0, le=65535, description="port; 0 picks a free one")
    allowed_hosts: tuple[str, ...] = Field(
        default=(),
        description="further names under which clients may reach Orion's HTTP servers, such as a proxy's; "
        "a request for any other name, or from another site's page, is refused",
    )
    max_body_bytes: int = Field(
        default=16 << 20,
        ge=1,
        description="most bytes of a request, or of a line or message of one that streams; more is answered with 413",
    )
    body_s: float = Field(
        default=120.0, gt=0, description="seconds that the body of a request may take to arrive, unless it streams"
    )
    queue_bytes: int = Field(
        default=32 << 20,
        ge=1,
        description="bytes of records from requests that may wait for the brokers; more is answered with 429",
    )
    delivery_s: float = Field(
        default=30.0, gt=0, description="seconds that the brokers have to take a record from a request"
    )
    consumer_idle_s: float = Field(
        default=300.0, gt=0, description="seconds after which a consumer instance that nobody asks is closed"
    )


class Registry(Section):
    """The schema registry. A port that isn't asked for gives way where it is taken."""

    enabled: bool = Field(default=True, description="whether `orion up` runs one")
    url: str | None = Field(
        default=None, description="address of a registry to use instead; any that speaks Confluent's API"
    )
    host: str = Field(default="127.0.0.1", description="address to bind; loopback unless told otherwise")
    port: int = Field(default=8081, ge=0, le=65535, description="port; 0 picks a free one")


class Serving(Section):
    """Tables that answer pull queries, kept in DuckDB under the data folder."""

    enabled: bool = Field(default=True, description="whether tables are kept for pull queries")
    memory_limit: str = Field(
        default="512MB",
        pattern=r"^\d+(\.\d+)?\s*([KMGT]i?B)$",
        description="most memory that DuckDB takes; what doesn't fit is on disk",
    )
    hot_rows: int = Field(
        default=20_000, ge=0, description="keys whose last look-ups are kept at hand until their rows change; 0: none"
    )
    last_rows: int = Field(
        default=100_000,
        ge=0,
        description="rows of each table, those that changed last, that are in memory too; 0: none",
    )
    max_rows: int = Field(
        default=1_000_000, ge=1, description="most rows that a pull query may answer with; one that has more is refused"
    )
    max_seconds: float = Field(
        default=600.0, gt=0, description="how long a pull query may take; one that takes longer is ended"
    )


class Postgres(Section):
    """The door for clients of PostgreSQL's: BI tools read tables through it. A port that isn't asked for gives way."""

    enabled: bool = Field(default=True, description="whether `orion up` opens it")
    host: str = Field(
        default="127.0.0.1", description="address to bind; whoever reaches it can read every table, without a password"
    )
    port: int = Field(default=5433, ge=0, le=65535, description="port; 0 picks a free one")


class Secrets(Section):
    """What `${file:PATH}` and `${env:NAME}` in the options of connectors may read, on behalf of whoever writes them."""

    folders: tuple[Path, ...] = Field(
        default=(), description="folders whose files may be read, beside `secrets/` in the data folder"
    )
    variables: tuple[str, ...] = Field(
        default=(), description="names of the server's environment variables that may be read"
    )


class Functions(Section):
    """Functions of SQL that are written in Python. A list alone names modules."""

    modules: tuple[str, ...] = Field(
        default=(), description="Python modules whose functions marked `@orion.udf` are functions of SQL"
    )
    python: bool = Field(
        default=False,
        description="whether `CREATE FUNCTION` may bring Python: whoever reaches the server can then run code on it",
    )

    @model_validator(mode="before")
    @classmethod
    def _listed(cls, given: Any) -> Any:
        return {"modules": given} if isinstance(given, list | tuple) else given


class Config(BaseSettings):
    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        env_prefix="ORION_",
        env_nested_delimiter="__",
    )

    service_id: str = Field(
        default="orion", pattern=r"^[a-z0-9_-]+$", description="prefix of internal topics and groups"
    )
    data: Path = Field(default=Path(".orion"), description="folder for broker data, checkpoints and logs")
    hub: Hub = Hub()
    engine: Engine = Engine()
    web: Web = Web()
    registry: Registry = Registry()
    serving: Serving = Serving()
    postgres: Postgres = Postgres()
    secrets: Secrets = Secrets()
    functions: Functions = Functions()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        # `load` lays file, environment and flags over each other; nothing may come in again above the flags.
        return (init_settings,)


def load(path: Path | None = None, flags: dict[str, Any] | None = None) -> Config:
    """Read the file (when there is one), the environment and the flags into one frozen value."""
    file = path or Path(FILE)
    if path is not None and not file.is_file():
        raise ConfigError("CONFIG_FILE_MISSING", f"There is no file {file}.", hint="Give the path of an orion.yaml.")
    written = _read(file) if file.is_file() else {}
    try:
        environment = EnvSettingsSource(Config)()
        return Config(**_merge(_merge(written, environment), _nest(flags or {})))
    except SettingsError as error:
        hint = "A section is given as ORION_SECTION__KEY, a variable for each key."
        raise ConfigError("CONFIG_INVALID", f"The environment: {error}.", hint=hint) from error
    except ValidationError as error:
        raise _refused(error, file) from error


def _read(file: Path) -> dict[str, Any]:
    """What the file says. A key with nothing behind it says nothing."""
    try:
        written = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError("CONFIG_NOT_YAML", f"{file} is not YAML: {error}.") from error
    if written is None:
        return {}
    if not isinstance(written, dict) or not all(isinstance(key, str) for key in written):
        raise ConfigError("CONFIG_NOT_A_MAPPING", f"{file} must hold a mapping of sections.")
    return {key: value for key, value in written.items() if value is not None}


def _refused(error: ValidationError, file: Path) -> ConfigError:
    first = error.errors()[0]
    *parents, leaf = (str(part) for part in first["loc"])
    where = ".".join((*parents, leaf))
    if first["type"] == "extra_forbidden":
        known = _keys(parents)
        hint = hint_nearest(leaf, known) or f"Known here: {', '.join(known)}."
        return ConfigError("CONFIG_UNKNOWN_KEY", f"There is no setting {where}.", hint=hint)
    hint = f"Fix it in {file} or in the environment variable ORION_{where.upper().replace('.', '__')}."
    return ConfigError("CONFIG_INVALID", f"Setting {where}: {first['msg']}.", hint=hint)


def _keys(parents: list[str]) -> list[str]:
    """The names of the settings in a section."""
    section: Any = Config
    for parent in parents:
        section = section.model_fields[parent].annotation
    return list(section.model_fields)


def _nest(flags: dict[str, Any]) -> dict[str, Any]:
    """{'hub.port': 1} -> {'hub': {'port': 1}}, leaving out flags that weren't given."""
    nested: dict[str, Any] = {}
    for path, value in flags.items():
        if value is None:
            continue
        *parents, leaf = path.split(".")
        at = nested
        for parent in parents:
            at = at.setdefault(parent, {})
        at[leaf] = value
    return nested


def _merge(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = dict(under)
    for key, value in over.items():
        inner = merged.get(key)
        merged[key] = _merge(inner, value) if isinstance(value, dict) and isinstance(inner, dict) else value
    return merged


def state_folder() -> Path:
    """What this user's commands remember of each other, whatever folder they run in."""
    return Path(os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")) / "orion"


def cache_folder() -> Path:
    """Where downloads of this user live, shared by all projects."""
    base = os.environ.get("ORION_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "orion"
    )
    return Path(base)
