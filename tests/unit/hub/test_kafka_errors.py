"""Each of librdkafka's errors that people meet, as Orion's."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from orion.errors import ConfigError, Conflict, ExternalError, Forbidden, NotFound, OrionError, UserError
from orion.hub.kafka_errors import Subject, translate, translated

SUBJECT = Subject("broker:9092", topic="plays", group="team", known=lambda: ["playz", "users"])


@pytest.mark.parametrize(
    ("number", "kind", "code"),
    [
        (KafkaError.UNKNOWN_TOPIC_OR_PART, NotFound, "TOPIC_NOT_FOUND"),
        (KafkaError._UNKNOWN_TOPIC, NotFound, "TOPIC_NOT_FOUND"),
        (KafkaError._UNKNOWN_PARTITION, NotFound, "PARTITION_NOT_FOUND"),
        (KafkaError.TOPIC_ALREADY_EXISTS, Conflict, "TOPIC_EXISTS"),
        (KafkaError.INVALID_CONFIG, UserError, "INVALID_TOPIC_CONFIG"),
        (KafkaError.POLICY_VIOLATION, UserError, "INVALID_TOPIC_CONFIG"),
        (KafkaError.INVALID_PARTITIONS, UserError, "INVALID_PARTITIONS"),
        (KafkaError.INVALID_REPLICATION_FACTOR, UserError, "INVALID_REPLICATION"),
        (KafkaError.TOPIC_EXCEPTION, UserError, "INVALID_TOPIC_NAME"),
        (KafkaError.INVALID_RECORD, UserError, "RECORD_REFUSED"),
        (KafkaError.INVALID_TIMESTAMP, UserError, "RECORD_REFUSED"),
        (KafkaError.GROUP_ID_NOT_FOUND, NotFound, "GROUP_NOT_FOUND"),
        (KafkaError.NON_EMPTY_GROUP, Conflict, "GROUP_ACTIVE"),
        (KafkaError._TRANSPORT, ExternalError, "BROKER_UNREACHABLE"),
        (KafkaError._ALL_BROKERS_DOWN, ExternalError, "BROKER_UNREACHABLE"),
        (KafkaError._TIMED_OUT, ExternalError, "BROKER_UNREACHABLE"),
        (KafkaError._MSG_TIMED_OUT, ExternalError, "BROKER_UNREACHABLE"),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, Forbidden, "NOT_AUTHORIZED"),
        (KafkaError.GROUP_AUTHORIZATION_FAILED, Forbidden, "NOT_AUTHORIZED"),
        (KafkaError.CLUSTER_AUTHORIZATION_FAILED, Forbidden, "NOT_AUTHORIZED"),
        (KafkaError.SASL_AUTHENTICATION_FAILED, Forbidden, "NOT_AUTHENTICATED"),
        (KafkaError.MSG_SIZE_TOO_LARGE, UserError, "RECORD_TOO_LARGE"),
        (KafkaError._INVALID_ARG, ConfigError, "INVALID_KAFKA_SETTING"),
        (KafkaError.NOT_ENOUGH_REPLICAS, ExternalError, "NOT_ENOUGH_REPLICAS"),
        (KafkaError.UNKNOWN_MEMBER_ID, ExternalError, "KAFKA_ERROR"),
    ],
)
def test_a_kafka_error_becomes_one_of_orions(number: int, kind: type[OrionError], code: str) -> None:
    error = translate(KafkaError(number), SUBJECT)
    assert type(error) is kind
    assert error.code == code
    assert error.message.endswith((".", ")"))
    assert "Local:" not in error.message
    assert "Broker:" not in error.message


def test_a_missing_topic_names_the_nearest_one() -> None:
    error = translate(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART), SUBJECT)
    assert error.message == "There is no topic plays."
    assert error.hint == "Did you mean playz?"


def test_a_failing_look_for_names_does_not_hide_the_error() -> None:
    def down() -> list[str]:
        raise KafkaException(KafkaError(KafkaError._TRANSPORT))

    error = translate(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART), Subject("broker:9092", topic="plays", known=down))
    assert error.code == "TOPIC_NOT_FOUND"
    assert error.hint == "`orion topics list` shows what there is."


def test_a_missing_topic_without_a_name_is_a_kafka_error() -> None:
    error = translate(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART), Subject("broker:9092"))
    assert error.code == "KAFKA_ERROR"


def test_an_unreachable_broker_says_where_and_when_to_try_again() -> None:
    error = translate(KafkaError(KafkaError._TRANSPORT), SUBJECT)
    assert "broker:9092" in error.message
    assert error.hint is not None
    assert isinstance(error, ExternalError)
    assert error.retry_after == 1.0


def test_the_reason_of_the_broker_is_kept() -> None:
    error = translate(KafkaError(KafkaError.INVALID_CONFIG, "Unknown topic config name: foo"), SUBJECT)
    assert error.message == "Unknown topic config name: foo."


def test_a_block_lets_only_orions_errors_out() -> None:
    with pytest.raises(Conflict) as raised, translated(SUBJECT):
        raise KafkaException(KafkaError(KafkaError.TOPIC_ALREADY_EXISTS))
    assert isinstance(raised.value.__cause__, KafkaException)


def test_a_block_translates_an_error_without_a_number() -> None:
    with pytest.raises(ExternalError, match="odd"), translated(SUBJECT):
        raise KafkaException("odd")


def test_a_block_leaves_other_errors_alone() -> None:
    with pytest.raises(ZeroDivisionError), translated(SUBJECT):
        raise ZeroDivisionError
