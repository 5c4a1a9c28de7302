"""`orion produce` and `orion consume` on a real broker."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from orion.hub.kafka import Kafka
from orion.hub.records import Outgoing
from orion.hub.writer import send_all
from orion.registry.access import Remote
from tests.services.conftest import PATIENCE, Orion

NOON = 1_767_268_800_000  # 2026-01-01T12:00:00Z

# Said by BuiltInPartitioner.partitionForKey of kafka-clients 4.3.1.
JAVA = {
    3: {"orion": 0, "truck-42": 2, "Åse": 1, "a-little-bit-long-string": 2},
    5: {"orion": 1, "truck-42": 3, "Åse": 4, "a-little-bit-long-string": 2},
    16: {"orion": 12, "truck-42": 1, "Åse": 7, "a-little-bit-long-string": 0},
}


def numbers(start: int, stop: int) -> str:
    return "".join(f'{{"n": {n}}}\n' for n in range(start, stop))


@pytest.mark.parametrize(("mode", "acks"), list(product(["fire-and-forget", "sync", "async"], ["0", "1", "all"])))
def test_every_way_of_sending_delivers(orion: Orion, topic: str, mode: str, acks: str) -> None:
    ran = orion("produce", topic, "--mode", mode, "--acks", acks, stdin=numbers(0, 20))
    known = 0 if mode == "fire-and-forget" else 20
    assert ran.err.startswith(f"sent 20, acknowledged {known}, failed 0")
    got = orion("consume", topic, "--json").lines
    assert sorted(record["value"]["n"] for record in got) == list(range(20))


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_compression_is_read_back(orion: Orion, topic: str, compression: str) -> None:
    orion("produce", topic, "--compression", compression, stdin=numbers(0, 50))
    assert len(orion("consume", topic, "--json").lines) == 50


def test_flags_give_key_headers_time_and_partition(orion: Orion, topic: str) -> None:
    flags = [
        "--key",
        "k",
        "--header",
        "a=1",
        "--header",
        "b=x",
        "--timestamp",
        "2026-01-01T12:00:00Z",
        "--partition",
        "2",
    ]
    orion("produce", topic, *flags, stdin='{"price": 1.10}\n')
    ran = orion("consume", topic, "--json")
    assert ran.lines == [
        {
            "topic": topic,
            "partition": 2,
            "offset": 0,
            "timestamp": NOON,
            "key": "k",
            "headers": {"a": "1", "b": "x"},
            "value": {"price": 1.10},
        }
    ]
    assert '"price": 1.10' in ran.out
    assert orion("consume", topic).out == '2\t0\t2026-01-01T12:00:00.000Z\tk\ta=1,b=x\t{"price": 1.10}\n'


def test_fields_give_key_and_time(orion: Orion, topic: str) -> None:
    lines = '{"id": "a", "at": 5}\n{"id": 7, "at": "1970-01-01T00:00:00.006Z"}\n'
    orion("produce", topic, "--key-field", "id", "--timestamp-field", "at", stdin=lines)
    got = {record["key"]: record for record in orion("consume", topic, "--json").lines}
    assert got["a"]["timestamp"] == 5
    assert got["7"]["timestamp"] == 6
    assert got["7"]["value"]["id"] == 7


def test_envelopes_travel_from_topic_to_topic_unchanged(orion: Orion, kafka: Kafka, topic: str, name: str) -> None:
    envelopes = [
        {"key": "k", "value": {"a": [1, None]}, "headers": [["h", "1"], ["h", {"base64": "/w=="}]], "timestamp": NOON},
        {"key": "k", "value": None, "headers": {"n": None}, "timestamp": NOON, "partition": 1},
        {"value": "/wA=", "value_format": "base64", "timestamp": NOON, "partition": 0},
        {"key": "/wA=", "key_format": "base64", "value": "not json", "value_format": "text", "timestamp": 0},
    ]
    orion("produce", topic, "--envelope", stdin="".join(json.dumps(each) + "\n" for each in envelopes))
    first = orion("consume", topic, "--json")
    copy = f"{name}-copy"
    kafka.create_topic(copy, 3)
    orion("produce", copy, "--envelope", stdin=first.out)
    again = orion("consume", copy, "--json")
    kafka.delete_topic(copy)
    assert len(first.lines) == len(envelopes)
    assert sorted(again.out.replace(copy, topic).splitlines()) == sorted(first.out.splitlines())


@pytest.mark.parametrize("partitions", list(JAVA))
def test_keys_live_where_java_puts_them(orion: Orion, kafka: Kafka, name: str, partitions: int) -> None:
    kafka.create_topic(name, partitions)
    keys = JAVA[partitions]
    orion("produce", name, "--key-field", "id", stdin="".join(json.dumps({"id": key}) + "\n" for key in keys))
    got = {record["key"]: record["partition"] for record in orion("consume", name, "--json").lines}
    kafka.delete_topic(name)
    assert got == keys


def test_a_malformed_line_is_reported_by_number_and_the_rest_is_sent(orion: Orion, topic: str) -> None:
    ran = orion("produce", topic, "--key-field", "id", stdin='{"id": 1}\n\n{oops\n{"no": 1}\n{"id": 2}\n', code=1)
    assert "error[MALFORMED_LINE]: line 3: " in ran.err
    assert "error[MALFORMED_LINE]: line 4: It has no field id." in ran.err
    assert ran.err.endswith("sent 2, acknowledged 2, failed 0, malformed 2\n")
    assert sorted(record["key"] for record in orion("consume", topic, "--json").lines) == ["1", "2"]


def test_many_bad_lines_are_counted_and_not_all_shown(orion: Orion, topic: str) -> None:
    ran = orion("produce", topic, stdin="{\n" * 500, code=1)
    assert ran.err.count("MALFORMED_LINE") == 20
    assert ran.err.endswith("malformed 500\n")


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_record_the_broker_refuses_is_counted(orion: Orion, kafka: Kafka, name: str, mode: str) -> None:
    kafka.create_topic(name, 1, config={"max.message.bytes": "1000"})
    lines = [json.dumps({"n": n, "pad": "x" * (3000 if n == 5 else 100)}) for n in range(50)]
    ran = orion("produce", name, "--mode", mode, stdin="\n".join(lines), code=1)
    got = orion("consume", name, "--json").lines
    kafka.delete_topic(name)
    assert "error[RECORD_TOO_LARGE]: line 6: " in ran.err
    assert ran.err.endswith("sent 50, acknowledged 49, failed 1\n")
    assert sorted(record["value"]["n"] for record in got) == [n for n in range(50) if n != 5]


def test_a_rate_holds_the_lines_back(orion: Orion, topic: str) -> None:
    orion("produce", topic, "--rate", "20", "--partition", "0", stdin=numbers(0, 11))
    times = [record["timestamp"] for record in orion("consume", topic, "--json").lines]
    assert times[-1] - times[0] >= 400


def test_a_file_is_sent(orion: Orion, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_text(numbers(0, 3))
    orion("produce", topic, "--file", str(file))
    assert len(orion("consume", topic, "--json").lines) == 3


def test_what_is_not_there_is_said_before_anything_is_sent(orion: Orion, topic: str) -> None:
    assert "error[TOPIC_NOT_FOUND]" in orion("produce", f"{topic}-no", stdin="1\n", code=3).err
    assert "error[TOPIC_NOT_FOUND]" in orion("consume", f"{topic}-no", code=3).err
    assert "error[INVALID_PARTITION]" in orion("produce", topic, "--partition", "3", stdin="1\n", code=2).err
    assert "error[INVALID_PARTITION]" in orion("consume", topic, "--partition", "3", code=2).err


def test_reading_begins_where_it_is_told(orion: Orion, topic: str) -> None:
    lines = "".join(f'{{"n": {n}, "at": {NOON + n * 1000}}}\n' for n in range(10))
    orion("produce", topic, "--partition", "1", "--timestamp-field", "at", stdin=lines)

    def read(*flags: str) -> list[int]:
        return [record["value"]["n"] for record in orion("consume", topic, "--json", *flags).lines]

    assert read() == read("--from", "beginning") == list(range(10))
    assert read("--from", "end") == []
    assert read("--from", "offset:7") == [7, 8, 9]
    assert read("--from", "offset:99") == []
    assert read("--from", f"time:{NOON + 4500}") == [5, 6, 7, 8, 9]
    assert read("--from", "time:2026-01-01T12:00:08Z") == [8, 9]
    assert read("--from", "time:2027-01-01T00:00:00Z") == []
    assert read("--max", "3") == [0, 1, 2]
    assert read("--partition", "0", "--partition", "2") == []
    assert read("--partition", "1", "--from", "offset:8", "--max", "1") == [8]


def test_bytes_that_are_no_text_are_marked(orion: Orion, topic: str) -> None:
    orion("produce", topic, "--envelope", stdin='{"value": "/wA=", "value_format": "base64", "timestamp": 0}\n')
    assert orion("consume", topic).out.split("\t")[-1] == "base64:/wA=\n"
    assert orion("consume", topic, "--binary", "hex").out.split("\t")[-1] == "hex:ff00\n"


def test_a_follower_shows_what_comes_later(
    orion: Orion, topic: str, process: Callable[..., subprocess.Popen[str]]
) -> None:
    follower = process("consume", topic, "--follow", "--from", "beginning", "--max", "3", "--json")
    orion("produce", topic, stdin=numbers(0, 1))
    assert follower.stdout is not None
    assert json.loads(follower.stdout.readline())["value"] == {"n": 0}
    orion("produce", topic, stdin=numbers(1, 3))
    rest, _ = follower.communicate(timeout=PATIENCE)
    assert sorted(json.loads(line)["value"]["n"] for line in rest.splitlines()) == [1, 2]
    assert follower.returncode == 0


def test_a_follower_without_news_ends_after_its_timeout(orion: Orion, topic: str) -> None:
    assert orion("consume", topic, "--follow", "--timeout", "0.5").out == ""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_follower_that_is_stopped_leaves_its_group_at_once(
    orion: Orion,
    kafka: Kafka,
    topic: str,
    process: Callable[..., subprocess.Popen[str]],
    until: Callable[[Callable[[], bool]], None],
    number: signal.Signals,
    code: int,
) -> None:
    orion("produce", topic, stdin=numbers(0, 1))
    follower = process("consume", topic, "--follow", "--group", topic, "--commit", "sync")
    until(lambda: topic in {group.name for group in kafka.groups()})
    until(lambda: [part.lag for part in kafka.describe_group(topic).progress].count(0) == 1)
    follower.send_signal(number)
    _, errors = follower.communicate(timeout=PATIENCE)
    assert (follower.returncode, errors) == (code, "read 1 record\n")
    detail = kafka.describe_group(topic)
    assert (detail.members, detail.lag) == ((), 0)


def test_a_reader_that_goes_away_ends_it_quietly(
    orion: Orion, topic: str, process: Callable[..., subprocess.Popen[str]]
) -> None:
    orion("produce", topic, stdin=numbers(0, 5000))
    follower = process("consume", topic, "--follow", "--from", "beginning")
    assert follower.stdout is not None
    assert follower.stdout.readline()
    follower.stdout.close()
    orion("produce", topic, stdin=numbers(0, 5000))
    assert follower.wait(timeout=PATIENCE) == 141
    assert follower.stderr is not None
    assert "Traceback" not in follower.stderr.read()


def test_an_open_transaction_is_seen_only_when_asked_for(orion: Orion, kafka: Kafka, topic: str, name: str) -> None:
    producer = kafka.producer(**{"transactional.id": name})
    producer.init_transactions(PATIENCE)
    producer.begin_transaction()
    producer.produce(topic, b'"open"', partition=0)
    assert producer.flush(PATIENCE) == 0
    assert orion("consume", topic).out == ""
    assert '"open"' in orion("consume", topic, "--isolation", "read_uncommitted").out
    assert kafka.end_offsets(topic)[0] == 1
    assert kafka.end_offsets(topic, committed=True)[0] == 0
    producer.commit_transaction(PATIENCE)
    assert '"open"' in orion("consume", topic).out


def test_a_record_that_names_a_schema_is_shown_as_json(
    orion: Orion, kafka: Kafka, topic: str, registry_url: str
) -> None:
    made = Remote(registry_url).register(f"{topic}-value", "AVRO", '{"type": "map", "values": "long"}')
    body = b"\x02\x02n\x04\x00"  # one entry, a key of one letter, the number 2, no more entries
    send_all(kafka, topic, [Outgoing(b"\0" + made.id.to_bytes(4, "big") + body, b"key")])
    assert orion("consume", topic, "--registry", registry_url).out.split("\t")[3:] == ["key", "", '{"n": 2}\n']
    assert "base64:" not in orion("consume", topic, "--registry", registry_url).out
    raw = orion("consume", topic, "--raw").out.rstrip("\n").split("\t")[-1]
    assert raw.startswith("\\x00")
    away = orion("consume", topic, "--registry", "http://127.0.0.1:9")
    assert away.out.rstrip("\n").split("\t")[-1] == raw
    assert "No schema registry answers at http://127.0.0.1:9" in away.err
