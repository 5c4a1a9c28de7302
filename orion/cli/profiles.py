"""`orion profiles`: what to set for throughput, latency, durability or availability, and what it trades."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from orion import profiles
from orion.cli import output
from orion.cli.output import Json
from orion.profiles import Profile

app = typer.Typer(no_args_is_help=True, help="Look at the profiles of topics, clients and statements.")

PARTS = ("producer", "consumer", "topic", "broker", "statement")
COLUMNS = ("profile", "of", "setting", "value", "trades")


@app.command("list")
def list_profiles(json: Json = False) -> None:
    """List profiles."""
    rows = [(one.name, one.aim) for one in map(profiles.of, profiles.NAMES)]
    output.table(("profile", "aim"), rows, as_json=json)


@app.command()
def show(
    name: Annotated[str | None, typer.Argument(help="The profile; all unless told.", show_default=False)] = None,
    json: Json = False,
) -> None:
    """Show the settings of a profile, and what each of them trades.

    Names are Kafka's; a statement's are Orion's. What a profile doesn't set keeps its default.
    """
    chosen = [profiles.of(one) for one in (profiles.NAMES if name is None else (name,))]
    if json or not output.on_terminal():
        output.table(COLUMNS, [row for profile in chosen for row in _rows(profile)], as_json=json)
        return
    for profile in chosen:
        output.table(COLUMNS[1:], [row[1:] for row in _rows(profile)], title=f"{profile.name}: {profile.aim}")


def _rows(profile: Profile) -> Iterator[tuple[str, str, str, str, str]]:
    for part in PARTS:
        for setting in getattr(profile, part):
            yield profile.name, part, setting.name, setting.value, setting.trades
