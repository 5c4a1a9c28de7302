"""Signatures as text: `(ARRAY<T>, STRING, INTEGER...) -> T`, and how argument types fit them.

A single capital letter stands for any type, the same one wherever the letter stands. DECIMAL is a decimal of any
precision, where it is returned one that holds all those given. ANY fits everything. `X...` at the end takes one or
more. LAMBDA<T, R> is a lambda from T to R; ENTRY<K, V> inside it are two parameters that Spark gives as one entry
of a map.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orion.schema import TEMPORAL, Array, Decimal, Field, Map, Scalar, SqlType, Struct


@dataclass(frozen=True, slots=True)
class Var:
    name: str


@dataclass(frozen=True, slots=True)
class AnyDecimal:
    pass


@dataclass(frozen=True, slots=True)
class ArrayOf:
    element: Pattern


@dataclass(frozen=True, slots=True)
class MapOf:
    key: Pattern
    value: Pattern


@dataclass(frozen=True, slots=True)
class EntryOf:
    """The key and the value of a map: two parameters of a lambda."""

    key: Pattern
    value: Pattern


@dataclass(frozen=True, slots=True)
class LambdaOf:
    params: tuple[Pattern, ...]
    returns: Pattern

    @property
    def arity(self) -> int:
        return sum(2 if isinstance(p, EntryOf) else 1 for p in self.params)


@dataclass(frozen=True, slots=True)
class Exactly:
    """A type that is written out: of a function that people have added."""

    type: SqlType


Pattern = Scalar | Var | AnyDecimal | ArrayOf | MapOf | EntryOf | LambdaOf | Exactly
ANY = Var("ANY")

# What an argument costs that has to change its type: a signature that takes all as they are is always nearer.
CAST = 100

# What a number turns into by itself, and how far that is from what was given.
_WIDER: dict[Scalar, dict[Scalar, int]] = {
    Scalar.INTEGER: {Scalar.BIGINT: 1, Scalar.DOUBLE: 3},
    Scalar.BIGINT: {Scalar.DOUBLE: 2},
}


@dataclass(frozen=True, slots=True)
class Signature:
    params: tuple[Pattern, ...]
    returns: Pattern | None  # None: worked out by the declaration itself
    variadic: bool

    def param(self, at: int) -> Pattern:
        return self.params[min(at, len(self.params) - 1)]

    def takes(self, count: int) -> bool:
        return count >= len(self.params) if self.variadic else count == len(self.params)


Bindings = dict[str, SqlType]


def fit(signature: Signature, given: list[SqlType | None]) -> tuple[int, Bindings] | None:
    """How far types (None: NULL) are from the signature, and what its letters stand for; None: they don't fit."""
    if not signature.takes(len(given)):
        return None
    bindings: Bindings = {}
    cost = 0
    for at, type_ in enumerate(given):
        if type_ is None:
            continue
        step = _fit(signature.param(at), type_, bindings)
        if step is None:
            return None
        cost += step
    return cost, bindings


def _fit(pattern: Pattern, given: SqlType, bindings: Bindings) -> int | None:
    match pattern:
        case Var("ANY"):
            return 5
        case Var(name):
            return _fit_var(name, given, bindings)
        case AnyDecimal():
            return _fit_decimal(given, bindings)
        case Scalar():
            if pattern == given:
                return 0
            if isinstance(given, Decimal) and pattern is Scalar.DOUBLE:
                return CAST + 2
            if given is Scalar.STRING and pattern in TEMPORAL:
                return CAST + 9
            step = _WIDER.get(given, {}).get(pattern) if isinstance(given, Scalar) else None
            return None if step is None else CAST + step
        case ArrayOf(element):
            return _fit(element, given.element, bindings) if isinstance(given, Array) else None
        case MapOf(key, value):
            if not isinstance(given, Map):
                return None
            costs = [_fit(key, given.key, bindings), _fit(value, given.value, bindings)]
            return None if None in costs else sum(c for c in costs if c is not None)
        case LambdaOf() | EntryOf():
            return None
        case Exactly(type_):
            if type_ == given:
                return 0
            exact = isinstance(given, Decimal) or given in (Scalar.INTEGER, Scalar.BIGINT)
            fits = (isinstance(type_, Decimal) and exact) or common_type(type_, given) == type_
            return CAST + 3 if fits else None


def _fit_var(name: str, given: SqlType, bindings: Bindings) -> int | None:
    known = bindings.setdefault(name, given)
    if known == given:
        return 4
    wider = common_type(known, given)
    if wider is None:
        return None
    bindings[name] = wider
    return CAST + 5


def _fit_decimal(given: SqlType, bindings: Bindings) -> int | None:
    digits = {Scalar.INTEGER: 10, Scalar.BIGINT: 19}.get(given) if isinstance(given, Scalar) else None
    wanted = Decimal(digits, 0) if digits else given
    if not isinstance(wanted, Decimal):
        return None
    bindings["DECIMAL"] = common_type(bindings.get("DECIMAL", wanted), wanted) or wanted
    return CAST + 2 if digits else 0


