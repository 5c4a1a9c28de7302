"""REST Proxy v3 on a real broker: the cluster, topics, settings, groups, and records as they come."""

from __future__ import annotations

import json
import socket
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from orion.config import Web
from orion.hub.kafka import Kafka
from orion.hub.reader import Reader
from orion.hub.records import Position
from tests.services.proxy import Proxy, everything, proxy

Until = Callable[[Callable[[], bool]], None]


@pytest.fixture(scope="module")
def rest(kafka: Kafka) -> Iterator[Proxy]:
    with proxy(kafka, Web(max_body_bytes=100_000, queue_bytes=50_000)) as started:
        yield started


@pytest.fixture
def http(rest: Proxy) -> httpx.Client:
    return rest.http


@pytest.fixture
def cluster(http: httpx.Client) -> str:
    """Its path."""
    return f"/v3/clusters/{http.get('/v3/clusters').json()['data'][0]['cluster_id']}"


def refused(answer: httpx.Response) -> tuple[int, int]:
    return answer.status_code, answer.json()["error_code"]


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.split("\r\n") if line]


# ---- the cluster -------------------------------------------------------------------------------------------------


def test_clusters_and_brokers_link_to_each_other(http: httpx.Client, kafka: Kafka, cluster: str) -> None:
    listed = http.get("/v3/clusters").json()
    assert (listed["kind"], listed["metadata"]["next"]) == ("KafkaClusterList", None)
    one = http.get(cluster).json()
    assert listed["data"] == [one]
    assert (one["kind"], one["cluster_id"]) == ("KafkaCluster", kafka.cluster_id())
    assert one["metadata"]["resource_name"] == f"crn:///kafka={kafka.cluster_id()}"
    assert http.get(one["metadata"]["self"]).json() == one
    assert http.get(one["topics"]["related"]).json()["kind"] == "KafkaTopicList"
    brokers = http.get(one["brokers"]["related"]).json()
    assert [broker["broker_id"] for broker in brokers["data"]] == [broker.id for broker in kafka.brokers()]
    assert http.get(one["controller"]["related"]).json() == brokers["data"][0]
    settings = http.get(brokers["data"][0]["configs"]["related"]).json()
    assert "log.dirs" in {setting["name"] for setting in settings["data"]}
    assert not [setting for setting in settings["data"] if setting["is_sensitive"] and setting["value"] is not None]
    assert refused(http.get("/v3/clusters/other")) == (404, 404)
    assert refused(http.get("/v3/clusters/other/topics")) == (404, 404)
    assert refused(http.get(f"{cluster}/brokers/77")) == (404, 404)


def test_a_topic_is_made_looked_at_grown_and_deleted(http: httpx.Client, kafka: Kafka, cluster: str, name: str) -> None:
    asked = {"topic_name": name, "partitions_count": 2, "configs": [{"name": "cleanup.policy", "value": "compact"}]}
    tried = http.post(f"{cluster}/topics", json=asked | {"validate_only": True})
    assert (tried.status_code, kafka.present([name])) == (200, {})
    made = http.post(f"{cluster}/topics", json=asked)
    body = made.json()
    assert (made.status_code, made.headers["location"]) == (201, body["metadata"]["self"])
    assert (body["kind"], body["topic_name"], body["partitions_count"]) == ("KafkaTopic", name, 2)
    assert (body["replication_factor"], body["is_internal"]) == (1, False)
    assert http.get(body["metadata"]["self"]).json() == body
    assert body in http.get(f"{cluster}/topics").json()["data"]
    assert refused(http.post(f"{cluster}/topics", json=asked)) == (400, 40002)
    assert refused(http.post(f"{cluster}/topics", json=asked | {"validate_only": True})) == (400, 40002)
    assert http.patch(f"{cluster}/topics/{name}", json={"partitions_count": 3}).json()["partitions_count"] == 3
    operations = http.get(f"{cluster}/topics/{name}", params={"include_authorized_operations": "true"}).json()
    assert "WRITE" in operations["authorized_operations"]
    assert http.delete(f"{cluster}/topics/{name}").status_code == 204
    assert refused(http.get(f"{cluster}/topics/{name}")) == (404, 40403)
    assert refused(http.delete(f"{cluster}/topics/{name}")) == (404, 40403)
    assert refused(http.post(f"{cluster}/topics", json={})) == (422, 422)
    for count in (-1, 0, 1.5, "2", True, 2**31, 10**40):
        assert refused(http.post(f"{cluster}/topics", json=asked | {"partitions_count": count})) == (422, 422), count
        assert refused(http.patch(f"{cluster}/topics/{name}", json={"partitions_count": count})) == (422, 422), count
    wrong = {"topic_name": name, "configs": [{"name": "nonsense", "value": "1"}]}
    assert refused(http.post(f"{cluster}/topics", json=wrong)) == (400, 40002)


