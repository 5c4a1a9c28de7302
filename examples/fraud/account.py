"""The account: the table has each window with more than three attempts of a card, and no other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from examples.checks import Check, same_rows
from examples.finite import Act, Example, Fact
from examples.fraud.attempts import attempts
from examples.topics import fold, windowed

if TYPE_CHECKING:
    from orion.hub.kafka import Kafka

SIZE_MS, HOP_MS, ALLOWED = 5_000, 1_000, 3

Alerts = dict[tuple[str, int], tuple[int, int]]


def alerts(facts: Iterable[Fact], hop_ms: int = HOP_MS) -> Alerts:
    """Attempts and different merchants, by card and start of the window."""
    found: dict[tuple[str, int], list[str]] = defaultdict(list)
    for fact in facts:
        assert fact.row is not None
        at = fact.row["attempted_at"]
        last = at - at % hop_ms
        for start in range(last, at - SIZE_MS, -hop_ms):
            found[fact.name, start].append(fact.row["merchant"])
    return {place: (len(m), len(set(m))) for place, m in found.items() if len(m) > ALLOWED}


def bursts(facts: Iterable[Fact], within_ms: int) -> set[str]:
    """Cards with more attempts than allowed in less than so much time, wherever a window may begin."""
    times: dict[str, list[int]] = defaultdict(list)
    for fact in facts:
        assert fact.row is not None
        times[fact.name].append(fact.row["attempted_at"])
    return {
        card
        for card, of in times.items()
        if any(last - first < within_ms for first, last in zip(sorted(of), sorted(of)[ALLOWED:], strict=False))
    }


def checks(kafka: Kafka, acts: Sequence[Act]) -> list[Check]:
    sent = [fact for act in acts for fact in act]
    found = {windowed(key): (row["ATTEMPTS"], row["MERCHANTS"]) for key, row in fold(kafka, "POSSIBLE_FRAUD").items()}
    cards = {card for card, _ in found}
    sure, possible = bursts(sent, SIZE_MS - HOP_MS), bursts(sent, SIZE_MS)
    return [
        *same_rows("windows of possible fraud", alerts(sent), found),
        Check("cards with a burst within 4 s are found", len(sure), len(sure & cards)),
        Check("cards without one within 5 s are found", 0, len(cards - possible)),
    ]


EXAMPLE = Example("fraud", lambda records: [attempts(records)], checks)
