"""The WITH clause of sources and queries: which properties there are, and what they may say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from orion.errors import BindError, Span, UserError, hint_nearest
from orion.plan.sources import SCHEMA_TYPES, Kind, Serde, Timestamp, Window, WindowKind, is_alone
from orion.plan.tolerance import ALL, Tolerance
from orion.plan.tolerance import PROPERTY as TOLERANCE
from orion.schema import Array, Column, Decimal, Map, Scalar, Schema, SqlType, Struct, nested

FORMATS = ("AVRO", "DELIMITED", "JSON", "JSON_SR", "KAFKA", "NONE", "PROTOBUF", "PROTOBUF_NOSR")

# What a session or the server may say once instead of in every WITH.
DEFAULT_KEY_FORMAT = "ksql.persistence.default.format.key"
DEFAULT_VALUE_FORMAT = "ksql.persistence.default.format.value"
DEFAULT_WRAPPING = "ksql.persistence.wrap.single.values"
TOPIC_PREFIX = "ksql.output.topic.name.prefix"
LATE_ROWS = ("count", "keep")

OF_QUERY = frozenset(
    (
        "KAFKA_TOPIC FORMAT KEY_FORMAT VALUE_FORMAT PARTITIONS REPLICAS RETENTION_MS CLEANUP_POLICY TIMESTAMP "
        "TIMESTAMP_FORMAT WRAP_SINGLE_VALUE KEY_DELIMITER VALUE_DELIMITER SOURCED_BY_CONNECTOR TTL "
        "ERRORS_TOLERANCE LATE_ROWS GUARANTEE PROFILE ORDERED"
    ).split()
)
OF_SOURCE = (OF_QUERY - {"TTL", "ERRORS_TOLERANCE", "LATE_ROWS", "GUARANTEE"}) | {"WINDOW_TYPE", "WINDOW_SIZE"}
OF_INSERT = frozenset(("QUERY_ID", "GUARANTEE", "PROFILE"))
# What tells a schema, of a KEY or a VALUE, and the formats that have such a thing.
_OF_SCHEMAS = {
    "SCHEMA_ID": tuple(SCHEMA_TYPES),
    "SCHEMA_FULL_NAME": ("AVRO", "PROTOBUF", "PROTOBUF_NOSR"),
    "AVRO_SCHEMA_FULL_NAME": ("AVRO",),
    "PROTOBUF_NULLABLE_REPRESENTATION": ("PROTOBUF", "PROTOBUF_NOSR"),
}
_OF_REGISTRY = frozenset(f"{side}_{name}" for side in ("KEY", "VALUE") for name in _OF_SCHEMAS)
_NULLABLE: tuple[Literal["OPTIONAL", "WRAPPER"], ...] = ("OPTIONAL", "WRAPPER")
_FIELD_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_NAMED = ("AVRO", "PROTOBUF", "PROTOBUF_NOSR")  # whose fields have names of letters, digits and underscores alone
_KAFKA_TYPES = (Scalar.INTEGER, Scalar.BIGINT, Scalar.DOUBLE, Scalar.STRING, Scalar.BYTES)
# Whether a single value column may stand in an object (True), alone (False), or either.
_WRAPPING = {
    "AVRO": (True, False),
    "DELIMITED": (False,),
    "JSON": (True, False),
    "JSON_SR": (True, False),
    "KAFKA": (False,),
    "NONE": (),
    "PROTOBUF": (True,),
    "PROTOBUF_NOSR": (True,),
}
_NAMED_DELIMITERS = {"SPACE": " ", "TAB": "\t"}


def _base(type_: SqlType) -> str:
    """A type's name without what is inside."""
    return "STRING" if type_ is Scalar.STRING else str(type_).split("<")[0].split("(")[0]


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


def _names(column: Column) -> Iterator[str]:
    """The names that stand in a record of the column."""
    yield column.name
    yield from (f.name for f in nested(column.type))


