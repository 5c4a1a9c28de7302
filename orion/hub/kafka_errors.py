"""What a Kafka error means to the person who meets it.

This is the one place that knows librdkafka's error codes. Everything else in Orion sees a NotFound, a Conflict or an
ExternalError with a stable code, because a number such as -195 tells nobody what to do.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException

from orion.errors import ConfigError, Conflict, ExternalError, Forbidden, NotFound, OrionError, UserError, hint_nearest

# librdkafka writes to stderr unless it is given a logger. The null handler keeps a program that configures no logging
# quiet; one that does finds the lines under this name.
LOGGER = logging.getLogger("orion.hub.kafka")
LOGGER.addHandler(logging.NullHandler())

TOPIC_MISSING = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.UNKNOWN_TOPIC_ID,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._NOENT,
    }
)
UNREACHABLE = frozenset(
    {
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._RESOLVE,
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._MSG_TIMED_OUT,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.NETWORK_EXCEPTION,
    }
)
_NOT_ALLOWED = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)
_NOT_AUTHENTICATED = frozenset({KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED})
_TOO_LARGE = frozenset({KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE, KafkaError.INVALID_MSG_SIZE})
_FENCED = frozenset({KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH})
_PURGED = frozenset({KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT})
_NOT_ENOUGH = frozenset({KafkaError.NOT_ENOUGH_REPLICAS, KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND})
# Rejected requests whose broker text already says what is wrong: code and hint are all there is to add.
_REJECTED: dict[int, tuple[str, str]] = {
    KafkaError.INVALID_CONFIG: ("INVALID_TOPIC_CONFIG", "Use Kafka's own topic settings, e.g. retention.ms=604800000."),
    KafkaError.POLICY_VIOLATION: ("INVALID_TOPIC_CONFIG", "The cluster's policy refuses it; ask whoever runs it."),
    KafkaError.INVALID_PARTITIONS: ("INVALID_PARTITIONS", "A topic has one partition or more, and can only get more."),
    KafkaError.INVALID_REPLICATION_FACTOR: ("INVALID_REPLICATION", "Ask for no more replicas than there are brokers."),
    KafkaError.TOPIC_EXCEPTION: ("INVALID_TOPIC_NAME", "Use at most 249 of: letters, digits, '.', '_' and '-'."),
    KafkaError.INVALID_GROUP_ID: ("INVALID_GROUP_NAME", "Give the group a name that isn't empty."),
    KafkaError.INVALID_RECORD: ("RECORD_REFUSED", "A compacted topic takes no record without a key."),
    KafkaError.INVALID_TIMESTAMP: ("RECORD_REFUSED", "Give it a time that is near the broker's, or none."),
}


def _no_names() -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class Subject:
    """What a call was about, for the sentence that reports its failure."""

    bootstrap: str
    topic: str | None = None
    group: str | None = None
    known: Callable[[], list[str]] = _no_names
    transactional_id: str | None = None

    def nearest(self, name: str) -> str | None:
        """A hint at the name that may be meant; asking for the names must not hide the first error."""
        try:
            return hint_nearest(name, self.known())
        except (KafkaException, OrionError):
            return None


@contextmanager
def translated(subject: Subject) -> Iterator[None]:
    """Let Orion's errors out of a block that calls librdkafka, and nothing of its own."""
    try:
        yield
    except KafkaException as error:
        first = error.args[0] if error.args else None
        if not isinstance(first, KafkaError):
            raise ExternalError("KAFKA_ERROR", f"Kafka: {first}") from error
        raise translate(first, subject) from error


def translate(error: KafkaError, subject: Subject) -> OrionError:
    """Orion's error for one of librdkafka's."""
    code, text = error.code(), _sentence(error.str() or error.name())
    if code in _REJECTED:
        name, hint = _REJECTED[code]
        return UserError(name, text, hint=hint)
    if code in _FENCED and subject.transactional_id is not None:
        return fenced(subject.transactional_id)
    if code in UNREACHABLE:
        return unreachable(subject.bootstrap, text)
    if code in TOPIC_MISSING and subject.topic is not None:
        return topic_not_found(subject.topic, subject)
    if code == KafkaError._UNKNOWN_PARTITION:
        return NotFound("PARTITION_NOT_FOUND", f"Topic {subject.topic} has no such partition.")
    if code == KafkaError.TOPIC_ALREADY_EXISTS:
        return Conflict("TOPIC_EXISTS", f"There is already a topic {subject.topic}.")
    if code == KafkaError.GROUP_ID_NOT_FOUND:
        return group_not_found(subject.group or "?", subject)
    if code == KafkaError.NON_EMPTY_GROUP:
        return group_active(subject.group or "?")
    return _refused(code, text) or _other(error, text)


def _refused(code: int, text: str) -> OrionError | None:
    if code in _NOT_ALLOWED:
        return Forbidden("NOT_AUTHORIZED", text, hint="Ask for an ACL that allows it.")
    if code in _NOT_AUTHENTICATED:
        return Forbidden("NOT_AUTHENTICATED", text, hint="Check the user name, the password and the SASL mechanism.")
    if code in _TOO_LARGE:
        return UserError("RECORD_TOO_LARGE", text, hint="Send less, or raise the topic's max.message.bytes.")
    if code == KafkaError._INVALID_ARG:
        return ConfigError("INVALID_KAFKA_SETTING", text, hint="Use librdkafka's names and values for client settings.")
    if code in _PURGED:
        return Conflict("TRANSACTION_ABORTED", "The record was taken back with its transaction.")
    if code in _NOT_ENOUGH:
        return ExternalError(
            "NOT_ENOUGH_REPLICAS", text, hint="Wait for brokers, or lower min.insync.replicas.", retry_after=1.0
        )
    return None


def _other(error: KafkaError, text: str) -> OrionError:
    # A client that had to be replaced, as when a topic was made anew under it, takes what it still had with it.
    passing = error.retriable() or error.code() == KafkaError._DESTROY
    return ExternalError("KAFKA_ERROR", f"{text} ({error.name()})", retry_after=1.0 if passing else None)


def unreachable(bootstrap: str, reason: str) -> ExternalError:
    """Nobody answers at the address."""
    return ExternalError(
        "BROKER_UNREACHABLE",
        f"No Kafka broker answers at {bootstrap}: {reason}",
        hint="Check that the cluster runs and that the address is right.",
        retry_after=1.0,
    )


def topic_not_found(topic: str, subject: Subject) -> NotFound:
    return NotFound(
        "TOPIC_NOT_FOUND",
        f"There is no topic {topic}.",
        hint=subject.nearest(topic) or "`orion topics list` shows what there is.",
    )


def group_not_found(group: str, subject: Subject) -> NotFound:
    return NotFound(
        "GROUP_NOT_FOUND",
        f"There is no consumer group {group}.",
        hint=subject.nearest(group) or "`orion groups list` shows what there is.",
    )


def group_active(group: str) -> Conflict:
    return Conflict("GROUP_ACTIVE", f"Consumer group {group} has members that read.", hint="Stop its consumers first.")


def fenced(transactional_id: str) -> Conflict:
    return Conflict(
        "PRODUCER_FENCED",
        f"Another producer took the transactional id {transactional_id}; this one can write no more.",
        hint="Its open transaction is aborted. Let one program at a time use the id, or give each its own.",
    )


def _sentence(text: str) -> str:
    """The reason without librdkafka's 'Local: ' and 'Broker: ', ending in one full stop."""
    bare = text.replace("Local: ", "").replace("Broker: ", "").strip()
    return bare if bare.endswith((".", "!", "?")) else f"{bare}."
