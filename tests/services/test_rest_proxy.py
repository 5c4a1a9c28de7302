"""REST Proxy v2 on a real broker: topics, records in every embedded format, consumer instances."""

from __future__ import annotations

import json
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from orion.config import Web
from orion.hub.kafka import Kafka
from tests.services.proxy import Proxy, everything, proxy

V2 = "application/vnd.kafka.v2+json"
IDLE_S = 3.0

Until = Callable[[Callable[[], bool]], None]


@pytest.fixture(scope="module")
def rest(kafka: Kafka) -> Iterator[Proxy]:
    with proxy(kafka, Web(max_body_bytes=100_000)) as started:
        yield started


@pytest.fixture
def http(rest: Proxy) -> httpx.Client:
    return rest.http


def media(embedded: str) -> dict[str, str]:
    return {"content-type": f"application/vnd.kafka.{embedded}.v2+json"}


def produce(http: httpx.Client, path: str, embedded: str, body: Any) -> httpx.Response:
    return http.post(path, content=json.dumps(body), headers=media(embedded))


def refused(answer: httpx.Response) -> tuple[int, int]:
    return answer.status_code, answer.json()["error_code"]


# ---- topics ------------------------------------------------------------------------------------------------------


def test_the_root_leads_to_the_servers_own_page(http: httpx.Client) -> None:
    answer = http.get("/", headers={"accept": "text/html"})
    assert (answer.status_code, answer.headers["location"]) == (307, "/info")


def test_topics_partitions_and_brokers(http: httpx.Client, topic: str) -> None:
    assert topic in http.get("/topics").json()
    described = http.get(f"/topics/{topic}")
    assert described.headers["content-type"] == V2
    body = described.json()
    assert body["name"] == topic
    assert body["configs"]["cleanup.policy"] == "delete"
    leader = body["partitions"][0]["leader"]
    replicas = [{"broker": leader, "leader": True, "in_sync": True}]
    assert body["partitions"] == [{"partition": at, "leader": leader, "replicas": replicas} for at in range(3)]
    assert http.get(f"/topics/{topic}/partitions").json() == body["partitions"]
    assert http.get(f"/topics/{topic}/partitions/2").json() == body["partitions"][2]
    assert http.get("/brokers").json() == {"brokers": [leader]}


def test_offsets_of_a_partition(http: httpx.Client, topic: str) -> None:
    records = [{"value": "AA=="}, {"value": "AQ=="}]
    assert produce(http, f"/topics/{topic}/partitions/1", "binary", {"records": records}).status_code == 200
    assert http.get(f"/topics/{topic}/partitions/1/offsets").json() == {"beginning_offset": 0, "end_offset": 2}


def test_what_isnt_there_has_confluents_numbers(http: httpx.Client, topic: str) -> None:
    body = {"records": [{"value": "AA=="}]}
    assert refused(http.get("/topics/nowhere")) == (404, 40401)
    assert refused(http.get("/topics/nowhere/partitions")) == (404, 40401)
    assert refused(http.get(f"/topics/{topic}/partitions/7")) == (404, 40402)
    assert refused(http.get(f"/topics/{topic}/partitions/7/offsets")) == (404, 40402)
    assert refused(produce(http, "/topics/nowhere", "binary", body)) == (404, 40401)
    assert refused(produce(http, f"/topics/{topic}/partitions/7", "binary", body)) == (404, 40402)
    assert refused(http.get("/consumers/g/instances/nobody/records")) == (404, 40403)


# ---- producing ---------------------------------------------------------------------------------------------------


