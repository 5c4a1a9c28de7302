"""cdc: the changes of a database's tables as records, through Debezium on Kafka Connect.

`Captures` is all that the rest of Orion needs: it checks a capture before it is made, makes it, says how it is, and
takes it away with what it has left in the database. Where the connectors run is its own business: on a worker that it
starts when the first one is made, or on the cluster that the option 'connect.url' names.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from orion.errors import Conflict, ExternalError, NotFound, OrionError, UnsupportedError, hint_nearest
from orion.feeds.connect import catalogs, checking, debezium, slots, tables
from orion.feeds.connect.client import ConnectClient, Position, State, Status
from orion.feeds.connect.debezium import Options, hidden, keys_said, topic_of, translate
from orion.feeds.connect.reaching import reach, refusals_ignored
from orion.feeds.connect.secrets import Secrets
from orion.feeds.connect.tables import Table
from orion.feeds.connect.topics import NewTopic, new_topic
from orion.feeds.connect.worker import ConnectWorker
from orion.feeds.connect.worker_settings import Surroundings
from orion.hub.ivy import Progress
from orion.hub.jars import quiet
from orion.hub.kafka import Kafka

__all__ = ["CLASSES", "GUARANTEE", "Capture", "Captures", "Options", "Status", "Surroundings", "hidden", "translate"]

CLASSES = (debezium.PLUGIN, *debezium.CLASSES)  # what 'connector.class' may be
OPTIONS = Options
GUARANTEE = "exactly once, to readers of committed records"
STOP_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Capture:
    """A capture that was checked: the configuration it has or would have, and the tables it takes."""

    name: str
    config: Mapping[str, str]  # as it may be shown: without secrets
    tables: tuple[Table, ...]  # none where the database isn't one whose catalog Orion reads
    told: Mapping[str, str] = field(default_factory=dict, repr=False)  # the same with its secrets, of one to be made

    @property
    def topics(self) -> dict[str, str]:
        """The topic of each table."""
        return {table.name: topic_of(self.config, table.name) for table in self.tables}

    def new_topic(self, table: str) -> NewTopic:
        """How the topic of a table is made where it isn't there: as Connect would."""
        return new_topic(self.config, self.topics[table])

    def declaration(self, table: str) -> str:
        """CREATE TABLE over the topic of a captured table."""
        found = next((t for t in self.tables if t.name.lower() == table.lower()), None)
        if found is None:
            names = [t.name for t in self.tables]
            raise NotFound("TABLE_NOT_FOUND", f"{self.name} doesn't capture {table}.", hint=hint_nearest(table, names))
        return tables.declaration(found, topic_of(self.config, found.name), keys_said(self.config).get(found.name))


