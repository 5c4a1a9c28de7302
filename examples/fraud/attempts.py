"""Card holders who verify a payment now and then, and thieves who try a card as fast as they can."""

from __future__ import annotations

import random
from heapq import merge

from examples.finite import BEGIN_MS, Fact

TOPIC = "card_attempts"
MERCHANTS = 30
# One burst of a thief for so many ordinary payments, and how long a burst takes at most.
PAYMENTS_PER_BURST = 25
LONGEST_BURST_MS = 3_900
# Holders mistype too: two or three attempts within seconds are nothing to worry about.
RETRIES = 0.15


def attempts(records: int, seed: int = 11) -> list[Fact]:
    """About so many attempts, in order of time; the same seed gives the same ones."""
    dice = random.Random(seed)
    bursts = max(1, records // (PAYMENTS_PER_BURST + 6))
    cards = [f"4000-{number:06d}" for number in range(max(10, records // 5))]
    span_ms = records * 200
    stolen = (_burst(dice, dice.choice(cards), dice.randrange(span_ms)) for _ in range(bursts))
    honest = (_payment(dice, dice.choice(cards), dice.randrange(span_ms)) for _ in range(bursts * PAYMENTS_PER_BURST))
    ordered = list(merge(*map(sorted, [*stolen, *honest])))[:records]
    return [
        Fact(TOPIC, card, {"attempt_id": f"a-{number:06d}", "merchant": merchant, "attempted_at": BEGIN_MS + at})
        for number, (at, card, merchant) in enumerate(ordered)
    ]


Attempt = tuple[int, str, str]


def _burst(dice: random.Random, card: str, at: int) -> list[Attempt]:
    """Four to nine attempts at different merchants."""
    return [
        (at + dice.randrange(LONGEST_BURST_MS), card, f"m-{dice.randrange(MERCHANTS)}")
        for _ in range(dice.randrange(4, 10))
    ]


def _payment(dice: random.Random, card: str, at: int) -> list[Attempt]:
    merchant = f"m-{dice.randrange(MERCHANTS)}"
    tries = dice.randrange(2, 4) if dice.random() < RETRIES else 1
    return [(at + nth * dice.randrange(1_000, 3_000), card, merchant) for nth in range(tries)]
