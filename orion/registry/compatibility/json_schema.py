"""Confluent's rules for JSON Schema: every document of the old schema should be one of the new.

`original` is the schema that was written with, `update` the one that reads. Only what breaks readers is a finding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from orion.registry.compatibility import patterns
from orion.registry.compatibility.effort import Effort
from orion.registry.compatibility.finding import Finding
from orion.registry.parsing.json_schema import (
    Anything,
    Array,
    Combined,
    Content,
    JsonSchema,
    Not,
    Nothing,
    Number,
    Object,
    Ref,
    Schema,
    Text,
    Values,
)

# A lower bound may fall and an upper one rise.
_WORDS = {
    "minLength": "MIN_LENGTH",
    "maxLength": "MAX_LENGTH",
    "minimum": "MINIMUM",
    "maximum": "MAXIMUM",
    "exclusiveMinimum": "EXCLUSIVE_MINIMUM",
    "exclusiveMaximum": "EXCLUSIVE_MAXIMUM",
    "minItems": "MIN_ITEMS",
    "maxItems": "MAX_ITEMS",
    "minContains": "MIN_CONTAINS",
    "maxContains": "MAX_CONTAINS",
    "minProperties": "MIN_PROPERTIES",
    "maxProperties": "MAX_PROPERTIES",
}


# What Confluent's lenient policy lets pass: an open object says nothing about properties it doesn't name.
_LENIENT = frozenset(
    {
        "ADDITIONAL_PROPERTIES_NARROWED",
        "ADDITIONAL_PROPERTIES_REMOVED",
        "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
    }
)


def check(update: JsonSchema, original: JsonSchema, *, lenient: bool = False) -> list[Finding]:
    """Everything in the new schema that documents of the old one may not fit."""
    return _Comparison(_LENIENT if lenient else frozenset()).compare(original.root, update.root, "#/")


class _Comparison:
    def __init__(self, passing: frozenset[str]) -> None:
        self._passing = passing
        self._effort = Effort()
        # What is known of a pair. One being compared further up is taken to fit: a schema that holds itself would never
        # end, and one with choices inside of choices would take for ever.
        self._known: dict[tuple[int, int], list[Finding]] = {}

    def compare(self, original: Schema | None, update: Schema | None, path: str) -> list[Finding]:
        if update is None:
            return []
        if original is None:
            return [Finding("SCHEMA_ADDED", path)]
        self._effort.spend(5)
        original, update = _resolved(original), _resolved(update)
        pair = (id(original), id(update))
        if pair not in self._known:
            self._known[pair] = []
            found = self._compared(original, update, path)
            self._known[pair] = [one for one in found if one.kind not in self._passing]
        return self._known[pair]

    def _compared(self, original: Schema, update: Schema, path: str) -> list[Finding]:
        if isinstance(update, Combined) and not isinstance(original, Combined):
            widened = len(update.parts) == 1 or update.criterion in ("anyOf", "oneOf")
            if widened and any(not self.compare(original, part, path) for part in update.parts):
                return []
        if isinstance(original, Combined) and not isinstance(update, Combined):
            narrowed = len(original.parts) == 1 or original.criterion == "allOf"
            if narrowed and any(not self.compare(part, update, path) for part in original.parts):
                return []
        if isinstance(original, Nothing) or isinstance(update, Anything):
            return []
        if isinstance(original, Text) and isinstance(update, Text):
            return _bounds(original.limits, update.limits, path) + _pattern(original, update, path)
        if isinstance(original, Number) and isinstance(update, Number):
            return _number(original, update, path)
        if isinstance(original, Values) and isinstance(update, Values):
            return _values(original, update, path)
        if isinstance(original, Combined) and isinstance(update, Combined):
            return self._combined(original, update, path)
        if isinstance(original, Not) and isinstance(update, Not):
            fits = not self.compare(update.inner, original.inner, _under(path, "not"))
            return [] if fits else [Finding("NOT_TYPE_EXTENDED", _under(path, "not"))]
        if isinstance(original, Object) and isinstance(update, Object):
            return self._object(original, update, path)
        if isinstance(original, Array) and isinstance(update, Array):
            return self._array(original, update, path)
        return [] if type(original) is type(update) else [Finding("TYPE_CHANGED", path)]

    # -- several schemas in one

    def _combined(self, original: Combined, update: Combined, path: str) -> list[Finding]:
        if not _criterion_fits(original, update):
            return [Finding("COMBINED_TYPE_CHANGED", path)]
        found = []
        before, after = len(original.parts), len(update.parts)
        if before < after and update.criterion == "allOf":
            found.append(Finding("PRODUCT_TYPE_EXTENDED", path))
        if before > after and original.criterion != "allOf":
            found.append(Finding("SUM_TYPE_NARROWED", path))
        if self._paired(original.parts, update.parts, path) < min(before, after):
            found.append(Finding("COMBINED_TYPE_SUBSCHEMAS_CHANGED", path))
        return found

    def _paired(self, before: Sequence[Schema], after: Sequence[Schema], path: str) -> int:
        """How many parts of one find a part of their own in the other: a largest matching, by augmenting paths."""
        fits = [[j for j, new in enumerate(after) if not self.compare(old, new, path)] for old in before]
        taken: dict[int, int] = {}

        def place(index: int, seen: set[int]) -> bool:
            self._effort.spend(1 + len(fits[index]))
            for choice in fits[index]:
                if choice in seen:
                    continue
                seen.add(choice)
                if choice not in taken or place(taken[choice], seen):
                    taken[choice] = index
                    return True
            return False

        return sum(place(index, set()) for index in range(len(before)))

    # -- objects

    def _object(self, original: Object, update: Object, path: str) -> list[Finding]:
        found = self._required(original, update, path)
        for name in dict.fromkeys((*original.properties, *update.properties)):
            found += self._property(name, original, update, _under(path, f"properties/{name}"))
        found += self._dependencies(original, update, _under(path, "dependencies"))
        found += self._rest(original.rest, update.rest, "ADDITIONAL_PROPERTIES", _under(path, "additionalProperties"))
        return found + _bounds(original.limits, update.limits, path)

    def _required(self, original: Object, update: Object, path: str) -> list[Finding]:
        both = original.properties.keys() & update.properties.keys()
        added = (update.required - original.required - update.with_default) & both
        return [Finding("REQUIRED_ATTRIBUTE_ADDED", _under(path, f"required/{name}")) for name in sorted(added)]

    def _property(self, name: str, original: Object, update: Object, path: str) -> list[Finding]:
        before, after = original.properties.get(name), update.properties.get(name)
        if before is None and after is not None:
            return self._property_added(name, original, update, path)
        if after is None and before is not None:
            if _open(update):
                return []
            covering = _covering(update, name, self._effort)
            if covering is not None:
                return self._covered(before, covering, "PROPERTY_REMOVED", path)
            closed = Finding("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", path)
            return [] if isinstance(before, Nothing) else [closed]
        return self.compare(before, after, path)

    def _property_added(self, name: str, original: Object, update: Object, path: str) -> list[Finding]:
        after = update.properties[name]
        demanded = name in update.required and name not in update.with_default
        if _open(original):
            if isinstance(_resolved(after), Anything) and not demanded:
                return []
            word = "REQUIRED" if name in update.required else "OPTIONAL"
            return [Finding(f"{word}_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL", path)]
        covering = _covering(original, name, self._effort)
        found = [] if covering is None else self._covered(covering, after, "PROPERTY_ADDED", path)
        if demanded:
            found.append(Finding("REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL", path))
        return found

    def _dependencies(self, original: Object, update: Object, path: str) -> list[Finding]:
        found: list[Finding] = []
        for name, needed in update.needs.items():
            before = original.needs.get(name)
            where = _under(path, name)
            if before is None:
                found.append(Finding("DEPENDENCY_ARRAY_ADDED", where))
            elif not needed <= before:
                kind = "DEPENDENCY_ARRAY_EXTENDED" if needed > before else "DEPENDENCY_ARRAY_CHANGED"
                found.append(Finding(kind, where))
        for name, implied in update.implies.items():
            earlier = original.implies.get(name)
            where = _under(path, name)
            if earlier is None:
                found.append(Finding("DEPENDENCY_SCHEMA_ADDED", where))
            else:
                found += self.compare(earlier, implied, where)
        return found

    def _covered(self, original: Schema | None, update: Schema, change: str, path: str) -> list[Finding]:
        """What isn't named on one side is held against what that side says of everything else."""
        inner = self.compare(original, update, path)
        return [*inner, Finding(f"{change}_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", path)] if inner else []

    def _rest(self, original: Content, update: Content, word: str, path: str) -> list[Finding]:
        if original.allowed != update.allowed:
            return [] if update.allowed else [Finding(f"{word}_REMOVED", path)]
        if original.schema is None and update.schema is not None:
            return [Finding(f"{word}_NARROWED", path)]
        return self.compare(original.schema, update.schema, path)

    # -- arrays

    def _array(self, original: Array, update: Array, path: str) -> list[Finding]:
        items = _under(path, "items")
        found = self.compare(original.every, update.every, items)
        for index in range(max(len(original.items), len(update.items))):
            found += self._item(index, original, update, f"{items}/{index}")
        found += self.compare(original.contains, update.contains, _under(path, "contains"))
        found += self._rest(original.rest, update.rest, "ADDITIONAL_ITEMS", _under(path, "additionalItems"))
        if update.unique and not original.unique:
            found.append(Finding("UNIQUE_ITEMS_ADDED", _under(path, "uniqueItems")))
        return found + _bounds(original.limits, update.limits, path)

    def _item(self, index: int, original: Array, update: Array, path: str) -> list[Finding]:
        before = original.items[index] if index < len(original.items) else None
        after = update.items[index] if index < len(update.items) else None
        if before is not None and after is not None:
            return self.compare(before, after, path)
        if after is not None:
            if original.rest.open:
                added = Finding("ITEM_ADDED_TO_OPEN_CONTENT_MODEL", path)
                return [] if isinstance(_resolved(after), Anything) else [added]
            if original.rest.schema is None:
                return []
            return self._covered(original.rest.schema, after, "ITEM_ADDED", path)
        if update.rest.open:
            return []
        if update.rest.schema is not None:
            return self._covered(before, update.rest.schema, "ITEM_REMOVED", path)
        closed = Finding("ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL", path)
        return [] if isinstance(before, Nothing) else [closed]


