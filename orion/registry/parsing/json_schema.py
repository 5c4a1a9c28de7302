"""JSON Schema: a text to a tree of the kinds of schema that compatibility is defined over.

One JSON object may be several schemas at once: `{"type": "string", "enum": [...]}` is a string and an enum. They become
one `Combined`, as in the library that Confluent's registry reads them with, because its verdicts follow that cut.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import jsonschema
from referencing import Registry, Resource
from referencing.exceptions import NoSuchResource, Unresolvable
from referencing.jsonschema import DRAFT7, specification_with

from orion.registry.errors import InvalidSchema
from orion.registry.parsing.limits import read_json

Criterion = Literal["allOf", "anyOf", "oneOf"]

_STRING = ("minLength", "maxLength", "pattern", "format")
_NUMBER = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_ARRAY = ("items", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains", "prefixItems")
_ARRAY_NEW = (*_ARRAY, "unevaluatedItems", "minContains", "maxContains")
_OBJECT = (
    "properties required minProperties maxProperties dependencies patternProperties additionalProperties propertyNames"
).split()
_OBJECT_NEW = (*_OBJECT, "dependentRequired", "dependentSchemas", "unevaluatedProperties")


@dataclass(frozen=True, eq=False)
class Anything:
    """`true`, `{}`, or an object without a keyword that restricts."""


@dataclass(frozen=True, eq=False)
class Nothing:
    """`false`."""


@dataclass(frozen=True, eq=False)
class Text:
    limits: Mapping[str, Fraction]
    pattern: str | None


@dataclass(frozen=True, eq=False)
class Number:
    integer: bool
    limits: Mapping[str, Fraction]
    multiple_of: Fraction | None


@dataclass(frozen=True, eq=False)
class Flag:
    pass


@dataclass(frozen=True, eq=False)
class Null:
    pass


@dataclass(frozen=True, eq=False)
class Values:
    """`enum`, or `const`; each value as its JSON text."""

    keyword: str
    values: frozenset[str]


@dataclass(frozen=True, eq=False)
class Content:
    """What an object or array takes beyond what it names: anything, what fits a schema, or nothing."""

    allowed: bool
    schema: Schema | None

    @property
    def open(self) -> bool:
        return self.allowed and self.schema is None


@dataclass(frozen=True, eq=False)
class Object:
    properties: Mapping[str, Schema]
    required: frozenset[str]
    with_default: frozenset[str]
    patterns: Mapping[str, Schema]
    rest: Content
    needs: Mapping[str, frozenset[str]]
    implies: Mapping[str, Schema]
    limits: Mapping[str, Fraction]


@dataclass(frozen=True, eq=False)
class Array:
    every: Schema | None
    items: tuple[Schema, ...]
    rest: Content
    contains: Schema | None
    limits: Mapping[str, Fraction]
    unique: bool


@dataclass(frozen=True, eq=False)
class Combined:
    criterion: Criterion
    parts: tuple[Schema, ...]


@dataclass(frozen=True, eq=False)
class Not:
    inner: Schema


@dataclass(frozen=True, eq=False)
class Conditional:
    """`if`, `then`, `else`: not looked into, as by Confluent's registry."""


@dataclass(eq=False)
class Ref:
    """A schema elsewhere, which may be one around this place; set once it is read."""

    target: Schema | None = field(default=None, repr=False)


Schema = Anything | Nothing | Text | Number | Flag | Null | Values | Object | Array | Combined | Not | Conditional | Ref


@dataclass(frozen=True)
class JsonSchema:
    root: Schema = field(repr=False)
    canonical: str


def parse(text: str, references: Mapping[str, str] | None = None, *, normalize: bool = False) -> JsonSchema:
    """A schema over those it refers to by name."""
    raw = read_json(text)
    if not isinstance(raw, dict | bool):
        raise InvalidSchema("a JSON Schema is an object, true or false")
    others = {name: read_json(other) for name, other in (references or {}).items()}
    _check(raw)
    try:
        root = _Loader(raw, others).root()
    except (Unresolvable, NoSuchResource) as error:
        raise InvalidSchema(f"the reference {getattr(error, 'ref', error)} leads nowhere") from error
    except RecursionError as error:
        raise InvalidSchema("it is nested too deep") from error
    shown = json.dumps(raw, ensure_ascii=False, separators=(",", ":"), sort_keys=normalize)
    return JsonSchema(root, shown)


