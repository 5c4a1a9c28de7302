"""Dead letters on a real broker: listed, shown, and sent back once, whatever happens meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from orion import ksql
from orion.errors import Conflict
from orion.hub import dead_letters
from orion.hub.dead_letters import DeadLetters, Repaired
from orion.hub.kafka import Kafka
from orion.hub.records import Headers, Outgoing
from orion.hub.writer import send_all
from orion.plan.catalog import Catalog
from orion.plan.entries import encode_entry
from orion.plan.steps import DefineSource
from orion.runtime.journal import journal_topic
from tests.scenarios.conftest import everything
from tests.services.conftest import PATIENCE, Orion


def letter(topic: str, offset: int, value: bytes, code: str = "VALUE_UNREADABLE", **more: str) -> Outgoing:
    told = {
        "orion.error.code": code,
        "orion.error.reason": "it isn't JSON",
        "orion.source.topic": topic,
        "orion.source.partition": "2",
        "orion.source.offset": str(offset),
        "orion.source.timestamp": str(1000 + offset),
        "orion.attempt": "1",
    }
    headers: Headers = tuple((k, v.encode()) for k, v in {**told, **more}.items())
    return Outgoing(value, f"k{offset}".encode(), headers, 1000 + offset)


@pytest.fixture
def dead(kafka: Kafka, topic: str) -> Iterator[str]:
    """Three records of the topic that couldn't be read, and one row that came too late."""
    kafka.create_topic(f"dlq.{topic}", 1)
    found = [letter(topic, 0, b'{"v": "x"}', trace="t0"), letter(topic, 1, b"{oops"), letter(topic, 2, b"\xff", "KEY")]
    send_all(kafka, f"dlq.{topic}", [*found, letter(topic, 3, b"{}", "LATE_ROW")])
    yield topic
    kafka.delete_topic(f"dlq.{topic}")


def test_letters_are_listed_and_shown(orion: Orion, dead: str) -> None:
    (listed,) = [one for one in orion("dlq", "list", "--json").document if one["name"] == dead]
    assert listed == {"name": dead, "letters": 4, "not_replayed": 4, "newest": 1003, "code": "VALUE_UNREADABLE"}
    first, second = orion("dlq", "show", f"dlq.{dead}", "--code", "VALUE_UNREADABLE", "--json").lines
    assert first == {
        "letter": f"dlq.{dead}/0/0",
        "partition": 0,
        "offset": 0,
        "code": "VALUE_UNREADABLE",
        "reason": "it isn't JSON",
        "source": {"topic": dead, "partition": 2, "offset": 0},
        "timestamp": 1000,
        "attempt": 1,
        "replayed": False,
        "key": "k0",
        "value": '{"v": "x"}',
    }
    assert second["value"] == "{oops"
    (row,) = orion("dlq", "show", dead, "--limit", "1").rows
    assert row[:5] == ["0:0", "VALUE_UNREADABLE", "it isn't JSON", f"{dead}/2/0", "1"]
    assert "no dead letters with code NONE" in orion("dlq", "show", dead, "--code", "NONE").err


def test_a_letter_goes_back_repaired_and_once(orion: Orion, kafka: Kafka, dead: str) -> None:
    replay = ("dlq", "replay", dead, "--offset", "0:0", "--set", "v=7", "--set", "by.hand=yes", "--json")
    assert orion(*replay, "--dry-run").document["would_be_replayed"] == 1
    assert orion(*replay, code=None).code != 0  # nobody is there to say yes
    assert everything(kafka, dead) == []
    assert orion(*replay, "--yes").document["replayed"] == 1
    (sent,) = everything(kafka, dead)
    assert (sent.partition, sent.key, sent.timestamp) == (2, b"k0", 1000)
    assert json.loads(sent.value or b"") == {"v": 7, "by": {"hand": "yes"}}
    assert dict(sent.headers) == {
        "trace": b"t0",
        "orion.replayed.from": f"dlq.{dead}/0/0".encode(),
        "orion.attempt": b"1",
    }
    again = orion(*replay, "--yes")
    assert (again.document["replayed"], again.document["replayed_before"]) == (0, 1)
    assert "sent back before" in again.err
    assert len(everything(kafka, dead)) == 1
    (listed,) = [one for one in orion("dlq", "list", "--json").document if one["name"] == dead]
    assert (listed["letters"], listed["not_replayed"]) == (4, 3)


def test_all_or_none_are_repaired_and_late_rows_stay(orion: Orion, kafka: Kafka, dead: str) -> None:
    refused = orion("dlq", "replay", dead, "--set", "v=7", "--yes", code=2)
    assert "REPAIR_FAILED" in refused.err
    assert "2 of 3 letters" in refused.err
    assert everything(kafka, dead) == []
    program = f"{sys.executable} -c 'import sys; print(len(sys.stdin.buffer.read()))'"
    ran = orion("dlq", "replay", dead, "--command", program, "--yes", "--json")
    assert ran.document == {"letters": 4, "replayed_before": 0, "cannot_be_replayed": 1, "replayed": 3}
    assert "came too late" in ran.err
    assert [r.value for r in everything(kafka, dead)] == [b"10", b"5", b"1"]


