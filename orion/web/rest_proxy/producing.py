"""Records of a request to bytes, and what became of them to answers: v2's many of one kind, v3's each for itself."""

from __future__ import annotations

import binascii
from base64 import b64decode
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from orion.errors import ExternalError, Forbidden, NotFound, OrionError
from orion.hub.records import Headers, Outgoing, Receipt, milliseconds
from orion.schema import Role
from orion.web.gateway import Gateway
from orion.web.rest_proxy.bodies import listed, text, whole
from orion.web.rest_proxy.embedded import KINDS, encoded
from orion.web.rest_proxy.refusals import (
    BAD_REQUEST,
    INVALID_PAYLOAD,
    KAFKA_ERROR,
    KAFKA_RETRIABLE,
    KEY_SCHEMA_MISSING,
    NOT_AUTHORIZED,
    PARTITION_NOT_FOUND,
    UNPROCESSABLE,
    VALUE_SCHEMA_MISSING,
    ProxyError,
    number_of,
)
from orion.web.rest_proxy.schema_choice import Chosen

_LAST_MS = 253_402_300_799_999  # of the year 9999: later times have no text
_WITHOUT_SCHEMA = ("BINARY", "JSON", "STRING")


# ---- v2 ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Batch:
    """The records of a request of v2, and the ids of the schemas they are written by."""

    records: list[Outgoing]
    key_schema_id: int | None
    value_schema_id: int | None


def batch_of(gateway: Gateway, topic: str, format_: str, body: dict[str, Any], partition: int | None) -> Batch:
    """What a request asks to write; raises where one of its records can't be."""
    given = listed(body, "records")
    if not given:
        raise ProxyError(UNPROCESSABLE, "records may not be empty.")
    count = gateway.outbox.partitions(topic)
    schemas = {}
    for role in (Role.KEY, Role.VALUE):
        side = role.lower()
        said = (_optional_id(body, f"{side}_schema_id"), _optional_schema(body, f"{side}_schema"))
        schemas[role] = gateway.choice.named(topic, role, format_, said) if format_ in KINDS else None
        if format_ in KINDS and schemas[role] is None and any(one.get(side) is not None for one in given):
            number = KEY_SCHEMA_MISSING if role is Role.KEY else VALUE_SCHEMA_MISSING
            raise ProxyError(number, f"Request includes {side}s but does not include {side} schema.")
    made = []
    for one in given:
        place = one.get("partition") if partition is None else partition
        made.append(
            Outgoing(
                value=encoded(format_, one.get("value"), schemas[Role.VALUE]),
                key=encoded(format_, one.get("key"), schemas[Role.KEY]),
                partition=_partition(place, count),
            )
        )
    ids = [None if schema is None else schema.id for schema in schemas.values()]
    return Batch(made, ids[0], ids[1])


def _optional_id(body: dict[str, Any], name: str) -> int | None:
    return None if body.get(name) is None else whole(body, name)


def _optional_schema(body: dict[str, Any], name: str) -> str | None:
    found = body.get(name)
    if not isinstance(found, str | None):
        raise ProxyError(UNPROCESSABLE, f"{name} must be a text.")
    return found


def _partition(given: Any, count: int) -> int | None:
    if given is None:
        return None
    if type(given) is not int or not 0 <= given < count:
        raise ProxyError(PARTITION_NOT_FOUND, "Partition not found.")
    return given


def batch_answer(batch: Batch, told: list[Receipt | OrionError]) -> dict[str, Any]:
    return {
        "offsets": [_offset(one) for one in told],
        "key_schema_id": batch.key_schema_id,
        "value_schema_id": batch.value_schema_id,
    }


def _offset(told: Receipt | OrionError) -> dict[str, Any]:
    if isinstance(told, Receipt):
        return {"partition": told.partition, "offset": told.offset, "error_code": None, "error": None}
    return {"partition": None, "offset": None, "error_code": _failure(told), "error": told.message}


