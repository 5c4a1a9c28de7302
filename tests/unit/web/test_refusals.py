"""Orion's errors under Confluent's numbers."""

from __future__ import annotations

import pytest

from orion.errors import (
    ConfigError,
    Conflict,
    ExternalError,
    Forbidden,
    InternalError,
    NotFound,
    OrionError,
    SchemaError,
    UserError,
)
from orion.web.rest_proxy.refusals import ProxyError, answer, body, number_of


@pytest.mark.parametrize(
    ("error", "v2", "v3"),
    [
        (ProxyError(40402, "Partition not found."), 40402, 40402),
        (NotFound("TOPIC_NOT_FOUND", ""), 40401, 40403),
        (Conflict("TOPIC_EXISTS", ""), 40002, 40002),
        (Conflict("SUBSCRIPTION_MIXED", ""), 40903, 40903),
        (Forbidden("NOT_AUTHORIZED", ""), 40301, 40301),
        (Forbidden("NOT_AUTHENTICATED", ""), 40101, 40101),
        (SchemaError("VALUE_UNFIT", ""), 42203, 42207),
        (SchemaError("REGISTRY_42201", ""), 42205, 42205),
        (Conflict("REGISTRY_409", ""), 40801, 42207),
        (ExternalError("REGISTRY_UNREACHABLE", ""), 40801, 40801),
        (ExternalError("QUEUE_FULL", "", retry_after=1), 429, 429),
        (ExternalError("BROKER_UNREACHABLE", "", retry_after=1), 50003, 50003),
        (ExternalError("KAFKA_ERROR", ""), 50002, 50002),
        (UserError("INVALID_TOPIC_CONFIG", ""), 40002, 40002),
        (ConfigError("REGISTRY_MISSING", ""), 40801, 42207),
        (NotFound("GROUP_NOT_FOUND", ""), 404, 404),
        (InternalError("X", ""), 500, 500),
    ],
)
def test_every_error_has_a_number(error: OrionError, v2: int, v3: int) -> None:
    assert (number_of(error, v3=False), number_of(error, v3=True)) == (v2, v3)
    assert answer(error, v3=False).status_code == int(str(v2)[:3])


def test_the_hint_stands_behind_the_message() -> None:
    error = NotFound("TOPIC_NOT_FOUND", "There is no topic x.", hint="Did you mean y?")
    assert body(error, v3=False) == {"error_code": 40401, "message": "There is no topic x. Did you mean y?"}


def test_too_many_says_when_to_come_again() -> None:
    error = ExternalError("QUEUE_FULL", "", retry_after=2.5)
    assert answer(error, v3=True).headers["retry-after"] == "3"
