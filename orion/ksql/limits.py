"""How much one statement may be: its length, how deep it is nested, how much SQL it becomes.

Whatever is longer or deeper is refused by a code before it costs time or a stack. The depth is what everybody on the
way bears: the compiler, the journal's JSON, Spark's parser with an ordinary stack, and DuckDB, which stops at a
thousand expressions inside each other, of which one in SQL may become four.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from orion.errors import BindError, ParseError, Span, SqlError
from orion.ksql import ast
from orion.schema import Array, Map, SqlType, Struct

MAX_STATEMENT = 1_000_000  # characters, once variables are replaced
MAX_DEPTH = 200  # of expressions and types inside each other
MAX_QUERIES = 32  # in FROM, inside each other
MAX_COLUMNS = 3_000  # of a source or a SELECT list
MAX_FIELDS = 10_000  # of one type, with those of the named types inside of it
MAX_SQL = 4_000_000  # characters of Spark SQL that one expression becomes
# Python's own limit of 1,000 calls is less than the compiler needs for this depth. An ordinary thread's stack bears
# nearly twice as many as these where each of them goes through C, and far more elsewhere.
_CALLS = 3_000

_SPLIT = "Give inner parts names: in a query in FROM, or in a stream or table of their own."


def allow_depth() -> None:
    """Let Python call as deep as the compiler goes."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _CALLS))


def refuse_long(text: str) -> None:
    if len(text) > MAX_STATEMENT:
        raise ParseError(
            "STATEMENT_TOO_LARGE",
            f"The statement has {len(text):,} characters, and {MAX_STATEMENT:,} are the most.",
            hint="Cut it into several; many rows go into a topic by a producer or by /inserts-stream.",
        )


def too_deep(span: Span | None, text: str | None) -> SqlError:
    return ParseError(
        "TOO_DEEP", f"This is nested more than {MAX_DEPTH} levels deep.", span=span, text=text, hint=_SPLIT
    )


def too_many_queries(span: Span, text: str) -> SqlError:
    message = f"Queries in FROM are nested more than {MAX_QUERIES} levels deep."
    return ParseError("TOO_DEEP", message, span=span, text=text, hint="Make the inner ones a stream or table.")


def refuse_wide(columns: int, span: Span) -> None:
    if columns > MAX_COLUMNS:
        message = f"These are {columns:,} columns, and {MAX_COLUMNS:,} are the most."
        raise BindError("TOO_MANY_COLUMNS", message, span=span, hint="Put what belongs together into a STRUCT or MAP.")


def refuse_large_type(type_: SqlType, span: Span, text: str) -> None:
    """Refuse a type that is too deep or too large once the types that people have named are put in."""
    level, size = [type_], 0
    for _ in range(MAX_DEPTH):
        size += len(level)
        level = [inner for outer in level for inner in _inside_type(outer)]
        if not level:
            return
        if size + len(level) > MAX_FIELDS:
            message = f"The type has more than {MAX_FIELDS:,} fields, those of its named types included."
            raise ParseError("TYPE_TOO_LARGE", message, span=span, text=text, hint="Use fewer, or a MAP.")
    raise too_deep(span, text)


def _inside_type(type_: SqlType) -> tuple[SqlType, ...]:
    match type_:
        case Array(element):
            return (element,)
        case Map(key, value):
            return key, value
        case Struct(fields):
            return tuple(f.type for f in fields)
        case _:
            return ()


def refuse_deep(node: ast.Expression, text: str) -> None:
    """Refuse a tree that is higher than MAX_DEPTH; found level by level, so that this needs no stack itself."""
    level: list[ast.Node] = [node]
    for _ in range(MAX_DEPTH):
        level = [child for inner in level for child in _children(inner)]
        if not level:
            return
    raise too_deep(level[0].span, text)


def _children(node: ast.Node) -> Iterator[ast.Node]:
    waiting = ast.held(node)
    while waiting:
        value = waiting.pop()
        if isinstance(value, ast.Node):
            yield value
        elif isinstance(value, tuple):
            waiting.extend(value)


def refuse_large(spark: str, span: Span) -> None:
    if len(spark) > MAX_SQL:
        raise BindError(
            "TOO_COMPLEX",
            "What is inside of this stands in it more than once when it is computed, and with that it grows too large.",
            span=span,
            hint=_SPLIT,
        )
