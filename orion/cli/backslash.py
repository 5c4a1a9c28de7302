"""Commands of the prompt that are no SQL: `\\d`, `\\x` and their like, as psql has them."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import typer

from orion.cli import grid, output
from orion.cli.results import Results
from orion.cli.shell import Shell
from orion.errors import UserError

LEAVE = ("exit", "quit", "\\q")
HELP = ("help", "?", "\\?", "\\h")

# What is typed, what it does; in the order of the help.
_HELP = (
    ("\\d", "list streams and tables"),
    ("\\d NAME", "describe one; \\d+ NAME with topic, queries, statement"),
    ("\\dt, \\ds", "list tables, streams"),
    ("\\dq, \\dc, \\df", "list queries, connectors, functions"),
    ("\\x [on|off|auto]", "rows as records; auto: where a table is too wide"),
    ("\\o [FILE]", "results to a .csv, .json or .parquet file; alone: back here"),
    ("\\i FILE", "run a script"),
    ("help, ?", "this list"),
    ("exit, quit, \\q", "leave, as Ctrl-D does"),
)
_STATEMENTS = (
    "SELECT * FROM name;                the rows as they are now",
    "SELECT * FROM name EMIT CHANGES;   the rows as they come, until Ctrl-C",
    "PRINT 'topic' FROM BEGINNING;      a topic's records",
    "SHOW CREATE TABLE name;            the statement that made it",
    "EXPLAIN SELECT ...;                what would be done",
)
_LISTS = {
    "\\dt": "SHOW TABLES;",
    "\\ds": "SHOW STREAMS;",
    "\\dq": "SHOW QUERIES;",
    "\\dc": "SHOW CONNECTORS;",
    "\\df": "SHOW FUNCTIONS;",
}
NAMES = ("\\d", "\\d+", *_LISTS, "\\x", "\\o", "\\i", "\\q", "\\?")


def is_command(text: str) -> bool:
    """Whether a line is one of these, and not SQL: such a line needs no semicolon."""
    stripped = text.strip()
    if "\n" in stripped:
        return False
    return stripped.startswith("\\") or stripped.rstrip(";").strip().lower() in (*LEAVE, *HELP)


def wants_to_leave(text: str) -> bool:
    return text.strip().rstrip(";").strip().lower() in LEAVE


def run_command(shell: Shell, text: str) -> None:
    """Do what the line says. Raises UserError for what there isn't."""
    line = text.strip().rstrip(";").strip()
    if line.lower() in HELP:
        show_help()
        return
    name, _, rest = line.partition(" ")
    do = _COMMANDS.get(name)
    if name in _LISTS:
        shell.run(_LISTS[name])
    elif do is not None:
        do(shell, rest.strip())
    else:
        raise UserError("UNKNOWN_COMMAND", f"There is no command {name}.", hint="help lists them.")


def show_help() -> None:
    width = max(len(name) for name, _ in _HELP)
    for name, what in _HELP:
        typer.echo(f"  {typer.style(name.ljust(width), fg='cyan')}  {what}")
    typer.echo("A statement of SQL ends with ';' and may take several lines:")
    for line in _STATEMENTS:
        typer.echo(f"  {line}")


def _describe(shell: Shell, name: str) -> None:
    if name:
        shell.run(f"DESCRIBE {name};")
        return
    streams, tables = shell.client.execute("SHOW STREAMS; SHOW TABLES;")
    found = sorted([*streams["streams"], *tables["tables"]], key=lambda one: one["name"])
    columns = ("name", "type", "topic", "key format", "value format", "windowed")
    fields = ("name", "type", "topic", "keyFormat", "valueFormat", "isWindowed")
    output.table(columns, [tuple(one[field] for field in fields) for one in found])


def _describe_extended(shell: Shell, name: str) -> None:
    if not name:
        raise UserError("NAME_MISSING", "\\d+ needs the name of a stream or table.", hint="\\d lists them.")
    shell.run(f"DESCRIBE {name} EXTENDED;")


def _expand(shell: Shell, wish: str) -> None:
    known: dict[str, grid.Expanded] = {"on": "on", "off": "off", "auto": "auto"}
    if wish and wish not in known:
        raise UserError("INVALID_OPTION", f"\\x takes on, off or auto, not {wish}.")
    grid.DISPLAY.expanded = known[wish] if wish else "auto" if grid.DISPLAY.expanded == "on" else "on"
    said = {"on": "each row is shown as a record", "off": "rows are shown as a table"}
    output.note(said.get(grid.DISPLAY.expanded, "rows are shown as records where a table is too wide"))


def _send_to(shell: Shell, file: str) -> None:
    path = Path(_unquoted(file)).expanduser() if file else None
    shell.send_results_to(Results(path=path))
    output.note(f"results go to {path} as {shell.results.form}" if path else "results are shown here")


def _include(shell: Shell, file: str) -> None:
    if not file:
        raise UserError("NAME_MISSING", "\\i needs the name of a file.")
    shell.run_script(Path(_unquoted(file)).expanduser())


def _unquoted(text: str) -> str:
    """A file's name as it is typed, with or without quotes."""
    try:
        parts = shlex.split(text)
    except ValueError as error:
        raise UserError("INVALID_OPTION", f"{text} is no file's name: {error}.") from error
    return parts[0] if len(parts) == 1 else text


_COMMANDS: dict[str, Callable[[Shell, str], None]] = {
    "\\d": _describe,
    "\\d+": _describe_extended,
    "\\x": _expand,
    "\\o": _send_to,
    "\\i": _include,
}
