"""The integration hub: a database's changes joined with clicks, the same in a lake, a database and a search index."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rich.console import Console

from examples.hub.account import PASSWORD, Places, account
from orion.app import Orion
from orion.config import load
from orion.hub.kafka import Kafka
from orion.runtime.engine import Engine
from orion.runtime.session import Spark
from tests.required import long
from tests.servers.opensearch import OpenSearch
from tests.servers.postgres import Postgres


@long
@pytest.mark.timeout(600)
def test_three_systems_hold_the_same(
    kafka: Kafka, spark: Spark, scratch: Path, postgres: Postgres, opensearch: OpenSearch
) -> None:
    config = load(
        flags={
            "service_id": "example-hub",
            "data": scratch / "example-hub",
            "hub.bootstrap": kafka.bootstrap,
            "engine.trigger_ms": 50,
        }
    )
    opensearch.start()
    with postgres.database() as database, Orion.over(Engine(config, kafka, spark)) as orion:
        places = Places(database, opensearch.url, scratch / "example-hub" / "lake")
        try:
            found = account(orion, Console(quiet=True), places, 300)
            assert [check for check in found if not check.ok] == []
            assert database.server.password not in str(orion.execute("DESCRIBE CONNECTOR crm;"))
            orion.execute("DROP CONNECTOR crm;")
        finally:
            os.environ.pop(PASSWORD, None)
