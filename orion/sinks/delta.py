"""delta: a stream's rows appended to a Delta table, each batch exactly once.

Delta keeps the number of the last batch an application wrote (txnAppId, txnVersion) in the table itself, and passes
over one it has already.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pyspark.sql import DataFrame

from orion.errors import ConfigError, UnsupportedError, hint_nearest
from orion.plan.sources import ROWTIME, Connector, Kind, Source
from orion.schema import quote


class Options(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    path: str = Field(description="folder of the table", min_length=1)
    partition_by: tuple[str, ...] = Field(default=(), alias="partition.by", description="columns, separated by commas")

    @field_validator("partition_by", mode="before")
    @classmethod
    def _split(cls, written: Any) -> Any:
        return tuple(w.strip() for w in written.split(",") if w.strip()) if isinstance(written, str) else written


@dataclass
class DeltaSink:
    connector: Connector
    source: Source
    options: Options
    guarantee: str = field(default="exactly once", init=False)

    def write(self, batch: DataFrame, epoch: int) -> int:
        columns = [quote(c.name) for c in self.source.schema]
        frame = batch.selectExpr(*columns, f"timestamp_millis({ROWTIME}) AS {ROWTIME}")
        writer = (
            frame.write.format("delta")
            .mode("append")
            .option("mergeSchema", "true")
            .option("txnAppId", f"orion-{self.connector.identity}")
            .option("txnVersion", epoch)
        )
        if self.options.partition_by:
            writer = writer.partitionBy(*self.options.partition_by)
        writer.save(self.options.path)
        return frame.count()


def open_sink(connector: Connector) -> DeltaSink:
    try:
        options = Options.model_validate(dict(connector.options))
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(p) for p in first["loc"])
        known = ["path", "partition.by", "topics", "connector.class"]
        raise ConfigError(
            "INVALID_CONNECTOR",
            f"Option '{name}' of connector {connector.name}: {first['msg']}.",
            hint=hint_nearest(name, known) or f"Options are {', '.join(known)}.",
        ) from error
    if len(connector.sources) != 1:
        raise UnsupportedError("ONE_TOPIC", "A delta sink takes one topic; create one connector for each.")
    source = connector.sources[0]
    if source.kind is Kind.TABLE:
        raise UnsupportedError("UPSERT", f"{source.name} is a TABLE: the delta sink only appends streams yet.")
    named = {n.upper(): n for n in source.schema.names}
    for column in options.partition_by:
        if column.upper() not in named:
            raise ConfigError(
                "INVALID_CONNECTOR",
                f"'partition.by' names {column}, which {source.name} doesn't have.",
                hint=hint_nearest(column, source.schema.names),
            )
    _check_path(options.path)
    placed = tuple(named[c.upper()] for c in options.partition_by)
    return DeltaSink(connector, source, options.model_copy(update={"partition_by": placed}))


def _check_path(path: str) -> None:
    """A local folder must be one we can write into."""
    if "://" in path:
        return
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".orion-probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ConfigError("PATH_NOT_WRITABLE", f"{path} can't be written: {error.strerror}.") from error
