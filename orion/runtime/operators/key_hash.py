"""Which task a key's rows go to, as Spark reckons it: `pmod(hash(KEY), tasks)` over a BINARY column.

Spark's `hash` is Murmur3 (x86, 32 bits) with the seed 42, in a variant of its own: the bytes behind the last whole word
are mixed in one at a time, each as a signed number (`Murmur3_x86_32.hashUnsafeBytes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

_SEED = 42
_WORD = 4
Hashes = np.ndarray[Any, np.dtype[np.uint32]]
Rows = np.ndarray[Any, np.dtype[np.uint8]]
Tasks = np.ndarray[Any, np.dtype[np.int64]]


def find_tasks(keys: Sequence[bytes], tasks: int) -> Tasks:
    """The task of each key, of so many."""
    # numpy's remainder has the sign of the divisor, as pmod's has.
    return hash_keys(keys).view(np.int32).astype(np.int64) % tasks


def hash_keys(keys: Sequence[bytes]) -> Hashes:
    """Spark's hash of each key, its bits as an unsigned number."""
    lengths = np.fromiter(map(len, keys), np.int64, len(keys))
    found = np.empty(len(keys), np.uint32)
    for length in np.unique(lengths).tolist():
        at = np.flatnonzero(lengths == length)
        # Keys of one length are hashed together, a word of each at a time.
        rows = np.frombuffer(b"".join([keys[number] for number in at.tolist()]), np.uint8).reshape(len(at), length)
        found[at] = _hash_rows(rows)
    return found


def _hash_rows(rows: Rows) -> Hashes:
    count, length = rows.shape
    whole = length // _WORD * _WORD
    hashes = np.full(count, _SEED, np.uint32)
    words = np.ascontiguousarray(rows[:, :whole]).view("<u4")
    for at in range(words.shape[1]):
        hashes = _mix(hashes, words[:, at].astype(np.uint32))
    for at in range(whole, length):
        hashes = _mix(hashes, rows[:, at].view(np.int8).astype(np.int32).view(np.uint32))
    return _finish(hashes ^ np.uint32(length))


def _mix(hashes: Hashes, words: Hashes) -> Hashes:
    words = _turn(words * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    return _turn(hashes ^ words, 13) * np.uint32(5) + np.uint32(0xE6546B64)


def _finish(hashes: Hashes) -> Hashes:
    hashes = (hashes ^ (hashes >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return hashes ^ (hashes >> np.uint32(16))


def _turn(words: Hashes, by: int) -> Hashes:
    return (words << np.uint32(by)) | (words >> np.uint32(32 - by))
