"""What is late is judged as Kafka Streams does: of the same records come the same windows and pairs.

`tests/conformance/kafka_streams` has the records, what a real Kafka Streams made of them, and how that was recorded.
"""

from __future__ import annotations

import csv
import json
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from orion.app import Orion
from orion.hub.partitioning import partition_of
from orion.hub.records import Outgoing
from orion.hub.writer import send_all
from orion.plan.sources import Source
from tests.conformance import kafka_streams, wire
from tests.conformance.shelf import Shelf
from tests.scenarios.conftest import Await, everything

FOLDER = Path(kafka_streams.__file__).parent
FIXED = "SIZE 5 SECONDS, GRACE PERIOD 2 SECONDS"
HOPPING = "HOPPING (SIZE 5 SECONDS, ADVANCE BY 2 SECONDS, GRACE PERIOD 2 SECONDS)"
SESSION = "SESSION (2 SECONDS, GRACE PERIOD 2 SECONDS)"
WINDOWS = {
    "tumbling": (f"TUMBLING ({FIXED})", "CHANGES"),
    "hopping": (HOPPING, "CHANGES"),
    "tumbling_final": (f"TUMBLING ({FIXED})", "FINAL"),
    "session": (SESSION, "CHANGES"),
    "session_final": (SESSION, "FINAL"),
}
JOINS = {"inner_join": "JOIN", "left_join": "LEFT JOIN"}
# Told a batch's changes at a time, as by default, and not each by itself.
TOLD_BY_BATCH = "hopping"
# Behind its end: the grace; of a session, the gap and the grace, both of them included.
CLOSES_MS = {"tumbling": 2_000, "session": 4_001}
WAIT_MS = 5_000  # of a left row for a partner: 3 s and the grace of 2


class Update(NamedTuple):
    """A line of what Kafka Streams told. What it is about: a window, or the numbers of the records of a pair."""

    key: str
    about: tuple[str, str]
    at: int
    numbers: str


def read_expected(partitions: int) -> dict[str, list[Update]]:
    found: dict[str, list[Update]] = defaultdict(list)
    for line in csv.reader((FOLDER / f"expected-{partitions}.csv").read_text(encoding="utf-8").splitlines()):
        if line[0] != "dropped":
            found[line[0]].append(Update(line[1], (line[2], line[3]), int(line[4]), line[5]))
    return found


def send_records(orion: Orion, prefix: str, moved_ms: int) -> None:
    """The records in the order in which they were written for Kafka Streams, by the same partitioner."""
    found: dict[str, list[Outgoing]] = defaultdict(list)
    for row in csv.DictReader((FOLDER / "records.csv").read_text(encoding="utf-8").splitlines()):
        value = json.dumps({"N": int(row["number"])}).encode()
        found[prefix + row["topic"]].append(Outgoing(value, row["key"].encode(), timestamp=int(row["time"]) + moved_ms))
    for topic, records in found.items():
        send_all(orion.kafka, topic, records)


def read_updates(orion: Orion, sink: Source, moved_ms: int) -> list[Update]:
    updates = []
    for record in everything(orion.kafka, sink.topic):
        key, window = wire.decode_key(sink, record.key, Shelf([]))
        value = wire.decode_value(sink, record.value, Shelf([]))
        if window is None:
            about, numbers = (_write_number(value["O"]), _write_number(value["P"])), ""
        else:
            about = (str(window["start"] - moved_ms), str(window["end"] - moved_ms))
            numbers = "gone" if value is None else " ".join(map(str, sorted(value["NUMBERS"])))
        updates.append(Update(key, about, (record.timestamp or 0) - moved_ms, numbers))
    return updates


def _write_number(number: int | None) -> str:
    return "" if number is None else str(number)


def order_updates(updates: Sequence[Update]) -> dict[tuple[str, tuple[str, str]], list[Update]]:
    """Of each window or pair what was told, in its order: those of different ones may lie in different partitions."""
    found: dict[tuple[str, tuple[str, str]], list[Update]] = defaultdict(list)
    for update in updates:
        found[update.key, update.about].append(update)
    return found


def keep_last(updates: Sequence[Update]) -> dict[tuple[str, tuple[str, str]], Update]:
    return {(update.key, update.about): update for update in updates}


