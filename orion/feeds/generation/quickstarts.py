"""Topics that everybody needs for a first try, by name: their columns, and rows that look like the real thing.

They go together: the users who view pages, place orders and play songs are those of `users`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from orion.feeds.generation.expressions import NUMBER, TIME, Dice
from orion.schema import Column, Decimal, Role, Scalar, Schema, SqlType, literal

_USERS = 100
_TRUCKS = 50
_CITIES = (
    ("Sao Paulo", "01310"),
    ("Rio de Janeiro", "20040"),
    ("Belo Horizonte", "30130"),
    ("Curitiba", "80020"),
    ("Recife", "50030"),
    ("Porto Alegre", "90010"),
    ("Salvador", "40020"),
    ("Manaus", "69005"),
)
_FIRST = ("Ana", "Bruno", "Carla", "Davi", "Elisa", "Felipe", "Gabi", "Hugo", "Iris", "Joao", "Lia", "Mateus")
_LAST = ("Alves", "Barros", "Cardoso", "Dias", "Esteves", "Ferreira", "Gomes", "Lima", "Moraes", "Nunes")
_ITEMS = ("lamp", "chair", "table", "sofa", "rug", "shelf", "mirror", "plant", "clock", "desk")
_SONGS = (
    ("Night Bus", "The Commuters", "indie"),
    ("Salt and Light", "Mar Aberto", "mpb"),
    ("Copper Wire", "Voltage", "rock"),
    ("Slow River", "Ana Lume", "folk"),
    ("Paper Planes Home", "Quiet Hours", "indie"),
    ("Samba for Two", "Os Vizinhos", "samba"),
    ("Static", "Nine Volt", "electronic"),
    ("Harvest", "Ana Lume", "folk"),
)

Cells = dict[str, str]


@dataclass(frozen=True, slots=True)
class Quickstart:
    """Named rows. `cells` gives an expression for each column, by the seed."""

    key: tuple[str, SqlType]
    values: tuple[tuple[str, SqlType], ...]
    cells: Callable[[int], Cells]
    doc: str

    @property
    def schema(self) -> Schema:
        value = (Column(name, type_) for name, type_ in self.values)
        return Schema((Column(*self.key, Role.KEY), *value))


def _texts(values: tuple[str, ...]) -> list[str]:
    return [literal(value) for value in values]


def _user(of: str) -> str:
    return f"concat('user_', {of})"


def _orders(seed: int) -> Cells:
    city = Dice(seed, "city").whole(0, len(_CITIES) - 1)
    return {
        "ORDER_ID": NUMBER,
        "USER_ID": _user(Dice(seed, "user").whole(1, _USERS)),
        "ITEM": Dice(seed, "item").one_of(_texts(_ITEMS)),
        "QUANTITY": Dice(seed, "quantity").whole(1, 9),
        "PRICE": f"round({Dice(seed, 'price').between(5, 900)}, 2)",
        "CITY": _nth(city, [name for name, _ in _CITIES]),
        "ZIP_CODE": _nth(city, [code for _, code in _CITIES]),
        "ORDERED_AT": f"timestamp_millis({TIME})",
    }


def _users(seed: int) -> Cells:
    number = f"(1 + pmod({NUMBER}, {_USERS}L))"
    first, last = Dice(seed, "first", number).one_of(_texts(_FIRST)), Dice(seed, "last", number).one_of(_texts(_LAST))
    return {
        "USER_ID": _user(number),
        "NAME": f"concat({first}, ' ', {last})",
        "REGION": Dice(seed, "region", number).one_of([f"'Region_{at}'" for at in range(1, 10)]),
        "USER_TYPE": Dice(seed, "type").one_of(["'free'", "'free'", "'premium'", "'business'"]),
        "UPDATED_AT": f"timestamp_millis({TIME})",
    }


def _pageviews(seed: int) -> Cells:
    return {
        "USER_ID": _user(Dice(seed, "user").whole(1, _USERS)),
        "PAGE_ID": f"concat('page_', {Dice(seed, 'page').whole(1, 50)})",
        "REGION": Dice(seed, "region").one_of([f"'Region_{at}'" for at in range(1, 10)]),
        "SECONDS": Dice(seed, "seconds").whole(1, 300),
        "VIEWED_AT": f"timestamp_millis({TIME})",
    }


def _plays(seed: int) -> Cells:
    song = Dice(seed, "song").whole(0, len(_SONGS) - 1)
    return {
        "USER_ID": _user(Dice(seed, "user").whole(1, _USERS)),
        "PLAY_ID": f"concat('play_', {NUMBER})",
        "TITLE": _nth(song, [title for title, _, _ in _SONGS]),
        "ARTIST": _nth(song, [artist for _, artist, _ in _SONGS]),
        "GENRE": _nth(song, [genre for _, _, genre in _SONGS]),
        "SECONDS": Dice(seed, "seconds").whole(1, 320),
        "PLAYED_AT": f"timestamp_millis({TIME})",
    }


def _trucks(seed: int) -> Cells:
    """Each truck drives in a circle of its own around the city it is from."""
    truck = f"pmod({NUMBER}, {_TRUCKS}L)"
    turn = f"({NUMBER} DIV {_TRUCKS}) / 40D + {Dice(seed, 'phase', truck).between(0, 6.28)}"
    size = Dice(seed, "size", truck).between(0.02, 0.2)
    latitude = Dice(seed, "latitude", truck).between(-30, -3)
    longitude = Dice(seed, "longitude", truck).between(-60, -35)
    return {
        "TRUCK_ID": f"concat('truck_', 1 + {truck})",
        "LATITUDE": f"round({latitude} + {size} * sin({turn}), 6)",
        "LONGITUDE": f"round({longitude} + {size} * cos({turn}), 6)",
        "SPEED_KMH": f"round({Dice(seed, 'speed').between(0, 110)}, 1)",
        "REPORTED_AT": f"timestamp_millis({TIME})",
    }


def _nth(at: str, texts: list[str]) -> str:
    return f"element_at(array({', '.join(map(literal, texts))}), CAST(1 + {at} AS INT))"


_TEXT, _TIME = Scalar.STRING, Scalar.TIMESTAMP

QUICKSTARTS = {
    "orders": Quickstart(
        ("ORDER_ID", Scalar.BIGINT),
        (
            ("USER_ID", _TEXT),
            ("ITEM", _TEXT),
            ("QUANTITY", Scalar.INTEGER),
            ("PRICE", Decimal(8, 2)),
            ("CITY", _TEXT),
            ("ZIP_CODE", _TEXT),
            ("ORDERED_AT", _TIME),
        ),
        _orders,
        "orders of a furniture shop",
    ),
    "users": Quickstart(
        ("USER_ID", _TEXT),
        (("NAME", _TEXT), ("REGION", _TEXT), ("USER_TYPE", _TEXT), ("UPDATED_AT", _TIME)),
        _users,
        "a hundred users, whose type changes now and then",
    ),
    "pageviews": Quickstart(
        ("USER_ID", _TEXT),
        (("PAGE_ID", _TEXT), ("REGION", _TEXT), ("SECONDS", Scalar.INTEGER), ("VIEWED_AT", _TIME)),
        _pageviews,
        "pages that users view",
    ),
    "plays": Quickstart(
        ("USER_ID", _TEXT),
        (
            ("PLAY_ID", _TEXT),
            ("TITLE", _TEXT),
            ("ARTIST", _TEXT),
            ("GENRE", _TEXT),
            ("SECONDS", Scalar.INTEGER),
            ("PLAYED_AT", _TIME),
        ),
        _plays,
        "songs that users play",
    ),
    "trucks": Quickstart(
        ("TRUCK_ID", _TEXT),
        (
            ("LATITUDE", Scalar.DOUBLE),
            ("LONGITUDE", Scalar.DOUBLE),
            ("SPEED_KMH", Scalar.DOUBLE),
            ("REPORTED_AT", _TIME),
        ),
        _trucks,
        "positions of fifty trucks",
    ),
}
