"""Requests at random to every API that needs no engine: refused in its own words, and never the server's fault."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import GenerationMode
from schemathesis.core.result import Ok

from orion.config import Web
from orion.hub.kafka import Kafka
from orion.registry.endpoints import ENDPOINTS
from orion.registry.log import MemoryLog
from orion.registry.store import Registry
from orion.web.gateway import Gateway
from orion.web.platform import serving_registry
from orion.web.server import Server, over
from orion.web.sockets import bound
from tests.connectors import Shelf
from tests.fuzzing import PATIENCE_S, Api, Outcome, Run, refusal_of, resident
from tests.services.proxy import Declared

# How many requests: the whole number takes minutes, a part of it each run.
COUNT = int(os.environ.get("FUZZ", "20000" if os.environ.get("CI") or os.environ.get("LONG") else "1500"))
SEED = int(os.environ.get("FUZZ_SEED", "17"))
# Of memory a run may take for good: clients, caches and code that is loaded at its first use.
MOST_GROWTH = 200 << 20

AVRO = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":["null","string"]}]}'
PROTO = 'syntax = "proto3"; message M { int32 a = 1; }'


def bytes_of(text: str) -> str:
    return b64encode(text.encode()).decode()


def check(outcome: Outcome) -> None:
    print(outcome.told())
    assert not outcome.failures, "\n".join([outcome.told(), *outcome.failures[:40]])
    settled = outcome.memory[len(outcome.memory) // 4]
    assert outcome.memory[-1] - settled < MOST_GROWTH, outcome.told()


# ---- the registry --------------------------------------------------------------------------------------------------

RULES = {"domainRules": [{"name": "r", "kind": "CONDITION", "type": "CEL", "mode": "WRITE", "expr": "true"}]}
METADATA = {"properties": {"owner": "me"}, "tags": {"a": ["PII"]}, "sensitive": ["owner"]}
WANTED: list[Any] = [
    {"schema": '"int"'},
    {"schema": AVRO, "metadata": METADATA, "ruleSet": RULES},
    {"schema": AVRO, "schemaType": "AVRO", "references": [{"name": "x", "subject": "s1", "version": 1}]},
    {"schema": '{"type":"object","properties":{"a":{"type":"string"}}}', "schemaType": "JSON"},
    {"schema": PROTO, "schemaType": "PROTOBUF", "id": 7, "version": 1},
]
SETTINGS: list[Any] = [
    {"compatibility": "NONE"},
    {"compatibilityLevel": "FULL", "normalize": True, "alias": "s1", "validateFields": False},
    {"defaultMetadata": METADATA, "overrideMetadata": METADATA, "compatibilityGroup": "application.version"},
    {"defaultRuleSet": RULES, "overrideRuleSet": RULES, "compatibilityPolicy": "LENIENT"},
]
REGISTRY = Api(
    [(one.method, prefix + one.path) for one in ENDPOINTS for prefix in ("", "", "/contexts/{context}")],
    {
        "subject": ("s1", "s2", "s3", ":.team:s4", "a/b"),
        "version": ("1", "2", "latest", "-1"),
        "id": ("1", "2", "3", "7"),
        "context": (".team", "."),
        "guid": ("0" * 32,),
    },
    {"/config": SETTINGS, "/mode": [{"mode": "READWRITE"}, {"mode": "IMPORT"}], "": WANTED},
    (
        *("deleted", "deletedOnly", "normalize", "offset", "limit", "permanent", "subjectPrefix", "format", "verbose"),
        *("latestOnly", "fetchMaxId", "key", "value", "force", "recursive", "defaultToGlobal", "subject", "ruleType"),
        *("contextPrefix", "aliases", "referenceFormat"),
    ),
    ("application/vnd.schemaregistry.v1+json", "application/json"),
)


def test_the_registry() -> None:
    with closing(bound("127.0.0.1", 0)) as sock, serving_registry(Registry(MemoryLog()), sock) as url:
        run = Run(url, "/schemas/types", refusal_of(("error_code", "message")))
        check(run.of(REGISTRY, COUNT * 2 // 5, SEED))
        # Whatever was stored on the way, it is a registry still.
        for path in ("mode", "config"):
            httpx.delete(f"{url}/{path}")
        answer = httpx.post(f"{url}/subjects/after/versions", json={"schema": '"long"'})
        assert answer.status_code == 200, answer.text


# ---- REST Proxy, feeds and Kafka Connect ---------------------------------------------------------------------------

NAMES = {
    "topic": ("fuzz-a", "fuzz-b", "fuzz-new"),
    "DELETE topic": ("fuzz-new",),
    "partition": ("0", "1"),
    "group": ("fuzz-g1", "fuzz-g2"),
    "instance": ("i1", "i2"),
    "broker": ("0", "1"),
    "name": ("c1", "c2", "LakeSinkConnector", "lake", "retention.ms", "cleanup.policy"),
    "number": ("0", "1"),
}
PLACES = {"partitions": [{"topic": "fuzz-a", "partition": 0}]}
OFFSETS = {"offsets": [{"topic": "fuzz-a", "partition": 0, "offset": 1, "metadata": "m"}]}
SINGLE: list[Any] = [
    {"value": {"type": "JSON", "data": {"a": 1}}, "key": {"type": "STRING", "data": "k"}, "partition_id": 0},
    {"value": {"type": "BINARY", "data": bytes_of("v")}, "headers": [{"name": "h", "value": bytes_of("x")}]},
    {"value": {"type": "AVRO", "schema": AVRO, "data": {"a": 1, "b": None}}, "timestamp": 1_700_000_000_000},
    {"value": {"schema_id": 1, "data": {"a": 1, "b": None}}, "key": {"schema_version": 1, "data": 1}},
    {"value": {"subject": "s", "subject_name_strategy": "TOPIC_NAME", "data": 1}, "timestamp": "2024-01-01T00:00:00Z"},
]
BODIES: dict[str, list[Any]] = {
    "records:batch": [{"entries": [{"id": "1", **SINGLE[0]}, {"id": "2", **SINGLE[1]}]}],
    "{topic}/records": SINGLE,
    "configs:alter": [
        {"data": [{"name": "retention.ms", "value": "1000000"}, {"name": "cleanup.policy", "operation": "DELETE"}]},
        {"data": [], "validate_only": True},
    ],
    "{topic}/configs": [{"value": "1000000"}],
    "{cluster}/topics/{topic}": [{"partitions_count": 2}],
    "{cluster}/topics": [
        {"topic_name": "fuzz-new", "partitions_count": 1, "replication_factor": 1, "validate_only": True},
        {"topic_name": "fuzz-new", "configs": [{"name": "cleanup.policy", "value": "compact"}]},
    ],
    "/subscription": [{"topics": ["fuzz-a"]}, {"topic_pattern": "fuzz-.*"}],
    "/assignments": [PLACES],
    "/offsets": [OFFSETS, PLACES, {"offsets": [{"partition": {"kafka_topic": "a"}, "offset": {"kafka_offset": 3}}]}],
    "/positions": [OFFSETS, PLACES],
    "/consumers/{group}": [
        {"name": "i1", "format": "json", "auto.offset.reset": "earliest", "auto.commit.enable": "false"},
        {"id": "i2", "fetch.min.bytes": 1, "consumer.request.timeout.ms": 50},
    ],
    "/feeds": [{"K": "a", "V": 1}, [{"K": "a", "V": 1}, {"K": "b", "V": 2, "ROWTIME": 5}], {"k": None, "v": 1.5}],
    "/topics/{topic}": [
        {"records": [{"key": bytes_of("k"), "value": bytes_of("v"), "partition": 0}]},
        {"records": [{"value": {"a": 1, "b": None}}], "value_schema": AVRO, "key_schema_id": 1},
        {"records": [{"value": {"a": 1}}], "value_schema_id": 1},
    ],
    "/connectors": [
        {
            "name": "c1",
            "config": {"connector.class": "lake", "topics": "a,b", "path": "/lake"},
            "initial_state": "PAUSED",
        },
        {"connector.class": "lake", "topics": "a", "path": "/lake", "tasks.max": 2},
    ],
    "": [{"connector.class": "lake", "topics": "a", "path": "/lake"}],
}
V2 = ("json", "binary", "avro", "jsonschema", "protobuf")
MEDIA = ("application/json", "application/vnd.kafka.v2+json", *(f"application/vnd.kafka.{one}.v2+json" for one in V2))
QUERIES = ("timeout", "max_bytes", "offset", "source", "atomic", "expand", "includeTasks", "onlyFailed")
# Routes that run statements, for which there is no engine here; and the page that only leads elsewhere.
ENGINE = ("/ksql", "/query", "/close", "/status", "/info", "/healthcheck", "/cluster", "/v1/", "/is_valid", "/inserts")


def weight(method: str, path: str) -> int:
    """Reading waits for records, and a new topic is the broker's work."""
    if path.endswith("/records") and method == "GET":
        return 1
    return 2 if method == "POST" and path.endswith("{cluster}/topics") else 6


