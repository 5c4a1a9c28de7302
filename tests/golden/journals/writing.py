"""Writes the golden journals of today's format: `python -m tests.golden.journals.writing`.

What is there already stays as it is: a journal stands for what a released Orion has written, and is never written anew.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from enum import Enum
from typing import Any

from orion.plan.catalog import Entry
from orion.plan.codec import encode_value, to_json
from orion.plan.entries import encode_entry
from orion.plan.migrations import FORMAT
from orion.plan.tags import TAGS
from tests.golden.journals.performing import FOLDER, SCRIPTS, perform_script


def describe_format() -> Iterator[str]:
    """A line for all that entries on disk hang on: tags, fields' stored names and defaults, values of enums."""
    for tag, cls in TAGS.items():
        if issubclass(cls, Enum):
            yield from (f"{tag} is {member.value}" for member in cls)
        else:
            yield from (f"{tag} has {_describe_field(field)}" for field in dataclasses.fields(cls))


def _describe_field(field: dataclasses.Field[Any]) -> str:
    stored = field.metadata.get("stored", field.name)
    if field.default_factory is not dataclasses.MISSING:
        return f"{stored}, else {to_json(encode_value(field.default_factory()))}"
    if field.default is not dataclasses.MISSING:
        return f"{stored}, else {to_json(encode_value(field.default))}"
    return str(stored)


def write_journals() -> None:
    """The scripts' journals, and what the format is; of that, lines are only added."""
    folder = FOLDER / str(FORMAT)
    folder.mkdir(exist_ok=True)
    for name in SCRIPTS:
        file = folder / f"{name}.jsonl"
        if not file.exists():
            file.write_text("".join(_write_line(*record) for record in perform_script(name)), encoding="utf-8")
    told = folder / "format.txt"
    before = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    added = [line for line in describe_format() if line not in before]
    told.write_text("".join(f"{line}\n" for line in [*before, *added]), encoding="utf-8")


def _write_line(key: str, entry: Entry | None) -> str:
    value = "null" if entry is None else encode_entry(entry).decode()
    return f'{{"key":{to_json(key)},"value":{value}}}\n'


if __name__ == "__main__":
    write_journals()
