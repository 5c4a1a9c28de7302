"""SELECT without FROM: one row of what the expressions come to, such as SELECT 1 or SELECT UCASE('a')."""

from __future__ import annotations

from collections.abc import Sequence

from orion.errors import BindError
from orion.ksql import ast
from orion.ksql.analyse import open_structs
from orion.ksql.bind import bind
from orion.ksql.functions.declare import Kind as FunctionKind
from orion.ksql.projection import names_of, refuse_untyped
from orion.ksql.pull.dialects import Dialect, InDuckDb, InSpark
from orion.ksql.pull.duckdb import Foreign
from orion.ksql.pull.refusals import function_of_or_none, refuse_twice
from orion.ksql.scope import constants
from orion.ksql.walk import walk
from orion.plan.steps import Pull
from orion.schema import Column


def pull_constants(items: Sequence[ast.SelectItem]) -> Pull:
    """The plan: DuckDB computes the row where it can, else Spark."""
    for item in items:
        _refuse_sources(item.expression)
    opened = open_structs(list(items), constants())
    refuse_untyped(opened)
    names = names_of(opened, ())
    refuse_twice(names, opened)
    nodes = [item.expression for item in opened]
    columns = tuple(Column(name, bind(node, constants()).type) for name, node in zip(names, nodes, strict=True))
    spark = _select(nodes, names, InSpark())
    dialect = InDuckDb()
    try:
        duckdb = _select(nodes, names, dialect)
    except Foreign as missing:
        return Pull(columns, (), None, spark, why=f"DuckDB has no equal for {missing}")
    return Pull(columns, (), duckdb, spark, tuple(dialect.writer.parameters))


def _refuse_sources(node: ast.Expression) -> None:
    """What needs rows needs a FROM."""
    for inner in walk(node):
        kind = function_of_or_none(inner) if isinstance(inner, ast.Call) else None
        if isinstance(inner, ast.Star | ast.Over) or kind in (FunctionKind.AGGREGATE, FunctionKind.TABLE):
            what = f"{inner.name} needs" if isinstance(inner, ast.Call) else "* and OVER need"
            raise BindError(
                "FROM_MISSING", f"{what} rows, and there is no FROM.", span=inner.span, hint="Add FROM and a source."
            )


def _select(nodes: Sequence[ast.Expression], names: Sequence[str], dialect: Dialect) -> str:
    made = [
        f"{dialect.expression(node, constants())} AS {dialect.name(name)}"
        for node, name in zip(nodes, names, strict=True)
    ]
    return f"SELECT {', '.join(made)}"
