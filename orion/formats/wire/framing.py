"""The header of records that name a registry's schema: a zero byte and the schema's id in four.

A topic's records may name several schemas, each decoded by its own (`reads`). An id that the running query doesn't know
stops its batch with a text that `unknown_id` reads: whoever runs the query asks the registry, and starts it again from
where it was. What the registry doesn't know either is a dead letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from orion.errors import InternalError
from orion.plan.sources import Serde, WireSchema, Wiring
from orion.schema import literal

_ASKED = re.compile(r"ORION_SCHEMA_UNKNOWN\[([^\]]*)\]\[([0-9A-F]{8})\]")
LENGTH = 5


def wiring_of(serde: Serde) -> Wiring:
    if serde.wiring is None:
        raise InternalError("FORMAT", f"{serde.format} was not told its schemas.")
    return serde.wiring


def written_by(serde: Serde) -> WireSchema:
    written = wiring_of(serde).writes
    if written is None:
        raise InternalError("FORMAT", f"{serde.format} was not told which schema to write.")
    return written


def header(number: int) -> str:
    """The Spark SQL of a header."""
    return f"X'00{number:08X}'"


def head(raw: str) -> str:
    return f"substring({raw}, 1, {LENGTH})"


def body(raw: str) -> str:
    return f"substring({raw}, {LENGTH + 1})"


def refused(raw: str, wiring: Wiring, unreadable: Iterable[tuple[int, str]], broken: str) -> tuple[str, str]:
    """When a record can't be read, and why: conditions and texts in Spark SQL.

    `unreadable` are schemas that the columns can't be read from, with the reason; `broken` is the condition that the
    bytes of a known schema don't fit it.
    """
    ill_framed = f"(length({raw}) < {LENGTH} OR substring({raw}, 1, 1) != X'00')"
    refused = {n: f"the registry knows no schema {n}" for n in wiring.unknown} | dict(unreadable)
    known = ", ".join(header(one.id) for one in wiring.reads if one.id not in refused)
    none = ", ".join(header(n) for n in refused)
    asked = (
        f"raise_error(concat({literal(f'ORION_SCHEMA_UNKNOWN[{wiring.subject}][')}, hex(substring({raw}, 2, 4)), ']'))"
    )
    bad = [f"WHEN {ill_framed} THEN TRUE"]
    bad += [f"WHEN {head(raw)} IN ({known}) THEN {broken}"] if known else []
    bad += [f"WHEN {head(raw)} IN ({none}) THEN TRUE"] if none else []
    why = [f"WHEN {ill_framed} THEN 'no schema is named: there is no zero byte with an id of four behind it'"]
    why += [f"WHEN {head(raw)} = {header(n)} THEN {literal(reason)}" for n, reason in refused.items()]
    number = f"conv(hex(substring({raw}, 2, 4)), 16, 10)"
    return (
        f"(CASE {' '.join(bad)} ELSE CAST({asked} AS BOOLEAN) END)",
        f"CASE {' '.join(why)} ELSE concat('the bytes do not fit schema ', {number}) END",
    )


def unknown_id(error: str) -> tuple[str, int] | None:
    """The subject and the id that a stopped query asks for."""
    found = _ASKED.search(error)
    return (found[1], int(found[2], 16)) if found else None
