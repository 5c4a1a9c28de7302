"""Avro's rules of schema resolution, as its Java library checks them: can this reader read what that writer wrote?"""

from __future__ import annotations

from typing import assert_never

from orion.registry.compatibility.effort import Effort
from orion.registry.compatibility.finding import Finding
from orion.registry.parsing.avro import (
    Array,
    AvroSchema,
    Enum,
    Field,
    Fixed,
    Map,
    Named,
    Primitive,
    Record,
    Type,
    Union,
)

_MOST_SHOWN = 20
_PROMOTIONS = {
    "long": {"int"},
    "float": {"int", "long"},
    "double": {"int", "long", "float"},
    "bytes": {"string"},
    "string": {"bytes"},
}


def check(reader: AvroSchema, writer: AvroSchema) -> list[Finding]:
    """Everything in the reader's schema that data of the writer's doesn't fit."""
    return _Comparison(reader, writer).compare(reader.root, writer.root, "/")


class _Comparison:
    def __init__(self, reader: AvroSchema, writer: AvroSchema) -> None:
        self._reader = reader
        self._writer = writer
        self._effort = Effort()
        # A pair of records that is being compared already is taken to fit: a type that holds itself would never end.
        self._known: dict[tuple[int, int], list[Finding]] = {}

    def compare(self, reader: Type, writer: Type, path: str) -> list[Finding]:
        self._effort.spend(5)
        reader, writer = self._reader.resolve(reader), self._writer.resolve(writer)
        pair = (id(reader), id(writer))
        if pair in self._known:
            return self._known[pair]
        if isinstance(reader, Record):
            self._known[pair] = []
        found = self._compared(reader, writer, path)
        if isinstance(reader, Record):
            self._known[pair] = found
        return found

    def _compared(self, reader: Type, writer: Type, path: str) -> list[Finding]:
        if isinstance(writer, Union):
            return self._from_union(reader, writer, path)
        match reader:
            case Union():
                return self._into_union(reader, writer, path)
            case Primitive():
                kind = writer.kind if isinstance(writer, Primitive) else None
                fits = kind == reader.kind or kind in _PROMOTIONS.get(reader.kind, ())
                return [] if fits else [_mismatch(reader, writer, path)]
            case Array():
                if not isinstance(writer, Array):
                    return [_mismatch(reader, writer, path)]
                return self.compare(reader.items, writer.items, _under(path, "items"))
            case Map():
                if not isinstance(writer, Map):
                    return [_mismatch(reader, writer, path)]
                return self.compare(reader.values, writer.values, _under(path, "values"))
            case Fixed():
                if not isinstance(writer, Fixed):
                    return [_mismatch(reader, writer, path)]
                return _renamed(reader, writer, path) + _resized(reader, writer, path)
            case Enum():
                if not isinstance(writer, Enum):
                    return [_mismatch(reader, writer, path)]
                return _renamed(reader, writer, path) + _missing_symbols(reader, writer, path)
            case Record():
                if not isinstance(writer, Record):
                    return [_mismatch(reader, writer, path)]
                return _renamed(reader, writer, path) + self._fields(reader, writer, path)
            case Named():
                raise AssertionError(f"{reader.name} is not resolved")
            case _:
                assert_never(reader)

    def _from_union(self, reader: Type, writer: Union, path: str) -> list[Finding]:
        """The writer may write any of its branches, so each must be readable."""
        found: list[Finding] = []
        for index, branch in enumerate(writer.branches):
            inner = self.compare(reader, branch, path)
            if not inner:
                continue
            if isinstance(reader, Union):
                kind = _word(self._writer.resolve(branch))
                text = f"The new schema's union lacks a branch for {kind}, which was written before,"
                found.append(Finding("MISSING_UNION_BRANCH", _under(path, str(index)), text))
            else:
                found += inner
        return found

    def _into_union(self, reader: Union, writer: Type, path: str) -> list[Finding]:
        for branch in reader.branches:
            if not self.compare(branch, writer, path):
                return []
        text = f"The reader's union lacks a branch for {_word(writer)}"
        return [Finding("MISSING_UNION_BRANCH", path, text)]

    def _fields(self, reader: Record, writer: Record, path: str) -> list[Finding]:
        written = {field.name: field for field in writer.fields}
        found: list[Finding] = []
        for index, field in enumerate(reader.fields):
            where = _under(path, f"fields/{index}")
            source = _source(field, written)
            if source is not None:
                found += self.compare(field.type, source.type, _under(where, "type"))
            elif not field.has_default:
                text = f"The field {field.name} has no default value and is missing in the writer's schema"
                found.append(Finding("READER_FIELD_MISSING_DEFAULT_VALUE", where, text))
        return found


def _source(field: Field, written: dict[str, Field]) -> Field | None:
    """The writer's field that the reader's is read from: by its name, else by an alias."""
    for name in (field.name, *field.aliases):
        if name in written:
            return written[name]
    return None


def _renamed(reader: Record | Enum | Fixed, writer: Record | Enum | Fixed, path: str) -> list[Finding]:
    """Only the last part of a name counts, as in Avro's Java library; an alias counts in full."""
    if _short(reader.name) == _short(writer.name) or writer.name in reader.aliases:
        return []
    text = f"The name changed from {writer.name} to {reader.name}"
    return [Finding("NAME_MISMATCH", _under(path, "name"), text)]


def _resized(reader: Fixed, writer: Fixed, path: str) -> list[Finding]:
    if reader.size == writer.size:
        return []
    text = f"The size of {reader.name} changed from {writer.size} to {reader.size}"
    return [Finding("FIXED_SIZE_MISMATCH", _under(path, "size"), text)]


def _missing_symbols(reader: Enum, writer: Enum, path: str) -> list[Finding]:
    known = set(reader.symbols)
    missing = [symbol for symbol in writer.symbols if symbol not in known]
    if not missing or reader.default is not None:
        return []
    shown = ", ".join(missing[:_MOST_SHOWN]) + (" and more" if len(missing) > _MOST_SHOWN else "")
    text = f"The enum {reader.name} lacks {shown}"
    return [Finding("MISSING_ENUM_SYMBOLS", _under(path, "symbols"), text)]


def _mismatch(reader: Type, writer: Type, path: str) -> Finding:
    return Finding("TYPE_MISMATCH", path, f"The type {_word(reader)} can't read {_word(writer)}")


def _word(of: Type) -> str:
    return of.kind.upper() if isinstance(of, Primitive) else type(of).__name__.upper()


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _under(path: str, part: str) -> str:
    return f"{path.rstrip('/')}/{part}"