def test_settings_of_a_topic(http: httpx.Client, cluster: str, topic: str) -> None:
    path = f"{cluster}/topics/{topic}/configs"

    def value(name: str) -> tuple[str, bool, str]:
        found = http.get(f"{path}/{name}").json()
        return found["value"], found["is_default"], found["source"]

    def becomes(name: str, *wanted: object) -> bool:
        """A broker knows of a change a moment after the controller has taken it."""
        end = time.monotonic() + 20.0
        while value(name)[: len(wanted)] != wanted:
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    listed = http.get(path).json()
    assert listed["kind"] == "KafkaTopicConfigList"
    assert http.get(f"{path}/retention.ms").json() in listed["data"]
    assert value("compression.type") == ("producer", True, "DEFAULT_CONFIG")
    changes = [{"name": "compression.type", "value": "gzip"}, {"name": "retention.ms", "value": "1000000"}]
    assert http.post(f"{path}:alter", json={"data": changes, "validate_only": True}).status_code == 204
    assert value("compression.type")[0] == "producer"
    assert http.post(f"{path}:alter", json={"data": changes}).status_code == 204
    assert becomes("compression.type", "gzip", False, "DYNAMIC_TOPIC_CONFIG")
    away = [{"name": "compression.type", "operation": "DELETE"}]
    assert http.post(f"{path}:alter", json={"data": away}).status_code == 204
    assert becomes("compression.type", "producer")
    assert http.put(f"{path}/cleanup.policy", json={"value": "compact"}).status_code == 204
    assert becomes("cleanup.policy", "compact")
    assert http.delete(f"{path}/cleanup.policy").status_code == 204
    assert becomes("cleanup.policy", "delete")
    lists: list[Any] = [None, {}, [1], [{"name": 1}], [{"value": "1"}]]
    for wrong in ({}, *({"data": one} for one in lists)):
        assert refused(http.post(f"{path}:alter", json=wrong)) == (422, 422), wrong
    typed = [{"name": "retention.ms", "value": []}, {"name": "retention.ms", "operation": 1}, {"name": ""}]
    for one in typed:
        assert refused(http.post(f"{path}:alter", json={"data": [one]})) == (422, 422), one
    assert refused(http.post(f"{path}:alter", json={"data": [], "validate_only": "yes"})) == (422, 422)
    assert http.post(f"{path}:alter", json={"data": []}).status_code == 204
    assert refused(http.post(f"{cluster}/topics/nowhere/configs:alter", json={"data": []})) == (404, 40403)
    assert refused(http.get(f"{path}/nonsense")) == (404, 404)
    assert refused(http.put(f"{path}/retention.ms", json={"value": "soon"})) == (400, 40002)
    assert refused(http.get(f"{cluster}/topics/nowhere/configs")) == (404, 40403)


def test_partitions_and_their_offsets(http: httpx.Client, cluster: str, topic: str) -> None:
    listed = http.get(f"{cluster}/topics/{topic}/partitions").json()
    assert [one["partition_id"] for one in listed["data"]] == [0, 1, 2]
    assert http.get(f"{cluster}/topics/{topic}/partitions/1").json() == listed["data"][1]
    http.post(f"{cluster}/topics/{topic}/records", json={"partition_id": 1, "value": {"type": "JSON", "data": 1}})
    offsets = f"{cluster}/topics/{topic}/partitions/1/offset"
    assert http.get(offsets).json()["offset"] == 0
    assert http.get(offsets, params={"offset": "latest"}).json()["offset"] == 1
    assert refused(http.get(f"{cluster}/topics/{topic}/partitions/7")) == (404, 404)


