"""The settings that clients get, and the first look at an address. No broker."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from orion.errors import ConfigError, ExternalError
from orion.hub import kafka as module
from orion.hub.kafka import Kafka


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The settings that the client library was given."""
    given: dict[str, Any] = {}

    def capture(settings: dict[str, Any], **keywords: Any) -> None:
        given.update(settings, **keywords)

    monkeypatch.setattr(module, "Producer", capture)
    monkeypatch.setattr(module, "Consumer", capture)
    return given


def test_a_producer_places_keys_as_java_does_whatever_is_asked(made: dict[str, Any]) -> None:
    Kafka("a:1", {"client.id": "me"}).producer(**{"linger.ms": 5, "partitioner": "random"})
    assert made["partitioner"] == "murmur2_random"
    assert (made["bootstrap.servers"], made["client.id"], made["linger.ms"]) == ("a:1", "me", 5)


def test_a_consumer_reads_what_is_committed_and_commits_nothing_by_itself(made: dict[str, Any]) -> None:
    Kafka("a:1").consumer("team")
    assert made["group.id"] == "team"
    assert made["isolation.level"] == "read_committed"
    assert made["enable.auto.commit"] is False
    assert made["fetch.queue.backoff.ms"] <= 100


def test_settings_of_a_call_beat_those_of_the_cluster(made: dict[str, Any]) -> None:
    Kafka("a:1", {"isolation.level": "read_committed"}).consumer(None, **{"isolation.level": "read_uncommitted"})
    assert made["isolation.level"] == "read_uncommitted"
    assert made["group.id"]


def test_clients_log_through_python_and_not_to_stderr(made: dict[str, Any]) -> None:
    Kafka("a:1").producer()
    assert made["logger"].name == "orion.hub.kafka"
    assert made["logger"].handlers


def test_a_setting_that_does_not_exist_is_a_config_error() -> None:
    with pytest.raises(ConfigError) as raised:
        Kafka("127.0.0.1:1").producer(**{"linger.mss": 5})
    assert raised.value.code == "INVALID_KAFKA_SETTING"
    assert "linger.mss" in raised.value.message


def test_nothing_listening_is_said_at_once() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening: nobody else gets the port meanwhile
        with pytest.raises(ExternalError) as raised:
            Kafka(f"127.0.0.1:{closed.getsockname()[1]}").check()
    assert raised.value.code == "BROKER_UNREACHABLE"


def test_one_server_that_listens_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        Kafka(f"127.0.0.1:1,PLAINTEXT://127.0.0.1:{server.getsockname()[1]}").check()


def test_two_clusters_are_equal_by_address_and_settings() -> None:
    assert Kafka("a:1") == Kafka("a:1", {})
    assert Kafka("a:1") != Kafka("a:1", {"client.id": "me"})
    assert len({Kafka("a:1"), Kafka("a:1")}) == 1
