"""Statements with a keyed operator over one source share a stream: each with its state, whoever comes and goes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from orion.app import Orion
from orion.hub.kafka import Kafka
from orion.hub.records import Outgoing
from orion.hub.writer import send_all
from tests.scenarios.conftest import Await, everything
from tests.scenarios.test_sharing import lag_of, run, shares, status
from tests.scenarios.test_state import find_checkpoint

TOPIC = "keyed_plays"
NAMES = ("KEYED_COUNTS", "KEYED_SUMS", "KEYED_MINUTES")
KEYS = 7
MINUTE = 60_000
START = 1_790_000_000_000 // MINUTE * MINUTE


@pytest.fixture(scope="module")
def plays(orion: Orion, kafka: Kafka) -> Iterator[str]:
    kafka.create_topic(TOPIC, 3)
    run(orion, f"CREATE STREAM keyed_plays (k STRING KEY, n INT) WITH (kafka_topic='{TOPIC}', value_format='JSON')")
    run(orion, "CREATE TABLE keyed_counts AS SELECT k, COUNT(*) AS made FROM keyed_plays GROUP BY k")
    run(orion, "CREATE TABLE keyed_sums AS SELECT k, SUM(n) AS made FROM keyed_plays WHERE n % 2 = 0 GROUP BY k")
    run(
        orion,
        "CREATE TABLE keyed_minutes AS SELECT k, COUNT(*) AS made FROM keyed_plays"
        " WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 0 SECONDS) GROUP BY k",
    )
    yield TOPIC
    for name in NAMES:
        run(orion, f"DROP TABLE {name} DELETE TOPIC")
    run(orion, "DROP STREAM keyed_plays DELETE TOPIC")


def feed(kafka: Kafka, numbers: range, *, minute: int = 0) -> None:
    """Each number under one of the keys, at a moment of that minute."""
    rows = [
        Outgoing(json.dumps({"n": n}).encode(), f"k{n % KEYS}".encode(), timestamp=START + minute * MINUTE + n)
        for n in numbers
    ]
    send_all(kafka, TOPIC, rows)


def last_values(kafka: Kafka, topic: str) -> dict[bytes, int]:
    found = {record.key or b"": json.loads(record.value or b"{}")["MADE"] for record in everything(kafka, topic)}
    return dict(sorted(found.items()))


def wanted_counts(count: int) -> dict[bytes, int]:
    return {f"k{k}".encode(): len(range(k, count, KEYS)) for k in range(KEYS)}


def wanted_sums(count: int) -> dict[bytes, int]:
    return {f"k{k}".encode(): sum(n for n in range(k, count, KEYS) if n % 2 == 0) for k in range(KEYS)}


def holds(kafka: Kafka, count: int) -> bool:
    """Whether the tables have what so many numbers come to."""
    return last_values(kafka, "KEYED_COUNTS") == wanted_counts(count) and last_values(
        kafka, "KEYED_SUMS"
    ) == wanted_sums(count)


def test_statements_with_state_share_a_stream(orion: Orion, kafka: Kafka, plays: str, until: Await) -> None:
    feed(kafka, range(70))
    until(lambda: shares(orion, *NAMES), 90.0)
    feed(kafka, range(70, 140))
    until(lambda: holds(kafka, 140), 60.0)
    groups = [status(orion, name).group or "" for name in NAMES]
    until(lambda: all(lag_of(kafka, group, TOPIC) == 0 for group in groups), 20.0)
    assert all(status(orion, name).late == 0 for name in NAMES)


def test_late_rows_are_counted_for_the_one_that_closes_windows(
    orion: Orion, kafka: Kafka, plays: str, until: Await
) -> None:
    until(lambda: shares(orion, *NAMES), 90.0)
    feed(kafka, range(140, 210), minute=5)
    until(lambda: holds(kafka, 210), 60.0)
    feed(kafka, range(210, 245), minute=1)
    until(lambda: holds(kafka, 245), 60.0)
    until(lambda: status(orion, "KEYED_MINUTES").late == 35, 20.0)
    assert [status(orion, name).late for name in NAMES[:2]] == [0, 0]
    windows = sorted(last_values(kafka, "KEYED_MINUTES").values())
    assert windows == [10] * KEYS + [20] * KEYS


def test_one_that_is_paused_goes_on_where_it_was(orion: Orion, kafka: Kafka, plays: str, until: Await) -> None:
    until(lambda: shares(orion, *NAMES), 90.0)
    sums = status(orion, "KEYED_SUMS").id
    run(orion, f"PAUSE {sums}")
    feed(kafka, range(245, 280), minute=6)
    until(lambda: last_values(kafka, "KEYED_COUNTS") == wanted_counts(280), 60.0)
    until(lambda: shares(orion, "KEYED_COUNTS", "KEYED_MINUTES"), 90.0)
    assert last_values(kafka, "KEYED_SUMS") == wanted_sums(245)
    run(orion, f"RESUME {sums}")
    until(lambda: shares(orion, *NAMES), 90.0)
    until(lambda: holds(kafka, 280), 60.0)


def test_one_that_is_replaced_begins_anew_and_the_others_go_on(
    orion: Orion, kafka: Kafka, plays: str, until: Await
) -> None:
    until(lambda: shares(orion, *NAMES), 90.0)
    run(
        orion,
        "CREATE OR REPLACE TABLE keyed_sums AS SELECT k, SUM(n) AS made FROM keyed_plays WHERE n % 2 = 0 AND n >= 0"
        " GROUP BY k",
    )
    feed(kafka, range(280, 315), minute=7)
    until(lambda: holds(kafka, 315), 60.0)
    until(lambda: shares(orion, *NAMES), 90.0)


def test_a_store_that_is_damaged_is_made_anew_and_the_others_go_on(
    orion: Orion, kafka: Kafka, scratch: Path, plays: str, until: Await
) -> None:
    until(lambda: shares(orion, *NAMES), 90.0)
    counts = status(orion, "KEYED_COUNTS").id
    stores = sorted((find_checkpoint(scratch, counts) / "tasks" / "0").glob("*/data.mdb"))
    assert len(stores) == 3
    for store in stores:
        # Beside the file, so that no worker has it mapped while it changes.
        other = store.with_suffix(".damaged")
        other.write_bytes(bytes(store.stat().st_size))
        other.replace(store)
    feed(kafka, range(315, 350), minute=8)
    until(lambda: holds(kafka, 350), 90.0)
    assert status(orion, "KEYED_SUMS").failures == ()
    until(lambda: status(orion, "KEYED_SUMS").state == "RUNNING", 60.0)
