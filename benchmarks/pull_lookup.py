"""Look-ups by key in a table that follows its topic; the goals are 5 ms in process and 2,000 a second over HTTP.

In process, each round looks up keys at random by statements that differ in the key alone. By hand the same rows lie in
a table of DuckDB's with the key as its primary key, and a statement with a parameter is run by one cursor. Orion's side
has on top of that: the statement found by its text, and values as JSON has them; and it has some answers at hand,
since a few keys come twice.

Over HTTP the tables are in a process of their own that has one core, as for the registry's look-ups: one look-up a
request, over connections that stay open, of keys that were asked for before. It is told beside the ratio.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from fastapi import FastAPI

from benchmarks.contest import write
from benchmarks.one_core import started
from benchmarks.stage import Measured, Stage
from orion import ksql
from orion.config import Serving
from orion.hub.kafka import Kafka
from orion.hub.records import Outgoing
from orion.plan.catalog import Catalog
from orion.plan.sources import Source
from orion.plan.steps import Pull
from orion.pulling import Pulls
from orion.runtime.schemas import Schemas
from orion.serving.tables import Tables
from orion.web.lookups import Lookups
from orion.web.routes import query_stream
from orion.web.server import Server, bound

TOPIC = "pull-lookup"
ROWS = 100_000
LOOKUPS = 3_000
HTTP_KEYS, HTTP_TIMES = 1_000, 5
_SCRIPT = (
    "CREATE SOURCE TABLE accounts (id STRING PRIMARY KEY, name STRING, balance BIGINT) "
    f"WITH (KAFKA_TOPIC = '{TOPIC}', VALUE_FORMAT = 'JSON');"
)
_BUILT_S = 300.0


@dataclass(frozen=True)
class Bare:
    """A platform that has this one table, and no Spark."""

    kafka: Kafka
    catalog: Catalog
    schemas: Schemas

    def pull(self, pull: Pull, table: Callable[[Source], pa.Table]) -> list[Sequence[Any]]:
        raise NotImplementedError

    def await_read(self, query_id: str, topic: str, offsets: Mapping[int, int], until: float) -> None:
        raise NotImplementedError


def opened(kafka: Kafka, folder: Path) -> Pulls:
    """The table, once it holds the whole topic."""
    catalog = Catalog()
    for step in ksql.compile(_SCRIPT, catalog).steps:
        catalog = catalog.after(step)
    schemas = Schemas(None)
    tables = Tables(kafka, schemas.by_id, folder, Serving())
    tables.follow(catalog)
    tables.await_built(catalog.sources.values(), time.monotonic() + _BUILT_S)
    return Pulls(Bare(kafka, catalog, schemas), tables)


def measure(stage: Stage) -> Measured:
    write(stage, TOPIC, (Outgoing(json.dumps(_row(n)).encode(), f"a-{n}".encode()) for n in range(ROWS)))
    slowest: list[float] = []
    pulls = opened(stage.kafka, stage.folder / "pull-in-process")
    assert pulls.tables is not None
    with closing(pulls.tables), duckdb.connect(str(stage.folder / "by-hand.duckdb")) as hand:
        hand.execute("CREATE TABLE accounts (id VARCHAR PRIMARY KEY, name VARCHAR, balance BIGINT)")
        hand.execute(f"INSERT INTO accounts SELECT 'a-' || i, 'name ' || i, i * 7 FROM range({ROWS}) t(i)")
        found = stage.take_turns(
            "pull_lookup",
            lambda number: _rate(lambda key: _pulled(pulls, key), number, slowest),
            lambda number: _rate(lambda key: _by_hand(hand, key), number, []),
            "lookups/s",
            "pull query: a row by its key, in process (by hand: DuckDB, a statement with a parameter)",
        )
    p99 = statistics.median(slowest[-stage.rounds :]) * 1000
    served, by_clock = _over_http(stage)
    http = f"over HTTP on one core {served:,.0f}/s, {by_clock:,.0f} by the clock"
    return replace(found, what=f"{found.what}; p99 {p99:.1f} ms; {http}")


def _row(number: int) -> dict[str, Any]:
    return {"name": f"name {number}", "balance": number * 7}


def _rate(look_up: Callable[[str], list[Any]], number: int, slowest: list[float]) -> float:
    """Look-ups in a second; adds the time that 99 of 100 stay below to `slowest`."""
    chosen = random.Random(f"round {number}")  # a number and its negative would choose alike
    taken = []
    for _ in range(LOOKUPS):
        wanted = chosen.randrange(ROWS)
        start = time.perf_counter()
        row = look_up(f"a-{wanted}")
        taken.append(time.perf_counter() - start)
        if row != [f"a-{wanted}", f"name {wanted}", wanted * 7]:
            raise RuntimeError(f"the row of a-{wanted} is {row}")
    slowest.append(sorted(taken)[LOOKUPS * 99 // 100])
    return LOOKUPS / sum(taken)


def _pulled(pulls: Pulls, key: str) -> list[Any]:
    found = pulls.query(f"SELECT * FROM accounts WHERE id = '{key}';", None, None)
    assert found is not None
    return found.rows[0]


def _by_hand(db: duckdb.DuckDBPyConnection, key: str) -> list[Any]:
    return list(db.execute("SELECT id, name, balance FROM accounts WHERE id = ?", [key]).fetchall()[0])


def _over_http(stage: Stage) -> tuple[float, float]:
    """Look-ups in a second of the server's time, and of the clock."""
    numbers = [n for _ in range(HTTP_TIMES) for n in range(HTTP_KEYS)]
    module = ("benchmarks.pull_lookup", stage.kafka.bootstrap, str(stage.folder / "pull-http"))
    with started(stage, *module) as server:
        _, first, _ = server.ask([_request(n) for n in range(HTTP_KEYS)])
        bodies, rate, by_clock = server.ask([_request(n) for n in numbers])
    stage.say(f"pull_lookup: over HTTP {first:,.0f}/s the first time, {rate:,.0f}/s again")
    for number, body in zip(numbers, bodies, strict=True):
        if json.loads(body.splitlines()[1]) != [f"a-{number}", f"name {number}", number * 7]:
            raise RuntimeError(f"the answer for a-{number} is {body!r}")
    return rate, by_clock


def _request(number: int) -> bytes:
    body = json.dumps({"sql": f"SELECT * FROM accounts WHERE id = 'a-{number}';"}).encode()
    return b"POST /query-stream HTTP/1.1\r\nHost: orion\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


if __name__ == "__main__":
    served = opened(Kafka(sys.argv[1]), Path(sys.argv[2]))
    app = FastAPI(docs_url=None, redoc_url=None)
    app.include_router(query_stream.router)
    app.state.orion = served  # it has `query`, which is all that the route asks for
    app.add_middleware(Lookups, pulls=served)
    with closing(bound("127.0.0.1", 0)) as sock:
        print(f"{Server.serve(app, sock).url}\n", flush=True)
        sys.stdin.read()
