"""Orders with their payments, no more than a minute apart: an inner join of two streams.

By hand it is Spark's own join of streams, with a watermark of a minute on both sides and the times in the condition. It
forgets and judges late rows once a batch; Orion does so row by row, as Kafka Streams does.
"""

from __future__ import annotations

import json
import random

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.contest import START_MS, Contest, has_records, streamed, write
from benchmarks.stage import Measured, Stage
from orion.hub.records import Outgoing

ORDERS, PAYMENTS = "bench_orders", "bench_payments"
RECORDS, BATCH = 20_000, 5_000
DELAY_MS, PAID_OF_TEN = 5_000, 9


def measure(stage: Stage) -> Measured:
    return contest(stage).measure(stage)


def contest(stage: Stage, records: int = RECORDS) -> Contest:
    """The contest over topics that are filled here."""
    chance = random.Random(7)
    # A payment comes some seconds after its order; one of ten is for something else.
    orders = [(f"o{n}", START_MS + n) for n in range(records)]
    payments = sorted((at + chance.randrange(DELAY_MS), f"o{n}", n) for n, (_, at) in enumerate(orders))
    totals = (json.dumps({"total": round(chance.uniform(1, 500), 2), "at": at}) for _, at in orders)
    write(
        stage,
        ORDERS,
        (
            Outgoing(total.encode(), order.encode(), timestamp=at)
            for (order, at), total in zip(orders, totals, strict=True)
        ),
    )
    write(
        stage,
        PAYMENTS,
        (
            Outgoing(
                json.dumps({"method": chance.choice(["card", "pix", "cash"]), "at": at}).encode(),
                (order if n % 10 < PAID_OF_TEN else f"x{n}").encode(),
                timestamp=at,
            )
            for at, order, n in payments
        ),
    )
    return Contest(
        "stream_stream_join",
        "stream JOIN stream within 1 minute",
        {ORDERS: records, PAYMENTS: records},
        BATCH,
        _script,
        _by_hand,
        "append",
        has_records(sum(n % 10 < PAID_OF_TEN for n in range(records))),
    )


def _script(out: str) -> str:
    return f"""
        CREATE STREAM orders (order_id STRING KEY, total DOUBLE, at BIGINT)
            WITH (kafka_topic='{ORDERS}', value_format='JSON', timestamp='at');
        CREATE STREAM payments (order_id STRING KEY, method STRING, at BIGINT)
            WITH (kafka_topic='{PAYMENTS}', value_format='JSON', timestamp='at');
        CREATE STREAM paid WITH (kafka_topic='{out}') AS
            SELECT o.order_id AS order_id, o.total AS total, p.method AS method
            FROM orders o JOIN payments p WITHIN 1 MINUTE GRACE PERIOD 1 MINUTE ON o.order_id = p.order_id
            EMIT CHANGES;
    """


def _by_hand(stage: Stage, out: str) -> DataFrame:
    orders = streamed(stage, ORDERS, BATCH, "total DOUBLE, at BIGINT").withWatermark("at", "1 minute").alias("o")
    payments = streamed(stage, PAYMENTS, BATCH, "method STRING, at BIGINT").withWatermark("at", "1 minute").alias("p")
    near = F.expr("o.key = p.key AND p.at BETWEEN o.at - INTERVAL 1 MINUTE AND o.at + INTERVAL 1 MINUTE")
    return orders.join(payments, near).selectExpr("o.key AS key", "to_json(struct(o.v.total, p.v.method)) AS value")
