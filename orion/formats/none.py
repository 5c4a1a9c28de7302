"""NONE: no key at all. Whatever bytes are there are not looked at."""

from __future__ import annotations

from orion.formats import Decoded
from orion.plan.sources import Serde
from orion.schema import Column


def decode(columns: tuple[Column, ...], serde: Serde, raw: str, value: str) -> Decoded:
    return Decoded("1", (), "FALSE", "''")


def encode(columns: tuple[Column, ...], serde: Serde) -> str:
    return "CAST(NULL AS BINARY)"
