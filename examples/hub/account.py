"""The account: a lake, a database and a search index hold the same, and what a loop in Python computes."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from examples.checks import Check, same_rows
from examples.feed import PRODUCER, send_all
from examples.hub import results
from examples.hub.customers import Act, Story, told
from examples.stage import Settings, played, settled
from orion.errors import ConfigError

if TYPE_CHECKING:
    from orion.app import Orion
    from orion.web.platform import Platform
    from tests.servers.postgres import Database

RECORDS = 2_000
PATIENCE_S = 240.0
PASSWORD = "hub"  # a file of the data folder's secrets
_PIPELINE = Path(__file__).with_name("pipeline.sql")
_CUSTOMERS = "CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL, city text)"


@dataclass(frozen=True)
class Places:
    """Where the other systems are."""

    database: Database
    search: str
    lake: Path

    @property
    def variables(self) -> dict[str, str]:
        server = self.database.server
        return {
            "pg_host": server.host,
            "pg_port": str(server.port),
            "pg_database": self.database.name,
            "pg_user": server.user,
            "search_url": self.search,
            "lake": str(self.lake),
        }


@contextmanager
def servers(folder: Path) -> Iterator[tuple[Database, str]]:
    """A PostgreSQL and an OpenSearch of this run: those that the tests of connectors have."""
    from tests.servers import opensearch, postgres

    for reason in (postgres.missing(), opensearch.missing()):
        if reason is not None:
            raise ConfigError("SERVER_MISSING", reason)
    with ExitStack() as stack:
        database, search = postgres.Postgres(folder / "postgres"), opensearch.OpenSearch(folder / "opensearch")
        for server in (database, search):
            stack.callback(server.kill)
            server.start()
        yield stack.enter_context(database.database()), search.url


def account(orion: Orion, console: Console, places: Places, records: int) -> list[Check]:
    """Run the script, let the story happen, and hold the three results against it."""
    with places.database.connect() as connection:
        connection.execute(_CUSTOMERS)
    _keep_password(orion.engine.config.data / "secrets", places.database.server.password)
    console.print("Starting the pipeline: Debezium, two queries, three sinks ...", style="dim")
    orion.execute(_PIPELINE.read_text(encoding="utf-8"), None, places.variables)
    story, failed = told(records), 0
    for act in story.acts:
        failed += _happened(orion, places, act)
        console.print(f"{len(act.statements):,} changes of customers, {len(act.clicks):,} clicks", highlight=False)
    looks: dict[str, Callable[[], results.Rows]] = {
        "the lake": lambda: results.in_lake(orion, str(places.lake)),
        "the database": lambda: results.in_database(places.database),
        "the index": lambda: results.in_index(places.search),
    }
    console.print("Waiting for the three results ...", style="dim")
    found = {name: _awaited(look, story) for name, look in looks.items()}
    checks = [Check("clicks the broker did not acknowledge", 0, failed)]
    for name, rows in found.items():
        checks += same_rows(f"customers in {name}", story.expected, rows)
    return [*checks, Check("results that differ from the lake", 0, sum(r != found["the lake"] for r in found.values()))]


def _keep_password(folder: Path, password: str) -> None:
    """Where connectors may read it, and other users of the machine may not."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / PASSWORD
    file.touch(mode=0o600)
    file.write_text(password, encoding="utf-8")


def _happened(orion: Orion, places: Places, act: Act) -> int:
    with places.database.connect() as connection:
        for statement, values in act.statements:
            connection.execute(statement.encode(), values)
    return send_all(orion.kafka.producer(**PRODUCER), act.clicks)


def _awaited(look: Callable[[], results.Rows], story: Story) -> results.Rows:
    """What is there once it is what it should be, or after a long time; nothing where there is none to look at yet."""
    end = time.monotonic() + PATIENCE_S
    found: results.Rows = {}
    while found != story.expected and time.monotonic() < end:
        time.sleep(0.5)
        with suppress(Exception):  # the table or the index is made with its first row
            found = look()
    return found


def main() -> int:
    """Run on a platform of its own; the exit code is 0 only when every check holds."""

    def demonstrate(platform: Platform, settings: Settings, console: Console, data: Path) -> int:
        # Servers that refuse to run as root run as somebody else, who may not see into this folder.
        with tempfile.TemporaryDirectory(prefix="orion-hub-") as folder:
            os.chmod(folder, 0o711)
            console.print("Starting PostgreSQL and OpenSearch ...", style="dim")
            with servers(Path(folder)) as (database, search):
                places = Places(database, search, data.absolute() / "lake")
                return settled(console, account(platform.orion, console, places, settings.records or RECORDS), data)

    return played(demonstrate, Path(".orion") / "hub")
