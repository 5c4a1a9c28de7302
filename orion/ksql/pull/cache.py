"""Pull queries that were compiled before, by their text without the constants that a look-up leaves open.

A service asks the same question with another key each time: it is parsed and bound once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from orion.plan.catalog import Catalog
from orion.plan.steps import Pull

_MOST = 1_000  # texts, and for each of them other constants
_CONSTANT = re.compile(
    r"""--[^\n]*|/\*.*?(?:\*/|\Z)|`(?:[^`]++|``)*+`|"(?:[^"]++|"")*+"|'(?:[^']++|'')*+'|(?<![\w.])\d{1,9}(?![\w.])""",
    re.DOTALL,
)
Constant = str | int


@dataclass
class _Entry:
    catalog: Catalog
    slots: tuple[int, ...]  # which constants are the parameters
    others: tuple[int, ...]
    plans: dict[tuple[Constant, ...], Pull] = field(default_factory=dict)


class Compiled:
    """`compile` is asked for what isn't known, or was known for another catalog."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}

    def get(
        self, text: str, catalog: Catalog, compile: Callable[[], Pull | None]
    ) -> tuple[Pull, list[Constant]] | None:
        """The plan of a text and the values of its parameters; None where `compile` has none."""
        shape, constants, places = shaped(text)
        found = self._known(shape, constants, catalog)
        if found is not None:
            return found
        made = compile()
        if made is None:
            return None
        self._put(shape, catalog, made, constants, places)
        return made, [p.value for p in made.parameters]

    def known(self, text: str, catalog: Catalog) -> tuple[Pull, list[Constant]] | None:
        """The same, if it was compiled before."""
        shape, constants, _ = shaped(text)
        return self._known(shape, constants, catalog)

    def _known(self, shape: str, constants: list[Constant], catalog: Catalog) -> tuple[Pull, list[Constant]] | None:
        entry = self._entries.get(shape)
        if entry is None or entry.catalog is not catalog:
            return None
        found = entry.plans.get(tuple(constants[at] for at in entry.others))
        return None if found is None else (found, [constants[at] for at in entry.slots])

    def _put(self, shape: str, catalog: Catalog, made: Pull, constants: list[Constant], places: list[int]) -> None:
        by_place = {place: at for at, place in enumerate(places)}
        slots = [by_place.get(p.at) for p in made.parameters]
        if any(at is None or constants[at] != p.value for at, p in zip(slots, made.parameters, strict=True)):
            return  # the text was changed on its way, by variables
        known = tuple(at for at in slots if at is not None)
        open_ones = set(known)
        others = tuple(at for at in range(len(constants)) if at not in open_ones)
        entry = self._entries.get(shape)
        if entry is None or entry.catalog is not catalog or entry.slots != known:
            if len(self._entries) >= _MOST:
                self._entries.clear()
            entry = self._entries[shape] = _Entry(catalog, known, others)
        if len(entry.plans) >= _MOST:
            entry.plans.clear()
        entry.plans[tuple(constants[at] for at in others)] = made


def shaped(text: str) -> tuple[str, list[Constant], list[int]]:
    """The text with marks for its text constants and small whole numbers; these; and where they stand."""
    constants: list[Constant] = []
    places: list[int] = []

    def mark(found: re.Match[str]) -> str:
        token = found[0]
        first = token[0]
        if first == "'":
            constants.append(token[1:-1].replace("''", "'"))
            places.append(found.start())
            return "'?'"
        if first.isdigit():
            constants.append(int(token))
            places.append(found.start())
            return "0?"
        return token

    return _CONSTANT.sub(mark, text), constants, places
