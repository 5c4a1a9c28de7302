"""Who listens to what: made-up listeners and tracks, the same for the same seed."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, dataclass
from itertools import accumulate

COUNTRIES = {"BR": 24, "US": 20, "IN": 13, "DE": 9, "MX": 8, "GB": 8, "FR": 6, "JP": 5, "PT": 4, "ZA": 3}
PLANS = {"free": 6, "premium": 3, "family": 1}

_FIRST = (
    "Ana",
    "Bruno",
    "Carla",
    "Dev",
    "Emma",
    "Farid",
    "Gita",
    "Hugo",
    "Ines",
    "Kenji",
    "Lena",
    "Olga",
    "Rosa",
    "Yuki",
)
_LAST = (
    "Alves",
    "Braun",
    "Costa",
    "Dias",
    "Evans",
    "Garcia",
    "Haas",
    "Iyer",
    "Kato",
    "Lima",
    "Naidoo",
    "Okafor",
    "Silva",
)
_MOOD = ("Amber", "Broken", "Crystal", "Distant", "Electric", "Faded", "Golden", "Hollow", "Midnight", "Neon", "Velvet")
_THING = (
    "Avenue",
    "Bloom",
    "Comet",
    "Dawn",
    "Echo",
    "Garden",
    "Harbor",
    "Island",
    "Letters",
    "Mirror",
    "Signal",
    "Train",
)
_BAND = ("Arcades", "Dials", "Embers", "Foxes", "Glaciers", "Lanterns", "Nomads", "Orbits", "Parallels", "Tides")


@dataclass(frozen=True, slots=True)
class Listener:
    user_id: str
    name: str
    country: str
    plan: str

    @property
    def profile(self) -> bytes:
        """The record of the `users` topic, without what its key says."""
        return _without(asdict(self), "user_id")


@dataclass(frozen=True, slots=True)
class Track:
    track_id: str
    title: str
    artist: str
    seconds: int

    @property
    def entry(self) -> bytes:
        """The record of the `tracks` topic, without what its key says."""
        return _without(asdict(self), "track_id")


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Listeners and tracks, the most active and the most popular first, with their cumulative weights."""

    listeners: tuple[Listener, ...]
    tracks: tuple[Track, ...]
    activity: tuple[float, ...]
    popularity: tuple[float, ...]

    @classmethod
    def generate(cls, seed: int, listeners: int, tracks: int) -> Catalogue:
        """Activity and popularity fall like one over rank, flattened at the top: nobody is half of the audience."""
        dice = random.Random(seed)
        return cls(
            tuple(_listener(dice, number) for number in range(listeners)),
            tuple(_track(dice, number) for number in range(tracks)),
            _skewed(listeners, flat=listeners / 100),
            _skewed(tracks, flat=tracks / 200),
        )

    def pick_listener(self, dice: random.Random) -> Listener:
        return dice.choices(self.listeners, cum_weights=self.activity)[0]

    def pick_track(self, dice: random.Random) -> Track:
        return dice.choices(self.tracks, cum_weights=self.popularity)[0]


def _skewed(count: int, flat: float) -> tuple[float, ...]:
    return tuple(accumulate(1.0 / (rank + flat) for rank in range(1, count + 1)))


def _listener(dice: random.Random, number: int) -> Listener:
    name = f"{dice.choice(_FIRST)} {dice.choice(_LAST)}"
    return Listener(f"u{number:06d}", name, _weighted(dice, COUNTRIES), _weighted(dice, PLANS))


def _track(dice: random.Random, number: int) -> Track:
    title = f"{dice.choice(_MOOD)} {dice.choice(_THING)}"
    return Track(f"t{number:05d}", title, f"The {dice.choice(_MOOD)} {dice.choice(_BAND)}", dice.randint(120, 420))


def _weighted(dice: random.Random, weights: dict[str, int]) -> str:
    return dice.choices(tuple(weights), weights=tuple(weights.values()))[0]


def _without(row: dict[str, str | int], key: str) -> bytes:
    return json.dumps({name: value for name, value in row.items() if name != key}).encode()
