"""`orion doctor`: whether this machine can run Orion, and what to do where it can't."""

from __future__ import annotations

import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from orion.cli import output
from orion.cli.output import Json
from orion.cli.target import Bootstrap, Options, options
from orion.errors import Conflict, OrionError

if TYPE_CHECKING:
    from orion.config import Config

Verdict = Literal["ok", "warn", "fail"]

COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}
OLDEST_PYTHON = (3, 11)
GIGABYTE = 10**9
DISK_LEAST, DISK_ENOUGH = 1 * GIGABYTE, 5 * GIGABYTE
MEMORY_LEAST, MEMORY_ENOUGH = 2 * GIGABYTE, 4 * GIGABYTE


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at."""

    name: str
    verdict: Verdict
    message: str
    hint: str | None = None


def command(ctx: typer.Context, bootstrap: Bootstrap = None, json: Json = False) -> None:
    """Check what Orion needs on this machine. Ends 1 when something fails."""
    checks = []
    for check in examine(options(ctx), bootstrap):
        checks.append(check)
        if not json:
            _show(check)
    if json:
        output.document([asdict(check) for check in checks])
    if any(check.verdict == "fail" for check in checks):
        raise typer.Exit(1)


def examine(chosen: Options, bootstrap: str | None = None) -> Iterator[Check]:
    """Every check in turn; those that need the settings are left out when these can't be read."""
    yield python_version()
    yield attempt("java", java)
    yield attempt("jars", jars)
    yield memory()
    try:
        config = chosen.config()
    except OrionError as error:
        yield _failed("config", error)
        return
    yield Check("config", "ok", f"valid; data in {config.data}")
    yield disk(config.data)
    yield from _services(config, bootstrap or config.hub.bootstrap)


def attempt(name: str, check: Callable[[], Check]) -> Check:
    """A check, where any error of Orion's is the verdict."""
    try:
        return check()
    except OrionError as error:
        return _failed(name, error)


def python_version() -> Check:
    found = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info[:2] >= OLDEST_PYTHON:
        return Check("python", "ok", found)
    return Check("python", "fail", found, "Use Python 3.11 or newer.")


def java() -> Check:
    from orion.hub.java import find

    found = find()
    return Check("java", "ok", f"{found.version} at {found.executable}")


def jars() -> Check:
    """Whether the pinned jars are in the cache, by size: hashing them is what a start does."""
    from orion.config import cache_folder
    from orion.hub.jars import SETS, listed

    folder = cache_folder() / "jars"
    wanted = {jar.name: jar.size for name in SETS for jar in listed(name)}
    missing = {name: size for name, size in wanted.items() if not _has(folder / name, size)}
    if not missing:
        return Check("jars", "ok", f"all {len(wanted)} in {folder}")
    megabytes = sum(missing.values()) / 1e6
    message = f"{len(missing)} of {len(wanted)} are not in {folder} ({megabytes:.0f} MB)"
    return Check("jars", "warn", message, "The first start fetches them; `python -m orion.hub.jars` does it now.")


def memory() -> Check:
    available = _available_memory()
    if available is None:
        return Check("memory", "warn", "this system doesn't say how much is free")
    message = f"{available / GIGABYTE:.1f} GB available"
    if available < MEMORY_LEAST:
        return Check("memory", "fail", message, "The broker and Spark need 2 GB: end something else.")
    if available < MEMORY_ENOUGH:
        return Check("memory", "warn", message, "4 GB leave room for state; lower engine.memory if it gets tight.")
    return Check("memory", "ok", message)


def disk(data: Path) -> Check:
    """Free space where the data folder is, or will be."""
    place = data.absolute()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    message = f"{free / GIGABYTE:.1f} GB free in {data}"
    if free < DISK_LEAST:
        return Check("disk", "fail", message, "Free some space, or choose another folder with --data.")
    if free < DISK_ENOUGH:
        return Check("disk", "warn", message, "Topics and checkpoints grow; 5 GB leave room.")
    return Check("disk", "ok", message)


def web_port(host: str, port: int) -> Check:
    """Whether the server could bind its port."""
    if port == 0:
        return Check("web port", "ok", "any free one")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            hint = f"End what uses port {port}, or set web.port."
            return Check("web port", "fail", f"{host}:{port}: {error.strerror or error}", hint)
    return Check("web port", "ok", f"{host}:{port} is free")


def broker(bootstrap: str) -> Check:
    from orion.hub.kafka import Kafka

    kafka = Kafka(bootstrap)
    kafka.check()
    count = len(kafka.brokers())
    return Check("broker", "ok", f"{count} at {bootstrap}, cluster {kafka.cluster_id()}")


def _services(config: Config, bootstrap: str | None) -> Iterator[Check]:
    """The port is the running server's own when one runs; a broker is only looked for when one should be there."""
    from orion.hub.running import locate_server, running_servers

    try:
        found = locate_server(config)
    except Conflict:
        found = None
        for one in running_servers():
            yield Check("server", "ok", f"runs at {one}")
    else:
        yield Check("server", "ok", f"runs at {found}") if found else web_port(config.web.host, config.web.port)
    address = bootstrap or (found.running.bootstrap if found else None)
    if address is None:
        yield Check("broker", "ok", "none runs; `orion up` starts one")
    else:
        yield attempt("broker", lambda: broker(address))


def _show(check: Check) -> None:
    mark = typer.style(check.verdict.ljust(4), fg=COLOURS[check.verdict], bold=check.verdict == "fail" or None)
    typer.echo(f"{mark}  {check.name.ljust(8)}  {check.message}")
    if check.hint and check.verdict != "ok":
        typer.echo(f"      hint: {check.hint}")


def _failed(name: str, error: OrionError) -> Check:
    return Check(name, "fail", error.message, error.hint)


def _has(path: Path, size: int) -> bool:
    return path.is_file() and path.stat().st_size == size


def _available_memory() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)
