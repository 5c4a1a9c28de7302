"""Which cluster a client talks to, and with which settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orion import profiles
from orion.errors import ConfigError
from orion.hub.client_settings import translated_settings
from orion.hub.kafka import Kafka


def cluster(bootstrap: str | None) -> Kafka:
    """The cluster named, that of the settings, or the one that runs on the data folder; one that answers."""
    from orion.config import load
    from orion.hub.running import bootstrap_of

    kafka = Kafka(bootstrap or bootstrap_of(load()))
    kafka.check()
    return kafka


def producer_settings(profile: str | None, given: Mapping[str, Any], *, strict: bool, timeout: float) -> dict[str, Any]:
    """librdkafka's settings: Orion's defaults, the profile over them, and what is given over both.

    `strict`: order or a transaction needs acks of all and idempotence. A profile gives way to that; who asks for
    something else by name is refused.
    """
    required = translated_settings(profiles.values(profiles.STRICT))
    defaults = required | {"message.timeout.ms": round(timeout * 1000)}
    chosen = {} if profile is None else profiles.of(profile).producer_settings(strict=strict)
    own = translated_settings(given)
    if strict:
        _refuse_lax(own)
    merged = {**defaults, **translated_settings(chosen), **own}
    if str(merged["acks"]) != "all" and "enable.idempotence" not in own:
        merged["enable.idempotence"] = "false"
    return merged


def _refuse_lax(own: Mapping[str, Any]) -> None:
    lax = [
        name
        for name, value in own.items()
        if (name == "acks" and str(value) != "all")
        or (name == "enable.idempotence" and str(value).lower() != "true")
        or (name == "max.in.flight.requests.per.connection" and int(value) > 5)
    ]
    if lax:
        message = f"Strict order and transactions don't go with {lax[0]}={own[lax[0]]}."
        hint = "They need acks=all, enable.idempotence=true and at most 5 requests in flight."
        raise ConfigError("NOT_STRICT", message, hint=hint)
