"""`orion connectors`: list, show, make, change, stop and drop connectors, and see what they can be made of."""

from __future__ import annotations

import json as json_module
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orion.cli import output
from orion.cli.output import Json
from orion.cli.topics import confirm
from orion.errors import UserError

if TYPE_CHECKING:
    from orion.cli.connect_client import Connect

app = typer.Typer(no_args_is_help=True, help="Look at and change the connectors of a server.")

_WRONG = 1

Url = Annotated[
    str | None,
    typer.Option(
        "--url", help="A server with Kafka Connect's API; that of `orion up` unless told.", show_default=False
    ),
]
Name = Annotated[str, typer.Argument(help="The connector.", show_default=False)]
File = Annotated[
    Path | None,
    typer.Argument(help='JSON: {"name": ..., "config": {...}}, or the options alone; - is standard input.'),
]
NameOption = Annotated[str | None, typer.Option("--name", help="The connector's name, unless the file says it.")]
Sets = Annotated[
    list[str] | None, typer.Option("--set", metavar="OPTION=VALUE", help="An option; before the file's. Repeatable.")
]


@app.command("list")
def list_connectors(ctx: typer.Context, url: Url = None, json: Json = False) -> None:
    """List connectors with how they are doing."""
    found = _connect(ctx, url).get("connectors", expand=["status", "info"])
    rows = [_row(name, one["info"], one["status"]) for name, one in sorted(found.items())]
    output.table(("name", "type", "class", "state", "running", "tasks", "reason"), rows, as_json=json)


def _row(name: str, info: dict[str, Any], status: dict[str, Any]) -> tuple[Any, ...]:
    states = [task["state"] for task in status["tasks"]]
    reasons = [one["trace"] for one in (status["connector"], *status["tasks"]) if one.get("trace")]
    plugin = info["config"].get("connector.class")
    running = states.count("RUNNING")
    reason = _first_line(reasons[0]) if reasons else None
    return name, status["type"], plugin, status["connector"]["state"], running, len(states), reason


def _first_line(trace: str) -> str:
    """A reason may be a whole stack of Java's."""
    return trace.strip().split("\n", 1)[0]


@app.command()
def show(ctx: typer.Context, name: Name, url: Url = None, json: Json = False) -> None:
    """Show a connector: its options, tasks, and why one of them doesn't run."""
    connect = _connect(ctx, url)
    info, status = connect.get("connectors", name), connect.get("connectors", name, "status")
    if json:
        output.document({**info, "status": {key: status[key] for key in ("connector", "tasks")}})
        return
    whole = status["connector"]
    output.facts(
        {"name": info["name"], "type": info["type"], "state": whole["state"], "reason": whole.get("trace")}
        | {option: value for option, value in sorted(info["config"].items()) if option != "name"}
    )
    rows = [(task["id"], task["state"], task["worker_id"], task.get("trace")) for task in status["tasks"]]
    typer.echo("")
    output.table(("task", "state", "worker", "reason"), rows)


@app.command()
def create(
    ctx: typer.Context,
    file: File = None,
    name: NameOption = None,
    option: Sets = None,
    state: Annotated[str, typer.Option(help="How it begins: RUNNING, PAUSED or STOPPED.")] = "RUNNING",
    replace: Annotated[bool, typer.Option("--replace", help="Give one that is there these options instead.")] = False,
    url: Url = None,
    json: Json = False,
) -> None:
    """Make a connector from a file or from options."""
    called, config = _wanted(file, name, option)
    connect = _connect(ctx, url)
    if replace:
        made = connect.put(config, "connectors", called, "config")
    else:
        begins = {} if state.upper() == "RUNNING" else {"initial_state": state.upper()}
        made = connect.post({"name": called, "config": config, **begins}, "connectors")
    output.note(f"{'changed' if replace else 'created'} {made['name']}")
    if json:
        output.document(made)