def common_type(left: SqlType, right: SqlType) -> SqlType | None:
    """The narrowest type both fit into without being asked."""
    if left == right:
        return left
    match left, right:
        case Scalar(), Scalar():
            if right in _WIDER.get(left, {}):
                return right
            return left if left in _WIDER.get(right, {}) else None
        case Decimal(), Decimal():
            scale = max(left.scale, right.scale)
            whole = max(left.precision - left.scale, right.precision - right.scale)
            return Decimal(min(38, whole + scale), min(scale, 38 - whole))
        case (Decimal(), Scalar.DOUBLE) | (Scalar.DOUBLE, Decimal()):
            return Scalar.DOUBLE
        case (Decimal() as decimal, (Scalar.INTEGER | Scalar.BIGINT) as whole_number) | (
            (Scalar.INTEGER | Scalar.BIGINT) as whole_number,
            Decimal() as decimal,
        ):
            digits = 10 if whole_number is Scalar.INTEGER else 19
            return common_type(decimal, Decimal(digits, 0))
        case Array(a), Array(b):
            element = common_type(a, b)
            return Array(element) if element else None
        case Map(ka, va), Map(kb, vb):
            key, value = common_type(ka, kb), common_type(va, vb)
            return Map(key, value) if key and value else None
        case Struct(), Struct():
            return _common_struct(left, right)
        case _:
            return None


def _common_struct(left: Struct, right: Struct) -> Struct | None:
    """The fields of both; those that only one of them has are NULL in the other."""
    fields = []
    for field in left.fields:
        other = right.get(field.name)
        type_ = field.type if other is None else common_type(field.type, other)
        if type_ is None:
            return None
        fields.append(Field(field.name, type_))
    return Struct((*fields, *(f for f in right.fields if left.get(f.name) is None)))


def instantiate(pattern: Pattern, bindings: Bindings) -> SqlType | None:
    """The type a pattern stands for once its letters are known; None while one isn't (only NULL was given for it)."""
    match pattern:
        case Scalar():
            return pattern
        case Var(name):
            return bindings.get(name)
        case AnyDecimal():
            return bindings.get("DECIMAL")
        case ArrayOf(element):
            inner = instantiate(element, bindings)
            return Array(inner) if inner else None
        case MapOf(key, value):
            k, v = instantiate(key, bindings), instantiate(value, bindings)
            return Map(k, v) if k and v else None
        case Exactly(type_):
            return type_
        case LambdaOf() | EntryOf():
            return None


def parse(text: str) -> Signature:
    inside, _, returns = text.partition("->")
    inside = inside.strip()
    if not (inside.startswith("(") and inside.endswith(")")):
        raise ValueError(f"not a signature: {text}")
    words = _split(inside[1:-1])
    variadic = bool(words) and words[-1].endswith("...")
    params = tuple(_pattern(word.removesuffix("...")) for word in words)
    return Signature(params, _pattern(returns.strip()) if returns.strip() else None, variadic)


def _split(text: str) -> list[str]:
    """By commas that don't stand inside <>."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character == "<") - (character == ">")
        if character == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    parts.append(text[start:].strip())
    return [p for p in parts if p]


def _pattern(text: str) -> Pattern:
    nested = re.fullmatch(r"(ARRAY|MAP|ENTRY|LAMBDA)<(.*)>", text)
    if nested:
        inner = [_pattern(p) for p in _split(nested.group(2))]
        match nested.group(1):
            case "ARRAY":
                return ArrayOf(inner[0])
            case "MAP":
                return MapOf(inner[0], inner[1])
            case "ENTRY":
                return EntryOf(inner[0], inner[1])
            case _:
                return LambdaOf(tuple(inner[:-1]), inner[-1])
    if text == "DECIMAL":
        return AnyDecimal()
    if text == "ANY" or re.fullmatch(r"[A-Z]", text):
        return Var(text)
    return Scalar(text)


def show(signature: Signature) -> str:
    shown = [_show(p) for p in signature.params]
    if signature.variadic:
        shown[-1] += "..."
    return f"({', '.join(shown)})"


def _show(pattern: Pattern) -> str:
    match pattern:
        case Scalar():
            return pattern.value
        case Var(name):
            return name
        case AnyDecimal():
            return "DECIMAL"
        case ArrayOf(element):
            return f"ARRAY<{_show(element)}>"
        case MapOf(key, value):
            return f"MAP<{_show(key)}, {_show(value)}>"
        case EntryOf(key, value):
            return f"{_show(key)}, {_show(value)}"
        case LambdaOf(params, returns):
            return f"({', '.join(_show(p) for p in params)}) => {_show(returns)}"
        case Exactly(type_):
            return str(type_).replace("VARCHAR(STRING)", "STRING")
