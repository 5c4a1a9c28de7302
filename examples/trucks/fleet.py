"""Trucks that drive about, reporting where they are; the same seed gives the same journey."""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass, replace

TOPIC = "gps_location_trucks"
TRUCKS = 20
_DEPOTS = ((-23.55, -46.63), (-22.91, -43.17), (-19.92, -43.94), (-25.43, -49.27), (-15.79, -47.88))
_STEP_DEGREES = 0.01


@dataclass(frozen=True, slots=True)
class Report:
    """A position, ready to be sent."""

    truck_id: str
    latitude: float
    longitude: float
    topic: str = TOPIC

    @property
    def key(self) -> bytes:
        return self.truck_id.encode()

    @property
    def value(self) -> bytes:
        row = {"truck_id": self.truck_id, "latitude": self.latitude, "longitude": self.longitude}
        return json.dumps(row).encode()


class Fleet:
    """Trucks that report in turn; each keeps roughly to its heading, away from its depot."""

    def __init__(self, seed: int, trucks: int = TRUCKS) -> None:
        self._dice = random.Random(seed)
        self._turn = 0
        depots = [self._dice.choice(_DEPOTS) for _ in range(trucks)]
        self._last = [Report(f"truck-{number:02d}", *depot) for number, depot in enumerate(depots, start=1)]
        self._headings = [self._dice.uniform(0, 2 * math.pi) for _ in range(trucks)]

    def next(self, now_ms: int) -> Report:
        """The next truck's report; where it is doesn't depend on the clock."""
        at = self._turn % len(self._last)
        self._turn += 1
        self._headings[at] += self._dice.gauss(0, 0.2)
        heading, before = self._headings[at], self._last[at]
        self._last[at] = replace(
            before,
            latitude=round(before.latitude + _STEP_DEGREES * math.sin(heading), 6),
            longitude=round(before.longitude + _STEP_DEGREES * math.cos(heading), 6),
        )
        return self._last[at]
