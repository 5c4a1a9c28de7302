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
from orion.web.postgres.lexer import Token, joined, words

_READ_ONLY = "25006"

# Everything else that stands in FROM with brackets may read a file or run SQL.
TABLE_FUNCTIONS = frozenset(
    """range generate_series generate_subscripts unnest repeat json_each json_tree pg_timezone_names summary
    duckdb_columns duckdb_constraints duckdb_databases duckdb_functions duckdb_indexes duckdb_keywords duckdb_schemas
    duckdb_tables duckdb_types duckdb_views pragma_table_info pragma_version""".split()
)
# Of the scalar ones, those that change something or run what they are given.
_SCALAR_FUNCTIONS = frozenset("nextval setval setseed write_log json_execute_serialized_sql".split())

_FILE = re.compile(r"[^\w$ -]")  # in a name: a path, an address or an ending


def check(cursor: duckdb.DuckDBPyConnection, statement: Sequence[Token]) -> frozenset[str]:
    """Refuse what isn't a query of tables; gives the names of its parameters."""
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
    for node in _nodes(parsed["statements"]):
        if node.get("type") == "TABLE_FUNCTION":
            name = str((node.get("function") or {}).get("function_name", "")).lower()
            if name not in TABLE_FUNCTIONS:
                raise Refused("42501", f"{name} can't be used here", hint="Only Orion's tables can be read.")
        elif node.get("type") == "BASE_TABLE":
            _check_table(cursor, str(node.get("table_name", "")))
        elif node.get("class") == "FUNCTION" and str(node.get("function_name", "")).lower() in _SCALAR_FUNCTIONS:
            raise Refused("42501", f"{node['function_name']} can't be used here: tables are only read")
        elif str(node.get("type", "")).endswith(("INSERT_QUERY_NODE", "UPDATE_QUERY_NODE", "DELETE_QUERY_NODE")):
            raise Refused(_READ_ONLY, "this can't be run here: tables are only read")


def _check_table(cursor: duckdb.DuckDBPyConnection, name: str) -> None:
    """A table that isn't there may be a file to DuckDB."""
    if not _FILE.search(name):
        return
    known = "SELECT 1 FROM (SELECT table_name FROM duckdb_tables() UNION ALL SELECT view_name FROM duckdb_views())"
    if not cursor.execute(f"{known} WHERE lower(table_name) = lower(?)", [name]).fetchall():
        raise Refused("42P01", f'there is no table "{name}"', hint="Files can't be read here.")


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Every node of a parsed statement, at any depth."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
