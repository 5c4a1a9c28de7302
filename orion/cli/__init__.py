"""The `orion` command. Each subcommand is one module of this package and one name in NAMES.

A module exposes either `app`, a group of commands, or `command`, one function. Modules keep heavy imports inside their
functions, so that `orion --help` answers at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from orion import __version__
from orion.cli.output import log_beside_results, problem
from orion.cli.target import Options, choose_data
from orion.errors import OrionError

NAMES = (
    "up",
    "sql",
    "topics",
    "produce",
    "consume",
    "groups",
    "state",
    "dlq",
    "profiles",
    "registry",
    "schemas",
    "connectors",
    "doctor",
)

INTERRUPTED = 130
BROKEN_PIPE = 141
INTERNAL = 70


class Commands(TyperGroup):
    """Ends every command the same way: an Orion error as a short message, with the exit code of its class.

    Every command takes --data, behind its name as well as before it.
    """

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        for option in self.params:
            if option.name == "data":
                _give_to_commands(self, option)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except OrionError as error:
            problem(error)
            raise typer.Exit(error.exit_code) from error
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            _close_stdout()
            raise typer.Exit(BROKEN_PIPE) from None
        except (typer.Exit, typer.Abort, typer.TyperException):
            raise
        except Exception as error:
            if os.environ.get("ORION_TRACEBACK"):
                raise
            typer.secho(f"error[INTERNAL]: {type(error).__name__}: {error}", fg="red", err=True)
            typer.echo("  hint: This is a mistake in Orion. Set ORION_TRACEBACK=1 to see where.", err=True)
            raise typer.Exit(INTERNAL) from error


def _give_to_commands(group: TyperGroup, option: Any) -> None:
    """The option behind each command's name: what it says there counts more."""
    for command in group.commands.values():
        if isinstance(command, TyperGroup):
            _give_to_commands(command, option)
        else:
            own = copy(option)
            own.expose_value, own.callback = False, lambda ctx, _, data: choose_data(ctx, data)
            command.params.append(own)


def _close_stdout() -> None:
    """Point standard output nowhere, so that the interpreter's last flush doesn't fail again."""
    with suppress(OSError, ValueError):  # not a real file, as under a test runner
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"orion {__version__}")
        raise typer.Exit


app = typer.Typer(
    name="orion",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="A streaming data platform: Kafka, streaming SQL on Spark, a lakehouse.",
)


@app.callback()
def settings(
    ctx: typer.Context,
    config: Annotated[
        Path | None, typer.Option(help="The settings; orion.yaml here unless told.", show_default=False)
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder for data, checkpoints and logs; a server is known by it. .orion unless told.",
            show_default=False,
        ),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which this is.")
    ] = False,
) -> None:
    log_beside_results()
    ctx.obj = Options(config, data)


for _name in NAMES:
    _module = import_module(f"orion.cli.{_name}")
    if hasattr(_module, "app"):
        app.add_typer(_module.app, name=_name)
    else:
        app.command(_name)(_module.command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        app(args=arguments, prog_name="orion")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0
