"""Tokens into trees: a cursor with the few moves every statement needs, and the expression grammar on top of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal as Number
from typing import NoReturn, TypeGuard, TypeVar

from orion.errors import ParseError, Span, UnsupportedError, hint_nearest
from orion.ksql import ast, limits
from orion.ksql.python_functions import declared
from orion.ksql.tokens import Kind, Token, tokenize
from orion.plan.definitions import PythonFunction
from orion.schema import Array, Decimal, Field, Map, Scalar, SqlType, Struct

T = TypeVar("T")

# Words that end an expression or an alias, and so can't be a bare name.
RESERVED = frozenset(
    (
        "SELECT FROM WHERE GROUP BY HAVING WINDOW PARTITION EMIT LIMIT AS ON WITHIN JOIN INNER LEFT RIGHT FULL OUTER "
        "CROSS AND OR NOT IN LIKE BETWEEN IS NULL TRUE FALSE CASE WHEN THEN ELSE END CAST INTO VALUES WITH ESCAPE "
        "UNION CREATE INSERT DROP"
    ).split()
)

TYPE_NAMES: dict[str, Scalar] = {
    "BOOLEAN": Scalar.BOOLEAN,
    "INT": Scalar.INTEGER,
    "INTEGER": Scalar.INTEGER,
    "BIGINT": Scalar.BIGINT,
    "DOUBLE": Scalar.DOUBLE,
    "STRING": Scalar.STRING,
    "VARCHAR": Scalar.STRING,
    "BYTES": Scalar.BYTES,
    "DATE": Scalar.DATE,
    "TIME": Scalar.TIME,
    "TIMESTAMP": Scalar.TIMESTAMP,
}

UNITS_MS = {"MILLISECOND": 1, "SECOND": 1_000, "MINUTE": 60_000, "HOUR": 3_600_000, "DAY": 86_400_000}

# Functions whose first argument is the bare name of a unit of time.
_WITH_UNIT = ("DATEADD", "DATESUB", "TIMEADD", "TIMESUB", "TIMESTAMPADD", "TIMESTAMPSUB")

COMPARISONS = ("=", "<>", "!=", "<=", ">=", "<", ">")

# How tightly operators bind.
_NONE, _OR, _AND, _NOT, _TEST, _SUM, _PRODUCT, _SIGN = range(8)
_LEVELS = {
    **dict.fromkeys(COMPARISONS, _TEST),
    **dict.fromkeys(("+", "-", "||"), _SUM),
    **dict.fromkeys(("*", "/", "%"), _PRODUCT),
}
_WORD_LEVELS = {"OR": _OR, "AND": _AND, **dict.fromkeys(("IS", "BETWEEN", "IN", "LIKE"), _TEST)}
# Chains that mean the same in pairs are taken so when they are longer than anybody writes by hand.
_IN_PAIRS = ("AND", "OR", "+", "*", "||")
_LEFT_TO_RIGHT = 64
_MOST_DIGITS = 40


def _is_number(value: object) -> TypeGuard[int | float | Number]:
    return isinstance(value, int | float | Number) and not isinstance(value, bool)


class Parser:
    """A cursor over the tokens of one script."""

    def __init__(
        self,
        text: str,
        types: Mapping[str, SqlType] | None = None,
        functions: Mapping[str, PythonFunction] | None = None,
    ) -> None:
        """`types` and `functions` are those that people have added to the language's own."""
        self.text = text
        self.types = types or {}
        self.functions = functions or {}
        self.tokens = tokenize(text)
        self.at = 0
        self.depth = 0  # how many expressions and types stand around the cursor
        self.queries = 0  # and how many queries in FROM

    # ---- moves -------------------------------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def peek(self, ahead: int = 1) -> Token:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def advance(self) -> Token:
        token = self.token
        if token.kind is not Kind.END:
            self.at += 1
        return token

    def is_word(self, *words: str) -> bool:
        return self.token.is_word(*words)

    def is_symbol(self, *symbols: str) -> bool:
        return self.token.is_symbol(*symbols)

    def accept(self, *words: str) -> bool:
        """Take these words if all of them come next."""
        if not self.token.is_word(words[0]):
            return False
        ahead = self.tokens[self.at : self.at + len(words)]
        if [t.text for t in ahead if t.kind is Kind.WORD] != list(words):
            return False
        self.at += len(words)
        return True

    def accept_symbol(self, symbol: str) -> bool:
        if not self.is_symbol(symbol):
            return False
        self.at += 1
        return True

    def expect(self, *words: str) -> None:
        for word in words:
            if not self.accept(word):
                self.fail(word)

    def expect_symbol(self, symbol: str) -> Token:
        if not self.is_symbol(symbol):
            self.fail(f"'{symbol}'")
        return self.advance()

    def fail(self, expected: str, *words: str) -> NoReturn:
        """Refuse the token at the cursor. `words` are what it may be a misspelling of."""
        token = self.token
        hint = hint_nearest(token.raw, list(words or (expected,))) if token.kind is Kind.WORD else None
        raise ParseError(
            "SYNTAX", f"Expected {expected}, found {token.shown}.", span=token.span, text=self.text, hint=hint
        )

    def span_from(self, start: int) -> Span:
        return Span(self.tokens[start].span.start, self.tokens[max(start, self.at - 1)].span.end)

    # ---- small pieces ------------------------------------------------------------------------------------------

    def identifier(self, what: str = "a name") -> str:
        token = self.token
        if token.kind is Kind.QUOTED or (token.kind is Kind.WORD and token.text not in RESERVED):
            return self.advance().text
        self.fail(what)

    def string(self, what: str = "a quoted string") -> str:
        if self.token.kind is not Kind.STRING:
            self.fail(what)
        return self.advance().text

    def string_or_name(self, what: str) -> str:
        """'name', `name` or name; a bare one is in upper case."""
        return self.advance().text if self.token.kind is Kind.STRING else self.identifier(what)

    def integer(self, what: str = "a whole number") -> int:
        if self.token.kind is not Kind.INTEGER:
            self.fail(what)
        return self._whole()

    def _whole(self) -> int:
        token = self.advance()
        if len(token.text.lstrip("0")) > _MOST_DIGITS:  # beyond any type, and far beyond it Python reads none
            raise ParseError("NUMBER_TOO_LARGE", f"{token.shown} is too large.", span=token.span, text=self.text)
        return int(token.text)

    def separated(self, item: Callable[[], T]) -> tuple[T, ...]:
        found = [item()]
        while self.accept_symbol(","):
            found.append(item())
        return tuple(found)

    def duration_ms(self) -> int:
        """`5 MINUTES` in milliseconds."""
        count = self.integer("a number of time units")
        token = self.token
        unit = UNITS_MS.get(token.text.removesuffix("S")) if token.kind is Kind.WORD else None
        if unit is None:
            units = [f"{name}S" for name in UNITS_MS]
            self.fail(f"a time unit ({', '.join(units[:-1])} or {units[-1]})", *units)
        self.advance()
        return count * unit

    def properties(self) -> dict[str, str]:
        """`WITH (NAME = value, 'any.name' = value)`; names come back in upper case unless quoted."""
        self.expect_symbol("(")
        found: dict[str, str] = {}
        if not self.is_symbol(")"):
            for name, value in self.separated(self._property):
                found[name] = value
        self.expect_symbol(")")
        return found

    def _property(self) -> tuple[str, str]:
        name = self.advance().text if self.token.kind is Kind.STRING else self.identifier("a property's name")
        self.expect_symbol("=")
        negative = self.accept_symbol("-")
        token = self.token
        if token.kind in (Kind.STRING, Kind.INTEGER, Kind.DECIMAL) or self.is_word("TRUE", "FALSE"):
            return name, ("-" if negative else "") + self.advance().text
        self.fail("a property's value (a quoted string, a number, TRUE or FALSE)")

    # ---- types -------------------------------------------------------------------------------------------------

    def type(self) -> SqlType:
        start = self.at
        found = self._nested_type()
        if self.types:  # without them a type is no larger than its text
            limits.refuse_large_type(found, self.span_from(start), self.text)
        return found

    def _nested_type(self) -> SqlType:
        self.deepen()
        found = self._type()
        self.depth -= 1
        return found

    def _type(self) -> SqlType:
        token = self.token
        name = self.identifier("a type")
        match name:
            case "DECIMAL" | "DEC":
                return self._decimal(token)
            case "ARRAY":
                self.expect_symbol("<")
                element = self._nested_type()
                self.expect_symbol(">")
                return Array(element)
            case "MAP":
                self.expect_symbol("<")
                key = self._nested_type()
                self.expect_symbol(",")
                value = self._nested_type()
                self.expect_symbol(">")
                return Map(key, value)
            case "STRUCT":
                return self._struct()
            case _ if name in TYPE_NAMES:
                # VARCHAR(255), and VARCHAR(STRING) as DESCRIBE writes it: as in ksqlDB it has no effect.
                if self.accept_symbol("("):
                    if not self.accept("STRING"):
                        self.integer("a length")
                    self.expect_symbol(")")
                return TYPE_NAMES[name]
            case _ if name in self.types:
                return self.types[name]
        known = [*TYPE_NAMES, "DECIMAL", "ARRAY", "MAP", "STRUCT", *self.types]
        raise ParseError(
            "UNKNOWN_TYPE",
            f"There is no type {name}.",
            span=token.span,
            text=self.text,
            hint=hint_nearest(name, known) or f"Types are {', '.join(known)}.",
        )

    def _decimal(self, token: Token) -> Decimal:
        self.expect_symbol("(")
        precision = self.integer("the precision")
        scale = self.integer("the scale") if self.accept_symbol(",") else 0
        self.expect_symbol(")")
        if not (0 < precision <= 38 and scale <= precision):
            raise ParseError(
                "INVALID_DECIMAL",
                f"DECIMAL({precision}, {scale}) can't be.",
                span=token.span,
                text=self.text,
                hint="The precision is 1 to 38 and the scale at most the precision.",
            )
        return Decimal(precision, scale)

    def _struct(self) -> Struct:
        if self.accept_symbol("<>"):
            return Struct(())
        self.expect_symbol("<")
        fields = () if self.is_symbol(">") else self.separated(self._field)
        self.expect_symbol(">")
        return Struct(fields)

    def _field(self) -> Field:
        return Field(self.identifier("a field's name"), self._nested_type())

    # ---- expressions: operators by how tightly they bind --------------------------------------------------------

    def deepen(self) -> None:
        """Go one level into what can be nested; whoever does so comes back by `self.depth -= 1`."""
        self.depth += 1
        if self.depth > limits.MAX_DEPTH:
            raise limits.too_deep(self.token.span, self.text)

    def expression(self) -> ast.Expression:
        start = self.at
        self.deepen()
        node = self._operators(_OR)
        self.depth -= 1
        if self.depth == 0 and self.at - start > limits.MAX_DEPTH:  # a shorter one can't be deeper
            limits.refuse_deep(node, self.text)
        return node

    def _operators(self, least: int) -> ast.Expression:
        """An operand and the operators behind it that bind at least as tightly as `least`."""
        start = self.at
        left = self._operand(least)
        while (level := self._level()) >= least:
            left = self._test(left, start) if level == _TEST else self._chain(left, level, start)
        return left

    def _level(self) -> int:
        token = self.token
        if token.kind is Kind.SYMBOL:
            return _LEVELS.get(token.text, _NONE)
        if token.kind is not Kind.WORD:
            return _NONE
        if token.text == "NOT":
            return _TEST if self.peek().is_word("BETWEEN", "IN", "LIKE") else _NONE
        return _WORD_LEVELS.get(token.text, _NONE)

    def _operand(self, least: int) -> ast.Expression:
        start = self.at
        if least <= _NOT and self.is_word("NOT"):
            self.advance()
            self.deepen()
            operand = self._operators(_NOT)
            self.depth -= 1
            return ast.Unary("NOT", operand, span=self.span_from(start))
        if not self.is_symbol("-", "+"):
            return self._postfix()
        op = self.advance().text
        self.deepen()
        operand = self._operand(_SIGN)
        self.depth -= 1
        if op == "-" and isinstance(operand, ast.Literal) and _is_number(operand.value):
            return ast.Literal(-operand.value, span=self.span_from(start))
        return ast.Unary(op, operand, span=self.span_from(start))

    def _chain(self, first: ast.Expression, level: int, start: int) -> ast.Expression:
        """Operands with operators of one level between them: a OR b OR c, a + b - c."""
        terms, ops, places = [first], [], [(start, self.at)]
        while self._level() == level:
            ops.append(self.advance().text)
            at = self.at
            terms.append(self._operators(level + 1))
            places.append((at, self.at))
        if len(terms) > _LEFT_TO_RIGHT and len(set(ops)) == 1 and ops[0] in _IN_PAIRS:
            return self._paired(ops[0], terms, places)
        left = terms[0]
        for op, right, (_, end) in zip(ops, terms[1:], places[1:], strict=True):
            left = ast.Binary(op, left, right, span=self._span(start, end))
        return left

    def _paired(self, op: str, terms: list[ast.Expression], places: list[tuple[int, int]]) -> ast.Expression:
        """A long chain as a tree of even height: taken from left to right it would be as deep as it is long."""
        while len(terms) > 1:
            spans = [(one[0], two[1]) for one, two in zip(places[::2], places[1::2], strict=False)]
            pairs: list[ast.Expression] = [
                ast.Binary(op, one, two, span=self._span(*place))
                for one, two, place in zip(terms[::2], terms[1::2], spans, strict=False)
            ]
            terms, places = pairs + terms[2 * len(pairs) :], spans + places[2 * len(pairs) :]
        return terms[0]

    def _span(self, start: int, end: int) -> Span:
        return Span(self.tokens[start].span.start, self.tokens[end - 1].span.end)

    def _test(self, left: ast.Expression, start: int) -> ast.Expression:
        """A comparison, IS, BETWEEN, IN or LIKE."""
        if self.token.kind is Kind.SYMBOL:
            op = self.advance().text.replace("!=", "<>")
            return ast.Binary(op, left, self._operators(_SUM), span=self.span_from(start))
        return self._is(left, start) if self.is_word("IS") else self._membership(left, start)

    def _is(self, left: ast.Expression, start: int) -> ast.Expression:
        self.expect("IS")
        negated = self.accept("NOT")
        if self.accept("DISTINCT", "FROM"):
            op = "IS NOT DISTINCT FROM" if negated else "IS DISTINCT FROM"
            return ast.Binary(op, left, self._operators(_SUM), span=self.span_from(start))
        self.expect("NULL")
        return ast.IsNull(left, negated, span=self.span_from(start))

    def _membership(self, left: ast.Expression, start: int) -> ast.Expression:
        negated = self.accept("NOT")
        if self.accept("BETWEEN"):
            low = self._operators(_SUM)
            self.expect("AND")
            return ast.Between(left, low, self._operators(_SUM), negated, span=self.span_from(start))
        if self.accept("IN"):
            self.expect_symbol("(")
            choices = self.separated(self.expression)
            self.expect_symbol(")")
            return ast.In(left, choices, negated, span=self.span_from(start))
        self.expect("LIKE")
        pattern = self._operators(_SUM)
        escape = self.string("the escape character") if self.accept("ESCAPE") else None
        return ast.Like(left, pattern, escape, negated, span=self.span_from(start))

    def _postfix(self) -> ast.Expression:
        start = self.at
        base = self._primary()
        while True:
            if self.accept_symbol("->"):
                field = "*" if self.accept_symbol("*") else self.identifier("a field's name")
                base = ast.Deref(base, field, span=self.span_from(start))
            elif self.accept_symbol("["):
                index = self.expression()
                self.expect_symbol("]")
                base = ast.Index(base, index, span=self.span_from(start))
            else:
                return base

    def _primary(self) -> ast.Expression:
        start, token = self.at, self.token
        match token.kind:
            case Kind.INTEGER:
                return ast.Literal(self._whole(), span=token.span)
            case Kind.DECIMAL:
                return ast.Literal(Number(self.advance().text), span=token.span)
            case Kind.FLOAT:
                return ast.Literal(float(self.advance().text), span=token.span)
            case Kind.STRING:
                return ast.Literal(self.advance().text, span=token.span)
            case Kind.VARIABLE:
                raise UnsupportedError(
                    "UNDEFINED_VARIABLE", f"{token.raw} is not defined.", span=token.span, text=self.text
                )
            case _:
                pass
        if self.accept_symbol("("):
            return self._parenthesis(start)
        if token.kind is Kind.WORD:
            special = self._special(start)
            if special is not None:
                return special
        return self._name(start)

    def _parenthesis(self, start: int) -> ast.Expression:
        at = self.at
        if self._is_lambda_list():
            params = self.separated(lambda: self.identifier("a parameter"))
            self.expect_symbol(")")
            self.expect_symbol("=>")
            return ast.Lambda(params, self.expression(), span=self.span_from(start))
        self.at = at
        inner = self.expression()
        self.expect_symbol(")")
        return inner

    def _is_lambda_list(self) -> bool:
        at = self.at
        while self.tokens[at].kind in (Kind.WORD, Kind.QUOTED) or self.tokens[at].is_symbol(","):
            at += 1
        return self.tokens[at].is_symbol(")") and self.tokens[at + 1].is_symbol("=>")

    def _special(self, start: int) -> ast.Expression | None:
        """What begins with a word of its own: constants, CASE, CAST and the constructors."""
        if self.accept("NULL"):
            return ast.Literal(None, span=self.span_from(start))
        if self.is_word("TRUE", "FALSE"):
            return ast.Literal(self.advance().text == "TRUE", span=self.span_from(start))
        if self.accept("CASE"):
            return self._case(start)
        following = self.peek()
        if self.is_word("CAST") and following.is_symbol("("):
            self.at += 2
            operand = self.expression()
            self.expect("AS")
            type_ = self.type()
            self.expect_symbol(")")
            return ast.Cast(operand, type_, span=self.span_from(start))
        if self.is_word("ARRAY") and following.is_symbol("["):
            self.at += 2
            items = () if self.is_symbol("]") else self.separated(self.expression)
            self.expect_symbol("]")
            return ast.ArrayOf(items, span=self.span_from(start))
        if self.is_word("MAP", "STRUCT") and following.is_symbol("("):
            return self._constructor(start)
        return None

    def _constructor(self, start: int) -> ast.Expression:
        kind = self.advance().text
        self.expect_symbol("(")
        if kind == "MAP":
            pairs = () if self.is_symbol(")") else self.separated(self._map_entry)
            self.expect_symbol(")")
            return ast.MapOf(pairs, span=self.span_from(start))
        fields = () if self.is_symbol(")") else self.separated(self._struct_entry)
        self.expect_symbol(")")
        return ast.StructOf(fields, span=self.span_from(start))

    def _map_entry(self) -> tuple[ast.Expression, ast.Expression]:
        key = self.expression()
        self.expect_symbol(":=")
        return key, self.expression()

    def _struct_entry(self) -> tuple[str, ast.Expression]:
        name = self.identifier("a field's name")
        self.expect_symbol(":=")
        return name, self.expression()

    def _case(self, start: int) -> ast.Expression:
        operand = None if self.is_word("WHEN") else self.expression()
        whens: list[tuple[ast.Expression, ast.Expression]] = []
        while self.accept("WHEN"):
            condition = self.expression()
            self.expect("THEN")
            whens.append((condition, self.expression()))
        if not whens:
            self.fail("WHEN")
        otherwise = self.expression() if self.accept("ELSE") else None
        self.expect("END")
        return ast.Case(operand, tuple(whens), otherwise, span=self.span_from(start))

    def _name(self, start: int) -> ast.Expression:
        name = self.identifier("an expression")
        if self.accept_symbol("=>"):
            return ast.Lambda((name,), self.expression(), span=self.span_from(start))
        if self.accept_symbol("("):
            return self._call(name, start)
        if self.accept_symbol("."):
            if self.accept_symbol("*"):
                return ast.Star(name, span=self.span_from(start))
            return ast.Name(self.identifier("a column"), name, span=self.span_from(start))
        return ast.Name(name, span=self.span_from(start))

    def _call(self, name: str, start: int) -> ast.Expression:
        args: tuple[ast.Expression, ...] = ()
        if self.is_symbol("*"):
            star = self.advance()
            args = (ast.Star(span=star.span),)
        elif not self.is_symbol(")"):
            args = self.separated(self.expression)
        if name in _WITH_UNIT and args and isinstance(args[0], ast.Name):
            args = (ast.Literal(args[0].name, span=args[0].span), *args[1:])
        self.expect_symbol(")")
        own = self.functions.get(name)
        call = ast.Call(name, args, declared(own) if own else None, span=self.span_from(start))
        return self._over(call, start) if self.is_word("OVER") and self.peek().is_symbol("(") else call

    def _over(self, call: ast.Call, start: int) -> ast.Expression:
        """`OVER ([PARTITION BY ...] [ORDER BY ...] [ROWS ...])` behind a call."""
        self.at += 2
        partition_by = self.separated(self.expression) if self.accept("PARTITION", "BY") else ()
        order_by = self.order_by() if self.accept("ORDER", "BY") else ()
        frame = self._frame() if self.is_word("ROWS", "RANGE") else None
        self.expect_symbol(")")
        return ast.Over(call, partition_by, order_by, frame, span=self.span_from(start))

    def _frame(self) -> str:
        words = [self.advance().text]
        if self.accept("BETWEEN"):
            first = self._frame_bound()
            self.expect("AND")
            return f"{words[0]} BETWEEN {first} AND {self._frame_bound()}"
        return f"{words[0]} {self._frame_bound()}"

    def _frame_bound(self) -> str:
        if self.accept("CURRENT", "ROW"):
            return "CURRENT ROW"
        far = "UNBOUNDED" if self.accept("UNBOUNDED") else str(self.integer("UNBOUNDED, CURRENT ROW or a number"))
        if not self.is_word("PRECEDING", "FOLLOWING"):
            self.fail("PRECEDING or FOLLOWING", "PRECEDING", "FOLLOWING")
        return f"{far} {self.advance().text}"

    def order_by(self) -> tuple[ast.OrderItem, ...]:
        """What stands behind ORDER BY."""
        return self.separated(self._order_item)

    def _order_item(self) -> ast.OrderItem:
        start = self.at
        expression = self.expression()
        descending = self.accept("DESC") or (self.accept("ASC") and False)
        nulls_first = True if self.accept("NULLS", "FIRST") else False if self.accept("NULLS", "LAST") else None
        return ast.OrderItem(expression, descending, nulls_first, span=self.span_from(start))