def test_binary_and_json_records(http: httpx.Client, kafka: Kafka, topic: str) -> None:
    raw = b64encode(b"\x00raw").decode()
    body = {"records": [{"key": raw, "value": raw, "partition": 0}, {"value": None, "partition": 0}]}
    answer = produce(http, f"/topics/{topic}", "binary", body)
    assert answer.json() == {
        "offsets": [
            {"partition": 0, "offset": 0, "error_code": None, "error": None},
            {"partition": 0, "offset": 1, "error_code": None, "error": None},
        ],
        "key_schema_id": None,
        "value_schema_id": None,
    }
    produce(http, f"/topics/{topic}", "json", {"records": [{"key": "k", "value": {"a": [1, "é"]}, "partition": 0}]})
    found = [(one.key, one.value) for one in everything(kafka, topic)]
    assert found == [(b"\x00raw", b"\x00raw"), (None, None), (b'"k"', '{"a":[1,"é"]}'.encode())]


AVRO = json.dumps(
    {
        "type": "record",
        "name": "Play",
        "fields": [{"name": "song", "type": "string"}, {"name": "by", "type": ["null", "string"], "default": None}],
    }
)
JSON_SCHEMA = '{"type": "object", "properties": {"song": {"type": "string"}}, "required": ["song"]}'
PROTOBUF = 'syntax = "proto3"; message Play { string song = 1; int64 play_count = 2; }'


@pytest.mark.parametrize(
    ("embedded", "schema", "sent", "read"),
    [
        ("avro", AVRO, {"song": "x", "by": {"string": "me"}}, {"song": "x", "by": {"string": "me"}}),
        ("avro", AVRO, {"song": "x"}, {"song": "x", "by": None}),
        ("jsonschema", JSON_SCHEMA, {"song": "x"}, {"song": "x"}),
        ("protobuf", PROTOBUF, {"song": "x", "playCount": 3}, {"song": "x", "playCount": "3"}),
    ],
)
def test_records_with_a_schema_go_and_come(
    http: httpx.Client, topic: str, name: str, embedded: str, schema: str, sent: Any, read: Any
) -> None:
    path = f"/topics/{topic}"
    first = produce(http, path, embedded, {"value_schema": schema, "records": [{"value": sent}]}).json()
    assert first["offsets"][0]["error_code"] is None
    number = first["value_schema_id"]
    again = produce(http, path, embedded, {"value_schema_id": number, "records": [{"value": sent}]}).json()
    assert again["value_schema_id"] == number
    instance = consumer(http, name, format=embedded)
    subscribe(http, instance, topic)
    assert [one["value"] for one in records(http, instance, 2)] == [read, read]
    http.delete(instance)


def test_what_is_wrong_with_records_has_confluents_numbers(http: httpx.Client, topic: str) -> None:
    path = f"/topics/{topic}"
    good = {"song": "x"}
    keyed = {"value_schema": AVRO, "records": [{"key": "k", "value": good}]}
    assert refused(produce(http, path, "avro", keyed)) == (422, 42201)
    assert refused(produce(http, path, "avro", {"records": [{"value": good}]})) == (422, 42202)
    unfit = produce(http, path, "avro", {"value_schema": AVRO, "records": [{"value": {"song": 5}}]})
    assert refused(unfit) == (422, 42203)
    assert "song is 5 and not a string" in unfit.json()["message"]
    untold = produce(http, path, "avro", {"value_schema": AVRO, "records": [{"value": {"song": "x", "by": "me"}}]})
    assert '{"string": "..."}' in untold.json()["message"]
    assert refused(produce(http, path, "avro", {"value_schema": "{", "records": [{"value": 1}]})) == (422, 42205)
    assert refused(produce(http, path, "avro", {"value_schema_id": 999, "records": [{"value": 1}]})) == (408, 40801)
    other = {"value_schema": JSON_SCHEMA, "records": [{"value": {"song": "x"}}]}
    assert refused(produce(http, path, "jsonschema", other)) == (408, 40801)  # the registry refuses the other type


