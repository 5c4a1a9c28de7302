"""Requests at random to the endpoints that need an engine: ksqlDB's, and Kafka Connect's over real connectors."""

from __future__ import annotations

import os
from typing import Any

import httpx

from orion.app import Orion
from tests.fuzzing import Api, Run, refusal_of

COUNT = int(os.environ.get("FUZZ_SQL", "2000" if os.environ.get("CI") or os.environ.get("LONG") else "250"))
SEED = int(os.environ.get("FUZZ_SEED", "17"))

STATEMENTS = (
    *("SHOW STREAMS;", "SHOW TABLES EXTENDED;", "SHOW QUERIES;", "SHOW TOPICS;", "SHOW FUNCTIONS;", "SHOW PROPERTIES;"),
    *("DESCRIBE fz;", "DESCRIBE fz EXTENDED;", "DESCRIBE FUNCTION LPAD;", "EXPLAIN SELECT k FROM fz EMIT CHANGES;"),
    *("SET 'auto.offset.reset'='earliest';", "DEFINE x = 'y';", "ASSERT TOPIC fz;", "SHOW CONNECTORS;", "SHOW TYPES;"),
    *("EXPLAIN SELECT k, COUNT(*) FROM fz GROUP BY k EMIT CHANGES;", "DROP STREAM IF EXISTS nothing;"),
    *("EXPLAIN SELECT a.k FROM fz a JOIN fz b WITHIN 1 HOUR ON a.k = b.k EMIT CHANGES;", "TERMINATE nobody;"),
)
PULLS = (
    "SELECT * FROM fzt;",
    "SELECT k, v + 1 AS w, LPAD(k, v, 'x') AS p FROM fzt WHERE k = 'a' AND v BETWEEN 1 AND 5;",
    "SELECT v, COUNT(*) AS n FROM fzt GROUP BY v HAVING COUNT(*) > 0 ORDER BY n LIMIT 3;",
)
CONNECTOR = {"connector.class": "delta", "topics": "fz", "tasks.max": 1}
BODIES: dict[str, list[Any]] = {
    "/ksql": [{"ksql": text, "streamsProperties": {"auto.offset.reset": "earliest"}} for text in STATEMENTS],
    "/query-stream": [{"sql": text, "properties": {}, "sessionVariables": {"x": "y"}} for text in PULLS],
    "/query": [{"ksql": text, "streamsProperties": {}} for text in PULLS],
    "/close-query": [{"queryId": "nobody"}],
    "/inserts-stream": [{"target": "fz"}, {"target": "nothing"}],
    "/feeds": [{"K": "a", "V": 1}],
    "/connectors": [{"name": "fz_c", "config": CONNECTOR}, CONNECTOR],
    "/connector-plugins": [CONNECTOR, {"connector.class": "elasticsearch", "connection.url": "http://a:1"}],
    "": [{}],
}
# What only a real run could answer, what others' tests would miss if it were gone, and what is 503 where one of their
# statements fails.
SKIPPED = ("/v3", "/consumers", "/topics", "/brokers", "/offsets", "/chc", "/healthcheck")


def test_requests_at_random(orion: Orion, door: str) -> None:
    orion.execute(
        "CREATE STREAM fz (k STRING KEY, v INT) WITH (kafka_topic='fz', value_format='JSON', partitions=1);"
        "CREATE SOURCE TABLE fzt (k STRING PRIMARY KEY, v INT) WITH (kafka_topic='fz', value_format='JSON');"
        "INSERT INTO fz VALUES ('a', 1);"
    )
    paths = httpx.get(f"{door}/openapi.json").json()["paths"]
    endpoints = [
        (method.upper(), path)
        for path, methods in paths.items()
        for method in methods
        if not path.startswith(SKIPPED) and not (method == "delete" and path.endswith("{name}"))
    ]
    names = {"name": ("nothing", "delta", "elasticsearch", "datagen", "auto.offset.reset"), "topic": ("fz", "nothing")}
    names |= {"kind": ("stream",), "entity": ("FZ",), "action": ("create", "drop"), "number": ("0",)}
    media = ("application/json", "application/vnd.ksql.v1+json", "application/vnd.ksqlapi.delimited.v1")
    heavier = ("/ksql", "/query", "/query-stream", "/inserts-stream")
    api = Api(endpoints, names, BODIES, ("expand", "source"), media, lambda _, path: 30 if path in heavier else 3)
    run = Run(door, "/info", refusal_of(("error_code", "message"), ("topic", "refused")))
    outcome = run.of(api, COUNT, SEED)
    print(outcome.told())
    assert not outcome.failures, "\n".join([outcome.told(), *outcome.failures[:40]])
    orion.execute("DROP TABLE fzt; DROP STREAM fz DELETE TOPIC;")
