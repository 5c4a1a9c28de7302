"""Users in regions that are busy for a while and quiet for a while; the same seed gives the same views."""

from __future__ import annotations

import random
from collections.abc import Iterator
from heapq import merge
from itertools import islice

from examples.finite import BEGIN_MS, Act, Fact

USERS, VIEWS = "pageview_users", "pageviews"
REGIONS = tuple(f"region_{number}" for number in range(1, 9))
USERS_PER_REGION = 12
PAGES = 60
UNKNOWN = 0.05
# Between two views of a busy region, and how long a quiet one waits; just over 60 s ends a session.
BUSY_MS, QUIET_MS = (500, 12_000), (55_000, 200_000)
STAYS = 0.93


def acts(records: int, seed: int = 19) -> list[Act]:
    """The users, then the views of all regions in order of time."""
    dice = random.Random(seed)
    of = {region: [f"{region}-u{n:02d}" for n in range(USERS_PER_REGION)] for region in REGIONS}
    users = [Fact(USERS, user, {"region": region}) for region, ids in of.items() for user in ids]
    lanes = (_views(random.Random(f"{seed}/{region}"), ids) for region, ids in of.items())
    views = [
        Fact(VIEWS, user, {"page": f"/p/{dice.randrange(PAGES)}", "viewed_at": BEGIN_MS + at})
        for at, user in islice(merge(*lanes), records)
    ]
    return [users, views]


def _views(dice: random.Random, ids: list[str]) -> Iterator[tuple[int, str]]:
    """When and by whom a region's pages are viewed, for ever; some visitors nobody knows."""
    at = 0
    while True:
        at += dice.randrange(*(BUSY_MS if dice.random() < STAYS else QUIET_MS))
        yield at, f"guest-{dice.randrange(100)}" if dice.random() < UNKNOWN else dice.choice(ids)
