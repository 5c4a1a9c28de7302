from __future__ import annotations

import pytest

from orion import profiles
from orion.errors import UserError
from orion.profiles import Profile

ALL = [profiles.of(name) for name in profiles.NAMES]


@pytest.mark.parametrize("profile", ALL, ids=lambda p: p.name)
def test_each_setting_is_said_once_and_says_what_it_trades(profile: Profile) -> None:
    for settings in (profile.producer, profile.consumer, profile.topic, profile.broker, profile.statement):
        names = [setting.name for setting in settings]
        assert len(names) == len(set(names))
        assert all(setting.value and setting.trades.endswith(".") for setting in settings)


@pytest.mark.parametrize("profile", ALL, ids=lambda p: p.name)
def test_no_producer_asks_for_idempotence_without_acks_of_all(profile: Profile) -> None:
    producer = profile.producer_settings()
    assert producer.get("enable.idempotence", "true") == "false" or producer.get("acks", "all") == "all"
    # Left unsaid, Java's default is idempotence: with other acks it must be said.
    assert producer.get("acks", "all") == "all" or producer["enable.idempotence"] == "false"


@pytest.mark.parametrize("profile", ALL, ids=lambda p: p.name)
def test_strict_order_and_transactions_beat_the_profile(profile: Profile) -> None:
    strict = profile.producer_settings(strict=True)
    assert (strict["acks"], strict["enable.idempotence"]) == ("all", "true")
    assert int(strict["max.in.flight.requests.per.connection"]) <= 5
    assert "delivery.timeout.ms" not in strict  # may not be longer than a transaction


def test_a_session_is_as_short_as_brokers_allow_and_holds_three_heartbeats() -> None:
    consumer = profiles.of("availability").consumer_settings()
    assert int(consumer["session.timeout.ms"]) >= 6000  # group.min.session.timeout.ms
    assert int(consumer["heartbeat.interval.ms"]) * 3 <= int(consumer["session.timeout.ms"])


@pytest.mark.parametrize(("brokers", "copies", "in_sync"), [(1, 1, "1"), (2, 2, "2"), (3, 3, "2"), (9, 3, "2")])
def test_a_topic_takes_as_many_copies_as_there_are_brokers_for(brokers: int, copies: int, in_sync: str) -> None:
    durable = profiles.of("durability")
    assert durable.replication(brokers) == copies
    config = durable.topic_config(brokers)
    assert config["min.insync.replicas"] == in_sync
    assert config["unclean.leader.election.enable"] == "false"
    assert not {"partitions", "replication.factor"} & set(config)


def test_copies_that_somebody_asks_for_bound_those_in_sync() -> None:
    assert profiles.of("durability").topic_config(3, replication=1)["min.insync.replicas"] == "1"


def test_a_profile_without_opinion_leaves_it_to_the_cluster() -> None:
    latency = profiles.of("latency")
    assert (latency.partitions(), latency.replication(3), latency.topic_config(3)) == (None, None, {})
    assert profiles.of("throughput").partitions() == 6


def test_a_statements_settings_are_its_own_and_its_lanes() -> None:
    fast = profiles.of("latency")
    assert fast.statement_settings() == {"trigger_ms": "0", "max_records_per_batch": "10000"}
    assert fast.lane_settings() == {"linger.ms": "0", "compression.type": "none"}


def test_a_name_is_found_in_any_case_and_a_near_one_is_offered() -> None:
    assert profiles.of(" Latency").name == "latency"
    with pytest.raises(UserError) as caught:
        profiles.of("durable")
    assert caught.value.code == "UNKNOWN_PROFILE"
    assert caught.value.hint == "Did you mean durability?"
