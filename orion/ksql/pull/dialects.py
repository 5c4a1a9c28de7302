"""How DuckDB and Spark say the parts of a query: names, tables, expressions, aggregates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from orion.errors import UnsupportedError
from orion.ksql import ast
from orion.ksql.aggregate_calls import chosen_call
from orion.ksql.bind import bind, function_of
from orion.ksql.pull.duckdb import DuckDb, Foreign
from orion.ksql.scope import Scope
from orion.plan.sources import Source
from orion.schema import Decimal, duckdb_name, duckdb_type, quote, spark_type


class Dialect(Protocol):
    def name(self, name: str) -> str: ...

    def table(self, at: int, source: Source) -> str:
        """The `at`-th of the sources that the query reads."""

    def expression(self, node: ast.Expression, scope: Scope, *, condition: bool = False) -> str: ...

    def aggregate(self, node: ast.Call, scope: Scope) -> str: ...

    def looked_up(self, table: str, conjunct: str) -> str:
        """The table's rows that fulfil a condition on its key, found before anything else is asked of them."""


@dataclass
class InDuckDb:
    writer: DuckDb = field(default_factory=DuckDb)

    def name(self, name: str) -> str:
        return duckdb_name(name)

    def table(self, at: int, source: Source) -> str:
        return duckdb_name(source.name)

    def expression(self, node: ast.Expression, scope: Scope, *, condition: bool = False) -> str:
        return self.writer.text(node, scope, condition=condition)

    def aggregate(self, node: ast.Call, scope: Scope) -> str:
        function = function_of(node)
        chosen, columns, constants, ready, type_ = chosen_call(function, node, scope)
        args = self.writer.arguments(columns, [r.type for r in ready], scope)
        text = None if constants else chosen.in_duckdb(args)
        if text is None:
            raise Foreign(function.name)
        return f"CAST({text} AS {duckdb_type(type_)})"

    def looked_up(self, table: str, conjunct: str) -> str:
        # DuckDB uses its index only where the condition stands alone.
        return f"(WITH __r AS MATERIALIZED (SELECT * FROM {table} WHERE {conjunct}) SELECT * FROM __r)"


@dataclass
class InSpark:
    def name(self, name: str) -> str:
        return quote(name)

    def table(self, at: int, source: Source) -> str:
        return f"__t{at}"

    def expression(self, node: ast.Expression, scope: Scope, *, condition: bool = False) -> str:
        return bind(node, scope).spark

    def aggregate(self, node: ast.Call, scope: Scope) -> str:
        function = function_of(node)
        chosen, _, constants, ready, type_ = chosen_call(function, node, scope)
        if chosen.spark is None:
            raise UnsupportedError(
                "AGGREGATE_NOT_HERE",
                f"{function.name} is not there for pull queries.",
                span=node.span,
                hint="Let a CREATE TABLE AS keep it, and pull from that.",
            )
        written = [bind(c, scope).spark for c in constants]
        text = chosen.lower([*(r.spark for r in ready), *written])
        # Spark's sums have more digits.
        return f"CAST({text} AS {spark_type(type_)})" if isinstance(type_, Decimal) else text

    def looked_up(self, table: str, conjunct: str) -> str:
        return f"(SELECT * FROM {table} WHERE {conjunct})"
