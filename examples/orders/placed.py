"""Orders from a handful of zip codes over some hours; the same seed gives the same orders."""

from __future__ import annotations

import random

from examples.finite import BEGIN_MS, Fact

TOPIC = "shop_orders"
ZIPS = ("10115", "20095", "50667", "60311", "70173", "80331", "04109", "01067")
HOURS = 6
HOUR_MS = 3_600_000
LATEST_MS = 600_000


def placed(records: int, seed: int = 13) -> list[Fact]:
    """So many orders over six hours. Shops report them up to ten minutes late, so hours overlap in the log."""
    dice = random.Random(seed)
    times = sorted(
        (at + dice.randrange(LATEST_MS), at) for at in (dice.randrange(HOURS * HOUR_MS) for _ in range(records))
    )
    return [
        Fact(
            TOPIC,
            f"o-{number:06d}",
            {
                "zip": dice.choices(ZIPS, weights=range(len(ZIPS), 0, -1))[0],
                "total": round(dice.lognormvariate(3.5, 0.8), 2),
                "placed_at": BEGIN_MS + at,
            },
        )
        for number, (_, at) in enumerate(times)
    ]
