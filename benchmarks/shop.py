"""A shop on a platform as a user starts it: eleven statements and two sinks over 9,000 records, joins and windows among
them. What counts is how long after the last record everything stands, and is right; ten percent of it before.

The other side is the same with `engine.share_statements` off. One round of each.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.many_statements import APART
from benchmarks.platform import start_platform
from benchmarks.stage import Measured, Stage, seconds_until
from orion.hub.kafka import Kafka
from orion.hub.reader import Reader
from orion.hub.records import Outgoing, Position
from orion.hub.writer import Writer

CUSTOMERS, PRODUCTS, ORDERS, PAYMENTS = 400, 100, 5_000, 3_500
_START_MS, _STEP_MS = 1_790_000_000_000, 400
_REGIONS, _METHODS = ("EU", "US", "ASIA"), ("card", "bank", "cash")
_DEADLINE_S = 900.0
SCRIPT = """
CREATE TABLE customers (id STRING PRIMARY KEY, name STRING, tier STRING)
    WITH (kafka_topic='customers', value_format='JSON', partitions=2);
CREATE TABLE products (id STRING PRIMARY KEY, title STRING, price INT)
    WITH (kafka_topic='products', value_format='JSON', partitions=2);
CREATE STREAM orders (id STRING KEY, customer STRING, product STRING, quantity INT, region STRING, at BIGINT)
    WITH (kafka_topic='orders', value_format='JSON', timestamp='at', partitions=2);
CREATE STREAM payments (order_id STRING KEY, amount INT, method STRING, at BIGINT)
    WITH (kafka_topic='payments', value_format='JSON', timestamp='at', partitions=2);

CREATE STREAM orders_clean AS SELECT * FROM orders WHERE quantity > 0;
CREATE STREAM bulk_orders AS SELECT id, customer, quantity FROM orders WHERE quantity >= 8;
CREATE STREAM eu_orders AS SELECT id, customer, product FROM orders WHERE region = 'EU' AND quantity > 0;
CREATE STREAM refunds AS SELECT order_id, amount, method FROM payments WHERE amount < 0;
CREATE TABLE payments_by_method AS SELECT method, COUNT(*) AS n, SUM(amount) AS total FROM payments GROUP BY method;
CREATE STREAM orders_named AS SELECT o.customer AS customer, o.id AS id, o.product AS product, o.quantity AS quantity,
    o.region AS region, c.tier AS tier FROM orders_clean o LEFT JOIN customers c ON o.customer = c.id;
CREATE STREAM orders_priced AS SELECT o.product AS product, o.id AS id, o.customer AS customer, o.region AS region,
    o.quantity * p.price AS total FROM orders_named o JOIN products p ON o.product = p.id;
CREATE TABLE revenue_by_product AS SELECT product, COUNT(*) AS n, SUM(total) AS total FROM orders_priced
    GROUP BY product;
CREATE TABLE revenue_by_region AS SELECT region, COUNT(*) AS n, SUM(total) AS total FROM orders_priced
    WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY region;
CREATE TABLE loyal_customers AS SELECT customer, COUNT(*) AS n FROM orders_clean GROUP BY customer HAVING COUNT(*) > 12;
CREATE STREAM paid_orders AS SELECT o.id AS id, o.customer AS customer, p.amount AS amount FROM orders_clean o
    JOIN payments p WITHIN 1 DAY ON o.id = p.order_id;

CREATE SINK CONNECTOR lake WITH ('connector.class'='delta', 'topics'='ORDERS_PRICED', 'path'='{folder}/lake');
CREATE SINK CONNECTOR ledger WITH ('connector.class'='jdbc', 'topics'='REVENUE_BY_PRODUCT', 'pk.mode'='record_key',
    'connection.url'='jdbc:sqlite:{folder}/shop.db', 'insert.mode'='upsert', 'auto.create'='true');
