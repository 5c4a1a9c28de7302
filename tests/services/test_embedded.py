"""The embedded cluster with real brokers: it comes back, it refuses what it must, and it leaves nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.cimpl import NewTopic

from orion.errors import ConfigError, Conflict, ExternalError
from orion.hub import cluster_data
from orion.hub.embedded import EmbeddedCluster
from orion.hub.kafka import Kafka

OWNER = """
import sys, threading
from pathlib import Path
from orion.hub.embedded import EmbeddedCluster
cluster = EmbeddedCluster.start(Path(sys.argv[1]))
print(*cluster.pids, flush=True)
threading.Event().wait()
"""


def wait_until(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not so within {seconds} s"
        time.sleep(0.05)


def runs(pid: int) -> bool:
    """Whether the process is there; one that has ended and isn't collected yet doesn't count."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status not in "ZX"


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def admin(cluster: EmbeddedCluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})


def create(cluster: EmbeddedCluster, topic: str, partitions: int = 1) -> None:
    client = admin(cluster)
    client.create_topics([NewTopic(topic, partitions)])[topic].result(30)


def produce(cluster: EmbeddedCluster, topic: str, value: bytes) -> None:
    """One record in a transaction of its own, stamped in the distant past as event times may be."""
    settings = {"bootstrap.servers": cluster.bootstrap, "transactional.id": "test", "log_level": 0}
    producer = Producer(settings)
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, value, timestamp=1000)
    producer.commit_transaction(30)


