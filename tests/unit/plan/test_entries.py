"""Entries as bytes: today's format, older ones, and those of an Orion that isn't there yet."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orion.errors import Conflict
from orion.plan.codec import dumps
from orion.plan.definitions import CustomType
from orion.plan.entries import decode_entry, encode_entry
from orion.plan.migrations import FORMAT
from orion.schema import Scalar

KM = CustomType("KM", Scalar.DOUBLE)
INSIDE = {"@": "type", "name": "KM", "type": {"@": "scalar", "value": "DOUBLE"}}


def write(document: Any) -> bytes:
    return json.dumps(document).encode()


def test_an_entry_says_its_format() -> None:
    assert json.loads(encode_entry(KM)) == {"format": FORMAT, "entry": INSIDE}
    assert decode_entry(encode_entry(KM)) == KM


def test_an_entry_without_a_format_is_of_the_first() -> None:
    old = {"@": "CustomType", "name": "KM", "type": {"@": "Scalar", "value": "DOUBLE"}, "statement": ""}
    assert decode_entry(write(old)) == KM


@pytest.mark.parametrize(
    "document",
    [
        {"format": FORMAT + 1, "entry": INSIDE},
        {"format": FORMAT + 1, "laid out": "otherwise"},
        {"format": FORMAT, "entry": {**INSIDE, "colour": "red"}},
        {"format": FORMAT, "entry": {**INSIDE, "@": "view"}},
    ],
)
def test_what_a_newer_orion_wrote_is_not_guessed_at(document: Any) -> None:
    with pytest.raises(Conflict, match="this Orion doesn't know") as caught:
        decode_entry(write(document))
    assert (caught.value.code, caught.value.hint) == ("NEWER_ORION", "Upgrade Orion: a newer one wrote it.")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        write({"format": FORMAT}),
        write({"format": 0, "entry": INSIDE}),
        write({"format": "two", "entry": INSIDE}),
        write({"format": FORMAT, "entry": {"@": "type", "name": "KM"}}),
        write({"format": FORMAT, "entry": json.loads(dumps(Scalar.DOUBLE))}),
        write({"@": "Plugin", "name": "x"}),
    ],
)
def test_what_nobody_understands_is_refused_as_the_journal_expects(text: bytes) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        decode_entry(text)
