"""Kafka's hash of keys, as its own tests have it."""

from __future__ import annotations

import pytest

from orion.hub.partitioning import murmur2, partition_of


@pytest.mark.parametrize(
    ("key", "signed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_keys_hash_as_in_kafka_s_java_client(key: bytes, signed: int) -> None:
    assert murmur2(key) == signed % (1 << 32)


def test_a_partition_is_the_hash_without_its_sign() -> None:
    assert partition_of(b"21", 1000) == (-973932308 & 0x7FFFFFFF) % 1000
    assert {partition_of(str(n).encode(), 4) for n in range(50)} == {0, 1, 2, 3}
