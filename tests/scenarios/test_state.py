"""What a statement knows stands in Kafka: checkpoints and local stores may go, be damaged or be of another time."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from orion.app import Orion
from orion.cli import app
from orion.hub.kafka import Kafka
from orion.hub.records import Outgoing
from orion.hub.writer import send_all
from orion.runtime.queries import QueryStatus
from tests.scenarios.conftest import Await, everything

Damage = Callable[[Path], None]


def find_status(orion: Orion, sink: str) -> QueryStatus:
    return next(s for s in orion.queries() if s.sink == sink)


def find_checkpoint(scratch: Path, query: str) -> Path:
    return next((scratch / "orion" / "checkpoints").glob(f"{query}-*"))


def send_plays(kafka: Kafka, topic: str, numbers: range) -> None:
    """Play 7 is the song s2's; each song has a key, and the songs are spread over the partitions."""
    plays = (json.dumps({"N": number}).encode() for number in numbers)
    send_all(
        kafka, topic, [Outgoing(play, f"s{number % 5}".encode()) for number, play in zip(numbers, plays, strict=True)]
    )


def read_counts(kafka: Kafka, topic: str) -> dict[str, list[int]]:
    """Each song's counts in the order in which they were told."""
    found: dict[str, list[int]] = {}
    for record in everything(kafka, topic):
        found.setdefault((record.key or b"").decode(), []).append(json.loads(record.value or b"{}")["PLAYS"])
    return found


def read_numbers(kafka: Kafka, topic: str) -> list[int]:
    return sorted(json.loads(record.value or b"{}")["N"] for record in everything(kafka, topic))


def create_statements(orion: Orion, name: str) -> None:
    orion.execute(f"""
        CREATE STREAM {name} (song STRING KEY, n INT) WITH (kafka_topic='{name}', value_format='JSON', partitions=2);
        CREATE STREAM {name}_copy AS SELECT * FROM {name} EMIT CHANGES;
        CREATE TABLE {name}_counts AS SELECT song, COUNT(*) AS plays FROM {name} GROUP BY song EMIT CHANGES;
    """)