@dataclass(frozen=True)
class With:
    """A checked WITH clause, over the defaults of the session."""

    values: Mapping[str, str]
    span: Span
    defaults: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        written: Mapping[str, str],
        span: Span,
        defaults: Mapping[str, str] | None = None,
        known: frozenset[str] = OF_SOURCE,
    ) -> With:
        values = {name.upper(): value for name, value in written.items()}
        for name in values:
            if name not in known and not (name in _OF_REGISTRY and known is not OF_INSERT):
                raise BindError(
                    "UNKNOWN_PROPERTY",
                    f"There is no property {name} here." if name in OF_SOURCE else f"There is no property {name}.",
                    span=span,
                    hint=hint_nearest(name, sorted(known)) or f"Properties are {', '.join(sorted(known))}.",
                )
        made = cls(values, span, defaults or {})
        made._check_clashes()
        return made

    def _check_clashes(self) -> None:
        """What is wrong whatever the columns are."""
        for side in ("KEY", "VALUE"):
            if "FORMAT" in self.values and f"{side}_FORMAT" in self.values:
                raise BindError("INVALID_PROPERTY", f"FORMAT and {side}_FORMAT can't both be given.", span=self.span)
        for side in ("KEY", "VALUE"):
            self._delimiter(side)
        self._wrap_single()

    def text(self, name: str) -> str | None:
        return self.values.get(name)

    def number(self, name: str, least: int = 1) -> int | None:
        value = self.values.get(name)
        if value is None:
            return None
        if not re.fullmatch(r"-?[0-9]+", value) or int(value) < least:
            raise BindError("INVALID_PROPERTY", f"{name} must be a whole number from {least}.", span=self.span)
        return int(value)

    def topic(self, name: str) -> str:
        """The topic of a source of this name that isn't told one."""
        written = self.values.get("KAFKA_TOPIC")
        topic = written if written is not None else self.defaults.get(TOPIC_PREFIX, "") + name
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", topic) or topic in (".", ".."):
            raise BindError(
                "INVALID_PROPERTY",
                f"'{topic}' can't be a topic's name.",
                span=self.span,
                hint="It has letters, digits, dots, underscores and hyphens, 249 at most. Name one by KAFKA_TOPIC.",
            )
        return topic

    def format(self, side: str) -> str | None:
        """The format of the KEY or the VALUE, if the clause says one."""
        written = self.values.get(f"{side}_FORMAT") or self.values.get("FORMAT")
        return None if written is None else self._known_format(written)

    def default_format(self, side: str) -> str | None:
        """The format where nothing else says one."""
        if side == "KEY":
            return self._known_format(self.defaults.get(DEFAULT_KEY_FORMAT, "KAFKA"))
        written = self.defaults.get(DEFAULT_VALUE_FORMAT)
        return None if written is None else self._known_format(written)

    def _known_format(self, written: str) -> str:
        name = written.upper()
        if name not in FORMATS:
            raise BindError(
                "UNKNOWN_FORMAT",
                f"There is no format {written}.",
                span=self.span,
                hint=hint_nearest(written, list(FORMATS)) or f"Formats are {', '.join(FORMATS)}.",
            )
        return name

    def key_serde(self, inherited: Serde | None, schema: Schema) -> Serde:
        """The key's format: as written, or that of the source, or the default where neither says one."""
        name = self.format("KEY")
        if name is None and inherited is not None and not (schema.key and inherited.format == "NONE"):
            name = inherited.format
        serde = Serde(name or self.default_format("KEY") or "KAFKA")
        serde = self._with_schema("KEY", self._with_delimiter("KEY", serde, inherited))
        self._check_columns("key", serde, schema.key)
        return serde

    def value_serde(self, inherited: Serde | None, schema: Schema) -> Serde:
        name = self.format("VALUE") or (inherited.format if inherited else self.default_format("VALUE"))
        if name is None:
            raise BindError(
                "FORMAT_MISSING", "VALUE_FORMAT is missing.", span=self.span, hint="For example VALUE_FORMAT='JSON'."
            )
        serde = self._with_schema("VALUE", self._with_delimiter("VALUE", Serde(name), inherited))
        self._check_columns("value", serde, schema.value)
        return self._with_wrapping(serde, schema)

    def _with_wrapping(self, serde: Serde, schema: Schema) -> Serde:
        """Of a sink it is never the source's: what is written wraps as this statement or the session says."""
        wrap = self._wrap_single()
        allowed = _WRAPPING[serde.format]
        if wrap is None:
            default = self.defaults.get(DEFAULT_WRAPPING, "").lower() != "false"
            alone = len(schema.value) == 1 and not default and len(allowed) > 1
            return replace(serde, wrap_single=False) if alone else serde
        if len(schema.value) != 1:
            raise BindError(
                "INVALID_PROPERTY", "WRAP_SINGLE_VALUE is only valid for a single value column.", span=self.span
            )
        if wrap not in allowed:
            message = f"The format {serde.format} has no WRAP_SINGLE_VALUE={str(wrap).lower()}."
            raise BindError("INVALID_PROPERTY", message, span=self.span)
        return replace(serde, wrap_single=wrap) if len(allowed) > 1 else serde

    def _wrap_single(self) -> bool | None:
        written = self.values.get("WRAP_SINGLE_VALUE")
        if written is None:
            return None
        if written.upper() not in ("TRUE", "FALSE"):
            raise BindError("INVALID_PROPERTY", "WRAP_SINGLE_VALUE is TRUE or FALSE.", span=self.span)
        return written.upper() == "TRUE"

    def _with_schema(self, side: str, serde: Serde) -> Serde:
        """With what the clause says of the schema. Of a sink it is never the source's."""
        for name, formats in _OF_SCHEMAS.items():
            if f"{side}_{name}" in self.values and serde.format not in formats:
                message = f"The format {serde.format} has no property {side}_{name}."
                raise BindError("INVALID_PROPERTY", message, span=self.span, hint=f"It goes with {', '.join(formats)}.")
        full_name = self.values.get(f"{side}_SCHEMA_FULL_NAME", self.values.get(f"{side}_AVRO_SCHEMA_FULL_NAME"))
        if full_name is not None and not all(_FIELD_NAME.fullmatch(part) for part in full_name.split(".")):
            message = f"'{full_name}' can't be a schema's full name: it is names with dots between them."
            raise BindError("INVALID_PROPERTY", message, span=self.span)
        asked = self.values.get(f"{side}_PROTOBUF_NULLABLE_REPRESENTATION")
        nullable = next((word for word in _NULLABLE if asked is not None and asked.upper() == word), None)
        if asked is not None and nullable is None:
            message = f"{side}_PROTOBUF_NULLABLE_REPRESENTATION is {' or '.join(_NULLABLE)}."
            raise BindError("INVALID_PROPERTY", message, span=self.span)
        number = self.number(f"{side}_SCHEMA_ID")
        return replace(serde, schema_id=number, full_name=full_name, nullable=nullable)

    def schema_serde(self, side: str) -> Serde | None:
        """The serde whose columns a registry knows, where the format has such schemas."""
        name = self.format(side) or self.default_format(side)
        if name is None or name not in SCHEMA_TYPES:
            return None
        wrap = self._wrap_single() if side == "VALUE" else None
        return replace(self._with_schema(side, Serde(name)), wrap_single=wrap)

    def _with_delimiter(self, side: str, serde: Serde, inherited: Serde | None) -> Serde:
        delimiter = self._delimiter(side)
        if serde.format != "DELIMITED":
            if delimiter is not None:
                message = f"{side}_DELIMITER goes with the format DELIMITED, not {serde.format}."
                raise BindError("INVALID_PROPERTY", message, span=self.span)
            return serde
        if delimiter is None and inherited is not None and inherited.format == "DELIMITED":
            delimiter = inherited.delimiter
        return replace(serde, delimiter=delimiter)

    def _delimiter(self, side: str) -> str | None:
        written = self.values.get(f"{side}_DELIMITER")
        if written is None:
            return None
        if not written.strip():
            raise BindError(
                "INVALID_PROPERTY",
                f"{side}_DELIMITER can't be empty.",
                span=self.span,
                hint="For a tab or a space write 'TAB' or 'SPACE'.",
            )
        delimiter = _NAMED_DELIMITERS.get(written.upper(), written)
        if len(delimiter) != 1 or delimiter in '"\r\n':
            raise BindError(
                "INVALID_PROPERTY",
                f"{side}_DELIMITER '{written}' is not one character, TAB or SPACE; nor can it be a quote.",
                span=self.span,
            )
        return delimiter

    def _check_columns(self, side: str, serde: Serde, columns: tuple[Column, ...]) -> None:
        """Whether a format can hold what is to be written in it."""
        hint = f"Add WITH ({side.upper()}_FORMAT='JSON')."
        if serde.format == "NONE" and columns:
            message = (
                f"The format NONE is for no columns at all, and the {side} has {', '.join(c.name for c in columns)}."
            )
            raise BindError("INVALID_FORMAT", message, span=self.span, hint=hint)
        if serde.format == "KAFKA" and len(columns) > 1:
            message = f"The format KAFKA holds a single column, and the {side} has {len(columns)}."
            raise BindError("INVALID_FORMAT", message, span=self.span, hint=hint)
        for column in columns:
            if not _holds(serde.format, column.type):
                message = (
                    f"The format {serde.format} does not support type {_base(column.type)} ({side} {column.name})."
                )
                raise BindError("INVALID_FORMAT", message, span=self.span, hint=hint)
            if serde.format not in ("KAFKA", "DELIMITED") and _has_other_keys(column.type):
                message = f"In {serde.format} the keys of a MAP are STRING."
                raise BindError("INVALID_FORMAT", message, span=self.span)
            odd = next((n for n in _names(column) if not _FIELD_NAME.fullmatch(n)), None)
            if odd is not None and serde.format in _NAMED and not is_alone(columns, serde):
                message = f"{serde.format} has no field {odd}: a name is letters, digits and _, a digit not first."
                raise BindError("INVALID_FORMAT", message, span=self.span, hint="Give the column another name.")

    def timestamp(self, schema: Schema) -> Timestamp | None:
        name = self.values.get("TIMESTAMP")
        if name is None:
            return None
        column = schema.get(name.strip("`")) or schema.get(name.upper())
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
            if "WINDOW_SIZE" in self.values:
                raise BindError("INVALID_PROPERTY", "WINDOW_SIZE needs WINDOW_TYPE.", span=self.span)
            return None
        if kind.upper() not in WindowKind.__members__:
            raise BindError("INVALID_PROPERTY", "WINDOW_TYPE is TUMBLING, HOPPING or SESSION.", span=self.span)
        if not schema.key:
            raise BindError("INVALID_PROPERTY", "A windowed source needs a key column.", span=self.span)
        size = self._duration("WINDOW_SIZE")
        if kind.upper() != "SESSION" and size is None:
            raise BindError("INVALID_PROPERTY", f"A {kind.upper()} window needs WINDOW_SIZE.", span=self.span)
        if kind.upper() == "SESSION" and size is not None:
            raise BindError("INVALID_PROPERTY", "A SESSION window has no WINDOW_SIZE.", span=self.span)
        return Window(WindowKind(kind.upper()), size or 0, size or 0, 0)

    def _duration(self, name: str) -> int | None:
        from orion.ksql.parser import Parser  # the one place where a property holds a piece of SQL

        written = self.values.get(name)
        return Parser(written).duration_ms() if written else None

    def ttl_ms(self) -> int | None:
        """How long a table's row stays without a change."""
        found = self._duration("TTL")
        if found is not None and found <= 0:
            raise BindError("INVALID_PROPERTY", "TTL must be above zero.", span=self.span)
        return found

    def tolerance(self) -> str:
        """How many dead letters the query bears: as written, or as the session says."""
        written = self.values.get("ERRORS_TOLERANCE")
        try:
            return str(Tolerance.parse(written or self.defaults.get(TOLERANCE, ALL)))
        except UserError as error:
            raise BindError("INVALID_PROPERTY", error.message, span=self.span, hint=error.hint) from None

    def late_rows(self) -> str | None:
        """What becomes of rows that come too late for a window, if the clause says it."""
        written = self.values.get("LATE_ROWS")
        if written is not None and written.lower() not in LATE_ROWS:
            raise BindError("INVALID_PROPERTY", f"LATE_ROWS is {' or '.join(LATE_ROWS)}.", span=self.span)
        return None if written is None else written.lower()

    def topic_config(self, kind: Kind, window: Window | None) -> dict[str, str]:
        config: dict[str, str] = {}
        retention = self.number("RETENTION_MS", least=-1)
        if retention is not None:
            if kind is Kind.TABLE and window is None:
                message = "RETENTION_MS is for streams and windowed tables: the rows of any other table stay."
                raise BindError("INVALID_PROPERTY", message, span=self.span)
            config["retention.ms"] = str(retention)
        if "CLEANUP_POLICY" in self.values:
            config["cleanup.policy"] = self._cleanup_policy()
        return config

    def _cleanup_policy(self) -> str:
        words = [w.strip().lower() for w in self.values["CLEANUP_POLICY"].split(",")]
        if not set(words) <= {"compact", "delete"}:
            raise BindError("INVALID_PROPERTY", "CLEANUP_POLICY is COMPACT, DELETE or both.", span=self.span)
        return ",".join(sorted(set(words)))


def _holds(format_: str, type_: SqlType) -> bool:
    match format_:
        case "KAFKA":
            return type_ in _KAFKA_TYPES
        case "DELIMITED":
            return isinstance(type_, Scalar | Decimal)
        case _:
            return True
