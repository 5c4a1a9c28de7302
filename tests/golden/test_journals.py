"""Journals that this Orion and older ones have written: every later one reads them, and they mean the same.

`journals/scripts` has the statements, `journals/N` what they were journaled as in format N, a record a line. Nothing
there is ever written anew; a new format gets a folder of its own, by `python -m tests.golden.journals.writing`.
"""

from __future__ import annotations

import dataclasses
import json
from enum import Enum, StrEnum
from functools import cache
from typing import Any, cast

import pytest

from orion.hub.durable import DurableWriter
from orion.hub.kafka import Kafka
from orion.plan.catalog import Catalog, Entry
from orion.plan.codec import PlanCodec, to_json
from orion.plan.entries import decode_entry, encode_entry
from orion.plan.migrations import FORMAT
from orion.plan.relations import Expr, Query
from orion.plan.tags import TAGS
from orion.runtime.journal import Journal
from tests.golden.journals.performing import FOLDER, SCRIPTS, perform_script
from tests.golden.journals.writing import describe_format

FORMATS = list(range(1, FORMAT + 1))


@cache
def read_records(format_: int, name: str) -> tuple[dict[str, Any], ...]:
    text = (FOLDER / str(format_) / f"{name}.jsonl").read_text(encoding="utf-8")
    return tuple(json.loads(line) for line in text.splitlines())


def get_stored(record: dict[str, Any]) -> bytes:
    """The very bytes that are in the topic."""
    return to_json(record["value"]).encode()


def fold(format_: int, name: str) -> Catalog:
    journal = Journal(cast(Kafka, None), "catalog", cast(DurableWriter, None))
    records = read_records(format_, name)
    last = {r["key"].encode(): get_stored(r) for r in records}
    catalog = journal.fold_entries((key, value) for key, value in last.items() if value != b"null")
    assert journal.problems == []
    return catalog


def list_entries(format_: int, name: str) -> list[tuple[str, Entry | None]]:
    """All records, with those that later ones replace."""
    records = read_records(format_, name)
    return [(r["key"], None if r["value"] is None else decode_entry(get_stored(r))) for r in records]


def drop_spark(value: Any) -> Any:
    """The value without its Spark SQL: how expressions are lowered may change, what was stored for them doesn't."""
    match value:
        case tuple():
            return tuple(drop_spark(item) for item in value)
        case Expr():
            return dataclasses.replace(value, spark="")
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    return dataclasses.replace(value, **{f.name: drop_spark(getattr(value, f.name)) for f in dataclasses.fields(value)})


def name_incarnation(entry: Entry | None, incarnation: str) -> Entry | None:
    """Without what a query was given once for good: its name, and how its keys go to tasks."""
    return (
        dataclasses.replace(entry, incarnation=incarnation, by_partitioner=False) if isinstance(entry, Query) else entry
    )


def test_every_format_has_a_journal_of_every_script() -> None:
    for format_ in FORMATS:
        assert sorted(path.stem for path in (FOLDER / str(format_)).glob("*.jsonl")) == SCRIPTS


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("format_", FORMATS)
def test_a_journal_is_read_as_what_its_statements_mean_today(format_: int, name: str) -> None:
    read, made = list_entries(format_, name), list(perform_script(name))
    assert [key for key, _ in read] == [key for key, _ in made]
    for (key, stored), (_, entry) in zip(read, made, strict=True):
        assert drop_spark(name_incarnation(stored, "")) == drop_spark(name_incarnation(entry, "")), key


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("format_", FORMATS[:-1])
def test_an_older_journal_is_read_as_the_next_one_is(format_: int, name: str) -> None:
    """Both were written by one compiler, so that nothing may differ but for the names that queries were given."""
    for (key, old), (_, new) in zip(list_entries(format_, name), list_entries(format_ + 1, name), strict=True):
        assert name_incarnation(old, "") == name_incarnation(new, ""), key


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("format_", FORMATS)
def test_the_catalog_has_the_last_entry_of_each_key(format_: int, name: str) -> None:
    catalog = fold(format_, name)
    there: dict[str, Entry] = {f"source/{n}": e for n, e in catalog.sources.items()}
    there |= {f"query/{n}": e for n, e in catalog.queries.items()}
    there |= {f"connector/{n}": e for n, e in catalog.connectors.items()}
    there |= {f"type/{n}": e for n, e in catalog.types.items()}
    there |= {f"function/{n}": e for n, e in catalog.functions.items()}
    assert there == {key: entry for key, entry in dict(list_entries(format_, name)).items() if entry is not None}


@pytest.mark.parametrize("name", SCRIPTS)
def test_queries_of_format_1_find_the_checkpoints_that_they_have(name: str) -> None:
    """`checkpoint` is the folder as the last version of format 1 computed its name."""
    for record, (_, entry) in zip(read_records(1, name), list_entries(1, name), strict=True):
        if isinstance(entry, Query):
            assert f"{entry.id}-{entry.incarnation}" == record["checkpoint"]


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_is_read_and_written_again_is_the_same_bytes(name: str) -> None:
    for record, (key, entry) in zip(read_records(FORMAT, name), list_entries(FORMAT, name), strict=True):
        assert entry is None or encode_entry(entry) == get_stored(record), key


def rename_class(cls: type[Any]) -> type[Any]:
    """The class in another module, it and its fields under other names, with one more field that has a default."""
    if issubclass(cls, Enum):
        members = {f"RENAMED_{m.name}": m.value for m in cls}
        return cast(type[Any], StrEnum(f"Renamed{cls.__name__}", members, module="elsewhere"))
    more = ("of_tomorrow", Any, dataclasses.field(default=7))
    made = dataclasses.make_dataclass(f"Renamed{cls.__name__}", [*map(rename_field, dataclasses.fields(cls)), more])
    made.__module__ = "elsewhere"
    return made


def rename_field(field: dataclasses.Field[Any]) -> tuple[str, Any, Any]:
    stored = {"stored": field.name}
    if field.default is dataclasses.MISSING:
        return f"renamed_{field.name}", Any, dataclasses.field(metadata=stored)
    return f"renamed_{field.name}", Any, dataclasses.field(default=field.default, metadata=stored)


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_is_renamed_moved_or_added_with_a_default_changes_no_byte(name: str) -> None:
    tomorrow = PlanCodec({tag: rename_class(cls) for tag, cls in TAGS.items()})
    for record in read_records(FORMAT, name):
        if record["value"] is not None:
            read = tomorrow.decode_value(record["value"]["entry"])
            assert (type(read).__module__, type(read).__name__[:7]) == ("elsewhere", "Renamed")
            assert read.of_tomorrow == 7
            assert read.renamed_name if hasattr(read, "renamed_name") else read.renamed_id
            assert to_json(tomorrow.encode_value(read)) == to_json(record["value"]["entry"])


def test_every_tag_is_in_the_journals() -> None:
    text = "".join((FOLDER / str(FORMAT) / f"{name}.jsonl").read_text(encoding="utf-8") for name in SCRIPTS)
    left_out = {tag for tag in TAGS if f'"@":"{tag}"' not in text}
    assert left_out == {"wiring", "wire-schema"}  # what the registry says is never journaled


def test_what_the_format_is_stays_as_it_was() -> None:
    """A default that changes, or a name, would give entries that are on disk another meaning, or none."""
    told = (FOLDER / str(FORMAT) / "format.txt").read_text(encoding="utf-8").splitlines()
    now = list(describe_format())
    assert [line for line in told if line not in now] == [], "this needs a new format and a migration to it"
    assert [line for line in now if line not in told] == [], "run python -m tests.golden.journals.writing"
