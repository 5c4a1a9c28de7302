"""Settings: one frozen tree, read once.

Flags beat the environment (`ORION_HUB__BOOTSTRAP=...`), which beats the file (`orion.yaml`), which beats the defaults.
Unknown keys are refused. With no file at all the defaults run everything on this machine.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from orion.errors import ConfigError

FILE = "orion.yaml"


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Hub(Section):
    """Where the log lives."""

    bootstrap: str | None = Field(
        default=None, description="host:port of a Kafka cluster; none: an embedded broker is started"
    )
    brokers: Literal[1, 3] = Field(default=1, description="embedded brokers; 3 gives replication 3 with min.insync 2")
    port: int = Field(default=0, description="port of the first embedded broker; 0 picks a free one and keeps it")
    heap: str = Field(default="512m", description="heap of an embedded broker")
    partitions: int = Field(default=2, ge=1, description="partitions of a topic that doesn't say")


class Engine(Section):
    """How Spark runs."""

    master: str = Field(default="local[*]", description="Spark master")
    memory: str = Field(default="2g", description="driver heap")
    shuffle_partitions: int = Field(
        default=2, ge=1, description="partitions of keyed state; fixed for the life of a query"
    )
    trigger_ms: int = Field(default=300, ge=0, description="shortest time from one micro-batch to the next")
    max_records_per_batch: int = Field(default=100_000, ge=1, description="most records a micro-batch reads")
    conf: dict[str, str] = Field(default_factory=dict, description="any other Spark setting")


class Web(Section):
    """The HTTP door."""

    host: str = Field(default="127.0.0.1", description="address to bind; loopback unless told otherwise")
    port: int = Field(default=8088, ge=0, le=65535, description="port; 0 picks a free one")


class Config(BaseSettings):
    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        env_prefix="ORION_",
        env_nested_delimiter="__",
        nested_model_default_partial_update=True,
    )

    service_id: str = Field(
        default="orion", pattern=r"^[a-z0-9_-]+$", description="prefix of internal topics and groups"
    )
    data: Path = Field(default=Path(".orion"), description="folder for broker data, checkpoints and logs")
    hub: Hub = Hub()
    engine: Engine = Engine()
    web: Web = Web()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        # The file is passed as init settings by `load`; the environment stands above it.
        return env_settings, init_settings


def load(path: Path | None = None, flags: dict[str, Any] | None = None) -> Config:
    """Read the file (when there is one), the environment and the flags into one frozen value."""
    file = path or Path(FILE)
    if path is not None and not file.exists():
        raise ConfigError("CONFIG_FILE_MISSING", f"There is no file {file}.", hint="Give the path of an orion.yaml.")
    written: dict[str, Any] = {}
    if file.exists():
        try:
            written = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
        except yaml.YAMLError as error:
            raise ConfigError("CONFIG_NOT_YAML", f"{file} is not YAML: {error}.") from error
        if not isinstance(written, dict):
            raise ConfigError("CONFIG_NOT_A_MAPPING", f"{file} must hold a mapping of sections.")
    try:
        config = Config(**written)
        return Config.model_validate(_merge(config.model_dump(), _nest(flags or {})))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ConfigError(
            "CONFIG_INVALID",
            f"Setting {where or '(top)'}: {first['msg']}.",
            hint=f"Fix it in {file} or in the environment variable ORION_{where.upper().replace('.', '__')}.",
        ) from error


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


def cache_folder() -> Path:
    """Where downloads of this user live, shared by all projects."""
    base = os.environ.get("ORION_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "orion"
    )
    return Path(base)
