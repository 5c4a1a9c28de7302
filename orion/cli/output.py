"""What commands write: tables for people, tab-separated text for pipes, JSON for programs, and errors on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from orion.errors import OrionError, SqlError
from orion.log import configure_log

Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]

_form: str | None = None  # the form that tables and facts are written in, where one is asked for
_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))} | {9: "\\t", 10: "\\n", 13: "\\r"}


def log_beside_results() -> None:
    """Have log lines go where notes and errors go: what a pipe reads are results alone."""
    configure_log(lambda: sys.stderr)


def on_terminal() -> bool:
    """Whether a person sees what is written."""
    return sys.stdout.isatty()


@contextmanager
def written_as(form: str | None) -> Iterator[None]:
    """Have tables and facts written in a form that somebody asked for, within the block."""
    global _form
    before, _form = _form, form
    try:
        yield
    finally:
        _form = before


def _drawn() -> bool:
    """Whether what is written is laid out for a person."""
    return _form in ("table", "expanded") or (_form is None and on_terminal())


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    as_json: bool = False,
    title: str = "",
) -> None:
    """Rows under named columns. The names are the keys in JSON, and the heads of the columns elsewhere."""
    found = list(rows)
    if as_json:
        document([dict(zip(columns, row, strict=True)) for row in found])
    elif _form == "csv":
        _csv([columns, *found])
    elif _drawn():
        _pretty([head(column) for column in columns], found, title)
    else:
        typer.echo("\t".join(head(column) for column in columns))
        for row in found:
            typer.echo("\t".join(cell(value) for value in row))


def facts(pairs: Mapping[str, Any]) -> None:
    """A few named values, one a line."""
    if _form == "csv":
        return _csv([("name", "value"), *pairs.items()])
    width = max((len(head(name)) for name in pairs), default=0)
    for name, value in pairs.items():
        if _drawn():
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
    if isinstance(value, dict):
        return escaped(json.dumps(value, ensure_ascii=False, default=str))
    return escaped(str(value))


def escaped(text: str) -> str:
    """Text with its control characters spelled out."""
    return text.translate(_ESCAPES)


def _csv(rows: Iterable[Sequence[Any]]) -> None:
    from orion.clients.exporting import csv_text

    for row in rows:
        typer.echo(",".join("" if value is None else csv_text(cell(value)) for value in row))


def _pretty(columns: Sequence[str], rows: list[Sequence[Any]], title: str) -> None:
    from orion.cli import grid

    right = [bool(rows) and all(_is_number(row[at]) for row in rows) for at in range(len(columns))]
    if title:
        typer.secho(title, bold=True)
    expanded = grid.expansion_for(_form)
    drawn = [[cell(value) for value in row] for row in rows]
    for line in grid.draw_rows(columns, drawn, right, expanded if rows else "off", fold=True):
        typer.echo(line)
    if not rows:
        typer.secho("none", dim=True)


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
