"""Which records somebody wants to see: an expression of SQL over what a record holds, words in it, a header.

`KEY`, `VALUE`, `ROWPARTITION`, `ROWOFFSET` and `ROWTIME` are the record's own; any other name is a field of its value
or, where that has none, of its key. What can't be compared is not equal: a filter never fails over one odd record.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from orion.errors import ParseError, Span, UnsupportedError
from orion.ksql import ast
from orion.ksql.parser import Parser
from orion.ksql.tokens import Kind
from orion.web.console.questions.decoding import Decoded

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_COUNT: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
}
_TEXTS: Mapping[str, Callable[[str], Any]] = {
    "LCASE": str.lower,
    "UCASE": str.upper,
    "LOWER": str.lower,
    "UPPER": str.upper,
    "TRIM": str.strip,
    "LEN": len,
}


@dataclass(frozen=True, slots=True)
class Wish:
    """All of it must hold; what is empty holds for all."""

    where: ast.Expression | None = None
    words: str = ""
    header: str = ""

    @classmethod
    def of(cls, where: str = "", words: str = "", header: str = "") -> Wish:
        """Raises a SqlError that points into the expression."""
        return cls(parsed(where) if where.strip() else None, words.strip().lower(), header.strip())

    @property
    def is_empty(self) -> bool:
        return self.where is None and not self.words and not self.header

    def holds(self, one: Decoded) -> bool:
        if self.words and self.words not in f"{one.key.text} {one.value.text}".lower():
            return False
        if self.header and not _has_header(one, self.header):
            return False
        return self.where is None or evaluated(self.where, one) is True


def parsed(text: str) -> ast.Expression:
    parser = Parser(text)
    found = parser.expression()
    if parser.token.kind is not Kind.END:
        raise ParseError("SYNTAX", f"'{parser.token.text}' is not expected here.", span=parser.token.span, text=text)
    _check(found, text)
    return found


def wanted_key(where: ast.Expression | None, names: Collection[str]) -> Any:
    """What a column of the key has to equal for the whole expression to hold; None: it may be anything."""
    match where:
        case ast.Binary("AND", left, right):
            found = wanted_key(left, names)
            return wanted_key(right, names) if found is None else found
        case ast.Binary("=", ast.Name(name, None), ast.Literal(value)) if name.upper() in names:
            return value
        case ast.Binary("=", ast.Literal(value), ast.Name(name, None)) if name.upper() in names:
            return value
        case _:
            return None


def _check(expression: ast.Expression, text: str) -> None:
    """Refuse at once what no record could be asked."""
    match expression:
        case ast.Literal() | ast.Name():
            return
        case ast.Unary(_, inner) | ast.IsNull(inner) | ast.Deref(inner):
            _check(inner, text)
        case ast.Binary(_, left, right) | ast.Like(left, right) | ast.Index(left, right):
            _check(left, text)
            _check(right, text)
        case ast.Between(one, low, high):
            for inner in (one, low, high):
                _check(inner, text)
        case ast.In(one, choices):
            for inner in (one, *choices):
                _check(inner, text)
        case ast.Call(name, (inner,)) if name.upper() in _TEXTS:
            _check(inner, text)
        case _:
            what = f"{expression.name}()" if isinstance(expression, ast.Call) else "This"
            raise _unsupported(what, expression.span, text)


def _unsupported(what: str, span: Span, text: str) -> UnsupportedError:
    return UnsupportedError(
        "FILTER_UNSUPPORTED",
        f"{what} can't be used to look through a topic.",
        hint="Use =, <>, <, >, LIKE, IN, BETWEEN, IS NULL, AND, OR, NOT, -> and LCASE; the SQL page has all.",
        span=span,
        text=text,
    )


def evaluated(expression: ast.Expression, one: Decoded) -> Any:
    """The expression's value for a record; None is NULL."""
    match expression:
        case ast.Literal(value):
            return float(value) if isinstance(value, Decimal) else value
        case ast.Name(name, source):
            return _dug(_named(source, one), name) if source else _named(name, one)
        case ast.Deref(base, field):
            return _dug(evaluated(base, one), field)
        case ast.Index(base, index):
            return _indexed(evaluated(base, one), evaluated(index, one))
        case ast.Unary(op, inner):
            return _unary(op, evaluated(inner, one))
        case ast.IsNull(inner, negated):
            return (evaluated(inner, one) is None) is not negated
        case ast.Binary(op, left, right):
            return _binary(op, left, right, one)
        case ast.Between(inner, low, high, negated):
            value = evaluated(inner, one)
            within = _compared(">=", value, evaluated(low, one)) and _compared("<=", value, evaluated(high, one))
            return None if within is None else within is not negated
        case ast.In(inner, choices, negated):
            value = evaluated(inner, one)
            return any(_compared("=", value, evaluated(choice, one)) for choice in choices) is not negated
        case ast.Like(inner, pattern, _, negated):
            value, wanted = evaluated(inner, one), evaluated(pattern, one)
            return None if value is None else (_like(str(wanted)).fullmatch(_text(value)) is not None) is not negated
        case ast.Call(name, (inner,)):
            value = evaluated(inner, one)
            return None if value is None else _TEXTS[name.upper()](_text(value))
        case _:
            return None


