"""`orion sql`: statements against a running server, or, where that is wanted, one that is started for the occasion."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orion.cli import output
from orion.cli.files import read_text_file
from orion.cli.target import find_server, options
from orion.hub.running import not_running, running_servers

if TYPE_CHECKING:
    from orion.cli.client import Client
    from orion.config import Config


def command(
    ctx: typer.Context,
    execute: Annotated[list[str] | None, typer.Option("--execute", "-e", help="Statements to run.")] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="A script to run; - is standard input.", show_default=False)
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="A server's address; that of `orion up` unless told.", show_default=False)
    ] = None,
    start: Annotated[
        bool, typer.Option("--start", help="Start a server for this command where none runs, without asking.")
    ] = False,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="table, expanded, tsv, csv, json (a line a row) or parquet; by where it goes unless told.",
            show_default=False,
        ),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A file for results; its ending tells the format.", show_default=False),
    ] = None,
    json: output.Json = False,
) -> None:
    """Run SQL: at a prompt, from the command line (-e) or from a file (-f)."""
    from orion.cli.backslash import is_command, run_command
    from orion.cli.results import Results, form_of
    from orion.cli.shell import Shell

    scripts = execute or _read(file)
    chosen = form_of("json" if json and form is None else form)
    if chosen == "parquet" and to is None:
        Results(chosen, to)  # refused before a server is looked for
    with _connected(ctx, url, start) as client, closing(Shell(client, Results(chosen, to))) as shell:
        if scripts is None:
            from orion.cli.prompt import converse

            converse(shell)
            return
        for script in scripts:
            if is_command(script):
                run_command(shell, script)
            else:
                shell.run(script)


def _read(file: Path | None) -> list[str] | None:
    """The script to run; None: there is a person to ask."""
    if file is None and sys.stdin.isatty():
        return None
    return [sys.stdin.read() if file is None or str(file) == "-" else read_text_file(file)]


@contextmanager
def _connected(ctx: typer.Context, url: str | None, start: bool) -> Iterator[Client]:
    """The server that is asked for, that runs, or that is started just now."""
    from orion.cli.client import Client

    config = options(ctx).config()
    found = None if url else find_server(ctx)
    if url or found:
        with closing(Client(url or (found.running.url if found else ""))) as client:
            yield client
        return
    if not start:
        ask_to_start(config)
    output.note(f"starting a server on {config.data} for this command; it stops with it (`orion up` keeps one running)")
    from orion.web.platform import running as platform

    with platform(options(ctx).config(web__port=0), output.note) as started, closing(Client(started.url)) as client:
        yield client


def ask_to_start(config: Config) -> None:
    """Let a person say whether a server is to be started, which takes a minute; without one, refuse."""
    refusal = not_running(config, "give --start to have one for this command alone")
    if not sys.stdin.isatty() or refusal.code == "NOT_READY":
        raise refusal
    others = running_servers()
    for one in others:
        output.note(f"a server runs at {one}: --data {one.data} is that one")
    if not typer.confirm(f"{refusal.message} Start one for this command? It takes a minute.", err=True):
        raise refusal
