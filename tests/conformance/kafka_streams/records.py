"""Writes `records.csv`, what Kafka Streams and Orion read: `python -m tests.conformance.kafka_streams.records`.

Three topics: `plays`, and `orders` and `payments`, which are joined. A record has a key, a time and a number, which is
its place in the file: whatever is made of the records, it can be seen of which.

Most records come in the order of their times, some too late for one window, some too late for all. The keys run at
different paces, so that the partitions of a topic of four have clocks that are far apart. No two records have one time:
between topics that decides which is read first. All are of one minute: as long as Kafka Streams fills one segment of a
store it drops none, and with it windows that it has not told yet.
"""

from __future__ import annotations

import random
from pathlib import Path

FILE = Path(__file__).with_name("records.csv")
SEED = 17
# By the partition of a topic of four where Kafka puts them.
KEYS = {0: ["eve", "fay", "hal"], 1: ["cat", "dan", "ida"], 2: ["ann", "bob", "jim"], 3: ["gus", "uma", "vic", "meg"]}
BEHIND_MS = {0: 0, 1: 4_500, 2: 1_000, 3: 2_500}
BEGIN_MS, PACE_MS = 12_000, 150
ROWS = {"plays": 320, "orders": 180, "payments": 180}


def draw_time(rng: random.Random, now: int, behind: int) -> int:
    """A time near to `now`, or before it."""
    kind = rng.random()
    if kind < 0.70:
        late = rng.randrange(0, 450)
    elif kind < 0.88:
        late = rng.randrange(500, 4_500)
    elif kind < 0.96:
        late = rng.randrange(4_500, 11_000)
    else:
        late = -rng.randrange(500, 3_000)
    return max(now - behind - late, 0)


def draw_records() -> list[tuple[str, str, int]]:
    rng = random.Random(SEED)
    topics = [topic for topic, count in ROWS.items() for _ in range(count)]
    rng.shuffle(topics)
    now = dict.fromkeys(ROWS, BEGIN_MS)
    taken: set[int] = set()
    records = []
    for topic in topics:
        now[topic] += rng.randrange(0, 2 * PACE_MS) * (1 if topic == "plays" else 2)
        partition = rng.randrange(len(KEYS))
        key = rng.choice(KEYS[partition])
        time = draw_time(rng, now[topic], BEHIND_MS[partition])
        while time in taken:
            time += 1
        taken.add(time)
        records.append((topic, key, time))
    return records


def write_records() -> None:
    lines = [f"{topic},{key},{time},{number}\n" for number, (topic, key, time) in enumerate(draw_records())]
    FILE.write_text("topic,key,time,number\n" + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    write_records()
