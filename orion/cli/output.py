"""What commands write: tables for people, tab-separated text for pipes, JSON for programs, and errors on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import structlog
import typer

from orion.errors import OrionError, SqlError

Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]

_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))} | {9: "\\t", 10: "\\n", 13: "\\r"}


def log_beside_results() -> None:
    """Have log lines go where notes and errors go: what a pipe reads are results alone."""
    structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))


def on_terminal() -> bool:
    """Whether a person sees what is written."""
    return sys.stdout.isatty()


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    as_json: bool = False,
    title: str = "",
    spelled: bool = False,
) -> None:
    """Rows under named columns. The names are the keys in JSON, and the heads of the columns elsewhere.

    `spelled`: the heads are the names as they are.
    """
    found = list(rows)
    if as_json:
        document([dict(zip(columns, row, strict=True)) for row in found])
    elif on_terminal():
        _pretty(columns if spelled else [head(column) for column in columns], found, title)
    else:
        typer.echo("\t".join(head(column) for column in columns))
        for row in found:
            typer.echo("\t".join(cell(value) for value in row))


def facts(pairs: Mapping[str, Any]) -> None:
    """A few named values, one a line."""
    width = max((len(head(name)) for name in pairs), default=0)
    for name, value in pairs.items():
        if on_terminal():
            typer.echo(f"{typer.style(head(name).ljust(width), fg='cyan')}  {cell(value)}")
        else:
            typer.echo(f"{head(name)}\t{cell(value)}")


def document(value: Any) -> None:
    """One JSON text, spread over lines for a person."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2 if on_terminal() else None, default=str))


def line(value: Any) -> None:
    """One JSON text on a line of its own."""
    typer.echo(json.dumps(value, ensure_ascii=False, default=str))


def note(text: str) -> None:
    """A remark beside the result, on stderr."""
    typer.secho(text, dim=True, err=True)


def problem(error: OrionError, where: str = "", *, hint: bool = True) -> None:
    """An error as every command shows it: code and message, the place in a statement, what to do."""
    typer.secho(f"error[{error.code}]: ", fg="red", bold=True, nl=False, err=True)
    typer.echo(f"{where}{error.message}", err=True)
    if isinstance(error, SqlError) and (caret := error.caret()):
        typer.echo("\n".join(f"  {part}" for part in caret.split("\n")), err=True)
    if error.hint and hint:
        typer.secho(f"  hint: {error.hint}", fg="cyan", err=True)


def head(column: str) -> str:
    """A column's name as people read it."""
    return column.replace("_", " ")


def cell(value: Any) -> str:
    """A value on one line: nothing in it can end the row or steer the terminal."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return ",".join(cell(part) for part in value)
    return escaped(str(value))


def escaped(text: str) -> str:
    """Text with its control characters spelled out."""
    return text.translate(_ESCAPES)


def _pretty(columns: Sequence[str], rows: list[Sequence[Any]], title: str) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(
        box=box.SIMPLE_HEAD,
        title=title or None,
        title_justify="left",
        title_style="bold",
        pad_edge=False,
        show_edge=False,
    )
    for index, column in enumerate(columns):
        numbers = all(isinstance(row[index], int | float | None) and not isinstance(row[index], bool) for row in rows)
        drawn.add_column(column, justify="right" if numbers and rows else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(cell(value)) for value in row))
    Console().print(drawn)
    if not rows:
        Console().print("[dim]none[/dim]")
