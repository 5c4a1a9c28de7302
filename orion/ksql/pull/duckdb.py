"""An expression in DuckDB's SQL, with the meaning that `bind` gives it in Spark's.

The type of every node is what `bind` says, so that nothing is lowered here that would not pass there. What DuckDB has
no equal for raises Foreign: the statement then runs on Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal as Number
from typing import assert_never

from orion.ksql import ast, coercion
from orion.ksql.bind import bind, choose, function_of, is_null
from orion.ksql.functions.declare import Kind
from orion.ksql.functions.signatures import common_type
from orion.ksql.limits import MAX_SQL
from orion.ksql.pull.moments import number_of
from orion.ksql.scope import Scope
from orion.plan.steps import Parameter
from orion.schema import (
    INTEGRAL,
    TEMPORAL,
    Array,
    Decimal,
    Map,
    Scalar,
    SqlType,
    Struct,
    duckdb_literal,
    duckdb_name,
    duckdb_type,
    is_numeric,
)

_TIMES_IN_MS = ("ROWTIME", "WINDOWSTART", "WINDOWEND")
_WHOLE = r"'\s*[+-]?[0-9]{1,18}\s*'"
_SHORT = 10**9  # a constant below it fits every whole type, so that another one of its kind can take its place


class Foreign(Exception):
    """DuckDB has no equal for something; the text says for what."""


@dataclass
class DuckDb:
    """Writes expressions, and collects the constants that the text leaves open."""

    parameters: list[Parameter] = field(default_factory=list)

    def text(self, node: ast.Expression, scope: Scope, *, condition: bool = False) -> str:
        """`condition`: only whether it is true matters, so that NULL may stand for false."""
        made = self._text(node, scope, condition=condition)
        if len(made) > MAX_SQL:
            raise Foreign("so large an expression")
        return made

    def _text(self, node: ast.Expression, scope: Scope, *, condition: bool) -> str:
        match node:
            case ast.Literal():
                return constant(node, bind(node, scope).type)
            case ast.Name():
                if node.source is None and node.name in scope.lambdas:
                    raise Foreign("lambdas")
                scope.resolve(node)
                return duckdb_name(node.name)
            case ast.Unary(op, operand):
                made = f"({op} {self.text(operand, scope)})"
                type_ = bind(node, scope).type
                return f"CAST({made} AS {duckdb_type(type_)})" if type_ in INTEGRAL else made
            case ast.Binary():
                return self._binary(node, scope, condition=condition)
            case ast.Between(operand, low, high, negated):
                inside = (
                    f"({self._compared('>=', operand, low, scope)} AND {self._compared('<=', operand, high, scope)})"
                )
                return f"(NOT coalesce({inside}, FALSE))" if negated else self._truth(inside, condition)
            case ast.In():
                return self._in(node, scope, condition=condition)
            case ast.Like(operand, pattern, escape, negated):
                mark = "" if escape is None else f" ESCAPE {duckdb_literal(escape)}"
                word = "NOT LIKE" if negated else "LIKE"
                return f"({self.text(operand, scope)} {word} {self.text(pattern, scope)}{mark})"
            case ast.IsNull(operand, negated):
                return f"({self.text(operand, scope)} IS {'NOT ' if negated else ''}NULL)"
            case ast.Case():
                return self._case(node, scope)
            case ast.Cast(operand, type_):
                if is_null(operand):
                    return f"CAST(NULL AS {duckdb_type(type_)})"
                return cast(self.text(operand, scope), bind(operand, scope).type, type_)
            case ast.Call():
                return self._call(node, scope)
            case ast.Deref(base, name):
                return f"struct_extract({self.text(base, scope)}, {duckdb_literal(name)})"
            case ast.Index(base, index):
                return self._index(base, index, scope)
            case ast.ArrayOf(items):
                type_ = bind(node, scope).type
                assert isinstance(type_, Array)
                return f"[{', '.join(self._as(i, type_.element, scope) for i in items)}]"
            case ast.StructOf(items):
                return f"{{{', '.join(f'{duckdb_literal(n)}: {self.text(i, scope)}' for n, i in items)}}}"
            case ast.MapOf() | ast.Lambda() | ast.Star() | ast.Over():
                raise Foreign(f"{type(node).__name__} expressions")
            case _:
                assert_never(node)

    # ---- operators ---------------------------------------------------------------------------------------------

    def _truth(self, text: str, condition: bool) -> str:
        return text if condition else f"coalesce({text}, FALSE)"

    def _binary(self, node: ast.Binary, scope: Scope, *, condition: bool) -> str:
        match node.op:
            case "AND" | "OR":
                sides = [self.text(n, scope, condition=condition) for n in (node.left, node.right)]
                return f"({sides[0]} {node.op} {sides[1]})"
            case "+" | "-" | "*" | "/" | "%" | "||":
                return self._arithmetic(node, scope)
            case _ if node.op.endswith("DISTINCT FROM"):
                if is_null(node.left) or is_null(node.right):
                    sides = ["NULL" if is_null(n) else self.text(n, scope) for n in (node.left, node.right)]
                    return f"({sides[0]} {node.op} {sides[1]})"
                return self._compared(node.op, node.left, node.right, scope)
            case _:
                return self._truth(self._compared(node.op, node.left, node.right, scope), condition)

    def _arithmetic(self, node: ast.Binary, scope: Scope) -> str:
        types = [bind(n, scope).type for n in (node.left, node.right)]
        left, right = (self.text(n, scope) for n in (node.left, node.right))
        if Scalar.STRING in types:
            return f"({left} || {right})"
        result = bind(node, scope).type
        if result is Scalar.DOUBLE:
            return f"(CAST({left} AS DOUBLE) {node.op} CAST({right} AS DOUBLE))"
        if isinstance(result, Decimal) and node.op in "/%":
            raise Foreign("division of DECIMAL")
        op = "//" if node.op == "/" else node.op
        # Whole numbers that leave their type wrap around in Spark; here they are an error, and then Spark is asked.
        return f"CAST(({left} {op} {right}) AS {duckdb_type(result)})"

    def _compared(self, op: str, left: ast.Expression, right: ast.Expression, scope: Scope) -> str:
        open_ = self._open(op, left, right, scope)
        if open_ is not None:
            return open_
        one, other = bind(left, scope), bind(right, scope)
        sides = [
            self._side(left, one.type, other.type, other.text, scope),
            self._side(right, other.type, one.type, one.text, scope),
        ]
        shared = common_type(one.type, other.type)
        if isinstance(shared, Array | Map | Struct) and (isinstance(shared, Map) or one.type != other.type):
            raise Foreign(f"comparing {shared}")
        return f"({sides[0]} {op} {sides[1]})"

    def _side(self, node: ast.Expression, own: SqlType, other: SqlType, beside: str, scope: Scope) -> str:
        if own is Scalar.STRING and isinstance(other, Scalar):
            in_ms = other is Scalar.BIGINT and beside.rpartition(".")[2] in _TIMES_IN_MS
            if other in TEMPORAL or in_ms:
                return moment(node, Scalar.TIMESTAMP if in_ms else other, raw=in_ms)
        return self.text(node, scope)

    def _open(self, op: str, left: ast.Expression, right: ast.Expression, scope: Scope) -> str | None:
        """A column equal to a constant of its own type: the constant is left open, for others to take its place."""
        if op != "=" or not isinstance(left, ast.Name | ast.Literal) or not isinstance(right, ast.Name | ast.Literal):
            return None
        name, value = (left, right) if isinstance(left, ast.Name) else (right, left)
        if not isinstance(name, ast.Name) or not isinstance(value, ast.Literal):
            return None
        column = bind(name, scope)
        text = column.type is Scalar.STRING and isinstance(value.value, str)
        whole = column.type in INTEGRAL and type(value.value) is int and 0 <= value.value < _SHORT
        if not (text or whole) or value.span == ast.NOWHERE:
            return None
        assert isinstance(value.value, str | int)
        self.parameters.append(Parameter(value.value, value.span.start))
        return f"({self.text(name, scope)} = ${len(self.parameters)})"

    def _in(self, node: ast.In, scope: Scope, *, condition: bool) -> str:
        nodes = (node.operand, *node.choices)
        shared = coercion.common(nodes, lambda n: bind(n, scope))
        if shared is None or isinstance(shared, Map):
            raise Foreign("IN over these types")
        values = [self._as(n, shared, scope) for n in nodes]
        text = f"({values[0]} IN ({', '.join(values[1:])}))"
        return f"(NOT coalesce({text}, FALSE))" if node.negated else self._truth(text, condition)

    def _as(self, node: ast.Expression, type_: SqlType, scope: Scope) -> str:
        """The node as the type that it and its neighbours share."""
        if is_null(node):
            return f"CAST(NULL AS {duckdb_type(type_)})"
        own = bind(node, scope).type
        if isinstance(node, ast.Literal) and isinstance(node.value, str) and own != type_:
            if isinstance(type_, Scalar) and type_ in TEMPORAL:
                return moment(node, type_)
            raise Foreign("text among other types")
        return implicit(self.text(node, scope), own, type_)

    def _case(self, node: ast.Case, scope: Scope) -> str:
        type_ = bind(node, scope).type
        branches = []
        for test, result in node.whens:
            if node.operand is None:
                condition = self.text(test, scope, condition=True)
            else:
                condition = self._compared("=", node.operand, test, scope)
            branches.append(f"WHEN {condition} THEN {self._as(result, type_, scope)}")
        if node.otherwise is not None:
            branches.append(f"ELSE {self._as(node.otherwise, type_, scope)}")
        return f"(CASE {' '.join(branches)} END)"

    def _index(self, base: ast.Expression, index: ast.Expression, scope: Scope) -> str:
        type_ = bind(base, scope).type
        if isinstance(type_, Array):
            return f"list_extract({self.text(base, scope)}, CAST({self.text(index, scope)} AS BIGINT))"
        assert isinstance(type_, Map)
        return f"map_extract_value({self.text(base, scope)}, {self._as(index, type_.key, scope)})"

    # ---- functions ---------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, scope: Scope) -> str:
        function = function_of(node)
        if function.kind is not Kind.SCALAR or any(isinstance(a, ast.Lambda) for a in node.args):
            raise Foreign(function.name)
        bound = [bind(a, scope) for a in node.args]
        chosen, ready, type_ = choose(function, node.args, bound, node.span)
        args = self.arguments(node.args, [r.type for r in ready], scope)
        text = chosen.in_duckdb(args)
        if text is None:
            raise Foreign(function.name)
        return f"CAST({text} AS {duckdb_type(type_)})" if isinstance(type_, Decimal) else f"({text})"

    def arguments(self, nodes: Sequence[ast.Expression], types: Sequence[SqlType], scope: Scope) -> list[str]:
        """What a function is given, as the types it takes."""
        return [self._as(node, type_, scope) for node, type_ in zip(nodes, types, strict=True)]


# ---- constants and casts -----------------------------------------------------------------------------------------


def constant(node: ast.Literal, type_: SqlType) -> str:
    match node.value:
        case None:
            return "NULL"
        case bool():
            return str(node.value).upper()
        case float():
            return f"CAST('{node.value!r}' AS DOUBLE)"
        case int() | Number():
            return f"CAST('{node.value:f}' AS {duckdb_type(type_)})" if isinstance(type_, Decimal) else str(node.value)
        case str():
            return duckdb_literal(node.value)
        case _:
            assert_never(node.value)


def moment(node: ast.Expression, type_: Scalar, *, raw: bool = False) -> str:
    """A text constant as a point in time; `raw`: as the milliseconds it is."""
    value = node.value if isinstance(node, ast.Literal) else None
    number = number_of(value, type_) if isinstance(value, str) else None
    if number is None:
        raise Foreign("text as a point in time")
    if raw or type_ is Scalar.TIME:
        return str(number)
    return f"make_timestamp({number * 1000})" if type_ is Scalar.TIMESTAMP else f"(DATE '1970-01-01' + {number})"


def implicit(text: str, source: SqlType, type_: SqlType) -> str:
    if source == type_:
        return text
    if is_numeric(source) and is_numeric(type_):
        return f"CAST({text} AS {duckdb_type(type_)})"
    raise Foreign(f"{source} as {type_}")


def cast(text: str, source: SqlType, type_: SqlType) -> str:
    """CAST(text AS type); what can't be read is NULL, and what Java writes in its own way is left to Spark."""
    wanted = duckdb_type(type_)
    match source, type_:
        case _ if source == type_:
            return text
        case ((Scalar.INTEGER | Scalar.BIGINT | Scalar.BOOLEAN | Decimal()), Scalar.STRING):
            return f"CAST({text} AS VARCHAR)"
        case Scalar.DATE, Scalar.STRING:
            # Of other years DuckDB writes 10000-01-01 and 0044-03-15 (BC): Spark is asked.
            plain = f"coalesce({text} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31', TRUE)"
            return f"(CASE WHEN {plain} THEN CAST({text} AS VARCHAR) ELSE error('a year of more digits') END)"
        case Scalar.STRING, Scalar.INTEGER | Scalar.BIGINT:
            return f"(CASE WHEN regexp_full_match({text}, {_WHOLE}) THEN TRY_CAST(trim({text}) AS {wanted}) END)"
        case Scalar.STRING, Scalar.BOOLEAN:
            return f"(lower({text}) = 'true')"
        case Scalar.DOUBLE, Scalar.INTEGER | Scalar.BIGINT:
            return f"CAST(trunc({text}) AS {wanted})"
        case Decimal(_, scale), Scalar.INTEGER | Scalar.BIGINT if scale:
            return f"CAST(trunc({text}) AS {wanted})"
        case ((Scalar.INTEGER | Scalar.BIGINT | Decimal()), _) if is_numeric(type_):
            return f"CAST({text} AS {wanted})"
        case (Scalar.TIMESTAMP, Scalar.DATE) | (Scalar.DATE, Scalar.TIMESTAMP):
            return f"CAST({text} AS {wanted})"
        case _:
            raise Foreign(f"CAST from {source} to {type_}")
