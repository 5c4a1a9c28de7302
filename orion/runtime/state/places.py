"""Under what bytes a state record stands: the key of its changelog record, and of its row in the local store.

    00                          the task's clock
    01 LENGTH GROUP MEMBER      one of several records that belong to a group: a session of a key, a row of a join
    02 KEY                      the only record of its key

LENGTH is that of the group, in four bytes; keys and groups are the operators' own.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

CLOCK = b"\x00"
SINGLE = b"\x02"
_MEMBER = b"\x01"


class StatePlace(NamedTuple):
    """Whose record it is; `member` is None where the key has only one."""

    key: bytes
    member: bytes | None = None


def single(key: bytes) -> bytes:
    return SINGLE + key


def group(key: bytes) -> bytes:
    """What the places of all members of a group begin with."""
    return _MEMBER + struct.pack(">I", len(key)) + key


def parse_place(place: bytes) -> StatePlace:
    if place[:1] == _MEMBER:
        length = int.from_bytes(place[1:5], "big")
        return StatePlace(place[5 : 5 + length], place[5 + length :])
    return StatePlace(place[1:])
