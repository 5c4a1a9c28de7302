"""Bodies of requests: read within a bound, as JSON that is what it claims to be."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from fastapi import Request

from orion.web.rest_proxy.refusals import BAD_REQUEST, TOO_LARGE, UNPROCESSABLE, ProxyError

# How much of a body that is too large is read all the same, as a share of what is taken: a client that is still sending
# when it is refused may lose the connection before it sees why.
_HEARD_OUT = 4


async def bounded(request: Request, most: int) -> bytes:
    """The body; raises when it is too large, and keeps no more of it than may be."""
    said = request.headers.get("content-length", "")
    if said.isdecimal() and int(said) > most * _HEARD_OUT:
        raise too_large(most)
    taken, heard = bytearray(), 0
    async for chunk in request.stream():
        heard += len(chunk)
        if heard <= most:
            taken += chunk
        elif heard > most * _HEARD_OUT:
            break
    if heard > most:
        raise too_large(most)
    return bytes(taken)


def too_large(most: int) -> ProxyError:
    return ProxyError(
        TOO_LARGE, f"The body has more than {most} bytes.", hint="Send less at a time, or raise web.max_body_bytes."
    )


def parsed(raw: bytes) -> Any:
    """The JSON of a body."""
    try:
        return json.loads(raw, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise ProxyError(BAD_REQUEST, f"The body is no JSON: {error}.") from error


def object_of(raw: bytes, *, empty: bool = False) -> dict[str, Any]:
    """The object that a body is; with `empty` a body without one is an object without fields."""
    if empty and not raw.strip():
        return {}
    found = parsed(raw)
    if found is None and empty:
        return {}
    if not isinstance(found, dict):
        raise ProxyError(UNPROCESSABLE, "The body is no JSON object.")
    return found


def listed(body: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """A field that must be a list of objects."""
    found = body.get(name)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ProxyError(UNPROCESSABLE, f"{name} must be a list of objects.")
    return found


def text(body: dict[str, Any], name: str) -> str:
    """A field that must be a text."""
    found = body.get(name)
    if not isinstance(found, str) or not found:
        raise ProxyError(UNPROCESSABLE, f"{name} must be a text.")
    return found


def whole(body: dict[str, Any], name: str) -> int:
    """A field that must be a whole number of zero or more."""
    found = body.get(name)
    if type(found) is not int or found < 0:
        raise ProxyError(UNPROCESSABLE, f"{name} must be a whole number of zero or more.")
    return found


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")
