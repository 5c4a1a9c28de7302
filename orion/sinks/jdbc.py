"""jdbc: rows in tables of PostgreSQL, MySQL, MariaDB and SQLite, each slot in one transaction.

Named as Kafka Connect's users know it. No JVM is in it: workers hand Arrow batches to each database's own client.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from orion.databases.address import Kind
from orion.errors import ConfigError
from orion.options import understood
from orion.plan.sources import Connector
from orion.schema import Scalar
from orion.sinks.sql.database import Connection, Database
from orion.sinks.sql.login import login
from orion.sinks.sql.mysql import MySql
from orion.sinks.sql.names import Quoting, table_name
from orion.sinks.sql.options import InsertMode, JdbcOptions
from orion.sinks.sql.postgresql import PostgreSql
from orion.sinks.sql.redshift import Redshift
from orion.sinks.sql.sqlite import Sqlite
from orion.sinks.sql.tables import Allowed, ready
from orion.sinks.sql.target import Item, Target, target_of
from orion.sinks.sql.transfer import Orders, SqlSession
from orion.sinks.store import Layout, Nested

OPTIONS = JdbcOptions

_EPOCHS = Target(
    "orion",
    (
        Item("task", Scalar.STRING, "", key=True),
        Item("slot", Scalar.INTEGER, "", key=True),
        Item("epoch", Scalar.BIGINT, "", key=False),
    ),
    InsertMode.UPSERT,
    deletes=False,
)


@dataclass(frozen=True)
class JdbcStore:
    layout: Layout
    orders: Orders
    guarantee: ClassVar[str] = "exactly once"
    nested: ClassVar[Nested] = Nested.TEXT

    def prepare(self) -> None:
        orders = self.orders
        connection = orders.database.connect()
        try:
            self._ready_epochs(connection)
            table = orders.table(self.layout.topic)
            into = ready(orders.database, connection, table, orders.target, orders.allowed)
            for probe in orders.database.probes(into, deletes=orders.target.deletes):
                connection.ask(probe)
        finally:
            connection.close()

    def reach(self) -> None:
        self.orders.database.connect().close()

    def open(self) -> SqlSession:
        return SqlSession(self.orders)

    def _ready_epochs(self, connection: Connection) -> None:
        orders = self.orders
        try:
            ready(orders.database, connection, orders.epochs, _EPOCHS, Allowed(create=True, evolve=False))
        except ConfigError as error:
            raise ConfigError(
                error.code,
                f"The table that keeps epochs, {orders.epochs}, isn't to be had: {error.message}",
                hint="Make it, or name another with 'epochs.table'. It has task VARCHAR(255), slot INTEGER, "
                "epoch BIGINT and PRIMARY KEY (task, slot).",
            ) from error


def open_sink(connector: Connector, layout: Layout) -> JdbcStore:
    options = understood(JdbcOptions, connector.own_options, connector.name)
    allowed = Allowed(options.auto_create, options.auto_evolve)
    orders = Orders(
        database=_database(options),
        target=target_of(options, layout),
        allowed=allowed,
        table_format=options.table_name_format,
        epochs=table_name(options.epochs_table, layout.topic),
        chunk=options.batch_size,
    )
    return JdbcStore(layout, orders)


def _database(options: JdbcOptions) -> Database:
    address, always = options.address, options.quote_sql_identifiers == "always"
    who = login(address, options.connection_user, options.connection_password)
    match address.kind:
        case Kind.POSTGRESQL if address.scheme == "redshift":
            return Redshift(address, who, options.db_timezone, Quoting('"', always, 127, in_bytes=True))
        case Kind.POSTGRESQL:
            return PostgreSql(address, who, options.db_timezone, Quoting('"', always, 63, in_bytes=True))
        case Kind.MYSQL:
            return MySql(address, who, options.db_timezone, Quoting("`", always, 64))
        case Kind.SQLITE:
            return Sqlite(address, Quoting('"', always))
