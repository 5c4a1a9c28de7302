"""The account: each zip code's hour has its five largest totals, and counts every order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from examples.checks import Check, same_rows
from examples.finite import Act, Example, Fact
from examples.orders.placed import HOUR_MS, placed
from examples.topics import fold, windowed

if TYPE_CHECKING:
    from orion.hub.kafka import Kafka

TOP = 5

Charts = dict[tuple[str, int], tuple[tuple[float, ...], int]]


def charts(facts: Iterable[Fact]) -> Charts:
    """The largest totals and the number of orders, by zip code and start of the hour."""
    found: dict[tuple[str, int], list[float]] = defaultdict(list)
    for fact in facts:
        assert fact.row is not None
        at = fact.row["placed_at"]
        found[fact.row["zip"], at - at % HOUR_MS].append(fact.row["total"])
    return {place: (tuple(sorted(totals, reverse=True)[:TOP]), len(totals)) for place, totals in found.items()}


def checks(kafka: Kafka, acts: Sequence[Act]) -> list[Check]:
    sent = [fact for act in acts for fact in act]
    found = {windowed(key): (tuple(row["TOTALS"]), row["ORDERS"]) for key, row in fold(kafka, "TOP_ORDERS").items()}
    return [
        *same_rows("hours of zip codes", charts(sent), found),
        Check("orders counted", len(sent), sum(orders for _, orders in found.values())),
    ]


EXAMPLE = Example("orders", lambda records: [placed(records)], checks)
