"""What is told of a broker that ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from orion.hub import embedded
from orion.hub.cluster_data import Node

AT = "2026-11-15 21:00:00.000"

FATAL = f"""\
{AT} INFO [BrokerServer id=1] Transition (BrokerServer)
{AT} ERROR Exiting Kafka due to fatal exception (Kafka$)
java.lang.RuntimeException: outer
\tat kafka.Kafka.main(Kafka.scala)
Caused by: java.io.IOException: the disk is odd.
\t... 5 more
{AT} INFO shut down (BrokerServer)
"""


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (FATAL, "IOException: the disk is odd"),
        (f"{AT} ERROR it is over (Kafka$)\n{AT} INFO bye (Kafka$)\n", "it is over"),
        (f"{AT} INFO odd but fine (X)\njava.io.IOException: passing\n{AT} INFO on (X)\n", None),
        ("Error occurred during initialization of VM\nToo many threads\n", "Too many threads"),
        ("", None),
    ],
)
def test_the_line_that_tells(said: str, line: str | None) -> None:
    assert embedded.telling_line(said) == line


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("java.net.BindException: Address already in use", "PORT_TAKEN"),
        ("java.io.IOException: No space left on device", "DISK_FULL"),
        ("Failed to acquire lock on file .lock in /data", "DATA_IN_USE"),
        ("Invalid maximum heap size: -Xmxlots\nError: Program will exit.", "HEAP_INVALID"),
        ("anything else", "BROKER_FAILED"),
        ("", "BROKER_FAILED"),
    ],
)
def test_the_error_behind_it(said: str, code: str) -> None:
    error = embedded._failed(Node(1, Path("broker-1"), 29092, 29093), said, Path("data"), "exit code 1")
    assert error.code == code
    assert "\n" not in error.message
