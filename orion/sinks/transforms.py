"""What a connector does to rows before they leave: rename, drop, mask, add, and route by a field.

Kafka Connect's single message transforms, under its own names (`transforms`, `transforms.NAME.type`), written as Spark
SQL over the rows' columns. They run in Spark with everything else; nothing is done row by row in Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NoReturn

from orion.errors import ConfigError, hint_nearest
from orion.plan.sources import PSEUDO, ROWOFFSET, ROWPARTITION, ROWTIME, Connector, Source
from orion.schema import Array, Column, Decimal, Map, Role, Scalar, SqlType, Struct, literal, quote, spark_type
from orion.sinks.store import DELETED, OFFSET, PARTITION, ROUTE, TIME, Layout, Nested


@dataclass(frozen=True, slots=True)
class Item:
    """A column of the other side, and the Spark SQL that makes it."""

    column: Column
    spark: str


@dataclass(frozen=True, slots=True)
class Shape:
    """Rows on their way out: their columns, which of them go at all, and where to."""

    topic: str
    items: tuple[Item, ...]
    keeps: tuple[str, ...] = ()  # conditions that all hold of a row that goes
    route: str | None = None  # the Spark SQL of a text that stands in for the topic's name

    def select(self, nested: Nested) -> list[str]:
        """The expressions of the layout's columns and what rows bring beside them."""
        named = [f"{_written(i, nested)} AS {quote(i.column.name)}" for i in self.items]
        beside = {DELETED: DELETED, PARTITION: ROWPARTITION, OFFSET: ROWOFFSET, TIME: ROWTIME}
        return [
            *named,
            *(f"{spark} AS {name}" for name, spark in beside.items()),
            f"{self.route or 'CAST(NULL AS STRING)'} AS {ROUTE}",
        ]

    @property
    def where(self) -> str | None:
        return " AND ".join(f"coalesce({k}, FALSE)" for k in self.keeps) or None


@dataclass(frozen=True, slots=True)
class Transform:
    """One of the connector's transforms: its options, and how to say what is wrong with them."""

    connector: str
    name: str
    side: Role | None  # of `...$Key` and `...$Value`
    options: Mapping[str, str]
    negated: bool = False
    predicate: Mapping[str, str] = field(default_factory=dict)

    def get(self, option: str) -> str | None:
        return self.options.get(option)

    def need(self, option: str) -> str:
        found = self.options.get(option)
        if not found:
            self.refuse(f"'transforms.{self.name}.{option}' is missing.")
        return found

    def listed(self, *options: str) -> list[str]:
        written = next((self.options[o] for o in options if self.options.get(o)), "")
        return [w.strip() for w in written.split(",") if w.strip()]

    def find(self, shape: Shape, name: str) -> Item:
        """A column by its name, in any case; on the side that the transform is for."""
        there = [i for i in shape.items if self.side is None or _side(i.column) is self.side]
        exact = [i for i in there if i.column.name == name] or [i for i in there if i.column.name == name.upper()]
        if not exact:
            self.refuse(
                f"Transform '{self.name}' names {name}, which {shape.topic} doesn't have.",
                hint_nearest(name, [i.column.name for i in there]),
            )
        return exact[0]

    def refuse(self, message: str, hint: str | None = None) -> NoReturn:
        raise ConfigError("INVALID_TRANSFORM", f"Connector {self.connector}: {message}", hint=hint)


def shaped(connector: Connector, source: Source) -> Shape:
    """A source's rows as the connector's transforms leave them."""
    plain = [c for c in source.row if c.name not in PSEUDO]
    ordered = [c for c in plain if c.role is Role.KEY] + [c for c in plain if c.role is not Role.KEY]
    shape = Shape(source.topic, tuple(Item(c, quote(c.name)) for c in ordered))
    for transform, apply in _transforms(connector):
        shape = apply(shape, transform)
    names = [i.column.name for i in shape.items]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice:
        told = f"Connector {connector.name}: after its transforms, {source.topic} has the column {twice} twice."
        raise ConfigError("INVALID_TRANSFORM", told)
    return shape


def layout_of(shape: Shape, source: Source) -> Layout:
    return Layout(source.topic, source.kind, tuple(i.column for i in shape.items))


# ---- the transforms ----------------------------------------------------------------------------------------------


