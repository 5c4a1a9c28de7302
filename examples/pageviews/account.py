"""The account: sessions and hopping windows of each region, as a loop over the views finds them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from examples.checks import Check, same_rows
from examples.finite import Act, Example
from examples.pageviews.visits import USERS, VIEWS, acts
from examples.topics import fold, in_session, windowed

if TYPE_CHECKING:
    from orion.hub.kafka import Kafka

GAP_MS, SIZE_MS, HOP_MS = 60_000, 30_000, 10_000

View = tuple[str, int, str]


def views(sent: Sequence[Act]) -> list[View]:
    """Region, time and user of each view whose user is known."""
    facts = [fact for act in sent for fact in act if fact.row is not None]
    region = {fact.name: fact.row["region"] for fact in facts if fact.row and fact.topic == USERS}
    return [
        (region[fact.name], fact.row["viewed_at"], fact.name)
        for fact in facts
        if fact.row and fact.topic == VIEWS and fact.name in region
    ]


def sessions(found: Iterable[View]) -> dict[tuple[str, int, int], tuple[int, int]]:
    """Views and different users, by region, start and end of the session."""
    by_region: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for region, at, user in found:
        by_region[region].append((at, user))
    made: dict[tuple[str, int, int], tuple[int, int]] = {}
    for region, times in by_region.items():
        runs: list[list[tuple[int, str]]] = []
        for view in sorted(times):
            if runs and view[0] - runs[-1][-1][0] <= GAP_MS:
                runs[-1].append(view)
            else:
                runs.append([view])
        for run in runs:
            made[region, run[0][0], run[-1][0]] = (len(run), len({user for _, user in run}))
    return made


def windows(found: Iterable[View]) -> dict[tuple[str, int], int]:
    """Views by region and start of the window."""
    counts: Counter[tuple[str, int]] = Counter()
    for region, at, _ in found:
        counts.update((region, start) for start in range(at - at % HOP_MS, at - SIZE_MS, -HOP_MS))
    return dict(counts)


def checks(kafka: Kafka, sent: Sequence[Act]) -> list[Check]:
    known = views(sent)
    in_sessions = {
        in_session(key): (row["VIEWS"], row["VISITORS"]) for key, row in fold(kafka, "REGION_SESSIONS").items()
    }
    in_windows = {windowed(key): row["VIEWS"] for key, row in fold(kafka, "REGION_VIEWS").items()}
    return [
        *same_rows("sessions of regions", sessions(known), in_sessions),
        *same_rows("hopping windows of regions", windows(known), in_windows),
        Check("views in sessions", len(known), sum(views for views, _ in in_sessions.values())),
    ]


EXAMPLE = Example("pageviews", acts, checks)
