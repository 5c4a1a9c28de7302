"""Which partition a key's records go to: Kafka's default, the murmur2 hash of the key's bytes."""

from __future__ import annotations

_SEED = 0x9747B28C
_MIXED, _SHIFT = 0x5BD1E995, 24
_WORD = 0xFFFFFFFF


def partition_of(key: bytes, partitions: int) -> int:
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def murmur2(data: bytes) -> int:
    """As Kafka's Java client computes it, without a sign."""
    found = _SEED ^ len(data)
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * _MIXED & _WORD
        word = (word ^ word >> _SHIFT) * _MIXED & _WORD
        found = found * _MIXED & _WORD ^ word
    if rest := data[whole:]:
        found = (found ^ int.from_bytes(rest, "little")) * _MIXED & _WORD
    found = (found ^ found >> 13) * _MIXED & _WORD
    return found ^ found >> 15