def _replace_field(shape: Shape, transform: Transform) -> Shape:
    renames = dict(_pair(transform, written) for written in transform.listed("renames"))
    gone = {transform.find(shape, name).column for name in transform.listed("exclude", "blacklist")}
    only = {transform.find(shape, name).column for name in transform.listed("include", "whitelist")}
    new = {transform.find(shape, old).column: name for old, name in renames.items()}
    kept = []
    for item in shape.items:
        ours = transform.side is None or _side(item.column) is transform.side
        if ours and (item.column in gone or (only and item.column not in only)):
            continue
        named = new.get(item.column, item.column.name)
        kept.append(replace(item, column=replace(item.column, name=named)))
    if not kept:
        transform.refuse(f"Transform '{transform.name}' leaves no column.")
    return replace(shape, items=tuple(kept))


def _mask_field(shape: Shape, transform: Transform) -> Shape:
    masked = {transform.find(shape, name).column for name in transform.listed("fields")}
    if not masked:
        transform.refuse(f"'transforms.{transform.name}.fields' is missing.")
    replacement = transform.get("replacement")
    items = tuple(
        replace(i, spark=f"if({i.spark} IS NULL, NULL, {_blank(i.column.type, replacement)})")
        if i.column in masked
        else i
        for i in shape.items
    )
    return replace(shape, items=items)


def _insert_field(shape: Shape, transform: Transform) -> Shape:
    made = {
        "topic.field": (Scalar.STRING, literal(shape.topic)),
        "partition.field": (Scalar.INTEGER, ROWPARTITION),
        "offset.field": (Scalar.BIGINT, ROWOFFSET),
        "timestamp.field": (Scalar.TIMESTAMP, f"timestamp_millis({ROWTIME})"),
        "static.field": (Scalar.STRING, literal(transform.get("static.value") or "")),
    }
    role = transform.side or Role.VALUE
    added = [
        Item(Column(name.rstrip("!?"), type_, role), spark)
        for option, (type_, spark) in made.items()
        if (name := transform.get(option))
    ]
    if not added:
        transform.refuse(f"Transform '{transform.name}' names no field.", f"One of {', '.join(made)}.")
    return replace(shape, items=(*shape.items, *added))


def _regex_router(shape: Shape, transform: Transform) -> Shape:
    regex, replacement = transform.need("regex"), transform.options.get("replacement", "")
    topic = shape.route or literal(shape.topic)
    whole = literal(f"^(?:{regex})$")
    routed = f"if({topic} RLIKE {whole}, regexp_replace({topic}, {whole}, {literal(replacement)}), {topic})"
    return replace(shape, route=routed)


def _timestamp_router(shape: Shape, transform: Transform) -> Shape:
    form = transform.options.get("topic.format", "${topic}-${timestamp}")
    pattern = transform.options.get("timestamp.format", "yyyyMMdd").replace("YYYY", "yyyy")
    time = f"date_format(timestamp_millis({ROWTIME}), {literal(pattern)})"
    return replace(shape, route=_filled(form, {"topic": shape.route or literal(shape.topic), "timestamp": time}))


def _extract_topic(shape: Shape, transform: Transform) -> Shape:
    item = transform.find(shape, transform.need("field"))
    if item.column.type not in (Scalar.STRING, Scalar.INTEGER, Scalar.BIGINT, Scalar.BOOLEAN):
        transform.refuse(f"{item.column.name} is {item.column.type}: rows are routed by text, numbers and booleans.")
    text = f"CAST({item.spark} AS STRING)"
    return replace(shape, route=f"if({text} IS NULL OR {text} = '', {shape.route or literal(shape.topic)}, {text})")


def _filter(shape: Shape, transform: Transform) -> Shape:
    """Rows of which the predicate holds are dropped."""
    type_ = _class(transform.predicate.get("type", ""))[0]
    match type_:
        case "RecordIsTombstone":
            held = DELETED
        case "TopicNameMatches":
            held = f"{literal(shape.topic)} RLIKE {literal('^(?:' + transform.predicate.get('pattern', '') + ')$')}"
        case _:
            transform.refuse(
                f"Transform '{transform.name}' needs a predicate that Orion has.",
                "Predicates are RecordIsTombstone and TopicNameMatches; for others, read a stream with a WHERE.",
            )
    return replace(shape, keeps=(*shape.keeps, held if transform.negated else f"NOT ({held})"))