@pytest.mark.parametrize("partitions", [1, 4])
def test_windows_and_pairs_are_those_of_kafka_streams(orion: Orion, until: Await, partitions: int) -> None:
    name = f"late{partitions}_"
    orion.execute("".join(declare_streams(name, partitions)))
    # A topic of a table soon loses what is of 1970. Windows begin where they did: at multiples of 5 and of 2 s.
    moved_ms = int(time.time() * 1000 - 3_600_000) // 10_000 * 10_000
    send_records(orion, name, moved_ms)
    orion.execute("".join(create_statements(name)), {"cache.max.bytes.buffering": "0"})
    orion.execute(create_windows(name, TOLD_BY_BATCH))
    own = {f"{name}{s}".upper() for s in (*WINDOWS, *JOINS)}
    # What they read is all there, and none of them reads another's results.
    until(lambda: all(q.lag == 0 for q in orion.queries() if q.sink in own), 150)
    expected = read_expected(partitions)
    sinks = {s: orion.engine.catalog.sources[f"{name}{s}".upper()] for s in (*WINDOWS, *JOINS)}
    found = {statement: read_updates(orion, sink, moved_ms) for statement, sink in sinks.items()}
    for statement in ("tumbling", "session"):
        assert order_updates(found[statement]) == order_updates(expected[statement]), statement
        final = f"{statement}_final"
        check_final(found[final], expected[final], keep_closed(statement, expected[statement], partitions))
    assert keep_last(found[TOLD_BY_BATCH]) == keep_last(expected[TOLD_BY_BATCH])
    assert order_updates(found["inner_join"]) == order_updates(expected["inner_join"])
    check_left_join(found["left_join"], expected["left_join"], partitions)
    for sink in sinks.values():
        orion.execute(f"DROP {sink.kind} {sink.name};")


def check_final(found: list[Update], expected: list[Update], closed: set[Update]) -> None:
    """Every window that is closed is told, once. Kafka Streams' store has dropped some where the clock jumps ahead."""
    assert set(expected) <= closed
    assert sorted(found) == sorted(closed)


def keep_closed(statement: str, updates: list[Update], partitions: int) -> set[Update]:
    """What Kafka Streams has told last of windows that are closed by the clock of their task."""
    reached = read_clocks({"plays"}, partitions)
    last = [update for update in keep_last(updates).values() if update.numbers != "gone"]
    return {u for u in last if int(u.about[1]) + CLOSES_MS[statement] <= reached[find_partition(u.key, partitions)]}


def check_left_join(found: list[Update], expected: list[Update], partitions: int) -> None:
    """The same pairs; and alone comes whoever does in Kafka Streams, or would if it looked at that moment.

    It looks for rows whose wait is over only when the last of those that it saw waiting is, and so tells some later,
    not at all, or not because a partner has come meanwhile.
    """
    assert order_updates(drop_single(found)) == order_updates(drop_single(expected))
    told, wanted = (set(updates) - set(drop_single(updates)) for updates in (found, expected))
    assert wanted <= told
    reached = read_clocks({"orders", "payments"}, partitions)
    more = [
        update for update in told - wanted if update.at + WAIT_MS >= reached[find_partition(update.key, partitions)]
    ]
    assert more == []


def drop_single(updates: list[Update]) -> list[Update]:
    return [update for update in updates if update.about[1]]


def find_partition(key: str, partitions: int) -> int:
    return partition_of(key.encode(), partitions)


def read_clocks(topics: set[str], partitions: int) -> dict[int, int]:
    """How far the tasks come that read some topics."""
    found: dict[int, int] = defaultdict(int)
    for row in csv.DictReader((FOLDER / "records.csv").read_text(encoding="utf-8").splitlines()):
        if row["topic"] in topics:
            partition = find_partition(row["key"], partitions)
            found[partition] = max(found[partition], int(row["time"]))
    return found


def declare_streams(name: str, partitions: int) -> list[str]:
    return [
        f"CREATE STREAM {name}{topic} (id STRING KEY, n INT) "
        f"WITH (kafka_topic='{name}{topic}', value_format='JSON', partitions={partitions});"
        for topic in ("plays", "orders", "payments")
    ]


def create_windows(name: str, statement: str) -> str:
    window, emit = WINDOWS[statement]
    return (
        f"CREATE TABLE {name}{statement} AS SELECT id, COLLECT_LIST(n) AS numbers FROM {name}plays "
        f"WINDOW {window} GROUP BY id EMIT {emit};"
    )


def create_statements(name: str) -> list[str]:
    windows = [create_windows(name, statement) for statement in WINDOWS if statement != TOLD_BY_BATCH]
    joins = [
        f"CREATE STREAM {name}{statement} AS SELECT o.id, o.n AS o, p.n AS p "
        f"FROM {name}orders o {join} {name}payments p "
        f"WITHIN (1 SECOND, 3 SECONDS) GRACE PERIOD 2 SECONDS ON o.id = p.id EMIT CHANGES;"
        for statement, join in JOINS.items()
    ]
    return [*windows, *joins]
