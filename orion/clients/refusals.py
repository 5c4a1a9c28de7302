"""A server's refusals, as the errors that they are there."""

from __future__ import annotations

from typing import Any

import httpx

from orion import errors
from orion.errors import ExternalError, InternalError, OrionError, Span, SqlError, UserError

# Who must act is told by the status, where the class isn't.
_CLASSES: dict[int, type[OrionError]] = {
    403: errors.Forbidden,
    404: errors.NotFound,
    409: errors.Conflict,
    417: errors.ExpectationFailed,
    422: errors.SchemaError,
    500: InternalError,
    503: ExternalError,
}


def checked(response: httpx.Response) -> Any:
    """The body of an answer that has been read; raises what the server refuses."""
    try:
        body = response.json()
    except ValueError:
        body = {"code": "BAD_ANSWER", "message": f"The server answered {response.status_code}."}
    if response.status_code == 200:
        return body
    raise error_of(body, response.status_code)


def error_of(body: dict[str, Any], status: int | None = None) -> OrionError:
    """The server's error, as if it had been raised here. Without a status the error's own number tells it."""
    code, message, hint = body.get("code", "ERROR"), body.get("message", "?"), body.get("hint")
    status = int(str(body.get("error_code", 500))[:3]) if status is None else status
    chosen: type[OrionError] = _CLASSES.get(status, UserError)
    named = getattr(errors, str(body.get("kind")), None)
    if isinstance(named, type) and issubclass(named, OrionError) and named is not OrionError:
        chosen = named
    elif body.get("@type") == "statement_error":
        chosen = SqlError
    if issubclass(chosen, SqlError):
        return chosen(code, message, span=_span(body), text=body.get("statementText", ""), hint=hint)
    return chosen(code, message, hint=hint)


def _span(body: dict[str, Any]) -> Span | None:
    if "line" not in body:
        return None
    lines = str(body.get("statementText", "")).split("\n")
    start = sum(len(line) + 1 for line in lines[: body["line"] - 1]) + body["column"] - 1
    return Span(start, start + body.get("context", "").count("^"))


def unreachable(url: str, error: Exception) -> ExternalError:
    return ExternalError(
        "SERVER_UNREACHABLE", f"No Orion answers at {url}: {error}.", hint="Start one with `orion up`."
    )
