"""Types, variables, functions and replaced queries on a whole platform: what is done, what is told, what comes back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from orion.app import Orion
from orion.config import load
from orion.errors import ExpectationFailed, Forbidden, UserError
from orion.hub.kafka import Kafka
from orion.runtime.engine import Engine
from orion.runtime.session import Spark
from orion.web.server import Server
from orion.web.sockets import bound
from tests.scenarios.conftest import Await, everything

SCRIPT = """
CREATE TYPE place AS STRUCT<city STRING, zip INT>;
CREATE STREAM trips (k STRING KEY, home place, km INT)
  WITH (KAFKA_TOPIC = 'def-trips', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE FUNCTION tag(x STRING, n INT) RETURNS STRING LANGUAGE PYTHON AS $$ f"{x}/{10 // n}" $$;
CREATE STREAM tagged WITH (KAFKA_TOPIC = 'def-tagged') AS
  SELECT k, tag(home->city, km) AS tag FROM trips EMIT CHANGES;
INSERT INTO trips (k, home, km) VALUES ('a', STRUCT(city := 'Ulm', zip := 1), 5);
INSERT INTO trips (k, home, km) VALUES ('b', STRUCT(city := 'Ulm', zip := 1), 0);
"""


@pytest.fixture(scope="module")
def data(scratch: Path) -> Path:
    return scratch / "definitions"


def started(kafka: Kafka, spark: Spark, data: Path, *, python: bool = True) -> Orion:
    flags = {
        "data": data,
        "hub.bootstrap": kafka.bootstrap,
        "engine.trigger_ms": 50,
        "service_id": "definitions",
        "functions.python": python,
    }
    engine = Engine(load(flags=flags), kafka, spark)
    engine.restore(lambda _: None)
    return Orion.over(engine)


@pytest.fixture(scope="module")
def platform(kafka: Kafka, spark: Spark, data: Path) -> Iterator[Orion]:
    with started(kafka, spark, data) as first:
        first.execute(SCRIPT)
        assert first.drain(90)
    # Everything below is on a server that came back from its journal.
    with started(kafka, spark, data) as second:
        yield second


def values(kafka: Kafka, topic: str) -> list[object]:
    return [None if r.value is None else json.loads(r.value) for r in everything(kafka, topic)]


def test_types_and_functions_come_back(platform: Orion, kafka: Kafka) -> None:
    assert platform.engine.problems == []
    types, functions, described = platform.execute("SHOW TYPES; SHOW FUNCTIONS; DESCRIBE FUNCTION tag;")
    assert types["types"]["PLACE"]["fields"][0]["name"] == "CITY"
    assert {"name": "TAG", "type": "SCALAR", "category": "PYTHON"} in functions["functions"]
    assert described["functions"][0]["signature"] == "TAG(x STRING, n INTEGER)"
    assert [a["type"] for a in described["functions"][0]["arguments"]] == ["STRING", "INTEGER"]
    platform.execute("INSERT INTO trips (k, home, km) VALUES ('c', STRUCT(city := 'Rom', zip := 2), 2);")
    assert platform.drain(90)
    assert values(kafka, "def-tagged") == [{"TAG": "Ulm/2"}, {"TAG": None}, {"TAG": "Rom/5"}]


def test_a_replaced_query_goes_on_without_reading_again(platform: Orion, kafka: Kafka, until: Await) -> None:
    platform.execute("CREATE STREAM kept WITH (KAFKA_TOPIC = 'def-kept') AS SELECT k, km FROM trips EMIT CHANGES;")
    until(lambda: len(values(kafka, "def-kept")) == 3, 90.0)
    (before,) = [q for q in platform.engine.catalog.queries if q.startswith("CSAS_KEPT")]
    (told,) = platform.execute(
        "CREATE OR REPLACE STREAM kept WITH (KAFKA_TOPIC = 'def-kept') AS"
        " SELECT k, km, home->zip AS zip FROM trips WHERE km > 0 EMIT CHANGES;"
    )
    status = told["commandStatus"]
    assert (status["queryId"], status["message"]) == (
        before,
        f"Stream KEPT replaced. Query {before} goes on from where it was.",
    )
    platform.execute(
        "INSERT INTO trips (k, home, km) VALUES ('d', STRUCT(city := 'Rom', zip := 2), 0);"
        "INSERT INTO trips (k, home, km) VALUES ('e', STRUCT(city := 'Rom', zip := 2), 9);"
    )
    assert platform.drain(90)
    assert values(kafka, "def-kept") == [{"KM": 5}, {"KM": 0}, {"KM": 2}, {"KM": 9, "ZIP": 2}]
    folders = [f.name for f in (platform.engine.config.data / "checkpoints").iterdir() if f.name.startswith(before)]
    assert len(folders) == 1


def test_a_replaced_aggregate_starts_anew(platform: Orion, kafka: Kafka) -> None:
    platform.execute("CREATE TABLE sums AS SELECT home->city AS city, COUNT(*) AS n FROM trips GROUP BY home->city;")
    assert platform.drain(90)
    (told,) = platform.execute(
        "CREATE OR REPLACE TABLE sums AS"
        " SELECT home->city AS city, COUNT(*) AS n, SUM(km) AS km FROM trips GROUP BY home->city;"
    )
    assert "starts from the beginning" in told["commandStatus"]["message"]
    assert platform.drain(90)
    last = {r.key: json.loads(r.value or b"") for r in everything(kafka, "SUMS")}
    assert last[b"Ulm"] == {"N": 2, "KM": 5}
    assert len([q for q in platform.engine.catalog.queries if q.startswith("CTAS_SUMS")]) == 1


def test_a_function_in_use_stays(platform: Orion) -> None:
    with pytest.raises(UserError, match="still use it"):
        platform.execute("DROP FUNCTION tag;")


def test_topics_are_waited_for(platform: Orion) -> None:
    (told,) = platform.execute("ASSERT TOPIC 'def-trips' WITH (PARTITIONS = 1);")
    assert (told["@type"], told["topicName"], told["exists"]) == ("assert_topic", "def-trips", True)
    with pytest.raises(ExpectationFailed, match="PARTITIONS is 1, not 2"):
        platform.execute("ASSERT TOPIC 'def-trips' WITH (PARTITIONS = 2) TIMEOUT 100 MILLISECONDS;")
    with pytest.raises(ExpectationFailed, match="exists"):
        platform.execute("ASSERT NOT EXISTS TOPIC 'def-trips' TIMEOUT 100 MILLISECONDS;")


def test_what_tests_assert_is_refused_with_where_it_runs(platform: Orion) -> None:
    with pytest.raises(UserError) as refused:
        platform.execute("ASSERT VALUES trips (k) VALUES ('a');")
    assert refused.value.code == "ASSERT_IN_TESTS"


def test_everything_can_be_shown(platform: Orion) -> None:
    platform.execute("ALTER STREAM trips ADD COLUMN note STRING;")
    shown = platform.execute(
        "DEFINE x = '1'; SET 'auto.offset.reset' = 'earliest'; SHOW VARIABLES; SHOW PROPERTIES; SHOW TOPICS EXTENDED;"
        "SHOW STREAMS EXTENDED; DESCRIBE TABLES; SHOW QUERIES EXTENDED; SHOW CONNECTOR PLUGINS; SHOW SOURCE CONNECTORS;"
    )
    kinds = [e["@type"] for e in shown[2:]]
    assert kinds == [
        "variables",
        "properties",
        "kafka_topics_extended",
        "source_descriptions",
        "source_descriptions",
        "queryDescriptionList",
        "connector_plugins_list",
        "connector_list",
    ]
    assert shown[2]["variables"] == [{"name": "X", "value": "1"}]
    assert shown[3]["overwrittenProperties"] == ["auto.offset.reset"]
    (trips,) = [s for s in shown[5]["sourceDescriptions"] if s["name"] == "TRIPS"]
    assert [f["name"] for f in trips["fields"]] == ["K", "HOME", "KM", "NOTE"]
    assert trips["partitions"] == 1


def test_the_doors_carry_variables(platform: Orion, tmp_path: Path) -> None:
    (tmp_path / "inner.sql").write_text("DEFINE what = 'STREAMS';\nSHOW ${what};\n")
    (tmp_path / "loop.sql").write_text("RUN SCRIPT 'loop.sql';")
    with bound("127.0.0.1", 0) as sock:
        server = Server.start(platform, sock)
        try:
            body = {"ksql": "DESCRIBE ${which};", "sessionVariables": {"which": "trips"}}
            (answer,) = httpx.post(f"{server.url}/ksql", json=body, timeout=150).json()
            assert (answer["statementText"], answer["sourceDescription"]["name"]) == ("DESCRIBE trips", "TRIPS")

            def sql(script: str) -> subprocess.CompletedProcess[str]:
                return subprocess.run(
                    [sys.executable, "-m", "orion", "sql", "--url", server.url, "-e", script],
                    capture_output=True,
                    text=True,
                    timeout=120,
                    check=False,
                    cwd=tmp_path,
                    env=os.environ | {"NO_COLOR": "1"},
                )

            ran = sql("SPOOL 'out.txt'; RUN SCRIPT 'inner.sql'; SPOOL OFF; DESCRIBE ${WHAT}; SHOW TYPES;")
            assert ran.returncode == 0, ran.stderr
            assert "TRIPS" in ran.stdout
            spooled = (tmp_path / "out.txt").read_text()
            assert "orion> SHOW ${what};" in spooled
            assert "TRIPS" in spooled
            assert "PLACE" not in spooled
            looped = sql("RUN SCRIPT 'loop.sql';")
            assert (looped.returncode, "SCRIPT_IN_ITSELF" in looped.stderr) == (2, True)
        finally:
            server.stop()


def test_python_is_off_unless_allowed(kafka: Kafka, spark: Spark, scratch: Path) -> None:
    flags = {"data": scratch / "off", "hub.bootstrap": kafka.bootstrap, "service_id": "off"}
    create = "CREATE FUNCTION f(x INT) RETURNS INT AS $$ x $$;"
    with Orion.over(Engine(load(flags=flags), kafka, spark)) as careful:
        with pytest.raises(Forbidden) as refused:
            careful.execute(create)
        assert (refused.value.code, refused.value.http_status) == ("PYTHON_OFF", 403)
        assert careful.engine.catalog.functions == {}
    with Orion.over(Engine(load(flags=flags | {"functions.python": True}), kafka, spark)) as trusting:
        trusting.execute(create)
    with Orion.over(Engine(load(flags=flags), kafka, spark)) as careful:
        assert careful.engine.catalog.functions == {}
        assert careful.engine.problems == ["function F is not loaded: functions.python is off"]
