"""`orion sql`: statements against a running server, or against one that is started for the occasion."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orion.cli import entities, output
from orion.cli.spool import Spool
from orion.cli.target import options

if TYPE_CHECKING:
    from orion.cli.client import Client

# What a statement that gives rows, not an answer, begins with.
_STREAMING = ("SELECT", "PRINT")
_OF_SESSION = ("SET", "UNSET", "DEFINE", "UNDEFINE")
SPOOL = Spool()


def command(
    ctx: typer.Context,
    execute: Annotated[list[str] | None, typer.Option("--execute", "-e", help="Statements to run.")] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="A script to run; - is standard input.", show_default=False)
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="A server's address; that of `orion up` unless told.", show_default=False)
    ] = None,
    json: output.Json = False,
) -> None:
    """Run SQL: at a prompt, from the command line (-e) or from a file (-f)."""
    script = "\n".join(execute) if execute else _read(file)
    if script is None and not sys.stdin.isatty():
        script = sys.stdin.read()
    with _connected(ctx, url) as client:
        try:
            if script is not None:
                run(client, script, as_json=json)
                return
            from orion.cli.prompt import converse

            converse(client)
        finally:
            SPOOL.stop()


def _read(file: Path | None) -> str | None:
    if file is None:
        return None
    return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")


@contextmanager
def _connected(ctx: typer.Context, url: str | None) -> Iterator[Client]:
    """The server that is asked for, that runs on the data folder, or that is started just now."""
    from orion.cli.client import Client
    from orion.hub.running import Running

    config = options(ctx).config()
    running = Running.read(config.data)
    if url or running:
        client = Client(url or (running.url if running else ""))
        try:
            yield client
        finally:
            client.close()
        return
    output.note("no server runs here: starting one for this command (`orion up` keeps one running)")
    from orion.web.platform import running as platform

    with platform(options(ctx).config(web__port=0), output.note) as started:
        client = Client(started.url)
        try:
            yield client
        finally:
            client.close()


def run(client: Client, script: str, *, as_json: bool = False, within: tuple[Path, ...] = ()) -> None:
    """Every statement in turn; the first that fails ends the script. `within` are the scripts that run this one."""
    from orion import ksql

    for text in ksql.split(script):
        statement(client, text, as_json=as_json, within=within)


def statement(client: Client, text: str, *, as_json: bool = False, within: tuple[Path, ...] = ()) -> None:
    """One statement, and what came of it."""
    from orion.ksql.tokens import tokenize
    from orion.ksql.variables import substitute

    SPOOL.note(text)
    words = tokenize(text)
    if words[0].is_word("RUN") and words[1].is_word("SCRIPT"):
        _run_script(client, _file_of(substitute(text, client.session.variables)), as_json=as_json, within=within)
    elif words[0].is_word("SPOOL"):
        _spool(_file_of(substitute(text, client.session.variables)))
    elif words[0].text in _STREAMING:
        _rows(client, text, as_json=as_json)
    else:
        for entity in client.execute(text + ";"):
            if as_json:
                output.line(entity)
            else:
                entities.show(entity)
        if words[0].is_word(*_OF_SESSION):
            _remember(client, text)


def _remember(client: Client, text: str) -> None:
    """SET and DEFINE live in the session, which is the client's."""
    from orion import ksql
    from orion.plan.catalog import Catalog

    for step in ksql.compile(text, Catalog(), client.session.properties, client.session.variables).steps:
        client.session = client.session.after(step)


# ---- statements about this machine's files -------------------------------------------------------------------------


def _file_of(text: str) -> Path | None:
    """The file that RUN SCRIPT and SPOOL name; None: OFF."""
    from orion.ksql.parser import Parser

    parser = Parser(text)
    spool = parser.accept("SPOOL")
    if not spool:
        parser.expect("RUN", "SCRIPT")
    elif parser.accept("OFF"):
        return None
    return Path(parser.string("a file's name, in quotes" + (", or OFF" if spool else "")))


def _run_script(client: Client, file: Path | None, *, as_json: bool, within: tuple[Path, ...]) -> None:
    from orion.errors import NotFound, UserError

    assert file is not None
    if not file.is_file():
        raise NotFound("SCRIPT_MISSING", f"There is no file {file}.", hint="Paths are seen from the current folder.")
    whole = file.resolve()
    if whole in within:
        raise UserError("SCRIPT_IN_ITSELF", f"{file} runs itself.")
    run(client, whole.read_text(encoding="utf-8"), as_json=as_json, within=(*within, whole))


def _spool(file: Path | None) -> None:
    if file is not None:
        SPOOL.start(file)
        output.note(f"what is shown goes to {file} as well")
    elif SPOOL.stop():
        output.note("spooling ended")


def _rows(client: Client, text: str, *, as_json: bool) -> None:
    """Rows as they come. Ctrl-C ends the query, not the session."""
    stream = client.stream(text + ";")
    try:
        head = next(stream)
        names = head["columnNames"]
        pulled = head["queryId"] is None and text.lstrip()[:6].upper() == "SELECT"
        if as_json:
            for row in stream:
                output.line(dict(zip(names, row, strict=True)))
        elif pulled and output.on_terminal():
            output.table(names, stream, spelled=True)
        else:
            _print_rows(names, stream)
    except KeyboardInterrupt:
        output.note("query ended")
    finally:
        stream.close()


def _print_rows(names: list[str], stream: Iterator[Any]) -> None:
    if not output.on_terminal():
        typer.echo("\t".join(names))
        for row in stream:
            typer.echo("\t".join(output.cell(v) for v in row))
        return
    import shutil

    width = max(8, shutil.get_terminal_size().columns // max(1, len(names)) - 2)
    typer.secho("  ".join(n[:width].ljust(width) for n in names), bold=True)
    for row in stream:
        typer.echo("  ".join(_fitted(output.cell(v), width) for v in row))


def _fitted(text: str, width: int) -> str:
    return text.ljust(width) if len(text) <= width else text[: width - 1] + "…"
