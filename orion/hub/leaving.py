"""How a consumer goes."""

from __future__ import annotations

import time
from collections.abc import Callable

from confluent_kafka import Consumer

_SETTLED_S = 10.0


def leave(consumer: Consumer, settled: Callable[[], bool]) -> None:
    """Close a consumer, once it is `settled`: it has joined its group and isn't about to join again.

    One that is closed after the group has given it partitions and before it has heard of them may ask for an answer
    that nobody gives any more (in librdkafka 2.16). It does so with the interpreter's lock in its hand: the whole
    process stands still, for good. So it hears of them first, or of what keeps it out.
    """
    end = time.monotonic() + _SETTLED_S
    while not settled() and time.monotonic() < end:
        message = consumer.poll(0.05)
        error = None if message is None else message.error()
        if error is not None and error.fatal():
            break
    consumer.close()
