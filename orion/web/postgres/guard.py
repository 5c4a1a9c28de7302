"""What may reach DuckDB: statements that read the tables, and nothing that reads files or changes anything.

Two locks. Here the statement is looked at as DuckDB has parsed it: it must be a query, whose tables are tables and
whose table functions are among those known to be harmless. And it runs in a read-only transaction (`reading.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb

from orion.web.postgres.errors import Refused
from orion.web.postgres.lexer import Sort, Token, joined, words
from orion.web.postgres.public_views import DATABASE, SCHEMA

_READ_ONLY = "25006"

# Everything else that stands in FROM with brackets may read a file, run SQL, or tell of what lies behind the views.
TABLE_FUNCTIONS = frozenset(
    "range generate_series generate_subscripts unnest repeat json_each json_tree pg_timezone_names summary".split()
)
# Of the scalar ones, those that change something, run or bind what they are given, or tell how DuckDB is set up.
_SCALAR_FUNCTIONS = frozenset(
    "nextval setval setseed write_log json_execute_serialized_sql json_serialize_plan getenv getvariable".split()
)
_PLACES = ((), (SCHEMA,), (DATABASE,), (DATABASE, SCHEMA), ("pg_catalog",), ("information_schema",))
_OF_DUCKDB = re.compile(r"^(duckdb|sqlite|pragma)_", re.IGNORECASE)  # views of its own, over all databases

MAX_STATEMENT = 1 << 20  # characters
_MAX_DEPTH = 500  # of brackets in each other

_FILE = re.compile(r"[^\w$ -]")  # in a name: a path, an address or an ending


def measure(text: str) -> None:
    """Refuse a text that is too long to be cut into words; clients send parameters apart."""
    if len(text) > MAX_STATEMENT:
        raise Refused("54000", f"a statement has at most {MAX_STATEMENT} characters here, and this has {len(text)}")


def _measure_depth(statement: Sequence[Token]) -> None:
    depth = 0
    for token in statement:
        if token.sort is Sort.SIGN:
            depth += token.text in "([{" and 1
            depth -= token.text in ")]}" and 1
        if depth > _MAX_DEPTH:
            raise Refused("54001", f"brackets stand in each other more than {_MAX_DEPTH} deep")


def check(cursor: duckdb.DuckDBPyConnection, statement: Sequence[Token]) -> frozenset[str]:
    """Refuse what isn't a query of tables; gives the names of its parameters."""
    _measure_depth(statement)
    sql = joined(statement)
    found = cursor.extract_statements(sql)
    if len(found) != 1:
        raise Refused("42601", "this is more than one statement to DuckDB", hint="PIVOT isn't run here.")
    kind = found[0].type
    if kind is duckdb.StatementType.EXPLAIN:
        check(cursor, _explained(statement))
    elif kind is duckdb.StatementType.SELECT:
        _check_tree(cursor, sql)
    else:
        name = words(statement)[0].text.upper()
        raise Refused(
            _READ_ONLY, f"{name} can't be run here: tables are only read", hint="Change them with Orion's SQL."
        )
    return frozenset(found[0].named_parameters)


def _explained(statement: Sequence[Token]) -> Sequence[Token]:
    """What EXPLAIN is about: behind ANALYZE it would run."""
    rest = words(statement)[1:]
    if rest and rest[0].text == "(":
        rest = rest[next(at for at, token in enumerate(rest) if token.text == ")") + 1 :]
    while rest and rest[0].word in ("analyze", "verbose"):
        rest = rest[1:]
    first = next((at for at, token in enumerate(statement) if rest and token is rest[0]), len(statement))
    return statement[first:]


def _check_tree(cursor: duckdb.DuckDBPyConnection, sql: str) -> None:
    ((tree,),) = cursor.execute("SELECT json_serialize_sql(CAST(? AS VARCHAR))", [sql]).fetchall()
    parsed = json.loads(tree)
    if parsed.get("error"):
        raise Refused(_READ_ONLY, f"this can't be run here: {parsed.get('error_message', 'no query')}")
    for node in walk_nodes(parsed["statements"]):
        _check_node(cursor, node)


def _check_node(cursor: duckdb.DuckDBPyConnection, node: dict[str, Any]) -> None:
    kind = str(node.get("type", ""))
    if kind == "TABLE_FUNCTION":
        name = str((node.get("function") or {}).get("function_name", "")).lower()
        if name not in TABLE_FUNCTIONS:
            raise Refused("42501", f"{name} can't be used here", hint="Only Orion's tables can be read.")
    elif kind == "BASE_TABLE":
        _check_table(cursor, _place(node), str(node.get("table_name", "")))
    elif kind == "SHOW_REF" and node.get("show_type") in ("SHOW_SPECIAL", "SHOW_FROM"):
        raise Refused("42501", "this can't be shown here", hint="information_schema.tables has all tables.")
    elif node.get("class") == "FUNCTION":
        name = str(node.get("function_name", "")).lower()
        if name in _SCALAR_FUNCTIONS or name.startswith("__internal") or _place(node) not in _PLACES:
            raise Refused("42501", f"{name} can't be used here: tables are only read")
    elif kind.endswith(("INSERT_QUERY_NODE", "UPDATE_QUERY_NODE", "DELETE_QUERY_NODE")):
        raise Refused(_READ_ONLY, "this can't be run here: tables are only read")


def _place(node: dict[str, Any]) -> tuple[str, ...]:
    """The database and schema that stand before a name."""
    path = (node.get("qualified_name") or {}).get("path") or ()
    return tuple(str(part).lower() for part in path[:-1] if part)


def _check_table(cursor: duckdb.DuckDBPyConnection, place: tuple[str, ...], name: str) -> None:
    """A table that isn't there may be a file to DuckDB, and `main.csv` one too."""
    if place not in _PLACES or _OF_DUCKDB.match(name):
        raise Refused("42P01", f'there is no table "{".".join((*place, name))}"')
    if not place and not _FILE.search(name):
        return
    known = "SELECT 1 FROM (SELECT table_name FROM duckdb_tables() UNION ALL SELECT view_name FROM duckdb_views())"
    if not cursor.execute(f"{known} WHERE lower(table_name) = lower(?)", [name]).fetchall():
        raise Refused("42P01", f'there is no table "{name}"', hint="Files can't be read here.")


def walk_nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Every node of a parsed statement, at any depth."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