def test_what_is_wrong_with_values_has_confluents_numbers(http: httpx.Client, topic: str) -> None:
    path = f"/topics/{topic}"
    unfit = {"value_schema": JSON_SCHEMA, "records": [{"value": {}}]}
    assert refused(produce(http, path, "jsonschema", unfit)) == (422, 42203)
    assert refused(produce(http, path, "binary", {"records": [{"value": "*"}]})) == (422, 422)
    assert refused(produce(http, path, "binary", {"records": []})) == (422, 422)
    assert refused(produce(http, path, "binary", [])) == (422, 422)
    assert refused(produce(http, path, "binary", {"records": [{"value": "AA==", "partition": 9}]})) == (404, 40402)
    assert refused(http.post(path, content="{", headers=media("json"))) == (400, 400)
    assert refused(http.post(path, json={"records": []})) == (415, 415)
    assert refused(produce(http, path, "json", {"records": [{"value": "x" * 200_000}]})) == (413, 413)


# ---- consuming ---------------------------------------------------------------------------------------------------


def consumer(http: httpx.Client, group: str, **settings: Any) -> str:
    """The path of a new instance."""
    body = {"auto.offset.reset": "earliest", **settings}
    answer = http.post(f"/consumers/{group}", content=json.dumps(body), headers={"content-type": V2})
    assert answer.status_code == 200, answer.text
    made = answer.json()
    assert made["base_uri"].endswith(f"/consumers/{group}/instances/{made['instance_id']}")
    return str(httpx.URL(made["base_uri"]).path)


def subscribe(http: httpx.Client, instance: str, *topics: str) -> None:
    answer = http.post(f"{instance}/subscription", json={"topics": topics})
    assert (answer.status_code, answer.content) == (204, b"")


def records(http: httpx.Client, instance: str, count: int) -> list[dict[str, Any]]:
    """At least so many, asked for until they have come."""
    found: list[dict[str, Any]] = []
    for _ in range(60):
        answer = http.get(f"{instance}/records", headers={"accept": "application/vnd.kafka.v2+json"})
        assert answer.status_code == 200, answer.text
        found += answer.json()
        if len(found) >= count:
            return found
    raise AssertionError(f"{len(found)} of {count} came")


def fill(http: httpx.Client, topic: str, count: int, partition: int = 0) -> None:
    body = {"records": [{"value": at, "partition": partition} for at in range(count)]}
    assert produce(http, f"/topics/{topic}", "json", body).status_code == 200


def test_a_consumer_subscribes_reads_commits_and_goes(http: httpx.Client, kafka: Kafka, topic: str, name: str) -> None:
    fill(http, topic, 3)
    instance = consumer(http, name, **{"format": "json", "auto.commit.enable": "false", "name": "mine"})
    subscribe(http, instance, topic)
    assert http.get(f"{instance}/subscription").json() == {"topics": [topic]}
    found = records(http, instance, 3)
    assert found[0] == {"topic": topic, "key": None, "value": 0, "partition": 0, "offset": 0}
    assert [one["value"] for one in found] == [0, 1, 2]
    places = {"partitions": [{"topic": topic, "partition": 0}]}
    assert http.request("GET", f"{instance}/offsets", json=places).json() == {"offsets": []}
    assert http.post(f"{instance}/offsets").status_code == 200
    committed = {"topic": topic, "partition": 0, "offset": 3, "metadata": ""}
    assert http.request("GET", f"{instance}/offsets", json=places).json() == {"offsets": [committed]}
    said = {"offsets": [{"topic": topic, "partition": 0, "offset": 0}]}
    assert http.post(f"{instance}/offsets", json=said).status_code == 200
    assert http.request("GET", f"{instance}/offsets", json=places).json()["offsets"][0]["offset"] == 1
    assert http.delete(instance).status_code == 204
    assert refused(http.delete(instance)) == (404, 40403)
    assert kafka.describe_group(name).members == ()
    # The next one goes on from what was committed.
    instance = consumer(http, name, format="json")
    subscribe(http, instance, topic)
    assert [one["value"] for one in records(http, instance, 2)] == [1, 2]
    http.delete(instance)
    # That one commits by itself, at its end at the latest.
    assert [part.committed for part in kafka.describe_group(name).progress if part.partition == 0] == [3]


