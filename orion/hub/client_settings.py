"""Kafka's names of client settings as librdkafka knows them: the one place where the two differ.

Most names are the same. A name of librdkafka's own passes through, so that both may be used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orion.errors import ConfigError

_NAMES = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "buffer.memory": "queue.buffering.max.kbytes",
    # An alias there. Under one name only, so that what is said later replaces what was said before.
    "delivery.timeout.ms": "message.timeout.ms",
    "compression.codec": "compression.type",
    "queue.buffering.max.ms": "linger.ms",
    "request.required.acks": "acks",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "max.request.size": "message.max.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
}
_JAVA_ONLY = {
    "max.poll.records": "read(n) says how many records it takes.",
    "max.block.ms": "A full queue is waited for.",
    "key.serializer": "Give key_format.",
    "value.serializer": "Give value_format.",
    "key.deserializer": "Give key_format.",
    "value.deserializer": "Give value_format.",
    "partitioner.class": "Keys are placed as Java's clients place them.",
}


def translated_settings(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Settings under librdkafka's names; of the same setting in several layers the last counts."""
    settings: dict[str, Any] = {}
    for layer in layers:
        for name, value in layer.items():
            if name in _JAVA_ONLY:
                message = f"{name} is a setting of the Java clients alone."
                raise ConfigError("INVALID_KAFKA_SETTING", message, hint=_JAVA_ONLY[name])
            settings[_NAMES.get(name, name)] = _value(name, value)
    return settings


def _value(name: str, value: Any) -> Any:
    if name == "buffer.memory":
        return max(1, int(value) // 1024)
    if name == "auto.offset.reset" and value == "none":
        return "error"
    if name == "acks" and str(value) == "-1":
        return "all"
    return value