def has_counted(kafka: Kafka, name: str, count: int) -> Callable[[], bool]:
    """Whether all plays have come through: `count` of them, and a fifth of that for each song."""

    def look() -> bool:
        counts = read_counts(kafka, f"{name}_COUNTS")
        whole = [told[-1] for told in counts.values()] == [count // 5] * 5
        return whole and len(read_numbers(kafka, f"{name}_COPY")) >= count

    return look


def remove_folder(folder: Path) -> None:
    shutil.rmtree(folder)


def remove_metadata(folder: Path) -> None:
    (folder / "metadata").unlink()


def cut_plan_off(folder: Path) -> None:
    last = max((entry for entry in (folder / "offsets").iterdir() if entry.name.isdecimal()), key=lambda e: int(e.name))
    last.write_bytes(last.read_bytes()[:20])


def remove_logs(folder: Path) -> None:
    shutil.rmtree(folder / "offsets")
    shutil.rmtree(folder / "commits")


@pytest.mark.parametrize("damage", [remove_folder, remove_metadata, cut_plan_off, remove_logs])
def test_a_checkpoint_that_is_lost_or_damaged_is_made_anew(
    orion: Orion, kafka: Kafka, until: Await, scratch: Path, damage: Damage
) -> None:
    name = f"LOST_{damage.__name__.upper()}"
    create_statements(orion, name)
    send_plays(kafka, name, range(100))
    until(has_counted(kafka, name, 100), 120.0)
    queries = [find_status(orion, f"{name}_{sink}").id for sink in ("COPY", "COUNTS")]
    for query in queries:
        orion.execute(f"PAUSE {query};")
        damage(find_checkpoint(scratch, query))
    send_plays(kafka, name, range(100, 200))
    for query in queries:
        orion.execute(f"RESUME {query};")
    until(has_counted(kafka, name, 200), 120.0)
    assert read_numbers(kafka, f"{name}_COPY") == list(range(200))
    for told in read_counts(kafka, f"{name}_COUNTS").values():
        assert told == sorted(set(told)), "a count was told twice, or a smaller one after a larger"
    for query in queries:
        orion.execute(f"TERMINATE {query};")


def test_a_checkpoint_of_an_earlier_time_is_made_anew(
    orion: Orion, kafka: Kafka, until: Await, scratch: Path, tmp_path: Path
) -> None:
    create_statements(orion, "EARLIER")
    send_plays(kafka, "EARLIER", range(100))
    until(has_counted(kafka, "EARLIER", 100), 120.0)
    queries = [find_status(orion, f"EARLIER_{sink}").id for sink in ("COPY", "COUNTS")]
    for query in queries:
        orion.execute(f"PAUSE {query};")
        shutil.copytree(find_checkpoint(scratch, query), tmp_path / query)
        orion.execute(f"RESUME {query};")
    send_plays(kafka, "EARLIER", range(100, 200))
    until(has_counted(kafka, "EARLIER", 200), 120.0)
    for query in queries:
        orion.execute(f"PAUSE {query};")
        shutil.rmtree(find_checkpoint(scratch, query))
        shutil.copytree(tmp_path / query, scratch / "orion" / "checkpoints" / f"{query}-x")
        incarnation = orion.engine.catalog.queries[query].incarnation
        (scratch / "orion" / "checkpoints" / f"{query}-x").rename(
            scratch / "orion" / "checkpoints" / f"{query}-{incarnation}"
        )
    send_plays(kafka, "EARLIER", range(200, 300))
    for query in queries:
        orion.execute(f"RESUME {query};")
    until(has_counted(kafka, "EARLIER", 300), 120.0)
    assert read_numbers(kafka, "EARLIER_COPY") == list(range(300))
    for told in read_counts(kafka, "EARLIER_COUNTS").values():
        assert told == sorted(set(told))
    for query in queries:
        orion.execute(f"TERMINATE {query};")


def remove_store(store: Path) -> None:
    shutil.rmtree(store)


def cut_store_off(store: Path) -> None:
    file = store / "data.mdb"
    with file.open("r+b") as opened:
        opened.truncate(file.stat().st_size // 2 // 4096 * 4096)


def fill_store_with_noise(store: Path) -> None:
    (store / "data.mdb").write_bytes(b"\x5a" * 65_536)


@pytest.mark.parametrize("damage", [remove_store, cut_store_off, fill_store_with_noise])
def test_a_local_store_that_is_damaged_while_it_runs_is_made_anew(
    orion: Orion, kafka: Kafka, until: Await, scratch: Path, damage: Damage
) -> None:
    name = f"STORE_{damage.__name__.upper()}"
    create_statements(orion, name)
    send_plays(kafka, name, range(100))
    until(has_counted(kafka, name, 100), 120.0)
    query = find_status(orion, f"{name}_COUNTS").id
    stores = sorted((find_checkpoint(scratch, query) / "tasks" / "0").iterdir())
    assert len(stores) == 2
    for store in stores:
        damage(store)
    send_plays(kafka, name, range(100, 200))
    until(has_counted(kafka, name, 200), 120.0)
    for told in read_counts(kafka, f"{name}_COUNTS").values():
        assert told == sorted(set(told))
    orion.execute(f"TERMINATE {query};")


def test_a_local_store_of_an_earlier_time_is_caught_up(
    orion: Orion, kafka: Kafka, until: Await, scratch: Path, tmp_path: Path
) -> None:
    create_statements(orion, "AGED")
    send_plays(kafka, "AGED", range(100))
    until(has_counted(kafka, "AGED", 100), 120.0)
    query = find_status(orion, "AGED_COUNTS").id
    tasks = find_checkpoint(scratch, query) / "tasks"
    orion.execute(f"PAUSE {query};")
    shutil.copytree(tasks, tmp_path / "tasks")
    orion.execute(f"RESUME {query};")
    send_plays(kafka, "AGED", range(100, 200))
    until(has_counted(kafka, "AGED", 200), 120.0)
    shutil.rmtree(tasks)
    shutil.copytree(tmp_path / "tasks", tasks)
    send_plays(kafka, "AGED", range(200, 300))
    until(has_counted(kafka, "AGED", 300), 120.0)
    for told in read_counts(kafka, "AGED_COUNTS").values():
        assert told == sorted(set(told))
    orion.execute(f"TERMINATE {query};")


def find_restore(orion: Orion, query: str) -> dict[str, Any]:
    (told,) = orion.execute("SHOW QUERIES EXTENDED;")
    described = next(one for one in told["queryDescriptions"] if one["id"] == query)
    return {"shown": described["state"], "status": described["ksqlHostQueryStatus"], **described["stateRestore"]}


def test_a_statement_that_waits_for_its_state_is_shown_as_restoring_it(
    orion: Orion, kafka: Kafka, until: Await, scratch: Path
) -> None:
    """Its tasks wait for a transaction on their changelog: how much they have to read isn't known before it ends."""
    create_statements(orion, "AWAITED")
    send_plays(kafka, "AWAITED", range(100))
    until(has_counted(kafka, "AWAITED", 100), 120.0)
    query = find_status(orion, "AWAITED_COUNTS").id
    assert find_restore(orion, query)["state"] == "DONE"
    orion.execute(f"PAUSE {query};")
    shutil.rmtree(find_checkpoint(scratch, query) / "tasks")
    changelog = next(topic.name for topic in kafka.topics() if query in topic.name and topic.name.endswith("changelog"))
    producer = kafka.producer(**{"transactional.id": "in-the-way"})
    producer.init_transactions()
    producer.begin_transaction()
    for task in range(2):
        producer.produce(changelog, b"never committed", b"key", partition=task)
    producer.flush()
    send_plays(kafka, "AWAITED", range(100, 200))
    orion.execute(f"RESUME {query};")
    until(lambda: find_status(orion, "AWAITED_COUNTS").state == "RESTORING", 60.0)
    told = find_restore(orion, query)
    assert (told["shown"], told["status"]) == ("RESTORING", {"orion": "RUNNING"})  # ksqlDB has no word for it
    assert (told["state"], told["tasks"], told["tasksDone"]) == ("RESTORING", 2, 0)
    assert (told["percent"], told["ofAtMost"]) == (None, None)
    assert "of an unknown number of records" in told["message"]
    producer.abort_transaction()
    until(has_counted(kafka, "AWAITED", 200), 120.0)
    until(lambda: find_status(orion, "AWAITED_COUNTS").state == "RUNNING", 60.0)
    told = find_restore(orion, query)
    assert (told["state"], told["tasksDone"], told["percent"]) == ("DONE", 2, 100)
    assert told["records"] >= 5, "five songs"
    orion.execute(f"TERMINATE {query};")


def test_a_statement_that_is_dropped_leaves_no_changelog(orion: Orion, kafka: Kafka, until: Await) -> None:
    create_statements(orion, "GONE")
    query = find_status(orion, "GONE_COUNTS").id
    assert [t.name for t in kafka.topics() if query in t.name]
    orion.execute("DROP TABLE gone_counts;")
    until(lambda: not [t.name for t in kafka.topics() if query in t.name], 30.0)


def test_what_a_statement_keeps_can_be_read(orion: Orion, kafka: Kafka, until: Await, scratch: Path) -> None:
    create_statements(orion, "SHOWN")
    send_plays(kafka, "SHOWN", range(100))
    until(has_counted(kafka, "SHOWN", 100), 120.0)
    query = find_status(orion, "SHOWN_COUNTS").id
    asked = ["state", "show", query, "--bootstrap", kafka.bootstrap, "--json"]
    ran = CliRunner().invoke(app, ["--data", str(scratch / "orion"), *asked])
    assert ran.exit_code == 0, ran.output
    records = [record for record in json.loads(ran.output) if record["key"] != "(clock)"]
    # What a group keeps is the time of its latest row and its aggregates.
    assert sorted((record["key"][-2:], record["value"][1]) for record in records) == [
        (f"s{song}", [20]) for song in range(5)
    ]
    assert {record["task"] for record in records} <= {0, 1}
    ran = CliRunner().invoke(app, ["--data", str(scratch / "orion"), "state", "list", "--bootstrap", kafka.bootstrap])
    (line,) = (line for line in ran.output.splitlines() if query in line)
    assert "unknown" in line, "no server tells how far the query is with its state"
    orion.execute(f"TERMINATE {query};")