def test_a_consumer_is_assigned_partitions_and_sent_about(http: httpx.Client, topic: str, name: str) -> None:
    for partition in range(2):
        fill(http, topic, 3, partition)
    instance = consumer(http, name, format="json")
    places = {"partitions": [{"topic": topic, "partition": at} for at in range(2)]}
    assert http.post(f"{instance}/assignments", json=places).status_code == 204
    assert http.get(f"{instance}/assignments").json() == places
    assert len(records(http, instance, 6)) == 6
    there = {"offsets": [{"topic": topic, "partition": 1, "offset": 2}]}
    assert http.post(f"{instance}/positions", json=there).status_code == 204
    assert [(one["partition"], one["offset"]) for one in records(http, instance, 1)] == [(1, 2)]
    one_place = {"partitions": places["partitions"][:1]}
    assert http.post(f"{instance}/positions/beginning", json=one_place).status_code == 204
    assert [(one["partition"], one["offset"]) for one in records(http, instance, 3)] == [(0, 0), (0, 1), (0, 2)]
    assert http.post(f"{instance}/positions/beginning", json=one_place).status_code == 204
    assert http.post(f"{instance}/positions/end", json=one_place).status_code == 204
    fill(http, topic, 1)
    assert [(one["partition"], one["offset"]) for one in records(http, instance, 1)] == [(0, 3)]
    elsewhere = {"partitions": [{"topic": topic, "partition": 2}]}
    assert refused(http.post(f"{instance}/positions/end", json=elsewhere)) == (409, 40903)
    assert refused(http.post(f"{instance}/subscription", json={"topics": [topic]})) == (409, 40903)
    assert http.delete(f"{instance}/subscription").status_code == 204
    assert http.get(f"{instance}/assignments").json() == {"partitions": []}
    http.delete(instance)


def test_a_pattern_subscribes_topics_that_come_later(http: httpx.Client, kafka: Kafka, name: str) -> None:
    for at in range(2):
        kafka.create_topic(f"{name}-{at}", 1)
        fill(http, f"{name}-{at}", 1)
    kafka.create_topic(f"{name}-x", 1)
    fill(http, f"{name}-x", 1)
    instance = consumer(http, name, format="json")
    assert http.post(f"{instance}/subscription", json={"topic_pattern": rf"{name}-\d+"}).status_code == 204
    assert {one["topic"] for one in records(http, instance, 2)} == {f"{name}-0", f"{name}-1"}
    assert http.get(f"{instance}/subscription").json() == {"topics": [f"{name}-0", f"{name}-1"]}
    kafka.create_topic(f"{name}-10", 1)
    fill(http, f"{name}-10", 1)
    assert {one["topic"] for one in records(http, instance, 1)} == {f"{name}-10"}
    http.delete(instance)
    for suffix in ("0", "1", "10", "x"):
        kafka.delete_topic(f"{name}-{suffix}")


def test_two_instances_of_a_group_share_a_topic(http: httpx.Client, topic: str, name: str, until: Until) -> None:
    first, second = consumer(http, name), consumer(http, name)
    subscribe(http, first, topic)
    subscribe(http, second, topic)

    def shared() -> bool:
        for one in (first, second):
            http.get(f"{one}/records", params={"timeout": 100})
        held = [http.get(f"{one}/assignments").json()["partitions"] for one in (first, second)]
        return sorted(len(some) for some in held) == [1, 2]

    until(shared)
    assert http.delete(first).status_code == 204

    def alone() -> bool:
        http.get(f"{second}/records", params={"timeout": 100})
        return len(http.get(f"{second}/assignments").json()["partitions"]) == 3

    until(alone)
    http.delete(second)