class Captures:
    """The captures of one server. Its methods may be called from any thread; most wait for Connect's answer."""

    def __init__(self, around: Surroundings, progress: Progress = quiet) -> None:
        self.around = around
        self.worker = ConnectWorker(around, progress)
        self._secrets = Secrets(around.secrets)
        self._lock = threading.Lock()
        self._elsewhere: dict[str, ConnectClient] = {}

    def check(self, name: str, options: Options) -> Capture:
        """What a capture would be. Raises what is wrong with it; nothing is made."""
        found, config = self._looked_up(name, options)
        client = self._client(options)
        if options.connect_url:
            checking.check(client, config, options)
        else:
            with self._secrets.lent(config) as shown:
                checking.check(client, shown, options)
        return Capture(name, hidden(config), found, config)

    def create(self, name: str, options: Options, checked: Capture | None = None) -> Capture:
        """Make a capture, or give one that is there other options, once they are checked: here, unless they were."""
        capture = checked or self.check(name, options)
        self._client(options).put(name, self._hide(name, options, capture.told))
        return capture

    def ensure(self, name: str, options: Options) -> None:
        """See to it that a capture is there which was made before: after a restart its worker runs and knows it."""
        self._hide(name, options, translate(name, options, self.around))  # before a worker looks for its secrets
        if name not in self._client(options).names():
            self.create(name, options)

    def describe(self, name: str, options: Options) -> Capture:
        """A capture as the database's catalog has it now."""
        found, config = self._looked_up(name, options)
        return Capture(name, hidden(config), found)

    def status(self, name: str, options: Options) -> Status:
        """How a capture is. A worker that has died is started again."""
        return self._client(options).status(name)

    def problem(self, name: str, options: Options) -> str | None:
        """Why a capture can't go on without a loss, whatever its state says: a PostgreSQL slot that is gone."""
        if options.kind.name != "postgresql" or not options.tells_login:
            return None
        offsets = self._client(options).offsets(name)
        try:
            return slots.slot_problem(translate(name, options, self.around), offsets)
        except ExternalError:
            if options.connect_url:  # the database may be one that only the cluster reaches
                return None
            raise

    def ask(self, name: str, options: Options) -> str | None:
        """The same, of a capture that is there: raises while its database doesn't answer, whichever that is.

        Kafka Connect doesn't know: Debezium tries for good, and so the task runs. A cluster elsewhere may reach a
        database that we don't, so it is believed.
        """
        if not options.connect_url:
            reach(options.kind, translate(name, options, self.around))
        problem = None
        with refusals_ignored():
            problem = self.problem(name, options)
        return problem

    def offsets(self, name: str, options: Options) -> list[Position]:
        return self._client(options).offsets(name)

    def pause(self, name: str, options: Options) -> None:
        self._client(options).pause(name)

    def resume(self, name: str, options: Options) -> None:
        """Go on; refused where that would pass over a loss."""
        self._refuse_lost(name, options)
        self._client(options).resume(name)

    def restart(self, name: str, options: Options) -> None:
        """Try again what has failed; refused where that would pass over a loss."""
        self._refuse_lost(name, options)
        self._client(options).restart(name)

    def drop(self, name: str, options: Options) -> list[str]:
        """Take a capture away: its offsets, its secrets, its slot. What couldn't be is told, in a sentence each."""
        client = self._client(options)
        if name in client.names():
            client.stop(name)
            _wait(lambda: _is_stopped(client.status(name)), f"{name} didn't stop")
            client.reset_offsets(name)
            client.delete(name)
            _wait(lambda: _is_gone(client, name), f"{name} wasn't deleted")
        self._secrets.forget(name)
        return self._released(name, options)

    def close(self) -> None:
        """End the worker. The captures go on when another server of the same data is there."""
        self.worker.stop()
        with self._lock:
            for client in self._elsewhere.values():
                client.close()
            self._elsewhere.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _refuse_lost(self, name: str, options: Options) -> None:
        """Debezium stops by itself for a slot that was made anew, but not before the first change after a snapshot."""
        problem = self.problem(name, options)
        if problem is not None:
            raise Conflict(
                "SLOT_LOST",
                problem,
                hint="Drop the connector and create it again: it then takes a new snapshot. "
                "Rows that were deleted in between stay in the topic.",
            )

    def _client(self, options: Options) -> ConnectClient:
        url = options.connect_url
        if url is None:
            return self.worker.client(options.kind.jars)
        with self._lock:
            return self._elsewhere.setdefault(url, ConnectClient(url))

    def _looked_up(self, name: str, options: Options) -> tuple[tuple[Table, ...], dict[str, str]]:
        """The tables that are captured, where they can be known, and the configuration with their keys."""
        config = translate(name, options, self.around)
        if options.kind.name not in catalogs.KNOWN or not options.tells_login:
            return (), config
        try:
            found = tuple(catalogs.captured(options.kind, config))
        except ExternalError:
            if options.connect_url:  # the database may be one that only the cluster reaches
                return (), config
            raise
        return found, translate(name, options, self.around, found)

    def _hide(self, name: str, options: Options, config: Mapping[str, str]) -> dict[str, str]:
        return dict(config) if options.connect_url else self._secrets.hide(name, config)

    def _released(self, name: str, options: Options) -> list[str]:
        config = translate(name, options, self.around)
        left = []
        try:
            if options.kind.name == "postgresql" and options.tells_login:
                slots.release(config)
        except OrionError as error:
            left.append(f"The replication slot {config['slot.name']} is still there: {error.message}")
        try:
            if options.kind.history and not options.connect_url:
                Kafka(self.around.bootstrap).delete_topic(
                    config["schema.history.internal.kafka.topic"], missing_ok=True
                )
        except OrionError as error:
            left.append(f"The history of its tables is still there: {error.message}")
        return left


def declaration(capture: Capture, table: str) -> str:
    """CREATE TABLE over the topic of a captured table."""
    if not capture.tables:
        raise UnsupportedError("NO_CATALOG", f"Orion doesn't read the catalog of {capture.name}'s database.")
    return capture.declaration(table)


def _is_stopped(status: Status) -> bool:
    return status.state is State.STOPPED and not status.tasks


def _is_gone(client: ConnectClient, name: str) -> bool:
    """A worker notices a moment later what it has written itself."""
    try:
        client.status(name)
    except NotFound:
        return True
    return False


def _wait(condition: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + STOP_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise ExternalError("CONNECT_FAILED", f"{otherwise} within {STOP_SECONDS:.0f} s.", retry_after=5)
        time.sleep(0.1)
