"""`orion topics` and the topics of `Kafka`, on a real broker."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

from orion.hub.kafka import Kafka
from tests.services.conftest import Orion


def on_a_terminal(bootstrap: str, *arguments: str, answer: str = "") -> tuple[int, str]:
    """Exit code and screen of `orion` under a terminal, where someone may type an answer."""
    mine, theirs = pty.openpty()
    command = [sys.executable, "-m", "orion", *arguments, "--bootstrap", bootstrap]
    environment = os.environ | {"COLUMNS": "120", "TERM": "xterm"}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        os.write(mine, answer.encode())
        screen = b""
        try:
            while part := os.read(mine, 65536):
                screen += part
        except OSError:
            pass  # a terminal that the last process has left
        code = process.wait(timeout=150)
    os.close(mine)
    return code, screen.decode()


def test_a_topic_from_creation_to_deletion(orion: Orion, name: str) -> None:
    orion("topics", "create", name, "--partitions", "3", "--retention", "7d", "--config", "max.message.bytes=5000")
    listed = {row[0]: row[1:4] for row in orion("topics", "list").rows}
    assert listed[name] == ["3", "1", "no"]

    described = orion("topics", "describe", name, "--json").document
    assert described["config"] == {"max.message.bytes": "5000", "retention.ms": "604800000"}
    assert [part["id"] for part in described["partitions"]] == [0, 1, 2]
    assert all(part["leader"] in part["isr"] == part["replicas"] for part in described["partitions"])

    orion("topics", "alter", name, "--partitions", "5", "--compact", "--unset", "max.message.bytes")
    described = orion("topics", "describe", name, "--json").document
    assert len(described["partitions"]) == 5
    assert described["config"] == {"cleanup.policy": "compact", "retention.ms": "604800000"}

    orion("topics", "delete", name, "--yes")
    assert name not in {row[0] for row in orion("topics", "list").rows}


def test_a_topic_by_profile_and_in_strict_order(orion: Orion, kafka: Kafka, name: str) -> None:
    made = orion("topics", "create", name, "--ordered", "--profile", "durability", "--config", "flush.ms=500")
    assert "with 1 partition of 1 copy" in made.err  # of three that the profile asks for: there is one broker
    detail = kafka.describe_topic(name)
    assert detail.topic.partitions == 1
    assert dict(detail.config) == {
        "flush.ms": "500",
        "min.insync.replicas": "1",
        "unclean.leader.election.enable": "false",
    }
    refused = orion("topics", "create", f"{name}-2", "--ordered", "--partitions", "2", code=2)
    assert "error[NOT_ORDERED]" in refused.err
    orion("produce", name, "--profile", "throughput", stdin='{"n": 1}\n')
    assert len(orion("consume", name, "--profile", "latency", "--json").lines) == 1


def test_offsets_are_shown(orion: Orion, topic: str) -> None:
    orion("produce", topic, "--partition", "1", stdin="1\n2\n")
    parts = orion("topics", "describe", topic, "--json").document["partitions"]
    assert [(part["earliest"], part["end"]) for part in parts] == [(0, 0), (0, 2), (0, 0)]
    assert "records\t2\n" in orion("topics", "describe", topic).out


def test_kafkas_own_topics_show_when_asked_for(orion: Orion, kafka: Kafka, topic: str, name: str) -> None:
    orion("consume", topic, "--group", name)  # a group makes Kafka keep offsets
    assert "__consumer_offsets" not in orion("topics", "list").out
    own = {row["name"]: row["internal"] for row in orion("topics", "list", "--internal", "--json").document}
    assert own["__consumer_offsets"] is True
    assert kafka.cluster_id()
    assert [broker.port for broker in kafka.brokers()]


def test_a_topic_that_is_there_is_a_conflict_unless_allowed(orion: Orion, topic: str) -> None:
    assert "error[TOPIC_EXISTS]" in orion("topics", "create", topic, code=4).err
    orion("topics", "create", topic, "--if-not-exists")


def test_a_missing_topic_names_the_nearest(orion: Orion, topic: str) -> None:
    for command in ("describe", "delete", "alter"):
        more = {"alter": ["--partitions", "9"], "delete": ["--yes"]}.get(command, [])
        ran = orion("topics", command, f"{topic}x", *more, code=3)
        assert "error[TOPIC_NOT_FOUND]" in ran.err
        assert f"Did you mean {topic}?" in ran.err


def test_what_kafka_refuses_is_said_in_a_line(orion: Orion, topic: str, name: str) -> None:
    new = f"{name}-new"
    for arguments, code in [
        (["create", new, "--config", "retention.mz=1"], "INVALID_TOPIC_CONFIG"),
        (["create", new, "--config", "retention.ms=soon"], "INVALID_TOPIC_CONFIG"),
        (["create", new, "--partitions", "0"], "INVALID_PARTITIONS"),
        (["create", new, "--replication", "99"], "INVALID_REPLICATION"),
        (["create", "a b"], "INVALID_TOPIC_NAME"),
        (["alter", topic, "--partitions", "2"], "INVALID_PARTITIONS"),
        (["alter", topic, "--config", "retention.mz=1"], "INVALID_TOPIC_CONFIG"),
    ]:
        ran = orion("topics", *arguments, code=2)
        assert ran.err.startswith(f"error[{code}]: ")
        assert "hint: " in ran.err
        assert ran.out == ""


def test_a_refused_number_of_partitions_leaves_the_settings_alone(orion: Orion, topic: str) -> None:
    orion("topics", "alter", topic, "--partitions", "1", "--retention", "1h", code=2)
    assert orion("topics", "describe", topic, "--json").document["config"] == {}


def test_deleting_without_anyone_to_ask_is_refused(orion: Orion, kafka: Kafka, topic: str) -> None:
    assert "error[CONFIRMATION_NEEDED]" in orion("topics", "delete", topic, code=2).err
    assert topic in {found.name for found in kafka.topics()}


def test_deleting_on_a_terminal_asks(bootstrap: str, kafka: Kafka, topic: str) -> None:
    code, screen = on_a_terminal(bootstrap, "topics", "delete", topic, answer="n\n")
    assert code == 1
    assert f"Delete {topic} (0 records)?" in screen
    assert topic in {found.name for found in kafka.topics()}
    code, screen = on_a_terminal(bootstrap, "topics", "delete", topic, answer="y\n")
    assert code == 0
    assert topic not in {found.name for found in kafka.topics()}


def test_a_terminal_sees_a_table(bootstrap: str, topic: str) -> None:
    code, screen = on_a_terminal(bootstrap, "topics", "list")
    assert code == 0
    assert "────" in screen
    assert topic in screen
    assert "\t" not in screen


def test_a_topic_is_usable_as_soon_as_it_is_made_and_free_as_soon_as_it_is_gone(kafka: Kafka, name: str) -> None:
    for _ in range(5):
        assert kafka.create_topic(name, 1)
        assert not kafka.create_topic(name, 1, exist_ok=True)
        assert kafka.end_offsets(name) == {0: 0}
        assert kafka.delete_topic(name)
        assert not kafka.delete_topic(name, missing_ok=True)
