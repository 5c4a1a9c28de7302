"""Which names are taken, and which never reach a client library."""

from __future__ import annotations

import pytest

from orion.errors import ConfigError, UserError
from orion.hub.kafka import Kafka
from orion.hub.records import Outgoing
from orion.hub.sending import Sender
from orion.hub.subscription import Subscription
from orion.security import names

UNFIT = ["\0", "a\0b", "", "a\nb", "\x7f", "\x9b31m", "\ud800", "x" * 1_001]
NOWHERE = Kafka("127.0.0.1:1")


@pytest.mark.parametrize("name", ["orders", "a.b-c_D9", "x" * 249, "..."])
def test_topics(name: str) -> None:
    names.check_topic(name)


@pytest.mark.parametrize("name", [*UNFIT, ".", "..", "a b", "a/b", "^a.*", "ä", "x" * 250, "orders\n"])
def test_what_is_no_topic(name: str) -> None:
    with pytest.raises(UserError) as refused:
        names.check_topic(name)
    assert refused.value.code == "INVALID_TOPIC_NAME"
    assert refused.value.message.isprintable()


def test_groups_are_freer() -> None:
    names.check_group("team a/Größe:1 ☃")
    for name in UNFIT:
        with pytest.raises(UserError, match="can't be a consumer group's name"):
            names.check_group(name)


@pytest.mark.parametrize("pattern", ["orders.*", "a{1,3}[b-c]+(d|e)", "(a(b(c)))", "\\\\d+"])
def test_patterns(pattern: str) -> None:
    names.check_pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    ["", "\0", "((a{1,255}){1,255}){1,255}", "(" * 21 + ")" * 21, "a" * 1_001, "(a*)*\\1", "a{99999999999999}"],
)
def test_patterns_that_would_take_the_process_along(pattern: str) -> None:
    with pytest.raises(ConfigError) as refused:
        names.check_pattern(pattern)
    assert refused.value.code == "INVALID_TOPIC_PATTERN"


@pytest.mark.parametrize("name", UNFIT)
def test_no_client_is_made_under_such_a_name(name: str) -> None:
    """librdkafka aborts the process where one is empty to it."""
    with pytest.raises(UserError):
        NOWHERE.consumer(name)
    with pytest.raises(UserError):
        NOWHERE.consumer("good", **{"group.id": name})
    with pytest.raises(UserError):
        NOWHERE.consumer("good", **{"client.id": name})
    with pytest.raises(UserError):
        NOWHERE.producer(**{"transactional.id": name})
    with pytest.raises(UserError):
        Subscription(NOWHERE, name, {})
    with pytest.raises(UserError):
        Sender(NOWHERE, {}, transactional_id=name)


@pytest.mark.parametrize("name", UNFIT)
def test_nothing_is_asked_about_such_a_name(name: str) -> None:
    for call in (
        lambda: NOWHERE.describe_topic(name),
        lambda: NOWHERE.delete_topic(name),
        lambda: NOWHERE.create_topic(name, 1),
        lambda: NOWHERE.alter_topic(name, {"retention.ms": "1"}),
        lambda: NOWHERE.present([name]),
        lambda: NOWHERE.ends_of([name]),
        lambda: NOWHERE.end_offsets(name),
        lambda: NOWHERE.describe_group(name),
        lambda: NOWHERE.delete_group(name),
    ):
        with pytest.raises(UserError) as refused:
            call()
        assert refused.value.code in ("INVALID_TOPIC_NAME", "INVALID_GROUP_NAME")


def test_settings_that_would_be_cut_short() -> None:
    for config in ({"retention.ms": "1\x002"}, {"retention.ms\0": "1"}, {"a": "\ud800"}):
        with pytest.raises(ConfigError):
            NOWHERE.create_topic("good", 1, config=config)
    names.check_settings({"ssl.ca.pem": "-----BEGIN\nMII\n-----END", "linger.ms": 5, "error_cb": print})


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "\n"])
def test_headers_and_topics_of_records(name: str) -> None:
    sender = Sender(NOWHERE, {})
    with pytest.raises(UserError) as refused:
        sender.send("good", Outgoing(b"x", headers=((name, b"1"),)))
    assert refused.value.code == "INVALID_HEADER_NAME"
    with pytest.raises(UserError) as refused:
        sender.send(name, Outgoing(b"x"))
    assert refused.value.code == "INVALID_TOPIC_NAME"


@pytest.mark.parametrize(
    ("place", "offset", "note"),
    [
        (("t\0", 0), 0, None),
        (("t", 2**31), 0, None),
        (("t", -1), 0, None),
        (("t", 0), 2**63, None),
        (("t", 0), 0, "\0"),
    ],
)
def test_places_that_kafka_s_protocol_has_no_room_for(place: tuple[str, int], offset: int, note: str | None) -> None:
    with pytest.raises(UserError):
        names.check_place(place, offset, note)