def _resolved(schema: Schema) -> Schema:
    for _ in range(100):  # a reference that only leads to itself is no schema
        if not isinstance(schema, Ref) or schema.target is None:
            break
        schema = schema.target
    return schema


def _criterion_fits(original: Combined, update: Combined) -> bool:
    if original.criterion == update.criterion or update.criterion == "anyOf":
        return True
    if len(update.parts) == 1:
        return True
    return update.criterion == "oneOf" and (original.criterion == "allOf" or len(original.parts) == 1)


def _open(schema: Object) -> bool:
    return not schema.patterns and schema.rest.open


def _covering(schema: Object, name: str, effort: Effort) -> Schema | None:
    """What an object asks of a property that it doesn't name."""
    for pattern, inner in schema.patterns.items():
        try:
            if patterns.found_in(pattern, name, effort):
                return inner
        except patterns.Unsupported:  # nobody can say which properties it means
            continue
    return schema.rest.schema


def _bounds(original: Mapping[str, Fraction], update: Mapping[str, Fraction], path: str) -> list[Finding]:
    found = []
    for name, after in update.items():
        before = original.get(name)
        lower = "min" in name.lower()
        if before is None:
            found.append(Finding(f"{_WORDS[name]}_ADDED", _under(path, name)))
        elif lower and after > before:
            found.append(Finding(f"{_WORDS[name]}_INCREASED", _under(path, name)))
        elif not lower and after < before:
            found.append(Finding(f"{_WORDS[name]}_DECREASED", _under(path, name)))
    return found


def _pattern(original: Text, update: Text, path: str) -> list[Finding]:
    if update.pattern is None or update.pattern == original.pattern:
        return []
    kind = "PATTERN_ADDED" if original.pattern is None else "PATTERN_CHANGED"
    return [Finding(kind, _under(path, "pattern"))]


def _number(original: Number, update: Number, path: str) -> list[Finding]:
    found = _bounds(original.limits, update.limits, path)
    before, after = original.multiple_of, update.multiple_of
    if after is not None and before != after:
        where = _under(path, "multipleOf")
        if before is None:
            found.append(Finding("MULTIPLE_OF_ADDED", where))
        elif before % after:
            found.append(Finding("MULTIPLE_OF_CHANGED" if after % before else "MULTIPLE_OF_EXPANDED", where))
    if update.integer and not original.integer:
        found.append(Finding("TYPE_NARROWED", path))
    return found


def _values(original: Values, update: Values, path: str) -> list[Finding]:
    if original.values <= update.values:
        return []
    kind = "ENUM_ARRAY_NARROWED" if update.values < original.values else "ENUM_ARRAY_CHANGED"
    return [Finding(kind, _under(path, update.keyword))]


def _under(path: str, part: str) -> str:
    return f"{path.rstrip('/')}/{part}"
