"""Signatures as text: `(ARRAY<T>, STRING, INTEGER...) -> T`, and how argument types fit them.

A single capital letter stands for any type, the same one wherever the letter stands. DECIMAL is a decimal of any
precision, the first one given where it is returned. ANY fits everything. `X...` at the end takes one or more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orion.schema import Array, Decimal, Map, Scalar, SqlType


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


Pattern = Scalar | Var | AnyDecimal | ArrayOf | MapOf
ANY = Var("ANY")

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
                return 2
            return _WIDER.get(given, {}).get(pattern) if isinstance(given, Scalar) else None
        case ArrayOf(element):
            return _fit(element, given.element, bindings) if isinstance(given, Array) else None
        case MapOf(key, value):
            if not isinstance(given, Map):
                return None
            costs = [_fit(key, given.key, bindings), _fit(value, given.value, bindings)]
            return None if None in costs else sum(c for c in costs if c is not None)


def _fit_var(name: str, given: SqlType, bindings: Bindings) -> int | None:
    known = bindings.setdefault(name, given)
    if known == given:
        return 4
    wider = common_type(known, given)
    if wider is None:
        return None
    bindings[name] = wider
    return 5


def _fit_decimal(given: SqlType, bindings: Bindings) -> int | None:
    if isinstance(given, Decimal):
        bindings.setdefault("DECIMAL", given)
        return 0
    digits = {Scalar.INTEGER: 10, Scalar.BIGINT: 19}.get(given) if isinstance(given, Scalar) else None
    if digits is None:
        return None
    bindings.setdefault("DECIMAL", Decimal(digits, 0))
    return 2


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
        case _:
            return None


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
    nested = re.fullmatch(r"(ARRAY|MAP)<(.*)>", text)
    if nested:
        inner = [_pattern(p) for p in _split(nested.group(2))]
        return ArrayOf(inner[0]) if nested.group(1) == "ARRAY" else MapOf(inner[0], inner[1])
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