def _named(name: str, one: Decoded) -> Any:
    own: Mapping[str, Callable[[], Any]] = {
        "KEY": lambda: one.key.document,
        "ROWKEY": lambda: one.key.document,
        "VALUE": lambda: one.value.document,
        "ROWPARTITION": lambda: one.record.partition,
        "ROWOFFSET": lambda: one.record.offset,
        "ROWTIME": lambda: one.record.timestamp,
    }
    if name.upper() in own:
        return own[name.upper()]()
    found = _dug(one.value.document, name)
    return _dug(one.key.document, name) if found is None else found


def _dug(value: Any, name: str) -> Any:
    if not isinstance(value, dict):
        return None
    if name in value:
        return value[name]
    return next((inner for field, inner in value.items() if field.upper() == name.upper()), None)


def _indexed(value: Any, at: Any) -> Any:
    if isinstance(value, list) and isinstance(at, int) and 0 < abs(at) <= len(value):
        return value[at - 1 if at > 0 else at]
    return _dug(value, str(at))


def _unary(op: str, value: Any) -> Any:
    if op == "NOT":
        return None if value is None else value is not True
    return -value if op == "-" and isinstance(value, int | float) else value


def _binary(op: str, left: ast.Expression, right: ast.Expression, one: Decoded) -> Any:
    first = evaluated(left, one)
    if op == "AND":
        return first is True and evaluated(right, one) is True
    if op == "OR":
        return first is True or evaluated(right, one) is True
    second = evaluated(right, one)
    if op in _COMPARE:
        return _compared(op, first, second)
    if op == "||":
        return None if first is None or second is None else _text(first) + _text(second)
    if "DISTINCT" in op:
        return (first != second) is ("NOT" not in op)
    try:
        return _COUNT[op](first, second)
    except (TypeError, ArithmeticError, KeyError):
        return None


def _compared(op: str, left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    try:
        if isinstance(left, str) and isinstance(right, int | float) and not isinstance(right, bool):
            left = float(left)  # a key that is text, compared with a number
        return _COMPARE[op](left, right)
    except (TypeError, ValueError):
        return op == "<>"


def _like(pattern: str) -> re.Pattern[str]:
    """What stands between two % is taken where it comes first, for good: to try more takes forever and finds none."""
    first, *others = ("".join("." if c == "_" else re.escape(c) for c in part) for part in pattern.split("%"))
    between = "".join(f"(?>.*?{part})" for part in others[:-1] if part)
    return re.compile(first + between + "".join(f".*{last}" for last in others[-1:]), re.DOTALL)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _has_header(one: Decoded, wanted: str) -> bool:
    """`name` is there, or `name=value` has these letters in it."""
    name, equals, value = wanted.partition("=")
    found = [text for header, text in one.headers if header == name.strip()]
    return bool(found) if not equals else any(value.strip().lower() in text.lower() for text in found)
