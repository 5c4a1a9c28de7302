"""How far source connectors are in the systems they read, kept in Kafka in Kafka Connect's form.

The compacted topic `_SERVICE_offsets` has a record for each partition of what a connector reads:

    key      ["orders",{"table":"sales.orders"}]
    value    {"incrementing":42}

A record is written in the transaction of the rows that lead up to it, so the last committed one is where the connector
stands, whatever becomes of its checkpoint.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from orion.errors import ExternalError
from orion.hub.durable import DurableWriter
from orion.hub.kafka import Kafka
from orion.hub.reader import Reader
from orion.hub.records import Outgoing, Position

# As long as a transaction may be open in front of what is asked for.
_PATIENCE_S = 330.0


@dataclass(frozen=True, slots=True)
class Standpoint:
    """One partition of what a connector reads, and how far the connector is in it; None: nowhere, as at its start."""

    partition: Mapping[str, Any]
    offset: Mapping[str, Any] | None


def offsets_topic(service: str) -> str:
    return f"_{service}_offsets"


def prepare_offsets(kafka: Kafka, service: str) -> str:
    """The topic, made if need be; its name."""
    name = offsets_topic(service)
    kafka.create_topic(name, 1, config={"cleanup.policy": "compact"}, exist_ok=True)
    return name


def offsets_of(kafka: Kafka, service: str, connector: str) -> list[Standpoint]:
    """Where a connector stands, by what has been committed up to now."""
    found: dict[bytes, Standpoint] = {}
    for key, value in _records(kafka, prepare_offsets(kafka, service)):
        named = _understood(key)
        if not isinstance(named, list) or len(named) != 2 or named[0] != connector or not isinstance(named[1], dict):
            continue
        offset = _understood(value)
        found.pop(key, None)
        if isinstance(offset, dict):
            found[key] = Standpoint(named[1], offset)
    return list(found.values())


def set_offsets(kafka: Kafka, service: str, connector: str, wanted: Iterable[Standpoint]) -> None:
    """Have a connector stand elsewhere. It takes notice when it starts without a checkpoint."""
    topic = prepare_offsets(kafka, service)
    writer = DurableWriter(kafka)
    try:
        for stands in wanted:
            value = None if stands.offset is None else written(stands.offset)
            writer.write(topic, Outgoing(value, key_of(connector, stands.partition)))
    finally:
        writer.close()


def forget_offsets(kafka: Kafka, service: str, connector: str) -> None:
    """The connector is gone: another one of its name begins at the beginning."""
    there = offsets_of(kafka, service, connector)
    set_offsets(kafka, service, connector, (Standpoint(one.partition, None) for one in there))


def key_of(connector: str, partition: Mapping[str, Any]) -> bytes:
    return written([connector, dict(partition)])


def written(value: Any) -> bytes:
    """As Kafka Connect writes it: the same value is always the same bytes."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True).encode()


def _records(kafka: Kafka, topic: str) -> Iterable[tuple[bytes, bytes | None]]:
    """All records that are committed or about to be: one that stands behind another's open transaction is awaited."""
    end = kafka.end_offsets(topic)
    until = time.monotonic() + _PATIENCE_S
    with Reader(kafka, topic, Position("earliest")) as reader:
        while not (reader.at_end and all(reader.end(part) >= at for part, at in end.items())):
            if time.monotonic() > until:
                raise ExternalError("OFFSETS_AWAITED", f"A transaction over {topic} doesn't end.", retry_after=5.0)
            for record in reader.read(1000, 0.2):
                if record.key is not None:
                    yield record.key, record.value


def _understood(raw: bytes | None) -> Any:
    try:
        return None if raw is None else json.loads(raw)
    except ValueError:
        return None