"""


@dataclass(frozen=True)
class Shop:
    """What is written, and what must come of it."""

    records: Mapping[str, list[Outgoing]]
    clean: int
    revenue: Mapping[str, int]  # by product
    paid: int

    @property
    def largest(self) -> int:
        return max(len(found) for found in self.records.values())


def make_shop(seed: int = 7) -> Shop:
    dice, revenue, clean = Random(seed), Counter[str](), set[int]()
    prices = [dice.randrange(1, 200) for _ in range(PRODUCTS)]
    orders, payments = [], []
    for number in range(ORDERS):
        product, quantity = dice.randrange(PRODUCTS), dice.randrange(-1, 10)
        value = {
            "customer": f"c{dice.randrange(CUSTOMERS)}",
            "product": f"p{product}",
            "quantity": quantity,
            "region": dice.choice(_REGIONS),
            "at": _START_MS + number * _STEP_MS,
        }
        orders.append(_record(f"o{number}", value))
        if quantity > 0:
            clean.add(number)
            revenue[f"p{product}"] += quantity * prices[product]
    paid = dice.sample(range(ORDERS), PAYMENTS)
    for number in sorted(paid):
        told = {"amount": dice.randrange(-5, 500), "method": dice.choice(_METHODS), "at": _START_MS + number * _STEP_MS}
        payments.append(_record(f"o{number}", told))
    customers = [
        _record(f"c{n}", {"name": f"Customer {n}", "tier": "gold" if n % 9 == 0 else "plain"}) for n in range(CUSTOMERS)
    ]
    products = [_record(f"p{n}", {"title": f"Product {n}", "price": price}) for n, price in enumerate(prices)]
    records = {"customers": customers, "products": products, "orders": orders, "payments": payments}
    return Shop(records, len(clean), revenue, len(clean & set(paid)))


def _record(key: str, value: Mapping[str, object]) -> Outgoing:
    return Outgoing(json.dumps(value).encode(), key.encode())


def measure(stage: Stage) -> Measured:
    shop = make_shop()
    shared = _run(shop, {})
    stage.say(f"shop: {shared}")
    apart = _run(shop, APART)
    stage.say(f"shop, each statement in its own stream: {apart}")
    what = f"eleven statements and two sinks: {shared}; apart {apart}"
    return Measured(
        "shop", shared.complete_s, apart.complete_s, apart.complete_s / shared.complete_s, "s until complete", what
    )


@dataclass(frozen=True)
class Took:
    made_s: float
    complete_s: float

    def __str__(self) -> str:
        return f"made in {self.made_s:.1f} s, complete {self.complete_s:.1f} s after the last record"


def _run(shop: Shop, settings: Mapping[str, str]) -> Took:
    with tempfile.TemporaryDirectory(prefix="orion-shop-") as folder, start_platform(settings) as platform:
        kafka, begun = Kafka(platform.bootstrap), time.monotonic()
        platform.sql(SCRIPT.format(folder=folder))
        made_s = time.monotonic() - begun
        for topic in ("customers", "products"):
            _write(kafka, topic, shop.records[topic])
        for topic in ("orders", "payments"):
            _write(kafka, topic, shop.records[topic])
        complete_s = seconds_until(lambda: not list(find_missing(shop, kafka, Path(folder))), _DEADLINE_S)
        return Took(made_s, complete_s)


def _write(kafka: Kafka, topic: str, records: list[Outgoing]) -> None:
    writer = Writer(kafka, topic)
    for record in records:
        writer.send(record)
    writer.close()


def find_missing(shop: Shop, kafka: Kafka, folder: Path) -> Iterator[str]:
    """What isn't there yet. The cheapest questions come first."""
    if (found := _count(kafka, "PAID_ORDERS")) != shop.paid:
        yield f"PAID_ORDERS has {found} of {shop.paid}"
    if (found := _count(kafka, "ORDERS_PRICED")) != shop.clean:
        yield f"ORDERS_PRICED has {found} of {shop.clean}"
    elif _read_revenue(kafka) != shop.revenue:
        yield "REVENUE_BY_PRODUCT isn't right"
    elif _read_table(folder / "shop.db") != shop.revenue:
        yield "the table in SQLite isn't right"
    elif (found := _count_lake(folder / "lake")) != shop.clean:
        yield f"the lake has {found} of {shop.clean}"


def _count(kafka: Kafka, topic: str) -> int:
    return sum(1 for _ in _read(kafka, topic))


def _read(kafka: Kafka, topic: str) -> Iterator[tuple[bytes | None, bytes | None]]:
    with Reader(kafka, topic, Position("earliest")) as reader:
        while not reader.at_end:
            yield from ((record.key, record.value) for record in reader.read(5_000, 0.2))


def _read_revenue(kafka: Kafka) -> dict[str, int]:
    last = dict(_read(kafka, "REVENUE_BY_PRODUCT"))
    return {(key or b"").decode(): json.loads(value or b"{}")["TOTAL"] for key, value in last.items()}


def _read_table(file: Path) -> dict[str, int]:
    if not file.exists():
        return {}
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as database:
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = next((name for name in names if name.upper() == "REVENUE_BY_PRODUCT"), None)
        return {} if table is None else dict(database.execute(f'SELECT "PRODUCT", "TOTAL" FROM "{table}"'))


def _count_lake(folder: Path) -> int:
    """By the numbers of records in its log."""
    total = 0
    for entry in sorted((folder / "_delta_log").glob("*.json")):
        for line in entry.read_text().splitlines():
            added = json.loads(line).get("add")
            total += json.loads(added["stats"])["numRecords"] if added else 0
    return total
