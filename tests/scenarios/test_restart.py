"""What a new start of the server reads of the changelogs: what came since the stores were seen last, or all of it."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lmdb
import msgpack
import pytest
from typer.testing import CliRunner

from orion.cli import app
from orion.hub.kafka import Kafka
from orion.hub.records import Outgoing
from orion.hub.writer import send_all
from tests.required import long
from tests.scenarios.conftest import everything
from tests.scenarios.test_crash import Server, sql, wait

KEYS = 5_000
SCRIPT = """
CREATE STREAM rs (k STRING KEY, v INT) WITH (kafka_topic='rs', value_format='JSON', partitions=1);
CREATE TABLE rs_counts AS SELECT k, COUNT(*) AS n FROM rs GROUP BY k EMIT CHANGES;
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path / "data")
    yield made
    if made.process is not None and made.process.poll() is None:
        made.kill()


def feed(kafka: Kafka, keys: range) -> None:
    send_all(kafka, "rs", [Outgoing(b'{"v": 1}', b"k%d" % key) for key in keys])


def find_store(data: Path) -> Path:
    return next(data.glob("checkpoints/*/tasks/0/0"))


def read_position(store: Path) -> int:
    """Up to which offset a store is known to have everything; read from outside while it may be written."""
    with lmdb.open(str(store), readonly=True, lock=False) as env, env.begin() as txn:
        told = msgpack.unpackb(txn.get(b"n") or b"\xc0")
    return told["position"] if isinstance(told, dict) else 0


def find_changelog(kafka: Kafka) -> str:
    return next(topic.name for topic in kafka.topics() if topic.name.endswith("-changelog"))


def count_first(kafka: Kafka) -> int:
    """How often the first key was counted, by the last result."""
    counts = [
        json.loads(record.value or b"{}")["N"] for record in everything(kafka, "RS_COUNTS") if record.key == b"k0"
    ]
    return counts[-1] if counts else 0


def start_and_count(server: Server) -> dict[str, Any]:
    """Start the server, feed a record more, and await its count; what the start has read of the changelog."""
    running = server.start()
    kafka = Kafka(running.bootstrap)
    before = count_first(kafka)
    feed(kafka, range(1))
    wait(lambda: count_first(kafka) > before, "the record wasn't counted")
    assert count_first(kafka) == before + 1

    def find_restore() -> dict[str, Any]:
        (query,) = sql(running.url, "SHOW QUERIES;")[0]["queries"]
        return dict(query["stateRestore"] or {})

    wait(lambda: find_restore().get("state") == "DONE", "nothing is told of the state")
    return find_restore()


@long
@pytest.mark.timeout(640)
def test_a_restart_reads_what_came_last_where_the_stores_are_whole(server: Server, tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    script.write_text(SCRIPT)
    running = server.start("--file", str(script))
    kafka = Kafka(running.bootstrap)
    wait(lambda: len(sql(running.url, "SHOW QUERIES;")[0]["queries"]) == 1, "the script didn't run")
    feed(kafka, range(KEYS))
    wait(lambda: len(everything(kafka, "RS_COUNTS")) == KEYS, "not everything was counted")
    filled = kafka.end_offsets(find_changelog(kafka))[0]
    assert filled > KEYS

    def is_positioned() -> bool:
        feed(kafka, range(1))
        return read_position(find_store(server.data)) >= filled

    wait_slowly(is_positioned)
    wait(lambda: count_first(kafka) == sum(kafka.end_offsets("rs").values()) - KEYS + 1, "a record wasn't counted")
    assert server.stop() == 0

    told = start_and_count(server)
    assert told["records"] < KEYS // 5, told
    listed = CliRunner().invoke(app, ["--data", str(server.data), "state", "list", "--json"])
    assert listed.exit_code == 0, listed.output
    assert json.loads(listed.stdout)[0]["restored"] == f"{told['records']:,} records read"
    assert server.stop() == 0

    # What is counted is what is read: without its stores the same start reads all there is.
    shutil.rmtree(find_store(server.data).parents[1])
    told = start_and_count(server)
    assert told["records"] >= KEYS, told
    assert told["percent"] == 100
    assert server.stop() == 0


def wait_slowly(condition: Any, deadline_s: float = 180.0) -> None:
    """The store is seen to be right twice a minute: a record a second is enough to see it."""
    end = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < end, "the store is never seen to be right"
        time.sleep(1.0)
