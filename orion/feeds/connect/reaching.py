"""Whether a capture's database answers. Debezium tries for good while it doesn't, and Connect calls that running."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from pymongo import MongoClient
from pymongo.errors import ConnectionFailure, PyMongoError

from orion.errors import ConfigError, ExternalError
from orion.feeds.connect.catalogs import BUSY, TIMEOUT, mysql, port_of, postgres, unreachable
from orion.feeds.connect.debezium import Kind


def reach(kind: Kind, config: Mapping[str, str]) -> None:
    """Raise while the database doesn't answer. One that refuses us is there, whatever its reason."""
    with refusals_ignored():
        _greet(kind, config)


@contextmanager
def refusals_ignored() -> Iterator[None]:
    """Let only errors through that say that a server is away. Debezium may still be connected to one that refuses."""
    try:
        with suppress(ConfigError):
            yield
    except ExternalError as error:
        if error.code != BUSY:
            raise


def _greet(kind: Kind, config: Mapping[str, str]) -> None:
    """Say as little as the server takes without noting an error: PostgreSQL and MySQL want a login."""
    match kind.name:
        case "postgresql":
            with postgres(config):
                return
        case "mysql" | "mariadb":
            with mysql(config):
                return
        case "mongodb":
            _ping(config)
        case _ if "database.instance" not in config:  # whose port only its server's browser knows
            _connect(config)


def _ping(config: Mapping[str, str]) -> None:
    milliseconds = TIMEOUT * 1000
    try:
        with MongoClient[dict[str, object]](
            config["mongodb.connection.string"],
            serverSelectionTimeoutMS=milliseconds,
            connectTimeoutMS=milliseconds,
            socketTimeoutMS=milliseconds,
        ) as client:
            client.admin.command("ping")
    except ConnectionFailure as error:
        raise unreachable(str(error).partition(" (")[0], config) from error
    except PyMongoError:
        return


def _connect(config: Mapping[str, str]) -> None:
    try:
        socket.create_connection((config["database.hostname"], port_of(config, 1433)), TIMEOUT).close()
    except OSError as error:
        raise unreachable(error.strerror or str(error), config) from error
