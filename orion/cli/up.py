"""`orion up`: run the platform until Ctrl-C or SIGTERM."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orion.cli import output
from orion.cli.files import read_text_file
from orion.cli.target import options

if TYPE_CHECKING:
    from orion.config import Config
    from orion.runtime.spark_process import SparkProcess
    from orion.web.platform import Platform


def command(
    ctx: typer.Context,
    port: Annotated[int | None, typer.Option(help="HTTP port; 0 picks a free one.", show_default=False)] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.", show_default=False)] = None,
    bootstrap: Annotated[
        str | None, typer.Option(help="host:port of a Kafka cluster to use instead of an embedded one.")
    ] = None,
    brokers: Annotated[int | None, typer.Option(help="Embedded brokers: 1 or 3.", show_default=False)] = None,
    kafka_port: Annotated[
        int | None, typer.Option(help="Port of the first embedded broker.", show_default=False)
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="A SQL script to run once everything is up.", show_default=False)
    ] = None,
) -> None:
    """Run the platform: Kafka, Spark and the HTTP server, with every query there was."""
    flags: dict[str, object] = {
        "web__port": port,
        "web__host": host,
        "hub__bootstrap": bootstrap,
        "hub__brokers": brokers,
        "hub__port": kafka_port,
    }
    config = options(ctx).config(**flags)
    script = read_text_file(file) if file else None
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())

    from orion.web.interrupts import STOPPING

    try:
        _check(stopping)
        launched = _launch_spark(config)
        running = _load_platform()
        _check(stopping)  # the code takes seconds where the machine is busy
        with running(config, output.note, wait=False, launched=launched) as platform:
            _announce(platform)
            if script and not stopping.is_set():
                platform.orion.execute(script)
            _watch(platform, stopping)
            back, known = platform.orion.engine.restored
            output.note(STOPPING)
        if back < known:
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        output.note("stopped before it was up")
        raise
    output.note("stopped")


def _check(stopping: threading.Event) -> None:
    if stopping.is_set():
        raise KeyboardInterrupt


def _launch_spark(config: Config) -> SparkProcess | None:
    """Spark's JVM comes up while the code is loaded, which takes as long. Not for a server that is refused, nor where
    something is in the way: the start itself tells."""
    from orion.hub import cluster_data, jars
    from orion.hub.running import LOCK
    from orion.runtime.spark_process import SparkProcess
    from orion.web.sockets import bound

    cluster_data.refuse_claimed(config.data.absolute(), LOCK)
    bound(config.web.host, config.web.port).close()
    if not jars.at_hand("spark"):
        return None
    with suppress(OSError):
        return SparkProcess.launch(config.engine, config.data, output.note)
    return None


def _load_platform() -> Callable[..., AbstractContextManager[Platform]]:
    """What is loaded stays, and looking through it for garbage again and again is a sixth of the time."""
    gc.disable()
    try:
        from orion.web.platform import running
    finally:
        gc.freeze()
        gc.enable()
    return running


def _watch(platform: Platform, stopping: threading.Event) -> None:
    """Until somebody asks for the end; meanwhile, say how many statements are back."""
    orion, told = platform.orion, (0, 0)
    while not stopping.wait(0.5):
        orion.check()
        restored = orion.engine.restored
        if restored != told:
            told = restored
            output.note(f"{told[0]} of {told[1]} statements are back")


def _announce(platform: Platform) -> None:
    orion = platform.orion
    catalog = orion.engine.catalog
    output.facts(
        {
            "Kafka": orion.bootstrap,
            "console": platform.url,
            "HTTP": platform.url,
            "schema registry": platform.registry,
            "PostgreSQL's clients": platform.postgres,
            "Spark": f"{orion.spark.version} {orion.spark.sparkContext.master}",
            "data": str(orion.engine.config.data.absolute()),
            "catalog": f"{len(catalog.sources)} streams and tables, {len(catalog.queries)} queries, "
            f"{len(catalog.connectors)} connectors",
        }
    )
    for problem in orion.engine.problems:
        output.note(f"catalog: {problem}")
    output.note(f"Ctrl-C stops. Open {platform.url} in a browser, or try in another terminal: orion sql")
