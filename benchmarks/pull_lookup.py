"""Look-ups by key in a table that follows its topic; the goals are 5 ms in process and 2,000 a second over HTTP.

In process, each round looks up keys at random by statements that differ in the key alone. By hand the same rows lie in
a table of DuckDB's with the key as its primary key, and a statement with a parameter is run by one cursor. For the
ratio Orion keeps no rows at hand, so that both ask DuckDB: its side has on top of that the statement found by its text,
and values as JSON has them. Beside it stands what rows give that are in memory, as those that changed last are.

Over HTTP the tables are in a process of their own that has one core, as for the registry's look-ups: one look-up a
request, each of another key, over connections that stay open; of rows in memory, and by DuckDB.
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

from benchmarks.contest import write
from benchmarks.one_core import started
from benchmarks.stage import Measured, Stage
from orion import ksql
from orion.config import Serving, Web
from orion.hub.kafka import Kafka
from orion.hub.records import Outgoing
from orion.plan.catalog import Catalog
from orion.plan.interruption import Interruption
from orion.plan.sources import Source
from orion.plan.steps import Pull
from orion.pulling import Pulls
from orion.runtime.schemas import Schemas
from orion.serving.tables import Tables
from orion.web.gateway import Gateway
from orion.web.lookups import Lookups
from orion.web.server import Server, over
from orion.web.sockets import bound

TOPIC = "pull-lookup"
ROWS = 100_000
LOOKUPS = 3_000
HTTP_LOOKUPS, WARM_UP = 5_000, 500
BY_DUCKDB = Serving(hot_rows=0, last_rows=0)
SETTINGS = {"from memory": Serving(), "by DuckDB": BY_DUCKDB}
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

    def pull(self, pull: Pull, table: Callable[[Source], pa.Table], interruption: Interruption) -> list[Sequence[Any]]:
        raise NotImplementedError

    def await_read(self, query_id: str, topic: str, offsets: Mapping[int, int], until: float) -> None:
        raise NotImplementedError


def opened(kafka: Kafka, folder: Path, settings: Serving) -> tuple[Pulls, Bare]:
    """The table, once it holds the whole topic; and what it is in."""
    catalog = Catalog()
    for step in ksql.compile(_SCRIPT, catalog).steps:
        catalog = catalog.after(step)
    schemas = Schemas(None)
    tables = Tables(kafka, schemas.by_id, folder, settings)
    tables.follow(catalog)
    tables.await_built(catalog.sources.values(), time.monotonic() + _BUILT_S)
    bare = Bare(kafka, catalog, schemas)
    return Pulls(bare, tables), bare


def measure(stage: Stage) -> Measured:
    write(stage, TOPIC, (Outgoing(json.dumps(_row(n)).encode(), f"a-{n}".encode()) for n in range(ROWS)))
    slowest: list[float] = []
    asked, _ = opened(stage.kafka, stage.folder / "pull-duckdb", BY_DUCKDB)
    with closing(asked), duckdb.connect(str(stage.folder / "by-hand.duckdb")) as hand:
        hand.execute("CREATE TABLE accounts (id VARCHAR PRIMARY KEY, name VARCHAR, balance BIGINT)")
        hand.execute(f"INSERT INTO accounts SELECT 'a-' || i, 'name ' || i, i * 7 FROM range({ROWS}) t(i)")
        found = stage.take_turns(
            "pull_lookup",
            lambda number: _rate(lambda key: _pulled(asked, key), number, slowest),
            lambda number: _rate(lambda key: _by_hand(hand, key), number, []),
            "lookups/s",
            "pull query: a row by its key, in process, by DuckDB (by hand: DuckDB, a statement with a parameter)",
        )
    p99 = statistics.median(slowest[-stage.rounds :]) * 1000
    fast: list[float] = []
    at_hand, _ = opened(stage.kafka, stage.folder / "pull-memory", Serving())
    with closing(at_hand):
        rates = [_rate(lambda key: _pulled(at_hand, key), number, fast) for number in range(stage.rounds)]
    served = {name: _over_http(stage, name) for name in SETTINGS}
    http = " and ".join(f"{rate:,.0f}/s {name}" for name, rate in served.items())
    memory = f"rows in memory {statistics.median(rates):,.0f}/s, p99 {statistics.median(fast) * 1000:.2f} ms"
    return replace(found, what=f"{found.what}; p99 {p99:.1f} ms; {memory}; over HTTP on one core {http}")


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


def _over_http(stage: Stage, name: str) -> float:
    """Look-ups in a second of the server's processor time."""
    numbers = random.Random(name).sample(range(ROWS), HTTP_LOOKUPS)
    module = ("benchmarks.pull_lookup", stage.kafka.bootstrap, str(stage.folder / f"pull-http-{name}"), name)
    with started(stage, *module) as server:
        server.ask([_request(n) for n in range(WARM_UP)])
        bodies, rate, by_clock = server.ask([_request(n) for n in numbers])
    stage.say(f"pull_lookup: over HTTP, {name}: {rate:,.0f}/s, {by_clock:,.0f} by the clock")
    for number, body in zip(numbers, bodies, strict=True):
        if json.loads(body.splitlines()[1]) != [f"a-{number}", f"name {number}", number * 7]:
            raise RuntimeError(f"the answer for a-{number} is {body!r}")
    return rate


def _request(number: int) -> bytes:
    body = json.dumps({"sql": f"SELECT * FROM accounts WHERE id = 'a-{number}';"}).encode()
    return b"POST /query-stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


if __name__ == "__main__":
    served, bare = opened(Kafka(sys.argv[1]), Path(sys.argv[2]), SETTINGS[sys.argv[3]])
    app = over(Gateway(bare.kafka, bare.schemas, Web(), lambda: bare.catalog))
    app.state.orion = served  # it has `query`, which is all that the route asks for
    app.add_middleware(Lookups, pulls=served)
    with closing(bound("127.0.0.1", 0)) as sock:
        print(f"{Server.serve(app, sock).url}\n", flush=True)
        sys.stdin.read()