def test_groups_and_how_far_they_are(http: httpx.Client, kafka: Kafka, cluster: str, topic: str, name: str) -> None:
    path = f"{cluster}/consumer-groups/{name}"
    lines = [{"partition_id": at % 2, "value": {"type": "JSON", "data": at}} for at in range(6)]
    http.post(f"{cluster}/topics/{topic}/records", content="\n".join(map(json.dumps, lines)))
    with Reader(kafka, topic, Position("earliest"), group=name, commit="sync") as reader:
        while not reader.at_end:
            found = [one for one in reader.read(100, 0.5) if one.offset == 0]
            reader.shown(found)
            reader.commit()
        one = http.get(path).json()
        assert (one["kind"], one["state"], one["is_simple"]) == ("KafkaConsumerGroup", "STABLE", False)
        assert one in http.get(f"{cluster}/consumer-groups").json()["data"]
        member = http.get(one["consumers"]["related"]).json()["data"][0]
        assert member["client_id"] == "rdkafka"
        lags = http.get(f"{path}/lags").json()["data"]
        assert [(lag["partition_id"], lag["current_offset"], lag["log_end_offset"], lag["lag"]) for lag in lags] == [
            (0, 1, 3, 2),
            (1, 1, 3, 2),
        ]
        assert {lag["consumer_id"] for lag in lags} == {member["consumer_id"]}
        summary = http.get(one["lag_summary"]["related"]).json()
        assert (summary["max_lag"], summary["total_lag"], summary["max_lag_topic_name"]) == (2, 4, topic)
    assert refused(http.get(f"{cluster}/consumer-groups/{name}-other")) == (404, 404)


# ---- records -----------------------------------------------------------------------------------------------------


def test_a_record_of_each_type(http: httpx.Client, rest: Proxy, kafka: Kafka, cluster: str, topic: str) -> None:
    rest.declared.registry.register(f"{topic}-value", "AVRO", '"string"')
    raw = b64encode(b"\x01\x02").decode()
    asked: list[dict[str, Any]] = [
        {"partition_id": 0, "key": {"type": "BINARY", "data": raw}, "value": {"type": "JSON", "data": {"a": 1}}},
        {"partition_id": 0, "value": {"type": "STRING", "data": "text"}, "timestamp": "2021-02-05T19:14:42Z"},
        {"partition_id": 0, "value": {"data": "latest"}, "headers": [{"name": "h", "value": raw}]},
        {"partition_id": 0, "value": {"schema_version": 1, "data": "by version"}},
        {"partition_id": 0, "key": {"type": "AVRO", "schema": '"long"', "data": 5}},
        {"partition_id": 0, "value": {"type": "JSON", "data": None}},
    ]
    answer = http.post(f"{cluster}/topics/{topic}/records", content="".join(map(json.dumps, asked)))
    assert answer.status_code == 200
    told = objects(answer.text)
    assert [one["error_code"] for one in told] == [200] * 6
    assert [one["offset"] for one in told] == list(range(6))
    assert told[0]["key"] == {"type": "BINARY", "size": 2}
    assert told[0]["value"] == {"type": "JSON", "size": 7}
    assert told[1]["timestamp"] == "2021-02-05T19:14:42.000Z"
    assert "key" not in told[1]
    schema = told[2]["value"]
    assert (schema["type"], schema["subject"], schema["schema_version"]) == ("AVRO", f"{topic}-value", 1)
    found = everything(kafka, topic)
    assert [one.value for one in found[:2]] == [b'{"a":1}', b"text"]
    assert found[2].headers == (("h", b"\x01\x02"),)
    assert found[3].value is not None
    assert found[3].value[5:] == b"\x14by version"
    assert (found[4].key or b"")[5:] == b"\x0a"
    assert found[5].value is None


