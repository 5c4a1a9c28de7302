"""Users, their clicks, changes of users, and clicks again; the same seed gives the same ones."""

from __future__ import annotations

import random

from examples.finite import BEGIN_MS, Act, Fact

USERS, CLICKS = "click_users", "clicks"
TYPES = ("basic", "silver", "gold", "platinum")
NAMES = ("Ana", "Bruno", "Carla", "Davi", "Elisa", "Felipe", "Gabriela", "Hugo")
PAGES = 40
# Of all who click, some are not registered; of the users, some change between the two acts of clicks, and some leave.
UNKNOWN, CHANGED, GONE = 0.1, 0.3, 0.1


def acts(records: int, seed: int = 17) -> list[Act]:
    """Users, half of the clicks, changes of users, the other half."""
    dice = random.Random(seed)
    ids = [f"u-{number:04d}" for number in range(max(20, records // 20))]
    users = ids[: round(len(ids) * (1 - UNKNOWN))]
    half = records // 2
    changed = dice.sample(users, round(len(users) * CHANGED))
    gone = set(changed[: round(len(users) * GONE)])
    return [
        [_user(dice, user) for user in users],
        [_click(dice, ids, number) for number in range(half)],
        [Fact(USERS, user, None) if user in gone else _user(dice, user) for user in changed],
        [_click(dice, ids, number) for number in range(half, records)],
    ]


def _user(dice: random.Random, user: str) -> Fact:
    return Fact(USERS, user, {"name": dice.choice(NAMES), "user_type": dice.choice(TYPES)})


def _click(dice: random.Random, ids: list[str], number: int) -> Fact:
    row = {"click_id": f"c-{number:06d}", "page": f"/p/{dice.randrange(PAGES)}", "clicked_at": BEGIN_MS + number * 250}
    return Fact(CLICKS, dice.choice(ids), row)
