"""Bodies of requests: read within a bound, as JSON that is what it claims to be."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from fastapi import Request

from orion.web.rest_proxy.refusals import BAD_REQUEST, TOO_LARGE, UNPROCESSABLE, ProxyError

MOST_INT = 2**31 - 1  # partitions, ids of schemas
MOST_LONG = 2**63 - 1  # offsets
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
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
        found = json.loads(raw, parse_constant=_no_number)
        refuse_half_pairs(raw, found)
        return found
    except (ValueError, RecursionError) as error:
        raise ProxyError(BAD_REQUEST, f"The body is no JSON: {error}.") from error


def refuse_half_pairs(raw: bytes, value: Any) -> None:
    """Raise ValueError where JSON has half of a pair of surrogates in it: it could be neither written nor told."""
    if _SURROGATE.search(raw):
        try:
            json.dumps(value, ensure_ascii=False, default=str).encode()
        except UnicodeEncodeError:
            raise ValueError("half of a pair of surrogates is no text") from None


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


def text(body: Mapping[str, Any], name: str) -> str:
    """A field that must be a text."""
    found = body.get(name)
    if not isinstance(found, str) or not found:
        raise ProxyError(UNPROCESSABLE, f"{name} must be a text.")
    return found


def whole(body: Mapping[str, Any], name: str, most: int = MOST_INT, *, least: int = 0) -> int:
    """A field that must be a whole number of zero or more."""
    found = body.get(name)
    if type(found) is not int or not least <= found <= most:
        raise ProxyError(UNPROCESSABLE, f"{name} must be a whole number from {least} to {most}.")
    return found


def flag(body: Mapping[str, Any], name: str) -> bool:
    """A field that must be true or false; one that isn't there is false."""
    found = body.get(name)
    if not isinstance(found, bool | None):
        raise ProxyError(UNPROCESSABLE, f"{name} must be true or false.")
    return bool(found)


def optional_text(body: Mapping[str, Any], name: str) -> str | None:
    """A field that must be a text where it is there; a number or truth value is its text."""
    found = body.get(name)
    if found is None or isinstance(found, str):
        return found
    if isinstance(found, int | float):
        return json.dumps(found)
    raise ProxyError(UNPROCESSABLE, f"{name} must be a text.")


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")
