"""What a schema's text may cost. A real one is far below; beyond lies a text made to exhaust the server."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from orion.registry.errors import InvalidSchema

DEEPEST = 120
LONGEST = 4_000_000


def read_json(text: str) -> Any:
    """The JSON value of a text that is neither too long nor too deep."""
    check_text(text, "[{", "]}")
    try:
        return json.loads(text, parse_constant=_refused, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise InvalidSchema(f"it is not JSON: {error}") from error


def check_text(text: str, opening: str, closing: str) -> None:
    """Refuse by a count of brackets outside of strings, before any parser recurses into them."""
    if len(text) > LONGEST:
        raise InvalidSchema(f"it is longer than {LONGEST} characters")
    depth, deepest, quoted, skip = 0, 0, False, False
    for character in text:
        if skip:
            skip = False
        elif quoted:
            if character == "\\":
                skip = True
            elif character == '"':
                quoted = False
        elif character == '"':
            quoted = True
        elif character in opening:
            depth += 1
            if depth > deepest:
                deepest = depth
                if deepest > DEEPEST:
                    raise InvalidSchema(f"it is nested deeper than {DEEPEST}")
        elif character in closing:
            depth -= 1


def _finite(text: str) -> float:
    number = float(text)
    return _refused(text[:20]) if math.isinf(number) else number


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON value")
