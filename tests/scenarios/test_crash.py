"""kill -9 in the middle of work, and a new start: the results are as if nothing had happened."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from orion.hub.kafka import Kafka
from orion.hub.records import Outgoing
from orion.hub.running import Running
from orion.hub.writer import Writer
from tests.faults.processes import SHORT_LIVED
from tests.required import longest
from tests.scenarios.conftest import everything

SCRIPT = """
CREATE STREAM cr (k STRING KEY, id BIGINT, v INT) WITH (kafka_topic='cr', value_format='JSON', partitions=2);
CREATE STREAM cr_clean AS SELECT k, id, v FROM cr WHERE v >= 0 EMIT CHANGES;
CREATE TABLE cr_counts AS SELECT k, COUNT(*) AS n, SUM(v) AS s FROM cr_clean GROUP BY k EMIT CHANGES;
CREATE TABLE cr_heavy AS SELECT k, COUNT(*) AS n FROM cr_clean GROUP BY k HAVING COUNT(*) > 5 EMIT CHANGES;
CREATE SINK CONNECTOR cr_lake WITH ('connector.class'='delta', 'topics'='CR_CLEAN', 'path'='{lake}');
"""
RECORDS = 6_000
START_S = 240.0
# Every task has a Python worker, and two cores take long to start many; compiling takes longer than these few rows.
SETTINGS = {
    "ORION_ENGINE__MASTER": "local[3]",
    "ORION_ENGINE__CONF": '{"spark.sql.codegen.wholeStage": "false", "spark.databricks.delta.snapshotPartitions": "1"}',
}


class Server:
    """`orion up` as a process of its own, on one data folder."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.process: subprocess.Popen[bytes] | None = None

    def launch(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Begin to start, and don't wait."""
        command = [sys.executable, "-m", "orion", "--data", str(self.data), "up", "--port", "0", *arguments]
        with (self.data.parent / "up.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={**SHORT_LIVED, **SETTINGS}
            )
        return self.process

    def start(self, *arguments: str) -> Running:
        process = self.launch(*arguments)
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            found = Running.read(self.data)
            if found is not None and found.pid == process.pid:
                return found
            if process.poll() is not None:
                break
            time.sleep(0.1)
        pytest.fail((self.data.parent / "up.log").read_text()[-2000:])

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=150)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path / "data")
    yield made
    if made.process is not None and made.process.poll() is None:
        made.kill()


def children_of(data: Path) -> list[int]:
    """Processes that were started for this data folder and still run."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if str(data).encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def sql(url: str, text: str) -> Any:
    import httpx

    answer = httpx.post(f"{url}/ksql", json={"ksql": text}, timeout=120)
    assert answer.status_code == 200, answer.text
    return answer.json()


def wait_until_drained(url: str, deadline_s: float = 240.0) -> None:
    end = time.monotonic() + deadline_s
    calm = 0
    while time.monotonic() < end:
        queries = sql(url, "SHOW QUERIES;")[0]["queries"] + sql(url, "SHOW CONNECTORS;")[0]["connectors"]
        calm = calm + 1 if queries and all(q["lag"] == 0 and q["state"] == "RUNNING" for q in queries) else 0
        if calm >= 3:
            return
        time.sleep(0.3)
    pytest.fail(f"still behind: {queries}")


@longest
@pytest.mark.timeout(640)
def test_results_are_as_if_nothing_had_happened(server: Server, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    script = tmp_path / "script.sql"
    script.write_text(SCRIPT.format(lake=lake))
    running = server.start("--file", str(script))
    kafka = Kafka(running.bootstrap)
    wait(lambda: len(sql(running.url, "SHOW CONNECTORS;")[0]["connectors"]) == 1, "the script didn't run", 240)
    with SchemaRegistryClient({"url": running.registry}) as registry:
        assert registry.register_schema("cr-value", Schema('"string"', "AVRO")) == 1
    expected = feed(kafka, range(RECORDS // 2))
    # Killed while the queries are in the middle of reading what was just written.
    wait(lambda: sum(kafka.end_offsets("CR_CLEAN").values()) > 0, "nothing was written")
    server.kill()
    wait_until_gone(server.data)

    running = server.start()
    kafka = Kafka(running.bootstrap)
    with SchemaRegistryClient({"url": running.registry}) as registry:
        assert registry.get_latest_version("cr-value").schema_id == 1
        assert registry.register_schema("cr-value", Schema('["null", "string"]', "AVRO")) == 2
    expected += feed(kafka, range(RECORDS // 2, RECORDS))
    wait_until_drained(running.url)

    ids = [json.loads(r.value or b"")["ID"] for r in everything(kafka, "CR_CLEAN")]
    assert Counter(ids) == Counter(n for n in range(RECORDS) if n % 10)
    counts = {r.key: json.loads(r.value or b"")["N"] for r in everything(kafka, "CR_COUNTS")}
    assert counts == {k.encode(): n for k, n in expected.items()}
    heavy = {r.key: json.loads(r.value or b"")["N"] for r in everything(kafka, "CR_HEAVY")}
    assert heavy == counts
    assert server.stop() == 0
    assert lake_ids(lake) == Counter(ids)
    wait_until_gone(server.data)


def feed(kafka: Kafka, numbers: range) -> Counter[str]:
    """Every tenth is one that the query drops; how many of each key it keeps."""
    kept: Counter[str] = Counter()
    writer = Writer(kafka, "cr")
    for n in numbers:
        key = f"k{n % 7}"
        value = {"id": n, "v": 1 if n % 10 else -1}
        writer.send(Outgoing(json.dumps(value).encode(), key.encode(), timestamp=1_000 + n))
        kept[key] += bool(n % 10)
    writer.close()
    assert writer.tally.acknowledged == len(numbers)
    return kept


def wait_until_gone(data: Path) -> None:
    """No process is left behind, however Orion ended."""
    wait(lambda: not children_of(data), "a process is left behind", 30)


def wait(condition: Callable[[], bool], complaint: str, deadline_s: float = 240.0) -> None:
    end = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < end, complaint
        time.sleep(0.02)


def lake_ids(lake: Path) -> Counter[int]:
    """The ids in the table's current files, by Delta's log and Arrow: Orion's own Spark is not asked."""
    import pyarrow.parquet as pq

    files: set[str] = set()
    for entry in sorted((lake / "_delta_log").glob("*.json")):
        for line in entry.read_text().splitlines():
            action = json.loads(line)
            if "add" in action:
                files.add(action["add"]["path"])
            if "remove" in action:
                files.discard(action["remove"]["path"])
    return Counter(i for f in files for i in pq.read_table(lake / f).column("ID").to_pylist())
