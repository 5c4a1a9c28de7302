"""Answers conformance cases over standard input and output, a JSON object a line.

    -> {"cmd": "batch", "feed": "all" | "per_record", "cases": [{"id", "statements", "properties", "topics", "inputs"}]}
    <- {"id", "status", "failed_statement", "error", "outputs", "schemas", "rows"} a case, in any order
    <- {"done": true}
    -> {"cmd": "quit"}

A case's statements are compiled one after the other; then each query runs to its end over all records, in the order
they arrived, through the engine's own decoding, operators and encoding.
"""

from __future__ import annotations

import base64
import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orion.config import Engine
from orion.errors import OrionError, UnsupportedError
from orion.plan.sources import Source
from orion.plan.steps import Ask, Pull, Push
from orion.runtime import session
from orion.schema import Role, Schema
from orion.testing import Desk, Given
from tests.conformance import wire
from tests.conformance.shelf import Shelf

THREADS = int(os.environ.get("THREADS", "4"))

# ksqlDB's test tool runs on one partition and without a cache: each record's effect is seen by itself.
PROPERTIES = {"orion.tasks": "1", "cache.max.bytes.buffering": "0"}


def answer(spark: session.Spark, case: dict[str, Any]) -> dict[str, Any]:
    shelf = Shelf(case.get("topics") or [])
    desk = Desk(spark, PROPERTIES | _known(case.get("properties") or {}), registry=shelf)
    asked: list[Ask] = []
    for at, statement in enumerate(case["statements"]):
        try:
            shelf.hear(statement)
            ask = desk.execute(statement).ask
            asked += [ask] if isinstance(ask, Pull | Push) else []
        except UnsupportedError as error:
            return _failed(case, "unsupported", at, error)
        except OrionError as error:
            return _failed(case, "rejected", at, error)
        except Exception:
            return _failed(case, "error", at, traceback.format_exc(limit=-4))
    topics = {s.topic: s for s in reversed(list(desk.catalog.sources.values()))}
    try:
        desk.log = [given(r, topics.get(r["topic"]), shelf) for r in case.get("inputs", ())] + desk.log
        made = desk.settle()
        rows = [desk.rows(ask) for ask in asked]
    except Exception as error:
        return _failed(case, "error", None, _short(error))
    outputs = [output(r, topics.get(r.topic), shelf) for r in (*made, *desk.inserted)]
    schemas = {n: {"type": s.kind.lower(), "schema": _schema(s.schema)} for n, s in desk.catalog.sources.items()}
    told = {"status": "ok", "failed_statement": None, "error": None}
    return {"id": case["id"], **told, "outputs": outputs, "schemas": schemas, "rows": rows}


def _known(properties: dict[str, Any]) -> dict[str, str]:
    return {k.removeprefix("ksql.streams."): str(v) for k, v in properties.items()}


def _failed(case: dict[str, Any], status: str, at: int | None, error: object) -> dict[str, Any]:
    code = error.code if isinstance(error, OrionError) else None
    told = {"status": status, "failed_statement": at, "code": code, "error": str(error)[:2000]}
    return {"id": case["id"], **told, "outputs": []}


def _short(error: Exception) -> str:
    """What went wrong inside Spark: the last lines of a Python worker, or the first of a JVM's."""
    text = str(error)
    return f"{type(error).__name__}: {text[:1500]}"


def given(record: dict[str, Any], source: Source | None, shelf: Shelf) -> Given:
    headers = tuple(
        (h["key"], None if h.get("value_b64") is None else base64.b64decode(h["value_b64"]))
        for h in record.get("headers") or ()
    )
    return Given(
        record["topic"],
        wire.encode_key(source, record.get("key"), record.get("window"), shelf),
        wire.encode_value(source, record.get("value"), shelf),
        int(record.get("timestamp") or 0),
        headers,
    )


def output(record: Given, source: Source | None, shelf: Shelf) -> dict[str, Any]:
    key, window = wire.decode_key(source, record.key, shelf)
    return {
        "topic": record.topic,
        "key": key,
        "value": wire.decode_value(source, record.value, shelf),
        "timestamp": record.timestamp,
        "window": window,
        "headers": [
            {"key": k, "value_b64": None if v is None else base64.b64encode(v).decode()} for k, v in record.headers
        ],
    }


def _schema(schema: Schema) -> str:
    words = {Role.KEY: " KEY", Role.VALUE: "", Role.HEADERS: " HEADERS"}
    return ", ".join(f"`{c.name}` {str(c.type).replace('VARCHAR(STRING)', 'STRING')}{words[c.role]}" for c in schema)


@contextmanager
def spark_session() -> Iterator[session.Spark]:
    """Small plans over few rows: what makes large ones fast costs more than it brings."""
    folder = Path(tempfile.mkdtemp(prefix="orion-conformance-"))
    engine = Engine(
        shuffle_partitions=1,
        conf={
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.default.parallelism": "1",
            "spark.sql.execution.arrow.pyspark.enabled": "false",
        },
    )
    spark = session.start(engine, folder, lambda line: print(line, file=sys.stderr))
    try:
        yield spark
    finally:
        session.stop(spark)
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    # Whatever a library prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with spark_session() as spark, ThreadPoolExecutor(THREADS) as pool:
        for line in sys.stdin:
            request = wire.loads(line)
            if request["cmd"] == "quit":
                break
            for result in pool.map(lambda case: _guarded(spark, case), request["cases"]):
                answers.write(wire.dumps(result) + "\n")
                answers.flush()
            answers.write('{"done": true}\n')
            answers.flush()


def _guarded(spark: session.Spark, case: dict[str, Any]) -> dict[str, Any]:
    try:
        return answer(spark, case)
    except Exception:  # a case that breaks the driver is one failed case
        return _failed(case, "error", None, traceback.format_exc(limit=-5))


if __name__ == "__main__":
    main()
