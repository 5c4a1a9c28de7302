"""How long a batch of 100 rows takes in a statement with a million keys, beside one with ten thousand.

Both are the same statement, one task each, on the same broker and session. A hundred keys are chosen anew for each
batch and written at once; the clock runs from then until the results of all of them were read, committed ones only.
The next hundred are written after that. The state has grown by whole batches before, and nothing of it is in memory but
by the system's own page cache. The goal is that the number of keys makes no difference: a ratio of 1.
"""

from __future__ import annotations

import json
import time

from benchmarks.latency import WARM_S, Latencies, contest
from benchmarks.many_keys import ManyKeys
from benchmarks.stage import Measured, Stage, seconds_until
from orion.hub.reader import Reader
from orion.hub.records import Position

MANY, FEW, ROWS = 1_000_000, 10_000, 100


def measure(stage: Stage) -> Measured:
    many, few = ManyKeys(stage, MANY), ManyKeys(stage, FEW)
    for keys in (many, few):
        keys.fill()
    what = f"a batch of {ROWS} rows over {MANY:,} keys"
    against = f"over {FEW:,} keys"
    return contest(
        stage,
        "state_batches",
        what,
        lambda _, seconds: _measure_batches(many, seconds),
        lambda _, seconds: _measure_batches(few, seconds),
        against,
    )


def _measure_batches(keys: ManyKeys, seconds: float) -> Latencies:
    found: list[float] = []
    with keys.running(), Reader(keys.stage.kafka, keys.out, Position("latest")) as reader:
        seconds_until(lambda: _is_there(reader))
        _run_batch(keys, reader)  # the first of a run catches up
        warm = time.monotonic() + WARM_S
        end = warm + seconds
        while (now := time.monotonic()) < end:
            taken = _run_batch(keys, reader)
            if now >= warm:
                found.append(taken)
    return Latencies.of(found)


def _is_there(reader: Reader) -> bool:
    """Whether the reader knows where the end was that it reads from."""
    reader.read(1, 0.05)
    return bool(reader.assignment)


def _run_batch(keys: ManyKeys, reader: Reader) -> float:
    """Seconds from writing a hundred rows to the last one's result."""
    chosen = keys.choose(ROWS)
    missing = {b"key-%d" % number for number in chosen}
    began = time.perf_counter()
    sent = time.time()
    keys.send(chosen)

    def read_on() -> bool:
        for record in reader.read(1_000, 0.005):
            if json.loads(record.value or b"{}")["SENT"] >= sent and record.key is not None:
                missing.discard(record.key)
        return not missing

    seconds_until(read_on, 120)
    return time.perf_counter() - began
