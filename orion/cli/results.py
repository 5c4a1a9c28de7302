"""Where the rows and answers of `orion sql` go: the screen, standard output or a file, and in which form."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO, get_args

import typer

from orion.cli import entities, grid, output
from orion.errors import UserError

if TYPE_CHECKING:
    from orion.schema import SqlType

Form = Literal["table", "expanded", "tsv", "csv", "json", "parquet"]
_ENDINGS: dict[str, Form] = {".csv": "csv", ".json": "json", ".jsonl": "json", ".parquet": "parquet", ".tsv": "tsv"}


class Results:
    """One way out. Without a form: a table for a person, tabs in a pipe."""

    def __init__(self, form: Form | None = None, path: Path | None = None) -> None:
        self.form: Form | None = form or (_ENDINGS.get(path.suffix.lower(), "tsv") if path else None)
        self.path = path
        self._file: TextIO | None = None
        self._written = False
        self._live = False  # each row is to be seen when it comes
        if self.form == "parquet" and path is None:
            raise UserError("OUTPUT_MISSING", "Parquet is written to a file.", hint="Give --output FILE.")
        if path is not None and self.form != "parquet":
            self._file = _opened(path)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def write_answer(self, entity: dict[str, Any]) -> None:
        """What a statement that gives no rows is answered with. What only says that it is done is no result."""
        status = entity.get("@type") == "currentStatus"
        if status and (self.path is not None or self.form in ("csv", "parquet")):
            output.note(entities.status_text(entity))
        elif self.form == "parquet":
            raise UserError("ROWS_ONLY", "Parquet holds the rows of SELECT and PRINT.", hint="Use csv or json.")
        else:
            with self._directed(), output.written_as(self.form):
                if self.form == "json":
                    output.line(entity)
                else:
                    entities.show(entity)

    def write_rows(
        self, head: dict[str, Any], stream: Iterator[list[Any]], kind: Literal["pull", "push", "print"]
    ) -> None:
        """Rows as they come, or all at once where they have an end."""
        from orion.clients.values import types_of

        names, types = list(head["columnNames"]), types_of(head)
        self._live = kind != "pull"
        with self._directed():
            if self.form == "parquet":
                self._write_parquet(names, types, stream)
            elif self.form == "json":
                self._write_json(names, types, stream)
            elif self.form == "csv":
                self._write_csv(names, types, stream)
            elif self.form == "tsv" or not (self.form or output.on_terminal()):
                self._write_tabs(names, types, stream)
            else:
                Screen(names, types, kind, self.form).show_rows(stream)

    # ---- forms for programs ----------------------------------------------------------------------------------------

    def _write_json(self, names: list[str], types: Sequence[SqlType], stream: Iterator[list[Any]]) -> None:
        from orion.clients.exporting import json_row

        for row in stream:
            self._write(json_row(names, tuple(types), row))

    def _write_csv(self, names: list[str], types: Sequence[SqlType], stream: Iterator[list[Any]]) -> None:
        from orion.clients.exporting import csv_row, csv_text

        self._write(",".join(map(csv_text, names)))
        for row in stream:
            self._write(csv_row(types, row))

    def _write_tabs(self, names: list[str], types: Sequence[SqlType], stream: Iterator[list[Any]]) -> None:
        from orion.cli.values import screen_text

        self._write("\t".join(names))
        for row in stream:
            self._write("\t".join(screen_text(v, t) for v, t in zip(row, types, strict=True)))

    def _write_parquet(self, names: list[str], types: tuple[SqlType, ...], stream: Iterator[list[Any]]) -> None:
        """All rows of one query; where Ctrl-C ends it, those that came."""
        import pyarrow.parquet

        from orion.clients.values import Result, row_of

        if self._written:
            hint = "Give the next one another file: \\o FILE at the prompt, or --output of another run."
            raise UserError(
                "ONE_RESULT", f"{self.path} holds a result: a Parquet file has the columns of one.", hint=hint
            )
        found: list[list[Any]] = []
        try:
            found.extend(row_of(row, types) for row in stream)
        except KeyboardInterrupt:
            output.note("query ended")
        except ValueError as error:
            raise _not_for_parquet(error) from error
        try:
            pyarrow.parquet.write_table(Result(tuple(names), types, found).arrow(), self.path)
        except ValueError as error:
            raise _not_for_parquet(error) from error
        except OSError as error:
            raise _unwritable(self.path, error) from error
        self._written = True
        output.note(f"{len(found)} row{'s' * (len(found) != 1)} in {self.path}")

    def _write(self, line: str) -> None:
        sys.stdout.write(f"{line}\n")
        if self._live:
            sys.stdout.flush()

    @contextmanager
    def _directed(self) -> Iterator[None]:
        """Standard output is the file, if there is one."""
        if self._file is None:
            yield
            return
        with redirect_stdout(self._file):
            yield
        self._file.flush()


class Screen:
    """Rows for a person."""

    def __init__(self, names: list[str], types: Sequence[SqlType], kind: str, form: Form | None) -> None:
        from orion.cli import values

        self._names, self._types, self._kind = names, types, kind
        self._expanded = grid.expansion_for(form)
        self._right = [values.is_number(t) and not self._is_moment(n, t) for n, t in zip(names, types, strict=True)]

    def show_rows(self, stream: Iterator[list[Any]]) -> None:
        if self._kind == "pull":
            self._show_all(stream)
        else:
            self._show_as_they_come(stream)

    def _show_all(self, stream: Iterator[list[Any]]) -> None:
        rows = [self._texts(row) for row in stream]
        lines = grid.draw_rows(self._names, rows, self._right, self._expanded)
        pages = sys.stdout is sys.__stdout__ and output.on_terminal()
        grid.show_lines([*lines, f"({len(rows)} row{'s' * (len(rows) != 1)})"], pages=pages)

    def _show_as_they_come(self, stream: Iterator[list[Any]]) -> None:
        """Columns as wide as their types tell, since the rows to come aren't known; records where these don't fit."""
        widths, room = self._typical_widths(), grid.terminal_width()
        expanded = self._expanded == "on" or (widths is None and self._expanded == "auto")
        chosen = widths or [max(8, len(name)) for name in self._names]
        if not expanded:
            columns = zip(self._names, chosen, self._right, strict=True)
            heads = [grid.fit_cell(name, width, right=right, cut=False) for name, width, right in columns]
            typer.secho(grid.GAP.join(heads).rstrip(), bold=True)
        for number, row in enumerate(stream, 1):
            texts = self._texts(row)
            if expanded:
                for line in grid.draw_records(self._names, [texts], room, number):
                    typer.echo(line)
            else:
                cells = [
                    grid.fit_cell(text, width, right=right, cut=not right and not self._is_exact(at))
                    for at, (text, width, right) in enumerate(zip(texts, chosen, self._right, strict=True))
                ]
                typer.echo(grid.GAP.join(cells).rstrip())

    def _typical_widths(self) -> list[int] | None:
        """A width for each column, the texts sharing what is left; None where the screen is too narrow."""
        from orion.schema import Scalar

        typical = {Scalar.INTEGER: 8, Scalar.BIGINT: 12, Scalar.DOUBLE: 12, Scalar.BOOLEAN: 5, Scalar.DATE: 10}
        typical |= {Scalar.TIMESTAMP: 23, Scalar.TIME: 12}
        fixed = [
            max(len(n), 24 if self._is_moment(n, t) else typical[t]) if t in typical else None
            for n, t in zip(self._names, self._types, strict=True)
        ]
        left = grid.terminal_width() - len(grid.GAP) * (len(fixed) - 1) - sum(width or 0 for width in fixed)
        texts = [n for n, width in zip(self._names, fixed, strict=True) if width is None]
        share = left // len(texts) if texts else 0
        if left < 0 or (texts and share < max(12, *map(len, texts))):
            return None
        return [share if width is None else width for width in fixed]

    def _is_exact(self, at: int) -> bool:
        """A time that is cut means something else."""
        from orion.schema import Scalar

        return self._types[at] in (Scalar.TIMESTAMP, Scalar.DATE, Scalar.TIME, Scalar.BIGINT)

    def _is_moment(self, name: str, type_: SqlType) -> bool:
        from orion.cli import values

        return values.is_moment(name, type_) or (self._kind == "print" and name == "TIMESTAMP")

    def _texts(self, row: list[Any]) -> list[str]:
        from orion.cli.values import moment_text, screen_text

        return [
            moment_text(value) if self._is_moment(name, type_) else screen_text(value, type_)
            for name, type_, value in zip(self._names, self._types, row, strict=True)
        ]


def form_of(text: str | None) -> Form | None:
    """The form that --format names."""
    known = get_args(Form)
    found: Form | None = next((form for form in known if form == text), None)
    if text is not None and found is None:
        raise UserError("UNKNOWN_FORMAT", f"There is no format {text}.", hint=f"There are {', '.join(known)}.")
    return found


def _opened(path: Path) -> TextIO:
    try:
        return path.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise _unwritable(path, error) from error


def _not_for_parquet(error: ValueError) -> UserError:
    """Such as a date beyond the days that Arrow counts."""
    return UserError("NOT_FOR_PARQUET", f"A value can't be written to Parquet: {error}.", hint="Use csv or json.")


def _unwritable(path: Path | None, error: OSError) -> UserError:
    return UserError("FILE_UNWRITABLE", f"{path} can't be written: {error.strerror or error}.")
