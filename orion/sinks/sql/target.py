"""What the sink writes into a table: which columns, under which names, and which of them are its key."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from orion.errors import ConfigError, hint_nearest
from orion.schema import Column, Scalar, SqlType
from orion.sinks.sql.names import nearest
from orion.sinks.sql.options import InsertMode, JdbcOptions, KeyMode
from orion.sinks.store import OFFSET, PARTITION, Layout

TOPIC = "__topic"  # a source: the same for every row
KAFKA_KEY = ("__connect_topic", "__connect_partition", "__connect_offset")


@dataclass(frozen=True, slots=True)
class Item:
    """One column to write: what it is called, and which of a batch's columns it comes from."""

    name: str
    type: SqlType
    source: str
    key: bool


@dataclass(frozen=True, slots=True)
class Target:
    topic: str
    items: tuple[Item, ...]  # the key's first
    mode: InsertMode
    deletes: bool

    @property
    def keyed(self) -> bool:
        return any(item.key for item in self.items)


def target_of(options: JdbcOptions, layout: Layout) -> Target:
    key = _key(options, layout)
    taken = {item.source for item in key}
    others = [c for c in _whitelisted(options, layout) if c.name not in taken]
    items = (*key, *(Item(c.name, c.type, c.name, key=False) for c in others))
    _check_distinct(item.name for item in items)
    mode = InsertMode(options.insert_mode)
    if mode is InsertMode.UPDATE and not others:
        raise _wrong("'insert.mode' update has nothing to change: all columns are the key's.")
    if not items:
        raise _wrong("There is no column to write.")
    return Target(layout.topic, items, mode, options.delete_enabled)


def _key(options: JdbcOptions, layout: Layout) -> tuple[Item, ...]:
    match KeyMode(options.pk_mode):
        case KeyMode.NONE:
            return ()
        case KeyMode.KAFKA:
            names = options.pk_fields or KAFKA_KEY
            sources = ((TOPIC, Scalar.STRING), (PARTITION, Scalar.INTEGER), (OFFSET, Scalar.BIGINT))
            return tuple(Item(n, type_, source, key=True) for n, (source, type_) in zip(names, sources, strict=True))
        case KeyMode.RECORD_KEY:
            if not layout.key:
                raise _wrong(f"{layout.topic} has no key, which 'pk.mode' record_key needs.")
            return _chosen(options.pk_fields, layout.key, "pk.fields", f"the key of {layout.topic}")
        case KeyMode.RECORD_VALUE:
            choice = layout.columns if options.pk_fields else layout.value
            return _chosen(options.pk_fields, choice, "pk.fields", layout.topic)


def _chosen(names: tuple[str, ...], columns: tuple[Column, ...], option: str, where: str) -> tuple[Item, ...]:
    """Columns by name, or all of them."""
    picked = [_column(name, columns, option, where) for name in names] or columns
    return tuple(Item(c.name, c.type, c.name, key=True) for c in picked)


def _whitelisted(options: JdbcOptions, layout: Layout) -> list[Column]:
    if not options.fields_whitelist:
        return list(layout.columns)
    named = {_column(n, layout.columns, "fields.whitelist", layout.topic).name for n in options.fields_whitelist}
    return [c for c in layout.columns if c.name in named]


def _column(name: str, columns: tuple[Column, ...], option: str, where: str) -> Column:
    there = [c.name for c in columns]
    found = nearest(name, there)
    if found is None:
        hint = hint_nearest(name, there) or f"It has {', '.join(there)}."
        raise ConfigError("INVALID_CONNECTOR", f"'{option}' names {name}, which {where} doesn't have.", hint=hint)
    return next(c for c in columns if c.name == found)


def _check_distinct(names: Iterable[str]) -> None:
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.casefold(), name)
        if other is not name:
            raise _wrong(f"{other} and {name} would be one column of the table: databases take them for one name.")


def _wrong(message: str) -> ConfigError:
    return ConfigError("INVALID_CONNECTOR", message)
