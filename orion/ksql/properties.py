"""The WITH clause of sources and queries: which properties there are, and what they may say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from orion.errors import BindError, Span, UnsupportedError, hint_nearest
from orion.plan.sources import Serde, Timestamp, Window, WindowKind
from orion.schema import Array, Column, Map, Scalar, Schema, SqlType, Struct

FORMATS = ("JSON", "KAFKA", "NONE")
LATER_FORMATS = ("AVRO", "JSON_SR", "PROTOBUF", "PROTOBUF_NOSR", "DELIMITED")

KNOWN = frozenset(
    (
        "KAFKA_TOPIC FORMAT KEY_FORMAT VALUE_FORMAT PARTITIONS REPLICAS RETENTION_MS CLEANUP_POLICY TIMESTAMP "
        "TIMESTAMP_FORMAT WRAP_SINGLE_VALUE WINDOW_TYPE WINDOW_SIZE KEY_DELIMITER VALUE_DELIMITER"
    ).split()
)
_LATER = frozenset(
    (
        "KEY_SCHEMA_ID VALUE_SCHEMA_ID KEY_SCHEMA_FULL_NAME VALUE_SCHEMA_FULL_NAME VALUE_AVRO_SCHEMA_FULL_NAME "
        "KEY_PROTOBUF_NULLABLE_REPRESENTATION VALUE_PROTOBUF_NULLABLE_REPRESENTATION SOURCED_BY_CONNECTOR QUERY_ID "
        "GUARANTEE TTL PROFILE"
    ).split()
)


_KAFKA_TYPES = (Scalar.INTEGER, Scalar.BIGINT, Scalar.DOUBLE, Scalar.STRING, Scalar.BYTES)


def _has_other_keys(type_: SqlType) -> bool:
    """Whether the type holds a MAP whose keys aren't STRING."""
    match type_:
        case Map(key, value):
            return key is not Scalar.STRING or _has_other_keys(value)
        case Array(element):
            return _has_other_keys(element)
        case Struct(fields):
            return any(_has_other_keys(f.type) for f in fields)
        case _:
            return False


