"""One world: a server with its statements on the brokers of the stage, what is fed to it, and the oracle over it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx

from orion.hub.kafka import Kafka
from tests.faults import checkpoints
from tests.faults.brokers import Brokers
from tests.faults.checkpoints import Checkpoint
from tests.faults.feed import Feed
from tests.faults.oracle import Names, Oracle
from tests.faults.outputs import Outputs
from tests.faults.processes import wait_until
from tests.faults.server import Server

RATE = 100
SCRIPT = """
CREATE STREAM {w}_events (k STRING KEY, seq BIGINT, v INT)
  WITH (kafka_topic='{w}_events', value_format='JSON', partitions=2);
CREATE STREAM {w}_clean AS SELECT k, seq, v FROM {w}_events WHERE v >= 0 EMIT CHANGES;
CREATE STREAM {w}_even AS SELECT k, seq, v FROM {w}_clean WHERE v % 2 = 0 EMIT CHANGES;
CREATE STREAM {w}_odd AS SELECT k, seq, v FROM {w}_clean WHERE v % 2 = 1 EMIT CHANGES;
CREATE TABLE {w}_counts AS SELECT k, COUNT(*) AS n, SUM(v) AS s FROM {w}_clean GROUP BY k EMIT CHANGES;
CREATE TABLE {w}_heavy AS SELECT k, COUNT(*) AS n FROM {w}_clean GROUP BY k HAVING COUNT(*) > 5 EMIT CHANGES;
CREATE TABLE {w}_minutes AS SELECT k, COUNT(*) AS n FROM {w}_events
  WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY k EMIT CHANGES;
CREATE SINK CONNECTOR {w}_lake WITH ('connector.class'='delta', 'topics'='{W}_CLEAN', 'path'='{lake}');
"""
_MADE = re.compile(r"CREATE (?P<statement>(?:STREAM|TABLE) (?P<sink>\w+) AS .*)", re.DOTALL)
_WARM_UP = 100
_LARGEST = "10000000"


class World:
    """Lives through one fault after the other, as long as the oracle agrees."""

    def __init__(self, folder: Path, brokers: Brokers, name: str, seed: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.brokers = folder, brokers
        self.kafka = Kafka(brokers.bootstrap, {"log_level": "0"})
        self.names = Names(name)
        self.lake = folder / "lake"
        self.server = Server(brokers.bootstrap, folder / "data", name)
        self.redone = 0
        self.repeated = 0  # records that Kafka itself has taken twice
        self._counted: set[tuple[str, int]] = set()
        self._restarts: dict[str, int] = {}
        self._next_glance = 0.0
        self._under_way: dict[str, int | None] = {}
        self._closing: list[Callable[[], None]] = []
        try:
            self._open(name, seed)
        except BaseException:
            self.close()
            raise

    def _open(self, name: str, seed: int) -> None:
        script = self.folder / "script.sql"
        script.write_text(SCRIPT.format(w=name, W=name.upper(), lake=self.lake))
        self.kafka.create_topic(self.names.input, 2, config={"max.message.bytes": _LARGEST})
        self._closing.append(lambda: self.server.clear())
        self.server.start("--file", str(script))
        wait_until(lambda: len(self.server.states()) == 7, "the script didn't run", 240)
        self.ids = {sink: status.id for sink, status in self.server.states().items()}
        self.feed = Feed(self.kafka, self.names.input, seed, self.folder / "acks.jsonl", RATE)
        self._closing.append(self.feed.close)
        self.oracle = Oracle(self.names, self.feed, self.lake)
        self._outputs = Outputs(self.kafka, self.names.outputs)
        self._closing.append(self._outputs.close)
        self.feed.flow()
        self.feed.more(_WARM_UP)
        self.feed.pause()
        self.settle()  # the first batches of a new JVM take long, and no fault is to blame for that

    def close(self) -> None:
        for close in reversed(self._closing):
            with suppress(Exception):  # the next one is closed all the same
                close()
        self._closing.clear()

    def closing(self, close: Callable[[], None]) -> None:
        """Do this too when the world ends."""
        self._closing.append(close)

    def checkpoint(self, sink: str) -> Checkpoint:
        return checkpoints.of_query(self.server.data, self.ids[sink])

    def replace(self, sink: str, properties: dict[str, str]) -> None:
        """Run a query's own statement again, as CREATE OR REPLACE."""
        script = SCRIPT.format(w=self.names.world, W=self.names.world.upper(), lake=self.lake)
        made = (_MADE.fullmatch(text.strip()) for text in script.split(";"))
        statement = next(one["statement"] for one in made if one is not None and one["sink"].upper() == sink)
        self.server.sql(f"CREATE OR REPLACE {statement};", 120, properties)

    def cut_off(self) -> None:
        """The server has just ended: every batch that has begun and isn't done will be done again."""
        for sink in self.ids:
            self._count(sink)

    def glance(self) -> None:
        """Notice queries that the server itself has started again. Looking costs something: once a second is enough."""
        if time.monotonic() < self._next_glance:
            return
        self._next_glance = time.monotonic() + 1.0
        with suppress(httpx.HTTPError, AssertionError):
            for sink, status in self.server.states().items():
                if status.state != "RUNNING" or status.restarts > self._restarts.get(sink, 0):
                    self._count(sink, self._under_way.pop(sink, None))
                self._restarts[sink] = status.restarts

    def struck(self) -> None:
        """Remember which batches are under way: those of queries that start again are done again."""
        self._under_way = {sink: self.checkpoint(sink).cut_off() for sink in self.ids}

    def _count(self, sink: str, known: int | None = None) -> None:
        checkpoint = self.checkpoint(sink)
        for batch in (checkpoint.cut_off(), known):
            if batch is not None and (sink, batch) not in self._counted:
                self._counted.add((sink, batch))
                self.redone += checkpoint.rows(batch)

    def restart(self) -> None:
        """After a kill: what was cut off is counted, then the server comes back."""
        self.cut_off()
        self.come_back()

    def come_back(self) -> None:
        """The server starts again; what was cut off is counted already."""
        self._restarts.clear()
        self.server.start()

    def settle(self, deadline_s: float = 360.0) -> None:
        """Wait until every output is what it must be and every statement runs; the feed is at rest."""
        limit = time.monotonic() + deadline_s
        self.repeated = self.oracle.take_log(self._outputs.log(self.names.input))
        calm, said = 0, ""
        while calm < 3:
            said = self.oracle.look(self._outputs.arrived())
            if self.oracle.wrong:
                raise AssertionError("; ".join(self.oracle.wrong[:5]))
            calm = calm + 1 if not said and self._all_run() else 0
            if time.monotonic() > limit:
                raise AssertionError(f"not drained after {deadline_s:.0f} s: {said or self._states()}")
            if said:
                self.glance()
                time.sleep(0.5)

    def _all_run(self) -> bool:
        with suppress(httpx.HTTPError, AssertionError):
            return all(status.state == "RUNNING" for status in self.server.states().values())
        return False

    def _states(self) -> str:
        with suppress(httpx.HTTPError, AssertionError):
            return str(self.server.states())
        return self.server.said()
