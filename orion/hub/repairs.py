"""A dead letter's value made right by setting fields of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from orion.errors import UserError

Change = tuple[list[str], Any]


def change(text: str) -> Change:
    """What `amount=12.5` or `address.city=Oslo` sets: the value is JSON, or else text."""
    path, equals, written = text.partition("=")
    if not equals or not all(path.split(".")):
        raise UserError(
            "INVALID_REPAIR",
            f"{text!r} sets no field.",
            hint="Write amount=12.5 or address.city=Oslo; the value is JSON, or else text.",
        )
    try:
        return path.split("."), json.loads(written)
    except json.JSONDecodeError:
        return path.split("."), written


def with_fields(value: bytes | None, changes: Sequence[Change]) -> bytes:
    """The value with fields set; raises a UserError that says why one can't be."""
    document = _document(value or b"")
    for path, new in changes:
        place = document
        for at, name in enumerate(path):
            if not isinstance(place, dict):
                where = ".".join(path[:at]) or "the value"
                raise UserError("REPAIR_FAILED", f"{where} is not an object, so it has no field {name}.")
            if at == len(path) - 1:
                place[name] = new
            else:
                place = place.setdefault(name, {})
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def _document(value: bytes) -> Any:
    """The JSON value of some bytes; Python's own additions to JSON are refused."""
    try:
        return json.loads(value.decode(), parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise _unreadable("It isn't UTF-8.") from None
    except json.JSONDecodeError as error:
        raise _unreadable(f"It isn't JSON: {error.msg} at column {error.colno}.") from None
    except (ValueError, RecursionError) as error:
        raise _unreadable(f"It can't be read: {error}.") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a value of JSON")


def _unreadable(why: str) -> UserError:
    return UserError("REPAIR_FAILED", f"{why} Fields can only be set in JSON.")
