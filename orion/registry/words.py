"""Words of which there are only a few, written in any case."""

from __future__ import annotations

from typing import TypeVar

Word = TypeVar("Word", bound=str)


def known(given: object, words: tuple[Word, ...]) -> Word | None:
    """The word that is meant, if it is one of these."""
    return next((word for word in words if isinstance(given, str) and given.upper() == word), None)
