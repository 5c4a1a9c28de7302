"""What a client is told: defaults, profile, settings; and that librdkafka takes it."""

from __future__ import annotations

import logging
import re
import time
from typing import Any

import pytest

from orion import profiles
from orion.cli.consume import reading_of
from orion.cli.produce import writing_of
from orion.cli.topics import partitions_of
from orion.clients.settings import producer_settings
from orion.errors import ConfigError, UserError
from orion.hub.client_settings import translated_settings
from orion.hub.kafka import Kafka
from orion.hub.sending import Sender

NOBODY = Kafka("127.0.0.1:1")


def settings(profile: str | None = None, strict: bool = False, **given: Any) -> dict[str, Any]:
    return producer_settings(profile, {k.replace("_", "."): v for k, v in given.items()}, strict=strict, timeout=30.0)


def test_without_a_profile_nothing_is_lost_repeated_or_out_of_order() -> None:
    assert settings() == {
        "acks": "all",
        "enable.idempotence": "true",
        "max.in.flight.requests.per.connection": "5",
        "message.timeout.ms": 30000,
    }


def test_what_is_said_beats_the_profile_and_the_profile_the_defaults() -> None:
    assert settings("throughput")["linger.ms"] == "50"
    assert settings("throughput", linger_ms=7)["linger.ms"] == 7
    assert settings("availability")["message.timeout.ms"] == "300000"
    # acks of less than all can't be idempotent.
    assert settings(acks="0")["enable.idempotence"] == "false"


@pytest.mark.parametrize("profile", profiles.NAMES)
def test_order_and_transactions_keep_acks_of_all(profile: str) -> None:
    strict = settings(profile, strict=True)
    assert (strict["acks"], strict["enable.idempotence"]) == ("all", "true")
    assert strict["message.timeout.ms"] == 30000


@pytest.mark.parametrize("lax", [{"acks": 1}, {"enable_idempotence": False}, {"max_in_flight": 6}])
def test_who_asks_for_less_than_order_needs_is_refused(lax: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        settings(strict=True, **lax)
    assert caught.value.code == "NOT_STRICT"


@pytest.mark.parametrize("profile", profiles.NAMES)
def test_a_profile_reaches_librdkafka(profile: str, caplog: pytest.LogCaptureFixture) -> None:
    """As the client itself tells it: under the name it goes by inside, which may be an older one."""
    caplog.set_level(logging.DEBUG, "orion.hub.kafka")
    wanted = settings(profile)
    sender = Sender(NOBODY, {**wanted, "debug": "conf"})
    deadline = time.monotonic() + 5.0
    while not (found := _found(caplog, wanted)) and time.monotonic() < deadline:
        sender.poll(0.05)
    assert found == {name: "-1" if value == "all" else str(value) for name, value in wanted.items()}


OLDER = {
    "acks": "request.required.acks",
    "linger.ms": "queue.buffering.max.ms",
    "compression.type": "compression.codec",
}


def _found(caplog: pytest.LogCaptureFixture, wanted: dict[str, Any]) -> dict[str, str] | None:
    """The settings as the client tells them, once it has told all of them."""
    told = _told(caplog)
    found = {name: told.get(name, told.get(OLDER.get(name, name), "")) for name in wanted}
    return found if all(found.values()) else None


def _told(caplog: pytest.LogCaptureFixture) -> dict[str, str]:
    return dict(re.findall(r"\]:\s+([a-z.]+) = (\S+)", caplog.text))


@pytest.mark.parametrize("profile", profiles.NAMES)
def test_a_consumer_takes_the_profile(profile: str) -> None:
    NOBODY.consumer("group", **translated_settings(profiles.of(profile).consumer_settings())).close()


def test_a_flag_of_produce_beats_the_profile() -> None:
    fits = {"batch.size": 1_000_000, "message.max.bytes": 1_000_000}
    plain = writing_of(None, None, None, None, fits)
    assert plain == {"acks": "all", "timeout": 30.0, "settings": {"compression.type": "none", **fits}}
    much = writing_of("throughput", None, None, None, fits)
    assert much["acks"] == "1"
    assert (much["settings"]["compression.type"], much["settings"]["batch.size"]) == ("lz4", 131072)
    assert not {"acks", "enable.idempotence"} & set(much["settings"])
    assert writing_of("throughput", "all", "zstd", None, fits)["settings"]["compression.type"] == "zstd"
    assert writing_of("throughput", "all", None, None, fits)["acks"] == "all"
    assert writing_of("availability", None, None, None, fits)["timeout"] == 300.0
    assert writing_of("availability", None, None, 5.0, fits)["timeout"] == 5.0
    # A topic of small records takes no large batches, whatever the profile.
    assert writing_of("throughput", None, None, None, fits | {"batch.size": 1000})["settings"]["batch.size"] == 1000


def test_a_flag_of_consume_beats_the_profile() -> None:
    assert reading_of(None, None, None) == {"commit": "auto", "isolation": "read_committed", "settings": {}}
    assert reading_of("durability", None, None)["commit"] == "sync"
    assert reading_of("durability", "async", "read_uncommitted") == {
        "commit": "async",
        "isolation": "read_uncommitted",
        "settings": {},
    }
    assert reading_of("throughput", None, None)["settings"] == {"fetch.min.bytes": "100000", "fetch.wait.max.ms": "500"}


def test_strict_order_is_one_partition() -> None:
    throughput = profiles.of("throughput")
    assert partitions_of(None, True, throughput) == 1
    assert partitions_of(1, True, None) == 1
    assert partitions_of(None, False, throughput) == 6
    assert partitions_of(3, False, throughput) == 3
    assert partitions_of(None, False, None) is None
    with pytest.raises(UserError) as caught:
        partitions_of(2, True, None)
    assert caught.value.code == "NOT_ORDERED"
