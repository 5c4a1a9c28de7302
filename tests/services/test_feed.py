"""POST /feeds/{topic} on a real broker: rows checked one by one, written in the declared formats, nothing lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest

from orion.config import Web
from orion.errors import OrionError
from orion.hub.kafka import Kafka
from orion.hub.records import Outgoing, Record
from orion.web.sockets import bound
from tests.services.proxy import Proxy, everything, proxy


@pytest.fixture(scope="module")
def rest(kafka: Kafka) -> Iterator[Proxy]:
    with proxy(kafka, Web(max_body_bytes=100_000)) as started:
        yield started


@pytest.fixture
def http(rest: Proxy) -> httpx.Client:
    return rest.http


@pytest.fixture
def orders(rest: Proxy, kafka: Kafka, name: str) -> Iterator[str]:
    """The topic of a stream of orders."""
    columns = "id INT KEY, item STRING, price DECIMAL(6, 2), at TIMESTAMP"
    source = name.replace("-", "_")
    yield from declared(rest, kafka, f"CREATE STREAM {source} ({columns}) WITH (kafka_topic='{name}', {JSON});", name)


JSON = "value_format='JSON', partitions=2"


def declared(rest: Proxy, kafka: Kafka, script: str, topic: str) -> Iterator[str]:
    rest.declared.declare(kafka, script)
    yield topic
    kafka.delete_topic(topic, missing_ok=True)


def single(kafka: Kafka, topic: str) -> Record:
    found = everything(kafka, topic)
    assert len(found) == 1
    return found[0]


ROW = {"id": 1, "item": "tea", "price": 2.5, "at": "2026-01-31T12:00:00Z"}


# ---- rows --------------------------------------------------------------------------------------------------------


def test_a_row_is_written_in_the_declared_formats(http: httpx.Client, kafka: Kafka, orders: str) -> None:
    answer = http.post(f"/feeds/{orders}", json=ROW | {"rowtime": 1234})
    assert answer.status_code == 200
    source = orders.replace("-", "_").upper()
    assert answer.json() == {"topic": orders, "source": source, "rows": 1, "taken": 1, "refused": []}
    record = single(kafka, orders)
    assert record.key == b"\0\0\0\1"
    assert record.value == b'{"ITEM":"tea","PRICE":2.50,"AT":1769860800000}'
    assert record.timestamp == 1234


@pytest.mark.parametrize(
    ("body", "media"),
    [
        (json.dumps([ROW, ROW]), "application/json"),
        (f"{json.dumps(ROW)}\n{json.dumps(ROW)}\n", "application/x-ndjson"),
        (f"{json.dumps(ROW)}\n\n{json.dumps(ROW)}", "application/json"),
        (json.dumps([ROW, ROW], indent=2), ""),
    ],
)
def test_rows_come_as_an_array_or_a_line_each(
    http: httpx.Client, kafka: Kafka, orders: str, body: str, media: str
) -> None:
    answer = http.post(f"/feeds/{orders}", content=body, headers={"content-type": media})
    assert (answer.status_code, answer.json()["taken"]) == (200, 2)
    assert len(everything(kafka, orders)) == 2


def test_an_object_over_several_lines_is_one_row(http: httpx.Client, kafka: Kafka, orders: str) -> None:
    assert http.post(f"/feeds/{orders}", content=json.dumps(ROW, indent=2)).json()["rows"] == 1
    assert single(kafka, orders).value is not None


def test_each_wrong_row_is_told_and_the_others_are_taken(http: httpx.Client, kafka: Kafka, orders: str) -> None:
    rows: list[Any] = [
        ROW,
        ROW | {"id": "one"},
        ROW | {"prize": 1},
        ROW | {"price": 1.234},
        ROW | {"at": "yesterday"},
        7,
        ROW | {"id": 1 << 31},
        ROW | {"id": 2},
    ]
    answer = http.post(f"/feeds/{orders}", json=rows)
    assert answer.status_code == 207
    body = answer.json()
    assert (body["rows"], body["taken"]) == (8, 2)
    told = {one["index"]: (one["code"], one["message"]) for one in body["refused"]}
    assert told == {
        1: ("ROW_UNFIT", 'ID is "one", and the column is INTEGER.'),
        2: ("UNKNOWN_COLUMN", f"{body['source']} has no column prize."),
        3: ("ROW_UNFIT", "PRICE is 1.234, and the column is DECIMAL(6, 2)."),
        4: ("ROW_UNFIT", 'AT is "yesterday", and the column is TIMESTAMP.'),
        5: ("ROW_UNFIT", "A row is an object, and this is 7."),
        6: ("ROW_UNFIT", "ID is 2147483648, which is too large for INTEGER."),
    }
    assert next(one for one in body["refused"] if one["index"] == 2)["hint"] == "Did you mean PRICE?"
    assert len(everything(kafka, orders)) == 2


def test_a_line_that_is_no_json_costs_no_other(http: httpx.Client, kafka: Kafka, orders: str) -> None:
    lines = f"{json.dumps(ROW)}\n{{broken\n{json.dumps(ROW)}"
    answer = http.post(f"/feeds/{orders}", content=lines)
    assert (answer.status_code, [one["index"] for one in answer.json()["refused"]]) == (207, [1])
    assert len(everything(kafka, orders)) == 2


def test_all_rows_or_none(http: httpx.Client, kafka: Kafka, orders: str) -> None:
    path = f"/feeds/{orders}?atomic=true"
    wrong = http.post(path, json=[ROW, {"id": "x"}])
    assert (wrong.status_code, wrong.json()["taken"]) == (422, 0)
    assert [one["code"] for one in wrong.json()["refused"]] == ["NOT_ALONE", "ROW_UNFIT"]
    assert everything(kafka, orders) == []
    for _ in range(2):
        assert http.post(path, json=[ROW, ROW | {"id": 2}]).json()["taken"] == 2
    assert len(everything(kafka, orders)) == 4


def test_what_is_no_feed_says_so(http: httpx.Client, orders: str) -> None:
    def refused(answer: httpx.Response) -> tuple[int, str]:
        return answer.status_code, answer.json()["code"]

    assert refused(http.post("/feeds/nowhere", json=ROW)) == (404, "TOPIC_NOT_FOUND")
    assert refused(http.post(f"/feeds/{orders}?source=other", json=ROW)) == (404, "NOT_FOUND")
    assert refused(http.post(f"/feeds/{orders}", content="")) == (400, "BAD_REQUEST")
    assert refused(http.post(f"/feeds/{orders}", content="[{")) == (400, "BAD_REQUEST")
    assert refused(http.post(f"/feeds/{orders}", json=ROW | {"item": "x" * 200_000})) == (413, "TOO_LARGE")
    assert http.post(f"/feeds/{orders}", json={"id": []}).status_code == 422


def test_a_topic_without_a_declaration_has_the_registrys_schema(
    http: httpx.Client, rest: Proxy, kafka: Kafka, name: str
) -> None:
    kafka.create_topic(name, 1)
    bare = http.post(f"/feeds/{name}", json=ROW)
    assert (bare.status_code, bare.json()["code"]) == (404, "NO_SCHEMA")
    fields = [{"name": "song", "type": "string"}, {"name": "plays", "type": ["null", "int"], "default": None}]
    schema = {"type": "record", "name": "Play", "fields": fields}
    made = rest.declared.registry.register(f"{name}-value", "AVRO", json.dumps(schema))
    answer = http.post(f"/feeds/{name}", json=[{"song": "x", "plays": 3}, {"song": "y"}, {"plays": 1}])
    assert [(one["index"], one["code"]) for one in answer.json()["refused"]] == [(2, "VALUE_UNFIT")]
    head = b"\0" + made.id.to_bytes(4, "big")
    assert [one.value for one in everything(kafka, name)] == [head + b"\x02x\x02\x06", head + b"\x02y\x00"]
    kafka.delete_topic(name)


def test_a_table_wants_its_key_and_several_sources_want_a_choice(
    http: httpx.Client, rest: Proxy, kafka: Kafka, name: str
) -> None:
    base = name.replace("-", "_")
    script = f"""
    CREATE TABLE {base} (id STRING PRIMARY KEY, v INT) WITH (kafka_topic='{name}', {JSON});
    CREATE SOURCE TABLE {base}_read (id STRING PRIMARY KEY, v INT) WITH (kafka_topic='{name}', value_format='JSON');
    """
    rest.declared.declare(kafka, script)
    answer = http.post(f"/feeds/{name}", json=[{"id": "a", "v": 1}, {"v": 1}])
    assert [(one["index"], one["code"]) for one in answer.json()["refused"]] == [(1, "KEY_MISSING")]
    other = f"CREATE STREAM {base}_s (id STRING KEY, w INT) WITH (kafka_topic='{name}', value_format='JSON');"
    rest.declared.declare(kafka, other)
    unclear = http.post(f"/feeds/{name}", json={"id": "a"})
    assert (unclear.status_code, unclear.json()["code"]) == (409, "AMBIGUOUS_SOURCE")
    assert http.post(f"/feeds/{name}?source={base}_s", json={"id": "a", "w": 1}).json()["taken"] == 1
    read = http.post(f"/feeds/{name}?source={base}_read", json={"id": "a"})
    assert (read.status_code, read.json()["code"]) == (400, "READ_ONLY")
    kafka.delete_topic(name)


# ---- brokers that don't take them --------------------------------------------------------------------------------


def test_a_broker_that_doesnt_answer_is_tried_again_later() -> None:
    with closing(bound("127.0.0.1", 0)) as silent:  # listens, and never says a word
        address = "{}:{}".format(*silent.getsockname())
        with proxy(Kafka(address), Web(delivery_s=1.0)) as started:
            answer = started.http.post("/feeds/any", json=ROW)
    assert (answer.status_code, answer.json()["code"]) == (429, "BROKER_UNREACHABLE")
    assert int(answer.headers["retry-after"]) >= 1


def test_more_than_the_queue_holds_is_refused_before_anything_is_sent(kafka: Kafka, name: str) -> None:
    with proxy(kafka, Web(queue_bytes=5000, delivery_s=5.0)) as started:
        source = name.replace("-", "_")
        script = f"CREATE STREAM {source} (k STRING KEY, v STRING) WITH (kafka_topic='{name}', {JSON});"
        started.declared.declare(kafka, script)
        rows = [{"v": "x" * 1000}] * 4
        # A topic that isn't there is waited for, so this stays under way.
        held = started.gateway.outbox.send("nowhere-at-all", [Outgoing(b"x" * 2000)])
        answer = started.http.post(f"/feeds/{name}", json=rows)
        assert (answer.status_code, answer.json()["code"]) == (429, "QUEUE_FULL")
        assert int(answer.headers["retry-after"]) >= 1
        assert everything(kafka, name) == []
        with pytest.raises(OrionError):
            held[0].result(60)
        assert started.http.post(f"/feeds/{name}", json=rows).json()["taken"] == 4
    kafka.delete_topic(name)


def test_rows_that_the_broker_refuses_are_told_by_their_place(
    http: httpx.Client, rest: Proxy, kafka: Kafka, name: str
) -> None:
    kafka.create_topic(name, 1, config={"max.message.bytes": "1000"})
    source = name.replace("-", "_")
    script = f"CREATE STREAM {source} (k STRING KEY, v STRING) WITH (kafka_topic='{name}', value_format='JSON');"
    rest.declared.declare(kafka, script)
    answer = http.post(f"/feeds/{name}", json=[{"v": "x" * 5000}])
    assert answer.status_code == 422
    assert [(one["index"], one["code"]) for one in answer.json()["refused"]] == [(0, "RECORD_TOO_LARGE")]
    kafka.delete_topic(name)
