"""The account: each click came out once, with its user as he was when it came in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from examples.checks import Check, same_rows
from examples.clicks.visits import USERS, acts
from examples.finite import Act, Example
from examples.topics import read

if TYPE_CHECKING:
    from orion.hub.kafka import Kafka

Enriched = dict[str, tuple[str, str, str | None, str | None]]


def enriched(sent: Sequence[Act]) -> Enriched:
    """User, page, name and type by click: the table is what the acts before have made of it."""
    users: dict[str, dict[str, Any] | None] = {}
    found: Enriched = {}
    for fact in (fact for act in sent for fact in act):
        if fact.topic == USERS:
            users[fact.name] = fact.row
        elif fact.row is not None:
            user = users.get(fact.name) or {}
            found[fact.row["click_id"]] = (fact.name, fact.row["page"], user.get("name"), user.get("user_type"))
    return found


def checks(kafka: Kafka, sent: Sequence[Act]) -> list[Check]:
    wanted = enriched(sent)
    every, platinum = _rows(kafka, "ENRICHED_CLICKS"), _rows(kafka, "PLATINUM_CLICKS")
    return [
        Check("records of enriched clicks", len(wanted), len(every)),
        *same_rows("clicks in them", wanted, dict(every)),
        Check("records of platinum clicks", sum(row[3] == "platinum" for row in wanted.values()), len(platinum)),
        *same_rows(
            "clicks in them",
            {click: row[:3] for click, row in wanted.items() if row[3] == "platinum"},
            {click: row[:3] for click, row in platinum},
        ),
    ]


def _rows(kafka: Kafka, topic: str) -> list[tuple[str, tuple[str, str, str | None, str | None]]]:
    found = []
    for record in read(kafka, topic):
        row = json.loads(record.value or b"{}")
        user = (record.key or b"").decode()
        found.append((row["CLICK_ID"], (user, row["PAGE"], row["NAME"], row.get("USER_TYPE"))))
    return found


EXAMPLE = Example("clicks", acts, checks)