def _check(raw: Any) -> None:
    validator = jsonschema.validators.validator_for(raw, default=jsonschema.Draft7Validator)
    try:
        validator.check_schema(raw)
    except jsonschema.SchemaError as error:
        raise InvalidSchema(error.message[:300], path="#/" + "/".join(str(part) for part in error.path)) from error
    except RecursionError as error:
        raise InvalidSchema("it is nested too deep") from error


class _Loader:
    def __init__(self, raw: Any, others: Mapping[str, Any]) -> None:
        dialect = raw.get("$schema", "") if isinstance(raw, dict) else ""
        try:
            self._specification = specification_with(dialect) if dialect else DRAFT7
        except Exception:  # a dialect of somebody's own is read as the default one, as Confluent's registry does
            self._specification = DRAFT7
        self._new = any(year in dialect for year in ("2019-09", "2020-12"))
        resource = self._specification.create_resource(raw)
        made: Any = Registry  # its parameter goes by another name in the types
        known: Registry[Any] = made(retrieve=_finding(others))
        base = resource.id()
        if base:
            known = known.with_resource(base, resource)
        self._resolver = known.resolver_with_root(resource)
        self._raw = raw
        self._refs: dict[int, Ref] = {}
        self._keep: list[Any] = []  # what `_refs` knows by identity must stay alive

    def root(self) -> Schema:
        return self._schema(self._raw, self._resolver)

    def _schema(self, raw: Any, resolver: Any) -> Schema:
        if isinstance(raw, bool):
            return Anything() if raw else Nothing()
        if raw is not self._raw:
            resolver = resolver.in_subresource(self._specification.create_resource(raw))
        if "$ref" in raw and not self._new:
            return self._reference(raw["$ref"], resolver)
        parts = self._parts(raw, resolver)
        if not parts:
            return Anything()
        return parts[0] if len(parts) == 1 else Combined("allOf", tuple(parts))

    def _reference(self, ref: Any, resolver: Any) -> Schema:
        if not isinstance(ref, str):
            raise InvalidSchema("a $ref is a string")
        found = resolver.lookup(ref)
        key = id(found.contents)
        if isinstance(found.contents, bool):
            return self._schema(found.contents, found.resolver)
        if not isinstance(found.contents, dict):
            raise InvalidSchema(f"the reference {ref} leads to no schema")
        if key not in self._refs:
            made = self._refs[key] = Ref()
            self._keep.append(found.contents)
            made.target = self._schema(found.contents, found.resolver)
        return self._refs[key]

    def _parts(self, raw: Mapping[str, Any], resolver: Any) -> list[Schema]:
        parts: list[Schema] = []
        if "$ref" in raw:
            parts.append(self._reference(raw["$ref"], resolver))
        if "enum" in raw:
            parts.append(Values("enum", frozenset(_text(value) for value in raw["enum"])))
        criteria: tuple[Criterion, ...] = ("allOf", "anyOf", "oneOf")
        for criterion in criteria:
            if criterion in raw:
                parts.append(self._combined(criterion, raw[criterion], resolver))
        if "not" in raw:
            parts.append(Not(self._schema(raw["not"], resolver)))
        if "const" in raw:
            parts.append(Values("const", frozenset((_text(raw["const"]),))))
        if any(word in raw for word in ("if", "then", "else")):
            parts.append(Conditional())
        return parts + self._typed(raw, resolver)

    def _combined(self, criterion: Criterion, raw: list[Any], resolver: Any) -> Schema:
        distinct = {_text(part): part for part in raw}
        return Combined(criterion, tuple(self._schema(part, resolver) for part in distinct.values()))

    def _typed(self, raw: Mapping[str, Any], resolver: Any) -> list[Schema]:
        """By `type`, or by the keywords that only make sense for one."""
        declared = raw.get("type")
        if isinstance(declared, list):
            return [Combined("anyOf", tuple(self._of_type(word, raw, resolver) for word in dict.fromkeys(declared)))]
        if isinstance(declared, str):
            return [self._of_type(declared, raw, resolver)]
        words = {
            "array": _ARRAY_NEW if self._new else _ARRAY,
            "object": _OBJECT_NEW if self._new else _OBJECT,
            "number": _NUMBER,
            "string": _STRING,
        }
        return [
            self._of_type(kind, raw, resolver)
            for kind, keywords in words.items()
            if any(self._restricts(raw, keyword) for keyword in keywords)
        ]

    def _restricts(self, raw: Mapping[str, Any], keyword: str) -> bool:
        if self._new and keyword in ("properties", "patternProperties"):
            return bool(raw.get(keyword))
        if self._new and keyword in ("additionalProperties", "maxProperties", "minProperties") and "properties" in raw:
            # Beside empty properties these say nothing to Confluent's translation of the newer drafts.
            return bool(raw["properties"])
        return keyword in raw

    def _of_type(self, kind: str, raw: Mapping[str, Any], resolver: Any) -> Schema:
        if kind == "string":
            return Text(_limits(raw, "minLength", "maxLength"), raw.get("pattern"))
        if kind in ("number", "integer"):
            names = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
            multiple = raw.get("multipleOf")
            return Number(kind == "integer", _limits(raw, *names), None if multiple is None else _exact(multiple))
        if kind == "boolean":
            return Flag()
        if kind == "null":
            return Null()
        return self._object(raw, resolver) if kind == "object" else self._array(raw, resolver)

    def _object(self, raw: Mapping[str, Any], resolver: Any) -> Object:
        properties = raw.get("properties", {})
        required = raw.get("required", ())
        rest = raw.get("additionalProperties")
        if rest is None and self._new:
            rest = raw.get("unevaluatedProperties")
        depends = {**raw.get("dependencies", {}), **raw.get("dependentRequired", {}), **raw.get("dependentSchemas", {})}
        return Object(
            properties={name: self._schema(one, resolver) for name, one in properties.items()},
            required=frozenset(required if isinstance(required, list) else ()),
            with_default=frozenset(n for n, one in properties.items() if isinstance(one, dict) and "default" in one),
            patterns={name: self._schema(one, resolver) for name, one in raw.get("patternProperties", {}).items()},
            rest=self._content(rest, resolver),
            needs={name: frozenset(one) for name, one in depends.items() if isinstance(one, list)},
            implies={name: self._schema(one, resolver) for name, one in depends.items() if not isinstance(one, list)},
            limits=_limits(raw, "minProperties", "maxProperties"),
        )

    def _array(self, raw: Mapping[str, Any], resolver: Any) -> Array:
        every: Any = None
        first: list[Any] = []
        items = raw.get("items")
        if isinstance(items, list):
            first, rest = items, raw.get("additionalItems")
        elif self._new:
            first = raw.get("prefixItems", [])
            rest = raw.get("unevaluatedItems") if items is None else items
            if not first and isinstance(items, dict):
                every, rest = items, None
        else:
            every, rest = items, raw.get("additionalItems")
        contains = raw.get("contains")
        limits = _limits(raw, "minItems", "maxItems", "minContains", "maxContains")
        if contains is not None and self._new:
            limits = {"minContains": Fraction(1), **limits}
        return Array(
            every=None if every is None else self._schema(every, resolver),
            items=tuple(self._schema(one, resolver) for one in first),
            rest=self._content(rest, resolver),
            contains=None if contains is None else self._schema(contains, resolver),
            limits=limits,
            unique=raw.get("uniqueItems") is True,
        )

    def _content(self, raw: Any, resolver: Any) -> Content:
        if raw is None or isinstance(raw, bool):
            return Content(raw is not False, None)
        return Content(True, self._schema(raw, resolver))


def _finding(others: Mapping[str, Any]) -> Callable[[str], Resource[Any]]:
    """Finds what is referred to: by its name, by its own id, or by its name relative to the id of who refers to it."""
    made = {name: Resource.from_contents(other, default_specification=DRAFT7) for name, other in others.items()}
    by_id = {found: resource for resource in made.values() if (found := resource.id())}

    def find(uri: str) -> Resource[Any]:
        if uri in made or uri in by_id:
            return made.get(uri) or by_id[uri]
        ending = [
            name for name in made if "://" not in name and uri.endswith("/" + name.removeprefix("./").lstrip("/"))
        ]
        if not ending:
            raise NoSuchResource(uri)
        return made[max(ending, key=len)]

    return find


def _limits(raw: Mapping[str, Any], *names: str) -> dict[str, Fraction]:
    """The limits that are numbers; in draft 4 an exclusive one is a flag beside the other."""
    return {name: _exact(raw[name]) for name in names if name in raw and not isinstance(raw[name], bool)}


def _exact(number: Any) -> Fraction:
    return Fraction(str(number))


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