@dataclass(frozen=True)
class With:
    """A checked WITH clause."""

    values: Mapping[str, str]
    span: Span

    @classmethod
    def of(cls, written: Mapping[str, str], span: Span) -> With:
        values = {name.upper(): value for name, value in written.items()}
        for name in values:
            if name in _LATER:
                raise UnsupportedError("PROPERTY_NOT_YET", f"The property {name} is not supported yet.", span=span)
            if name not in KNOWN:
                raise BindError(
                    "UNKNOWN_PROPERTY",
                    f"There is no property {name}.",
                    span=span,
                    hint=hint_nearest(name, sorted(KNOWN)) or f"Properties are {', '.join(sorted(KNOWN))}.",
                )
        return cls(values, span)

    def text(self, name: str) -> str | None:
        return self.values.get(name)

    def number(self, name: str, least: int = 1) -> int | None:
        value = self.values.get(name)
        if value is None:
            return None
        if not re.fullmatch(r"-?[0-9]+", value) or int(value) < least:
            raise BindError("INVALID_PROPERTY", f"{name} must be a whole number from {least}.", span=self.span)
        return int(value)

    def format(self, side: str) -> str | None:
        """The format of the KEY or the VALUE, if the clause says one."""
        if "FORMAT" in self.values and f"{side}_FORMAT" in self.values:
            raise BindError("INVALID_PROPERTY", f"FORMAT and {side}_FORMAT can't both be given.", span=self.span)
        written = self.values.get(f"{side}_FORMAT") or self.values.get("FORMAT")
        if written is None:
            return None
        name = written.upper()
        if name in LATER_FORMATS:
            raise UnsupportedError("FORMAT_NOT_YET", f"The format {name} is not supported yet.", span=self.span)
        if name not in FORMATS:
            raise BindError(
                "UNKNOWN_FORMAT",
                f"There is no format {written}.",
                span=self.span,
                hint=hint_nearest(written, list(FORMATS)) or f"Formats are {', '.join(FORMATS)}.",
            )
        return name

    def key_serde(self, default: Serde, schema: Schema) -> Serde:
        name = self.format("KEY")
        serde = default if name is None else Serde(name)
        self._check_delimiter("KEY")
        self._check_columns("key", serde, schema.key)
        return serde

    def value_serde(self, default: Serde, schema: Schema) -> Serde:
        name = self.format("VALUE")
        serde = default if name is None else Serde(name)
        if name is None and len(schema.value) != 1:
            serde = replace(default, wrap_single=None)  # it was said about the one column of the source
        self._check_delimiter("VALUE")
        self._check_columns("value", serde, schema.value)
        wrap = self._wrap_single()
        if wrap is None:
            return serde
        if len(schema.value) != 1 or serde.format != "JSON":
            raise BindError(
                "INVALID_PROPERTY", "WRAP_SINGLE_VALUE goes with one value column, as JSON.", span=self.span
            )
        return replace(serde, wrap_single=wrap)

    def _wrap_single(self) -> bool | None:
        written = self.values.get("WRAP_SINGLE_VALUE")
        if written is None:
            return None
        if written.upper() not in ("TRUE", "FALSE"):
            raise BindError("INVALID_PROPERTY", "WRAP_SINGLE_VALUE is TRUE or FALSE.", span=self.span)
        return written.upper() == "TRUE"

    def _check_delimiter(self, side: str) -> None:
        if f"{side}_DELIMITER" in self.values:
            raise BindError("INVALID_PROPERTY", f"{side}_DELIMITER goes with the format DELIMITED.", span=self.span)

    def _check_columns(self, side: str, serde: Serde, columns: tuple[Column, ...]) -> None:
        """Whether a format can hold what is to be written in it."""
        held = " and ".join(f"{c.name} {c.type}" for c in columns)
        hint = f"Add WITH ({side.upper()}_FORMAT='JSON')."
        if serde.format == "NONE" and columns:
            raise BindError("INVALID_FORMAT", f"The {side} has columns, and so a format.", span=self.span, hint=hint)
        if serde.format == "KAFKA" and columns and (len(columns) > 1 or columns[0].type not in _KAFKA_TYPES):
            message = f"The KAFKA format can't hold the {side} {held}."
            raise BindError("INVALID_FORMAT", message, span=self.span, hint=hint)
        if serde.format == "JSON" and any(_has_other_keys(c.type) for c in columns):
            raise BindError("INVALID_FORMAT", "In JSON the keys of a MAP are STRING.", span=self.span)

    def timestamp(self, schema: Schema) -> Timestamp | None:
        name = self.values.get("TIMESTAMP")
        if name is None:
            return None
        column = schema.get(name) or schema.get(name.upper())
        if column is None:
            raise BindError(
                "UNKNOWN_COLUMN",
                f"TIMESTAMP names a column {name} that isn't there.",
                span=self.span,
                hint=hint_nearest(name, schema.names),
            )
        pattern = self.values.get("TIMESTAMP_FORMAT")
        if column.type not in (Scalar.BIGINT, Scalar.TIMESTAMP, Scalar.STRING):
            raise BindError(
                "INVALID_PROPERTY",
                f"TIMESTAMP column {column.name} is {column.type}; it must be BIGINT, TIMESTAMP or STRING.",
                span=self.span,
            )
        if (column.type is Scalar.STRING) != (pattern is not None):
            raise BindError(
                "INVALID_PROPERTY",
                "TIMESTAMP_FORMAT goes with a STRING column, and with no other.",
                span=self.span,
            )
        return Timestamp(column.name, pattern)

    def window(self, schema: Schema) -> Window | None:
        """The window in the topic's keys, for a source over a windowed table's topic."""
        kind = self.values.get("WINDOW_TYPE")
        if kind is None:
            return None
        if kind.upper() not in WindowKind.__members__:
            raise BindError("INVALID_PROPERTY", "WINDOW_TYPE is TUMBLING, HOPPING or SESSION.", span=self.span)
        if not schema.key:
            raise BindError("INVALID_PROPERTY", "A windowed source needs a key column.", span=self.span)
        size = self._window_size()
        if kind.upper() != "SESSION" and size is None:
            raise BindError("INVALID_PROPERTY", f"A {kind.upper()} window needs WINDOW_SIZE.", span=self.span)
        return Window(WindowKind(kind.upper()), size or 0, size or 0, 0)

    def _window_size(self) -> int | None:
        from orion.ksql.parser import (
            Parser,  # the one place where a property holds a piece of SQL
        )

        written = self.values.get("WINDOW_SIZE")
        return Parser(written).duration_ms() if written else None

    def topic_config(self) -> dict[str, str]:
        config: dict[str, str] = {}
        retention = self.number("RETENTION_MS", least=-1)
        if retention is not None:
            config["retention.ms"] = str(retention)
        if "CLEANUP_POLICY" in self.values:
            config["cleanup.policy"] = self.values["CLEANUP_POLICY"].lower()
        return config
