"""Entries of the journal as bytes: JSON that says in which format it is written.

    {"format":3,"entry":{"@":"type","name":"KM","type":{"@":"scalar","value":"DOUBLE"}}}

An entry of an older format goes through the migrations from there to today's. One that a newer Orion wrote is a
Conflict: what it means can't be guessed.
"""

from __future__ import annotations

import json

from orion.plan.catalog import Entry
from orion.plan.codec import build_unknown_error, decode_value, encode_value, to_json
from orion.plan.migrations import FORMAT, migrate_entry


def encode_entry(entry: Entry) -> bytes:
    return to_json({"format": FORMAT, "entry": encode_value(entry)}).encode()


def decode_entry(text: bytes) -> Entry:
    """The entry; a Conflict where only a newer Orion understands it, another error where nobody does."""
    document = json.loads(text)
    if not isinstance(document, dict):
        raise ValueError("it is no object")
    written = 1 if "@" in document else document["format"]  # format 1 had nothing around the entry
    if written < 1:
        raise ValueError(f"there is no format {written}")
    if written > FORMAT:
        raise build_unknown_error(f"it is written in format {written}")
    entry = decode_value(migrate_entry(document if written == 1 else document["entry"], written))
    if not isinstance(entry, Entry):
        raise ValueError(f"a {type(entry).__name__} is no entry")
    return entry
