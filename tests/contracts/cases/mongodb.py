"""MongoDB's protocol, as FerretDB speaks it."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import datetime
from math import isfinite
from typing import Any

import pytest
from bson import Int64

from orion.plan.sources import Connector
from orion.schema import Decimal, Map, Scalar, SqlType
from orion.sinks.documents.values import clock
from orion.sinks.mongodb import MongoStore, open_sink
from orion.sinks.store import Layout
from tests.contracts.case import REFUSED, Feature, Mode
from tests.servers.ferretdb import Database, FerretDB

LACKS = {
    Feature.ATOMIC: "documents appear one by one; a slot that was cut off is written again, by the same ids",
}


def opened(request: pytest.FixtureRequest) -> MongoCase:
    stack = ExitStack()
    request.addfinalizer(stack.close)
    server: FerretDB = request.getfixturevalue("ferretdb")
    return MongoCase(stack.enter_context(server.database()))


class MongoCase:
    # A name that no document of FerretDB's may have.
    bad: tuple[SqlType, Any, Any] = (Map(Scalar.STRING, Scalar.INTEGER), {"a": 1}, {"$a": 1})

    def __init__(self, database: Database) -> None:
        self._server = database.server
        self._database = database

    def store(self, layout: Layout, mode: Mode) -> MongoStore:
        strategy = "KafkaMetaDataStrategy" if mode is Mode.APPEND else "KeyStrategy"
        return self._opened(layout, self._server.password, {"document.id.strategy": strategy})

    def rows(self, layout: Layout) -> list[dict[str, Any]]:
        with self._database.connect() as database:
            return [{name: _plain(found.get(name)) for name in layout.names} for found in database[layout.topic].find()]

    def seen(self, type_: SqlType, value: Any) -> Any:
        match type_:
            case Decimal(_, scale):
                return f"{value:.{scale}f}"
            case Scalar.DOUBLE if not isfinite(value):
                return REFUSED  # by FerretDB; MongoDB takes them
            case Scalar.TIME:
                return clock(value)
            case Scalar.DATE:
                return datetime(value.year, value.month, value.day)
            case Scalar.TIMESTAMP:
                return value.replace(microsecond=value.microsecond // 1000 * 1000, tzinfo=None)
            case _:
                return value

    def with_wrong_password(self, layout: Layout) -> MongoStore:
        return self._opened(layout, "wrong-password", {})

    def with_nobody_there(self, layout: Layout) -> MongoStore:
        options = {"connection.uri": "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=300", "database": "nowhere"}
        return store_of(layout, options)

    def kill(self) -> None:
        self._server.kill()

    def start(self) -> None:
        self._server.start()

    def _opened(self, layout: Layout, password: str, options: dict[str, str]) -> MongoStore:
        where = f"{self._server.user}:{password}@{self._server.host}:{self._server.port}"
        uri = f"mongodb://{where}/{self._database.name}?authSource=admin&serverSelectionTimeoutMS=1000"
        # FerretDB has no decimal128.
        return store_of(layout, {"connection.uri": uri, "decimal.handling.mode": "string", **options})


def _plain(value: Any) -> Any:
    """A long comes as a class of its own, which is an int in all else."""
    return int(value) if isinstance(value, Int64) else value


def store_of(layout: Layout, options: dict[str, str]) -> MongoStore:
    return open_sink(Connector("c", "mongodb", (), tuple(options.items())), layout)