@app.command()
def validate(
    ctx: typer.Context,
    file: File = None,
    name: NameOption = None,
    option: Sets = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Say what is wrong with a connector's options, and make nothing; ends with 1 when something is."""
    called, config = _wanted(file, name, option)
    plugin = config.get("connector.class")
    if not plugin:
        raise UserError(
            "INVALID_CONNECTOR", "'connector.class' is missing.", hint="`orion connectors plugins` has all."
        )
    connect = _connect(ctx, url)
    found = connect.put({**config, "name": called}, "connector-plugins", str(plugin), "config", "validate")
    wrong = [(c["value"]["name"], error) for c in found["configs"] for error in c["value"]["errors"]]
    if json:
        output.document(found)
    elif wrong:
        output.table(("option", "error"), wrong)
    if found["error_count"]:
        output.note(f"{found['error_count']} wrong")
        raise typer.Exit(_WRONG)
    output.note("nothing is wrong")


@app.command()
def pause(ctx: typer.Context, name: Name, url: Url = None) -> None:
    """Have a connector wait where it is."""
    _connect(ctx, url).put(None, "connectors", name, "pause")
    output.note(f"paused {name}")


@app.command()
def resume(ctx: typer.Context, name: Name, url: Url = None) -> None:
    """Have a connector go on that is paused or stopped."""
    _connect(ctx, url).put(None, "connectors", name, "resume")
    output.note(f"resumed {name}")


@app.command()
def stop(ctx: typer.Context, name: Name, url: Url = None) -> None:
    """Take a connector's tasks away; its options and offsets stay, and the offsets may be changed."""
    _connect(ctx, url).put(None, "connectors", name, "stop")
    output.note(f"stopped {name}")


@app.command()
def restart(
    ctx: typer.Context,
    name: Name,
    task: Annotated[int | None, typer.Option(help="Only this task.", show_default=False)] = None,
    only_failed: Annotated[bool, typer.Option("--only-failed", help="Only what has failed.")] = False,
    url: Url = None,
) -> None:
    """Start a connector and its tasks again."""
    connect = _connect(ctx, url)
    if task is not None:
        connect.post(None, "connectors", name, "tasks", str(task), "restart")
    else:
        connect.post(None, "connectors", name, "restart", includeTasks=True, onlyFailed=only_failed)
    output.note(f"restarted {name}" if task is None else f"restarted task {task} of {name}")


@app.command()
def drop(
    ctx: typer.Context,
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
    url: Url = None,
) -> None:
    """Drop a connector. What it has written stays."""
    if not yes:
        confirm(f"Drop connector {name}?")
    _connect(ctx, url).send_delete("connectors", name)
    output.note(f"dropped {name}")


@app.command()
def plugins(
    ctx: typer.Context,
    plugin: Annotated[str | None, typer.Argument(help="Show this one's options.", show_default=False)] = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """List what connectors can be made of, or the options of one."""
    connect = _connect(ctx, url)
    if plugin is None:
        rows = [(one["class"], one["type"], one.get("version")) for one in connect.get("connector-plugins")]
        output.table(("class", "type", "version"), rows, as_json=json)
        return
    found = connect.get("connector-plugins", plugin, "config")
    options = [(o["name"], o["type"], o["required"], o["default_value"], o["documentation"]) for o in found]
    output.table(("option", "type", "required", "default", "meaning"), options, as_json=json)


@app.command()
def load(
    ctx: typer.Context,
    name: Name,
    warehouse: Annotated[str, typer.Argument(help="bigquery, redshift, snowflake or synapse.", show_default=False)],
    url: Url = None,
) -> None:
    """Print the SQL by which a warehouse loads what an s3 connector has laid down."""
    from orion.cli.client import Client

    with closing(Client(_connect(ctx, url).url)) as client:
        quoted = name.replace("'", "''")
        loads = client.execute(f"DESCRIBE CONNECTOR '{quoted}';")[0]["loads"]
    if warehouse.lower() not in loads:
        known = ", ".join(loads)
        raise UserError(
            "NOT_STAGED",
            f"Nothing that {name} writes is loaded by '{warehouse}'.",
            hint=f"It can be loaded by {known}."
            if known
            else "A connector of the class s3, over a bucket, stages rows.",
        )
    typer.echo(loads[warehouse.lower()])


def _connect(ctx: typer.Context, url: str | None) -> Connect:
    from orion.cli.connect_client import connect_of

    return connect_of(ctx, url)


def _wanted(file: Path | None, name: str | None, sets: list[str] | None) -> tuple[str, dict[str, Any]]:
    """A connector's name and options, from a file and from the command line, which counts more."""
    told = _read(file) if file is not None else {}
    nested = isinstance(told.get("config"), dict)
    config = {**(told["config"] if nested else told), **dict(_pair(text) for text in sets or ())}
    called = name or told.get("name") or config.get("name")
    if not called:
        raise UserError("NAME_MISSING", "The connector has no name.", hint="Give --name, or a file that says it.")
    return str(called), {**config, "name": str(called)}


def _read(file: Path) -> dict[str, Any]:
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError("FILE_UNREADABLE", f"{file} can't be read: {error}.") from error
    try:
        found = json_module.loads(text)
    except ValueError as error:
        raise UserError("INVALID_JSON", f"{file} is no JSON: {error}.") from error
    if not isinstance(found, dict):
        raise UserError("INVALID_JSON", f"{file} holds no object.", hint='Write {"name": ..., "config": {...}}.')
    return found


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UserError("INVALID_OPTION", f"{name!r} has no value.", hint="Write --set OPTION=VALUE.")
    return name, value
