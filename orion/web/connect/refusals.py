"""Orion's errors in the body that Kafka Connect's clients read."""

from __future__ import annotations

from typing import Any

from fastapi.responses import JSONResponse

from orion.errors import ExternalError, OrionError, UserError

# Statuses that mean the same to a client of Kafka Connect's; whatever else is wrong with a request is a 400.
_KEPT = (403, 404, 408, 409, 413, 415, 501)


def answer(error: OrionError) -> JSONResponse:
    status = status_of(error)
    headers = {}
    if isinstance(error, ExternalError) and error.retry_after is not None:
        headers["Retry-After"] = str(max(1, round(error.retry_after)))
    return JSONResponse(body(error, status), status, headers)


def status_of(error: OrionError) -> int:
    if error.http_status in _KEPT or not isinstance(error, UserError):
        return error.http_status
    return 400


def body(error: OrionError, status: int) -> dict[str, Any]:
    """Two fields are Kafka Connect's. Its clients show the message alone, so that has the hint in it.

    A statement's text isn't told: there may be secrets in it.
    """
    message = f"{error.message} {error.hint}" if error.hint else error.message
    told = {"error_code": status, "message": message, "code": error.code}
    return told | ({"hint": error.hint} if error.hint else {})