def test_max_bytes_bounds_an_answer_and_nothing_is_lost(http: httpx.Client, topic: str, name: str) -> None:
    body = {"records": [{"value": "x" * 1000, "partition": 0} for _ in range(10)]}
    produce(http, f"/topics/{topic}", "json", body)
    instance = consumer(http, name, format="json")
    subscribe(http, instance, topic)
    sizes: list[int] = []
    offsets: list[int] = []
    while len(offsets) < 10:
        found = http.get(f"{instance}/records", params={"max_bytes": 3500, "timeout": 5000}).json()
        sizes.append(len(found))
        offsets += [one["offset"] for one in found]
    assert offsets == list(range(10))
    assert max(sizes) == 3
    http.delete(instance)


def test_a_record_that_isnt_of_the_format_is_told_and_can_be_passed(http: httpx.Client, topic: str, name: str) -> None:
    fill(http, topic, 1)
    produce(http, f"/topics/{topic}", "binary", {"records": [{"value": "/w==", "partition": 0}]})
    fill(http, topic, 1)
    instance = consumer(http, name, format="json")
    subscribe(http, instance, topic)
    assert len(records(http, instance, 1)) == 1
    for _ in range(2):
        told = http.get(f"{instance}/records")
        assert refused(told) == (408, 40801)
        assert f"offset 1 of partition 0 of {topic}" in told.json()["message"]
    http.post(f"{instance}/positions", json={"offsets": [{"topic": topic, "partition": 0, "offset": 2}]})
    assert [one["offset"] for one in records(http, instance, 1)] == [2]
    http.delete(instance)


def test_what_is_wrong_with_a_consumer_has_confluents_numbers(http: httpx.Client, topic: str, name: str) -> None:
    instance = consumer(http, name, name="mine", format="json")
    assert refused(http.post(f"/consumers/{name}", json={"name": "mine"})) == (409, 40902)
    assert refused(http.post(f"/consumers/{name}", json={"format": "xml"})) == (422, 422)
    assert refused(http.post(f"/consumers/{name}", json={"auto.offset.reset": "here"})) == (422, 42204)
    assert refused(http.post(f"{instance}/subscription", json={})) == (422, 422)
    assert refused(http.post(f"{instance}/subscription", json={"topic_pattern": "("})) == (422, 422)
    wrong = http.get(f"{instance}/records", headers={"accept": "application/vnd.kafka.binary.v2+json"})
    assert refused(wrong) == (406, 40601)
    assert refused(http.get(f"{instance}/offsets")) == (404, 40402)
    http.delete(instance)


def test_an_instance_that_nobody_asks_is_closed(kafka: Kafka, topic: str, name: str, until: Until) -> None:
    with proxy(kafka, Web(consumer_idle_s=IDLE_S)) as started:
        fill(started.http, topic, 2)
        instance = consumer(started.http, name, format="json")
        subscribe(started.http, instance, topic)
        assert len(records(started.http, instance, 2)) == 2
        # Looking at the group isn't asking the instance.
        until(lambda: kafka.describe_group(name).members == ())
        assert refused(started.http.get(f"{instance}/records")) == (404, 40403)
        assert [part.committed for part in kafka.describe_group(name).progress if part.committed is not None] == [2]


def test_a_server_that_stops_closes_its_instances(kafka: Kafka, topic: str, name: str) -> None:
    with proxy(kafka) as started:
        fill(started.http, topic, 1)
        instance = consumer(started.http, name, format="json")
        subscribe(started.http, instance, topic)
        assert len(records(started.http, instance, 1)) == 1
    assert kafka.describe_group(name).members == ()


# Joining takes some hundredths of a second: many of these go when they have been answered and haven't looked.
COME_AND_GO = """
import sys, threading, time
from orion.hub.kafka import Kafka
from orion.hub.subscription import Subscription

kafka = Kafka(sys.argv[1])

def come_and_go(name):
    for number in range(40):
        one = Subscription(kafka, f"{sys.argv[2]}-{name}-{number % 5}", {"enable.auto.commit": True})
        one.subscribe([sys.argv[2]])
        one.read(0)
        time.sleep(0.002 * (number % 100))
        one.close()

threads = [threading.Thread(target=come_and_go, args=(name,)) for name in "abc"]
for thread in threads: thread.start()
for thread in threads: thread.join()
print("gone")
"""


