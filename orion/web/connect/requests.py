"""What requests to Kafka Connect's API say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request

from orion.errors import UserError, hint_nearest
from orion.plan.connectors import Connectors, Offset
from orion.plan.sources import Wanted

_CREATE = ("name", "config", "initial_state")


def _bad(message: str, hint: str | None = None) -> UserError:
    return UserError("BAD_REQUEST", message, hint=hint)


async def _content(request: Request) -> Any:
    """The body, whatever media type it has: not every client names one."""
    try:
        found = json.loads(await request.body())
        json.dumps(found, ensure_ascii=False).encode()  # half of a pair of surrogates is no text
        return found
    except (ValueError, RecursionError):
        raise _bad("The request's body is no JSON.") from None


def connectors_of(request: Request) -> Connectors:
    """The server's connectors."""
    state = request.app.state
    found: Connectors = state.connectors if hasattr(state, "connectors") else state.orion.connectors
    return found


Content = Annotated[Any, Depends(_content)]
Port = Annotated[Connectors, Depends(connectors_of)]


def flag(written: str | None) -> bool:
    """A query's flag, as Java reads one."""
    return (written or "").lower() == "true"


@dataclass(frozen=True, slots=True)
class Creation:
    """What POST /connectors asks for."""

    name: str
    config: dict[str, str]
    wanted: Wanted


def creation(content: Any) -> Creation:
    if not isinstance(content, dict):
        raise _bad("The request's body is no object.", 'Send {"name": ..., "config": {...}}.')
    unknown = next((field for field in content if field not in _CREATE), None)
    if unknown is not None:
        raise _bad(f"There is no field '{unknown}'.", hint_nearest(unknown, list(_CREATE)))
    options = config(content.get("config") or {})
    name = (_text("name", content.get("name")) or options.get("name") or "").strip()
    if not name:
        raise _bad("A connector needs a name.", 'Send {"name": ..., "config": {...}}.')
    return Creation(name, under(options, name), _wanted(content.get("initial_state")))


def _wanted(written: Any) -> Wanted:
    try:
        return Wanted.RUNNING if written is None else Wanted((_text("initial_state", written) or "").upper())
    except ValueError:
        raise _bad(f"'{written}' is no state to begin in.", "It is RUNNING, PAUSED or STOPPED.") from None


def config(content: Any) -> dict[str, str]:
    """A connector's options; one that is null isn't there."""
    return {name: value for name, value in changes(content).items() if value is not None}


def changes(content: Any) -> dict[str, str | None]:
    """Options to set, and those to take away."""
    if not isinstance(content, dict):
        raise _bad("A connector's configuration is an object.", 'For example {"connector.class": "delta", ...}.')
    return {name: _text(name, value) for name, value in content.items()}


def _text(name: str, value: Any) -> str | None:
    """Options are texts; clients send numbers and truth values as they are."""
    if isinstance(value, dict | list):
        raise _bad(f"'{name}' is no text.", "A list is written with commas.")
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)


def under(options: Mapping[str, str], name: str, *aliases: str) -> dict[str, str]:
    """Options of the connector with this name. They may repeat it, and may not say another."""
    told = options.get("name", name)
    if told not in (name, *aliases):
        raise _bad(f"Connector name configuration ({told}) doesn't match connector name in the URL ({name}).")
    return {**options, "name": name}


def offsets(content: Any) -> list[Offset]:
    entries = content.get("offsets") if isinstance(content, dict) else None
    if not isinstance(entries, list) or not entries:
        raise _bad("Partitions / offsets need to be provided for an alter offsets request.")
    return [_offset(entry) for entry in entries]


def _offset(entry: Any) -> Offset:
    partition, at = (entry.get("partition"), entry.get("offset")) if isinstance(entry, dict) else (None, None)
    if not isinstance(partition, dict) or not isinstance(at, dict | None):
        raise _bad("An offset has a partition and an offset.", 'Send {"partition": {...}, "offset": {...}}.')
    return Offset(partition, at)