def _failure(error: OrionError) -> int:
    if isinstance(error, Forbidden):
        return NOT_AUTHORIZED
    if isinstance(error, NotFound):  # the topic went while the record was on its way: no failure of the cluster's
        return number_of(error, v3=False)
    return KAFKA_RETRIABLE if isinstance(error, ExternalError) and error.retry_after is not None else KAFKA_ERROR


# ---- v3 ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Side:
    """A key or value, as the answer tells of it."""

    format: str
    raw: bytes | None
    chosen: Chosen | None = None

    def told(self) -> dict[str, Any]:
        of_schema: dict[str, Any] = {}
        if self.chosen is not None:
            chosen = self.chosen
            of_schema = {
                "subject": chosen.subject,
                "schema_id": chosen.schema.id,
                "schema_version": chosen.version,
            }
        return {"type": self.format.upper(), **of_schema, "size": len(self.raw or b"")}


@dataclass(frozen=True)
class Single:
    """One record of v3."""

    record: Outgoing
    key: Side | None
    value: Side | None


def single_of(gateway: Gateway, topic: str, asked: Any) -> Single:
    """What one object asks to write; raises where it can't be."""
    if not isinstance(asked, dict):
        raise ProxyError(INVALID_PAYLOAD, "Payload error. A record is a JSON object.")
    count = gateway.outbox.partitions(topic)
    key, value = (_side(gateway, topic, role, asked.get(role.lower())) for role in (Role.KEY, Role.VALUE))
    record = Outgoing(
        value=None if value is None else value.raw,
        key=None if key is None else key.raw,
        headers=_headers(asked.get("headers") or ()),
        timestamp=_timestamp(asked.get("timestamp")),
        partition=_partition(asked.get("partition_id"), count),
    )
    return Single(record, key, value)


def _side(gateway: Gateway, topic: str, role: Role, data: Any) -> Side | None:
    if data is None:
        return None
    if not isinstance(data, dict):
        raise ProxyError(BAD_REQUEST, f"{role.lower()} must be an object with data.")
    name = None if data.get("type") is None else str(data["type"]).upper()
    if name in _WITHOUT_SCHEMA:
        return Side(name, encoded(name.lower(), data.get("data")))
    if name is not None and name.lower() not in KINDS:
        known = ", ".join((*_WITHOUT_SCHEMA, *(kind.upper() for kind in KINDS)))
        raise ProxyError(BAD_REQUEST, f"There is no type {name}.", hint=f"There are {known}.")
    chosen = gateway.choice.asked(topic, role, data)
    return Side(chosen.format, encoded(chosen.format, data.get("data"), chosen.schema), chosen)


def _headers(given: Any) -> Headers:
    try:
        return tuple(
            (text(one, "name"), None if one.get("value") is None else b64decode(one["value"], validate=True))
            for one in given
        )
    except (binascii.Error, LookupError, TypeError, AttributeError, ValueError) as error:
        raise ProxyError(BAD_REQUEST, "headers must be a list of name and value, which is base64.") from error


def _timestamp(given: Any) -> int | None:
    if given is None:
        return None
    try:
        found = given if type(given) is int else milliseconds(str(given))
    except OrionError as error:
        raise ProxyError(BAD_REQUEST, error.message, hint=error.hint) from error
    if not 0 <= found <= _LAST_MS:
        raise ProxyError(BAD_REQUEST, "timestamp must be a time of the years 1970 to 9999.")
    return found


def single_answer(cluster: str, single: Single, receipt: Receipt) -> dict[str, Any]:
    at = datetime.fromtimestamp((receipt.timestamp or 0) / 1000, UTC)
    sides = {"key": single.key, "value": single.value}
    return {
        "error_code": 200,
        "cluster_id": cluster,
        "topic_name": receipt.topic,
        "partition_id": receipt.partition,
        "offset": receipt.offset,
        "timestamp": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        **{name: side.told() for name, side in sides.items() if side is not None},
    }