KILLED = """
import os, signal, sys
from orion.hub import dead_letters
from orion.hub.kafka import Kafka
def die(producer):
    producer.flush(30)  # every record is with the broker; only the commit is missing
    print("flushed", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
dead_letters._commit = die
letters = dead_letters.DeadLetters(Kafka(sys.argv[1]))
due = [dead_letters.Repaired(one, one.record.value) for one in letters.read(sys.argv[2]) if not one.stays]
letters.replay(sys.argv[2], due)
"""


def test_a_replay_that_is_killed_before_its_commit_has_sent_nothing(orion: Orion, kafka: Kafka, dead: str) -> None:
    command = [sys.executable, "-c", KILLED, kafka.bootstrap, dead]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (ran.returncode, ran.stdout) == (-9, "flushed\n"), ran.stderr
    assert orion("dlq", "replay", dead, "--yes", "--json").document["replayed"] == 3
    assert [r.value for r in everything(kafka, dead)] == [b'{"v": "x"}', b"{oops", b"\xff"]


def test_of_two_replays_at_once_the_later_one_sends(kafka: Kafka, dead: str, monkeypatch: pytest.MonkeyPatch) -> None:
    letters = DeadLetters(kafka)
    due = [Repaired(one, one.record.value) for one in letters.read(dead) if not one.stays]
    commit: Callable[..., None] = dead_letters._commit
    inner: list[int] = []

    def overtaken(producer: object) -> None:
        monkeypatch.setattr(dead_letters, "_commit", commit)
        inner.append(len(DeadLetters(kafka).replay(dead, due).sent))
        commit(producer)

    monkeypatch.setattr(dead_letters, "_commit", overtaken)
    with pytest.raises(Conflict) as refused:
        letters.replay(dead, due)
    assert (refused.value.code, inner) == ("REPLAY_TAKEN_OVER", [3])
    assert len(everything(kafka, dead)) == 3


def test_a_dead_letter_topic_made_anew_has_other_letters(orion: Orion, kafka: Kafka, dead: str) -> None:
    assert orion("dlq", "replay", dead, "--offset", "0", "--yes", "--json").document["replayed"] == 1
    kafka.delete_topic(f"dlq.{dead}")
    kafka.create_topic(f"dlq.{dead}", 1)
    send_all(kafka, f"dlq.{dead}", [letter(dead, 9, b"new")])
    assert orion("dlq", "replay", dead, "--offset", "0", "--yes", "--json").document["replayed"] == 1
    assert [r.value for r in everything(kafka, dead)] == [b'{"v": "x"}', b"new"]


def test_what_is_not_there_is_named(orion: Orion, kafka: Kafka, dead: str) -> None:
    missing = orion("dlq", "show", f"{dead}x", code=3)
    assert "DLQ_NOT_FOUND" in missing.err
    assert dead in missing.err
    assert "LETTER_NOT_FOUND" in orion("dlq", "replay", dead, "--offset", "99", code=3).err
    kafka.delete_topic(dead)
    gone = orion("dlq", "replay", dead, "--yes", code=3)
    assert "SOURCE_TOPIC_GONE" in gone.err


def test_values_that_would_be_letters_again_are_told_before_they_go(orion: Orion, kafka: Kafka, dead: str) -> None:
    """By what is declared over their topic, as the service's journal has it."""
    catalog = journal_topic("orion")
    kafka.create_topic(catalog, 1, exist_ok=True)
    text = f"CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC='{dead}', PARTITIONS=3, VALUE_FORMAT='JSON');"
    steps = ksql.compile(text, Catalog()).steps
    source = next(step.source for step in steps if isinstance(step, DefineSource))
    send_all(kafka, catalog, [Outgoing(encode_entry(source), f"source/{source.name}".encode())])
    try:
        tried = orion("dlq", "replay", dead, "--offset", "0", "--dry-run", "--json").document
        assert (tried["would_be_replayed"], tried["would_be_unreadable"]) == (1, 1)
        refused = orion("dlq", "replay", dead, "--offset", "0", "--yes", code=2)
        assert "STILL_UNREADABLE" in refused.err
        assert 'V is "x", which is no INTEGER' in refused.err
        mended = orion("dlq", "replay", dead, "--offset", "0", "--set", "v=7", "--yes", "--json").document
        assert mended["replayed"] == 1
        assert orion("dlq", "replay", dead, "--offset", "1", "--anyway", "--yes", "--json").document["replayed"] == 1
    finally:
        kafka.delete_topic(catalog)
