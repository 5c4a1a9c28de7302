"""What the REST Proxy refuses, with Confluent's numbers: its clients act on `error_code`, not on the text."""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse

from orion.errors import (
    BodyLate,
    ExternalError,
    Forbidden,
    NotFound,
    OrionError,
    SchemaError,
    TooLarge,
    UnsupportedMedia,
    UserError,
)
from orion.web.slashes import NamedRoute

BAD_REQUEST = 400
NOT_FOUND = 404
NOT_ACCEPTABLE = 406
TOO_LARGE = 413
UNSUPPORTED_MEDIA = 415
UNPROCESSABLE = 422
TOO_MANY = 429
KAFKA_BAD_REQUEST = 40002
NOT_AUTHENTICATED = 40101
NOT_AUTHORIZED = 40301
TOPIC_NOT_FOUND = 40401
PARTITION_NOT_FOUND = 40402
INSTANCE_NOT_FOUND = 40403
UNKNOWN_TOPIC_OR_PARTITION = 40403  # in v3
FORMAT_MISMATCH = 40601
SERIALIZATION = 40801
INSTANCE_EXISTS = 40902
ILLEGAL_STATE = 40903
KEY_SCHEMA_MISSING = 42201
VALUE_SCHEMA_MISSING = 42202
CONVERSION = 42203
INVALID_CONSUMER_CONFIG = 42204
INVALID_SCHEMA = 42205
INVALID_PAYLOAD = 42206
MESSAGE_SERIALIZATION = 42207
INVALID_BATCH = 42208
KAFKA_ERROR = 50002
KAFKA_RETRIABLE = 50003

_V2 = {
    "TOPIC_NOT_FOUND": TOPIC_NOT_FOUND,
    "PARTITION_NOT_FOUND": PARTITION_NOT_FOUND,
    "SUBSCRIPTION_MIXED": ILLEGAL_STATE,
    "NOT_ASSIGNED": ILLEGAL_STATE,
    "NOT_AUTHENTICATED": NOT_AUTHENTICATED,
    "QUEUE_FULL": TOO_MANY,
    "REGISTRY_42201": INVALID_SCHEMA,
    "VALUE_UNFIT": CONVERSION,
}
_V3 = _V2 | {
    "TOPIC_NOT_FOUND": UNKNOWN_TOPIC_OR_PARTITION,
    "PARTITION_NOT_FOUND": UNKNOWN_TOPIC_OR_PARTITION,
    "TOPIC_EXISTS": KAFKA_BAD_REQUEST,
    "VALUE_UNFIT": MESSAGE_SERIALIZATION,
}


class ProxyError(UserError):
    """A refusal under one of Confluent's numbers; the first three digits are the HTTP status."""

    def __init__(self, number: int, message: str, *, hint: str | None = None) -> None:
        super().__init__(f"REST_{number}", message, hint=hint)
        self.number = number


def number_of(error: OrionError, *, v3: bool) -> int:
    """Confluent's number for any error of Orion's."""
    if isinstance(error, ProxyError):
        return error.number
    known = (_V3 if v3 else _V2).get(error.code)
    if known is not None:
        return known
    if error.code.startswith("REGISTRY_"):
        return MESSAGE_SERIALIZATION if v3 and isinstance(error, UserError) else SERIALIZATION
    if isinstance(error, ExternalError):
        return KAFKA_ERROR if error.retry_after is None else KAFKA_RETRIABLE
    if isinstance(error, TooLarge | BodyLate | UnsupportedMedia):
        return error.http_status
    if isinstance(error, Forbidden):
        return NOT_AUTHORIZED
    if isinstance(error, NotFound):
        return NOT_FOUND
    if isinstance(error, SchemaError):
        return SERIALIZATION
    return KAFKA_BAD_REQUEST if isinstance(error, UserError) else 500


def body(error: OrionError, *, v3: bool) -> dict[str, Any]:
    """As Confluent's clients expect it, with the hint behind the message."""
    message = error.message if error.hint is None else f"{error.message} {error.hint}"
    return {"error_code": number_of(error, v3=v3), "message": message}


def answer(error: OrionError, *, v3: bool) -> JSONResponse:
    number = number_of(error, v3=v3)
    return JSONResponse(
        body(error, v3=v3), int(str(number)[:3]), headers=retry_headers(error) if number == TOO_MANY else None
    )


def retry_headers(error: OrionError) -> dict[str, str]:
    """When it makes sense to try again."""
    wait = error.retry_after if isinstance(error, ExternalError) and error.retry_after is not None else 1.0
    return {"retry-after": str(max(1, math.ceil(wait)))}


class ProxyRoute(NamedRoute):
    """A route whose errors are told as Confluent tells them."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        inside = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await inside(request)
            except OrionError as error:
                return answer(error, v3=request.url.path.startswith("/v3"))

        return handle