_KNOWN: dict[str, Callable[[Shape, Transform], Shape]] = {
    "ReplaceField": _replace_field,
    "MaskField": _mask_field,
    "InsertField": _insert_field,
    "RegexRouter": _regex_router,
    "TimestampRouter": _timestamp_router,
    "ExtractTopic": _extract_topic,
    "Filter": _filter,
}
NAMES = tuple(_KNOWN)
_OPTIONS = {
    "ReplaceField": {"renames", "exclude", "blacklist", "include", "whitelist"},
    "MaskField": {"fields", "replacement"},
    "InsertField": {
        "topic.field",
        "partition.field",
        "offset.field",
        "timestamp.field",
        "static.field",
        "static.value",
    },
    "RegexRouter": {"regex", "replacement"},
    "TimestampRouter": {"topic.format", "timestamp.format"},
    "ExtractTopic": {"field", "skip.missing.or.null"},
    "Filter": set(),
}


def _transforms(connector: Connector) -> list[tuple[Transform, Callable[[Shape, Transform], Shape]]]:
    options = dict(connector.options)
    named = [n.strip() for n in options.get("transforms", "").split(",") if n.strip()]
    found = []
    for name in named:
        own = _under(options, f"transforms.{name.lower()}.")
        kind, side = _class(own.pop("type", ""))
        predicate = _under(options, f"predicates.{own.pop('predicate', '').lower()}.")
        negated = own.pop("negate", "false").lower() == "true"
        transform = Transform(connector.name, name, side, own, negated, predicate)
        if kind not in _KNOWN:
            known = ", ".join(_KNOWN)
            transform.refuse(
                f"'transforms.{name}.type' is no transform of Orion's.",
                hint_nearest(kind, list(_KNOWN)) or f"There are {known}.",
            )
        unknown = next((o for o in own if o not in _OPTIONS[kind]), None)
        if unknown:
            transform.refuse(
                f"there is no option 'transforms.{name}.{unknown}'.",
                hint_nearest(unknown, sorted(_OPTIONS[kind])) or f"{kind} has {', '.join(sorted(_OPTIONS[kind]))}.",
            )
        found.append((transform, _KNOWN[kind]))
    _no_strays(connector, options, named)
    return found


def _no_strays(connector: Connector, options: Mapping[str, str], named: list[str]) -> None:
    """Options of a transform that 'transforms' doesn't name would be passed over without a word."""
    known = {n.lower() for n in named}
    for option in options:
        if option.startswith("transforms.") and option.split(".")[1] not in known:
            raise ConfigError(
                "INVALID_TRANSFORM",
                f"Connector {connector.name}: '{option}' belongs to a transform that 'transforms' doesn't name.",
                hint=f"Add it: 'transforms'='{','.join((*named, option.split('.')[1]))}'.",
            )


def _class(written: str) -> tuple[str, Role | None]:
    """`org.apache.kafka.connect.transforms.ReplaceField$Value` is a ReplaceField of the value."""
    name = written.rsplit(".", 1)[-1]
    name, _, side = name.partition("$")
    return name, {"Key": Role.KEY, "Value": Role.VALUE}.get(side)


def _under(options: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {n.removeprefix(prefix): v for n, v in options.items() if n.startswith(prefix) and n != prefix}


def _side(column: Column) -> Role:
    return Role.KEY if column.role is Role.KEY else Role.VALUE


def _pair(transform: Transform, written: str) -> tuple[str, str]:
    old, colon, new = (part.strip() for part in written.partition(":"))
    if not (old and colon and new):
        transform.refuse(f"'transforms.{transform.name}.renames' has {written!r}.", "A rename is old:new.")
    return old, new


def _blank(type_: SqlType, replacement: str | None) -> str:
    """What stands where a value was."""
    if replacement is not None:
        return f"CAST({literal(replacement)} AS {spark_type(type_)})"
    match type_:
        case Scalar.STRING:
            return "''"
        case Scalar.BOOLEAN:
            return "FALSE"
        case Scalar.INTEGER | Scalar.BIGINT | Scalar.DOUBLE | Decimal():
            return f"CAST(0 AS {spark_type(type_)})"
        case _:
            return "NULL"


def _filled(form: str, texts: Mapping[str, str]) -> str:
    """A form with ${name} in it, as Spark SQL that puts the texts together."""
    parts = re.split(r"\$\{(\w+)\}", form)
    return f"concat({', '.join(texts.get(p, literal('')) if at % 2 else literal(p) for at, p in enumerate(parts))})"


def _written(item: Item, nested: Nested) -> str:
    if nested is Nested.TEXT and isinstance(item.column.type, Array | Map | Struct):
        return f"to_json({item.spark}, map('ignoreNullFields', 'false'))"
    return item.spark
