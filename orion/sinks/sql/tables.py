"""Tables: held against what the sink writes, made and widened where that is wanted."""

from __future__ import annotations

from dataclasses import dataclass

from orion.errors import ConfigError, hint_nearest
from orion.sinks.sql.database import Connection, Database, Into, Place, Refused, Shape
from orion.sinks.sql.names import Quoting, TableName, nearest
from orion.sinks.sql.options import InsertMode
from orion.sinks.sql.target import Item, Target


@dataclass(frozen=True, slots=True)
class Allowed:
    create: bool
    evolve: bool


def ready(database: Database, connection: Connection, table: TableName, target: Target, allowed: Allowed) -> Into:
    """The table as it is written. Several workers may do this at once: who comes second finds it done."""
    quote, shape = database.quoting, connection.shape(table)
    if shape is None:
        if not allowed.create:
            raise ConfigError(
                "TABLE_MISSING", f"There is no table {table}.", hint="Make it, or set 'auto.create' to true."
            )
        made = TableName(table.schema, table.name.lower())
        shape = _changed(connection, table, target, _creation(connection, quote, made, target))
    missing = [item for item in target.items if _found(item, shape) is None]
    if missing:
        _check_widening(shape, missing, allowed)
        shape = _changed(
            connection, table, target, *(_addition(connection, quote, shape.table, item) for item in missing)
        )
    return _held(database, shape, target)


def _creation(connection: Connection, quote: Quoting, table: TableName, target: Target) -> str:
    """The statement that makes a table for a target."""
    columns = [
        f"{quote(item.name.lower())} {connection.declared(item.type, key=item.key)}{' NOT NULL' if item.key else ''}"
        for item in target.items
    ]
    if target.keyed:
        columns.append(f"PRIMARY KEY ({quote.all(item.name.lower() for item in target.items if item.key)})")
    return f"CREATE TABLE {quote.table(table)} ({', '.join(columns)})"


def _addition(connection: Connection, quote: Quoting, table: TableName, item: Item) -> str:
    declared = connection.declared(item.type, key=False)
    return f"ALTER TABLE {quote.table(table)} ADD COLUMN {quote(item.name.lower())} {declared} NULL"


def _changed(connection: Connection, table: TableName, target: Target, *statements: str) -> Shape:
    """The table after statements. One that fails because somebody else was first has done its work."""
    failed: list[ConfigError | Refused] = []
    for statement in statements:
        try:
            connection.ask(statement)
        except (ConfigError, Refused) as error:
            failed.append(error)
    shape = connection.shape(table)
    if failed and (shape is None or any(_found(item, shape) is None for item in target.items)):
        raise _told(failed[0], table)
    if shape is None:
        raise ConfigError("TABLE_MISSING", f"{table} was made, and is gone.")
    return shape


def _told(error: ConfigError | Refused, table: TableName) -> ConfigError:
    if isinstance(error, ConfigError):
        return error
    return ConfigError("TABLE_NOT_MADE", f"{table} can't be made or widened: {error.reason}")


def _found(item: Item, shape: Shape) -> str | None:
    return nearest(item.name, [c.name for c in shape.columns])


def _check_widening(shape: Shape, missing: list[Item], allowed: Allowed) -> None:
    names = ", ".join(item.name for item in missing)
    if any(item.key for item in missing):
        raise ConfigError(
            "COLUMN_MISSING",
            f"{shape.table} has no column {names}, and its key can't be changed.",
            hint=hint_nearest(missing[0].name, [c.name for c in shape.columns]),
        )
    if not allowed.evolve:
        hint = hint_nearest(missing[0].name, [c.name for c in shape.columns])
        raise ConfigError(
            "COLUMN_MISSING",
            f"{shape.table} has no column {names}.",
            hint=f"{hint + ' Or add' if hint else 'Add'} it, or set 'auto.evolve' to true.",
        )


def _held(database: Database, shape: Shape, target: Target) -> Into:
    """The table as it is written, if what is written fits it."""
    places: list[Place] = []
    columns = {c.name: c for c in shape.columns}
    for item in target.items:
        name = _found(item, shape)
        if name is None:
            raise ConfigError("COLUMN_MISSING", f"{shape.table} has no column {item.name}.")
        declared = columns[name].type
        if not database.fits(item.type, declared):
            raise ConfigError(
                "TYPE_MISMATCH",
                f"{item.name} is {item.type}, and column {name} of {shape.table} is {declared}.",
                hint="Change one of them, or CAST it in the query.",
            )
        places.append(Place(name, item.type, declared, item.key))
    into = Into(shape.table, tuple(places), target.mode)
    unfilled = [c.name for c in shape.columns if c.required and c.name not in into.names]
    if unfilled and target.mode is not InsertMode.UPDATE:
        raise ConfigError(
            "COLUMN_NOT_FILLED",
            f"{shape.table} wants a value in {', '.join(unfilled)}, and {target.topic} has no such column.",
            hint="Give it a default, or let it be NULL.",
        )
    if target.mode is InsertMode.UPSERT and frozenset(into.key) not in shape.unique:
        raise ConfigError(
            "KEY_MISSING",
            f"{shape.table} has no primary key or unique index of just {', '.join(into.key)}, which upsert needs.",
        )
    return into