def test_each_record_is_answered_for_itself(http: httpx.Client, cluster: str, topic: str) -> None:
    path = f"{cluster}/topics/{topic}/records"
    good = {"value": {"type": "JSON", "data": 1}}
    asked = [
        good,
        {"value": {"type": "XML", "data": 1}},
        {"partition_id": 9, "value": {"type": "JSON", "data": 1}},
        {"value": {"data": 1}},
        {"value": {"type": "AVRO", "schema": '"long"', "data": "no number"}},
        {"value": {"type": "BINARY", "data": "*"}},
        good,
    ]
    answer = http.post(path, content="\n".join(map(json.dumps, asked)))
    codes = [one["error_code"] for one in objects(answer.text)]
    assert codes == [200, 400, 40402, 42207, 42207, 422, 200]
    broken = objects(http.post(path, content='{"value": {"type": "JSON", "data": 1}} {"value": }').text)
    assert [one["error_code"] for one in broken] == [200, 400]
    cut = objects(http.post(path, content='{"value": {"type": "JSON", "data": 1}} {"value": ').text)
    assert [one["error_code"] for one in cut] == [200, 400]
    assert [one["error_code"] for one in objects(http.post(path, content="").text)] == [42206]
    large = json.dumps({"value": {"type": "STRING", "data": "x" * 200_000}})
    assert [one["error_code"] for one in objects(http.post(path, content=large).text)] == [413]
    lost = http.post(f"{cluster}/topics/nowhere/records", json=good)
    assert [one["error_code"] for one in objects(lost.text)] == [40403]


def test_answers_come_while_records_still_do(http: httpx.Client, cluster: str, topic: str) -> None:
    """One chunked request: the next record is only sent when the one before it is answered."""

    def chunk(raw: bytes) -> bytes:
        return b"%x\r\n%s\r\n" % (len(raw), raw)

    head = f"POST {cluster}/topics/{topic}/records HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection((http.base_url.host, http.base_url.port or 80), 60) as line:
        line.sendall(head.encode())
        seen = b""
        for at in range(3):
            record = json.dumps({"partition_id": 0, "value": {"type": "JSON", "data": at}}).encode()
            line.sendall(chunk(record[:10]))  # in pieces
            line.sendall(chunk(record[10:]))
            while f'"offset": {at},'.encode() not in seen:
                piece = line.recv(65536)
                assert piece, seen
                seen += piece
        line.sendall(chunk(b""))
        while not seen.endswith(b"0\r\n\r\n"):
            seen += line.recv(65536)


def test_more_than_the_queue_holds_is_waited_for(http: httpx.Client, kafka: Kafka, cluster: str, topic: str) -> None:
    record = json.dumps({"partition_id": 0, "value": {"type": "STRING", "data": "x" * 1000}})
    answer = http.post(f"{cluster}/topics/{topic}/records", content="\n".join([record] * 500))
    told = objects(answer.text)
    assert [(one["error_code"], one["offset"]) for one in told] == [(200, at) for at in range(500)]
    assert len(everything(kafka, topic)) == 500


def test_a_batch_tells_of_each_entry(http: httpx.Client, cluster: str, topic: str) -> None:
    path = f"{cluster}/topics/{topic}/records:batch"
    value = {"type": "JSON", "data": 1}
    entries: list[dict[str, Any]] = [
        {"id": "a", "value": value},
        {"id": "b", "partition_id": 9, "value": value},
        {"id": "c", "value": value},
    ]
    answer = http.post(path, json={"entries": entries})
    body = answer.json()
    assert answer.status_code == 207
    assert [one["id"] for one in body["successes"]] == ["a", "c"]
    assert body["successes"][0]["topic_name"] == topic
    assert [(one["id"], one["error_code"]) for one in body["failures"]] == [("b", 40402)]
    assert refused(http.post(path, json={"entries": []})) == (422, 42208)
    assert refused(http.post(path, json={"entries": [entries[0], entries[0]]})) == (422, 42208)