def consume(cluster: EmbeddedCluster, topic: str) -> bytes | None:
    """The topic's one record. Read without joining the group: this is about records, not about coordinators."""
    settings = {"bootstrap.servers": cluster.bootstrap, "group.id": "test", "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, "isolation.level": "read_committed", "log_level": 0})
    consumer.assign(
        [TopicPartition(topic, n, 0) for n in admin(cluster).list_topics(topic, 10).topics[topic].partitions]
    )
    try:
        message = consumer.poll(60)
    finally:
        consumer.close()
    assert message is not None
    assert message.error() is None
    value: bytes | None = message.value()
    return value


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that runs a cluster on `tmp_path / "data"`; the first line it says is the broker's pid."""
    command = [sys.executable, "-c", OWNER, str(tmp_path / "data")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def test_a_restart_brings_topics_records_and_ports_back(tmp_path: Path) -> None:
    with EmbeddedCluster.start(tmp_path) as cluster:
        create(cluster, "plays", partitions=2)
        produce(cluster, "plays", b"one")
        first, pids = cluster.bootstrap, cluster.pids
    assert not any(runs(pid) for pid in pids)
    with EmbeddedCluster.start(tmp_path) as cluster:
        assert cluster.bootstrap == first
        assert len(admin(cluster).list_topics(timeout=10).topics["plays"].partitions) == 2
        assert consume(cluster, "plays") == b"one"
        cluster.check()


def test_nothing_outlives_an_owner_that_is_killed(tmp_path: Path, owner: subprocess.Popen[str]) -> None:
    broker = int(first_line(owner))
    leash = parent(broker)
    assert parent(leash) == owner.pid
    assert os.getsid(broker) != os.getsid(owner.pid), "Ctrl-C in the owner's terminal must not reach the broker"
    with pytest.raises(Conflict, match=f"process {owner.pid}") as caught:
        EmbeddedCluster.start(tmp_path / "data")
    assert caught.value.code == "DATA_IN_USE"
    owner.kill()
    wait_until(lambda: not runs(broker) and not runs(leash), 15)


def test_a_start_waits_for_the_broker_of_a_killed_owner(tmp_path: Path, owner: subprocess.Popen[str]) -> None:
    broker = int(first_line(owner))
    os.kill(broker, signal.SIGSTOP)  # it can't end as quickly as it would
    owner.kill()
    owner.wait(10)
    said: list[str] = []

    def hear(line: str) -> None:
        said.append(line)
        if "earlier broker" in line:
            os.kill(broker, signal.SIGCONT)

    with EmbeddedCluster.start(tmp_path / "data", progress=hear):
        assert f"waiting for an earlier broker (process {broker}) to end" in said
        assert not runs(broker)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills a process with its parent")
def test_a_broker_dies_with_its_leash(owner: subprocess.Popen[str]) -> None:
    broker = int(first_line(owner))
    os.kill(parent(broker), signal.SIGKILL)
    wait_until(lambda: not runs(broker), 15)


def test_a_broker_that_is_killed_is_noticed_and_comes_back(tmp_path: Path) -> None:
    with EmbeddedCluster.start(tmp_path) as cluster:
        create(cluster, "plays")
        produce(cluster, "plays", b"one")
        # Read once before: a commit is acknowledged before its markers are written, and only then can it be read.
        assert consume(cluster, "plays") == b"one"
        os.kill(cluster.pids[0], signal.SIGKILL)
        wait_until(lambda: not runs(cluster.pids[0]), 10)

        def noticed() -> bool:
            try:
                cluster.check()
            except ExternalError as error:
                return error.code == "BROKER_FAILED" and "killed" in error.message
            return False

        wait_until(noticed, 10)
    with EmbeddedCluster.start(tmp_path) as cluster:
        assert consume(cluster, "plays") == b"one"


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(ConfigError, match=str(port)) as caught:
            EmbeddedCluster.start(tmp_path, port=port)
    assert caught.value.code == "PORT_TAKEN"
    with EmbeddedCluster.start(tmp_path, port=port) as cluster:
        assert cluster.bootstrap == f"127.0.0.1:{port}"


def test_a_folder_that_isnt_as_it_was_left(tmp_path: Path) -> None:
    EmbeddedCluster.start(tmp_path).stop()
    with pytest.raises(ConfigError) as refused:
        EmbeddedCluster.start(tmp_path, brokers=3)
    assert refused.value.code == "DATA_OF_ANOTHER_CLUSTER"
    meta = tmp_path / "broker-1" / "data" / "meta.properties"
    meta.write_text(meta.read_text().replace("version=1", "version=99"))
    with pytest.raises(ExternalError, match=r"meta\.properties") as caught:
        EmbeddedCluster.start(tmp_path)
    assert caught.value.code == "BROKER_FAILED"
    with pytest.raises(ConfigError) as refused:
        EmbeddedCluster.start(tmp_path, heap="lots")
    assert refused.value.code == "HEAP_INVALID"
    meta.write_text(meta.read_text().replace("cluster.id=", "cluster.id=x"))
    with pytest.raises(ConfigError) as refused:
        EmbeddedCluster.start(tmp_path)
    assert refused.value.code == "DATA_OF_ANOTHER_CLUSTER"


def test_three_brokers_keep_three_copies(tmp_path: Path) -> None:
    with EmbeddedCluster.start(tmp_path, brokers=3, heap="256m") as cluster:
        assert len(cluster.pids) == 3
        create(cluster, "plays")
        produce(cluster, "plays", b"one")
        assert consume(cluster, "plays") == b"one"
        topics = admin(cluster).list_topics(timeout=10).topics
        for topic in ("plays", "__consumer_offsets", "__transaction_state"):
            assert all(len(partition.replicas) == 3 for partition in topics[topic].partitions.values())
        resource = ConfigResource("TOPIC", "plays")
        client = admin(cluster)
        settings = client.describe_configs([resource])[resource].result(10)
        assert settings["min.insync.replicas"].value == "2"
        pids = cluster.pids
    assert not any(runs(pid) for pid in pids)


def test_a_port_that_is_lost_after_it_was_chosen_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that start together find the same port free: one gets it, and the other must not take it for its own."""
    with EmbeddedCluster.start(tmp_path / "first") as first:
        taken = int(first.bootstrap.rpartition(":")[2])
        truth, asked = cluster_data.is_free, []

        def is_free(port: int) -> bool:
            asked.append(port)
            return port == taken if len(asked) == 1 else truth(port)

        monkeypatch.setattr(cluster_data, "is_free", is_free)
        with EmbeddedCluster.start(tmp_path / "second", preferred=taken) as second:
            assert asked[0] == taken
            assert second.bootstrap != first.bootstrap
            assert Kafka(second.bootstrap).cluster_id() != Kafka(first.bootstrap).cluster_id()