@pytest.fixture(scope="module")
def world(kafka: Kafka) -> Iterator[tuple[str, list[tuple[str, str]], str]]:
    declared = Declared()
    for name in ("fuzz-a", "fuzz-b"):
        kafka.create_topic(name, 2, exist_ok=True)
    columns = "(k STRING KEY, v INT) WITH (kafka_topic='fuzz-a', value_format='JSON')"
    declared.declare(kafka, f"CREATE STREAM fuzzed {columns};")
    gateway = Gateway(kafka, declared.schemas, Web(max_body_bytes=100_000), lambda: declared.catalog)
    app = over(gateway)
    app.state.connectors = Shelf()
    endpoints = [
        (method.upper(), path)
        for path, methods in app.openapi()["paths"].items()
        for method in methods
        if not path.startswith(ENGINE)
    ]
    with closing(bound("127.0.0.1", 0)) as sock:
        server = Server.serve(app, sock)
        try:
            yield server.url, endpoints, kafka.cluster_id()
        finally:
            server.stop()


def test_rest_proxy_connect_and_feeds(world: tuple[str, list[tuple[str, str]], str]) -> None:
    url, endpoints, cluster = world
    api = Api(endpoints, {**NAMES, "cluster": (cluster,)}, BODIES, QUERIES, MEDIA, weight)
    run = Run(url, "/chc/live", refusal_of(("error_code", "message"), ("topic", "refused")))
    check(run.of(api, COUNT * 2 // 5, SEED))


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v3/clusters/{cluster}/topics/%00/partitions"),
        ("GET", "/v3/clusters/{cluster}/topics/a%00b/configs"),
        ("DELETE", "/v3/clusters/{cluster}/topics/fuzz-a%00"),
        ("GET", "/v3/clusters/{cluster}/consumer-groups/%00/lags"),
        ("POST", "/topics/%00/partitions/99"),
        ("POST", "/topics/fuzz-a%00"),
        ("GET", "/topics/%00"),
        ("POST", "/consumers/%00"),
        ("POST", "/feeds/%00"),
    ],
)
def test_names_with_a_nul(world: tuple[str, list[tuple[str, str]], str], method: str, path: str) -> None:
    url, _, cluster = world
    body = {"records": [{"value": "dg=="}], "name": "one", "format": "json"}
    media = {"content-type": "application/vnd.kafka.v2+json"}
    where = f"{url}{path.replace('{cluster}', cluster)}"
    answer = httpx.request(method, where, content=json.dumps(body), headers=media, timeout=PATIENCE_S)
    assert 400 <= answer.status_code < 500, answer.text
    assert {"error_code", "message"} <= set(answer.json())


def test_what_the_openapi_document_describes(world: tuple[str, list[tuple[str, str]], str]) -> None:
    """schemathesis: values that fit the document, and such that don't; its paths, parameters and headers."""
    url, endpoints, _ = world
    held = resident()
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    each = max(1, COUNT // 5 // len(endpoints))
    statuses: Counter[int] = Counter()
    failures: list[str] = []

    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        if (operation.method.upper(), operation.path) not in endpoints:
            continue

        @seed(SEED)
        @settings(max_examples=each, database=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
        @given(operation.as_strategy(generation_mode=GenerationMode.POSITIVE))
        def ask(case: schemathesis.Case[Any]) -> None:
            answer = case.call(base_url=url, timeout=PATIENCE_S)
            statuses[answer.status_code] += 1
            if answer.status_code >= 500:
                failures.append(f"{case.method} {case.formatted_path} -> {answer.status_code} {answer.text[:200]}")

        ask()
    print(f"{statuses.total()} requests by schemathesis: {dict(statuses)}, {len(failures)} failures")
    assert not failures, "\n".join(failures[:20])
    assert statuses.total() >= len(endpoints)
    assert resident() - held < MOST_GROWTH
