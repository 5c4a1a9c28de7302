"""Customers who come, move and go, and their clicks: the same for a seed."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from examples.finite import Fact

SEED = 7
CLICKS = "hub_clicks"
_CITIES = ("Berlin", "Lisboa", "São Paulo", "Kraków", "Nairobi", "Osaka")
_NAMES = ("Ana", "Bartek", "Chidi", "Dalia", "Emi", "Fernão", "Grete", "Hiro")
_PAGES = ("/", "/music", "/plans", "/help", "/account")

Row = tuple[str, str]  # name and city


@dataclass(frozen=True, slots=True)
class Act:
    """What happens between two looks: statements for the database, and clicks."""

    statements: Sequence[tuple[str, tuple[object, ...]]]
    clicks: Sequence[Fact]


@dataclass
class Story:
    """Acts, and what must be in every result after all of them."""

    acts: list[Act] = field(default_factory=list)
    customers: dict[int, Row] = field(default_factory=dict)
    clicks: dict[int, tuple[int, str]] = field(default_factory=dict)  # how many, and the last page

    @property
    def expected(self) -> Mapping[int, tuple[str, str, int, str]]:
        """Name, city, clicks and last page of each customer who is there and has clicked."""
        return {id: (*row, *self.clicks[id]) for id, row in self.customers.items() if id in self.clicks}


def told(records: int, seed: int = SEED) -> Story:
    """A story in three acts with about so many clicks: all are new, some change and go, some come back."""
    chance, story = random.Random(seed), Story()
    people = max(20, records // 20)
    story.acts.append(Act(_arrive(story, chance, range(1, people + 1)), _click(story, chance, people, records // 2)))
    changes = _move(story, chance, people // 4) + _leave(story, chance, people // 5)
    story.acts.append(Act(changes, _click(story, chance, people, records // 4)))
    gone = sorted(set(range(1, people + 1)) - set(story.customers))[: people // 10]
    back = _arrive(story, chance, [*gone, *range(people + 1, people + 6)])
    story.acts.append(Act(back, _click(story, chance, people + 5, records - records // 2 - records // 4)))
    return story


def _arrive(story: Story, chance: random.Random, ids: Sequence[int]) -> list[tuple[str, tuple[object, ...]]]:
    done: list[tuple[str, tuple[object, ...]]] = []
    for id in ids:
        story.customers[id] = (f"{chance.choice(_NAMES)} {id}", chance.choice(_CITIES))
        done.append(("INSERT INTO customers (id, name, city) VALUES (%s, %s, %s)", (id, *story.customers[id])))
    return done


def _move(story: Story, chance: random.Random, count: int) -> list[tuple[str, tuple[object, ...]]]:
    done: list[tuple[str, tuple[object, ...]]] = []
    for id in chance.sample(sorted(story.customers), count):
        story.customers[id] = (story.customers[id][0], chance.choice(_CITIES))
        done.append(("UPDATE customers SET city = %s WHERE id = %s", (story.customers[id][1], id)))
    return done


def _leave(story: Story, chance: random.Random, count: int) -> list[tuple[str, tuple[object, ...]]]:
    done: list[tuple[str, tuple[object, ...]]] = []
    for id in chance.sample(sorted(story.customers), count):
        del story.customers[id]
        done.append(("DELETE FROM customers WHERE id = %s", (id,)))
    return done


def _click(story: Story, chance: random.Random, people: int, count: int) -> list[Fact]:
    made = []
    for _ in range(count):
        id, page = chance.randint(1, people), chance.choice(_PAGES)
        before = story.clicks.get(id, (0, ""))[0]
        story.clicks[id] = (before + 1, page)
        made.append(Fact(CLICKS, str(id), {"page": page}))
    return made