def test_an_instance_may_go_while_its_group_is_answering_it(kafka: Kafka, topic: str) -> None:
    command = [sys.executable, "-c", COME_AND_GO, kafka.bootstrap, topic]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.returncode) == ("gone\n", 0), done.stderr


# ---- names ---------------------------------------------------------------------------------------------------------

RECORDS = {"records": [{"value": 1}]}
HEADER = {"value": {"type": "JSON", "data": 1}, "headers": [{"name": "a\0b", "value": "eA=="}]}


@pytest.mark.parametrize("bad", ["%00", "a%00b", "%0A", "%7F", "%C2%9B"])
def test_no_name_takes_the_server_along(http: httpx.Client, topic: str, bad: str) -> None:
    """NUL cuts a name short for librdkafka, and an empty group ends the process."""
    cluster = f"/v3/clusters/{http.get('/v3/clusters').json()['data'][0]['cluster_id']}"
    head = {"content-type": V2}
    asked = [
        http.post(f"/consumers/{bad}", json={"name": "one", "format": "json"}, headers=head),
        http.post("/consumers/good", content=b'{"name": "a\\u0000b"}', headers=head),
        http.post("/consumers/good", content=b'{"name": "\\ud800"}', headers=head),
        http.get(f"/topics/{bad}"),
        http.get(f"/topics/{bad}/partitions"),
        http.get(f"/topics/{bad}/partitions/0/offsets"),
        produce(http, f"/topics/{bad}", "json", RECORDS),
        produce(http, f"/topics/{bad}/partitions/99", "json", RECORDS),
        http.post(f"/feeds/{bad}", json={"a": 1}),
        http.get(f"{cluster}/topics/{bad}"),
        http.delete(f"{cluster}/topics/{topic}{bad}"),
        http.get(f"{cluster}/topics/{bad}/partitions"),
        http.get(f"{cluster}/topics/{bad}/configs"),
        http.put(f"{cluster}/topics/{topic}/configs/retention.ms", content=b'{"value": "1\\u00002"}'),
        http.post(f"{cluster}/topics", content=b'{"topic_name": "a\\u0000b"}'),
        http.get(f"{cluster}/consumer-groups/{bad}"),
        http.get(f"{cluster}/consumer-groups/{bad}/lags"),
    ]
    for answer in asked:
        assert 400 <= answer.status_code < 500, (answer.request.url, answer.text)
        assert answer.json()["message"].isprintable()
    sent = http.post(f"{cluster}/topics/{topic}/records", json=HEADER)
    assert sent.json()["error_code"] == 40002
    assert topic in http.get("/topics").json()


def test_an_instance_is_told_no_such_names_either(http: httpx.Client, topic: str) -> None:
    head = {"content-type": V2}
    made = http.post("/consumers/names", json={"name": "one"}, headers=head)
    path = made.json()["base_uri"]
    bodies = {
        "subscription": [
            b'{"topics": ["a\\u0000b"]}',
            b'{"topics": ["^.*"]}',
            b'{"topics": [""]}',
            b'{"topics": ["\\ud800"]}',
            b'{"topic_pattern": "((a{1,255}){1,255}){1,255}"}',
            b'{"topic_pattern": "\\u0000"}',
        ],
        "assignments": [
            b'{"partitions": [{"topic": "a\\u0000b", "partition": 0}]}',
            b'{"partitions": [{"topic": "a", "partition": 9999999999}]}',
        ],
        "offsets": [b'{"offsets": [{"topic": "a", "partition": 0, "offset": 1, "metadata": "a\\u0000b"}]}'],
        "positions": [b'{"offsets": [{"topic": "a", "partition": 0, "offset": 99999999999999999999}]}'],
    }
    for what, contents in bodies.items():
        for content in contents:
            answer = http.post(f"{path}/{what}", content=content, headers=head)
            assert 400 <= answer.status_code < 500, (what, content, answer.text)
    assert http.delete(path).status_code == 204
