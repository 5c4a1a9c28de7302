"""`orion registry`: run a schema registry alone, until Ctrl-C or SIGTERM."""

from __future__ import annotations

import signal
import threading
from typing import Annotated

import typer

from orion.cli import output
from orion.cli.target import connect, options
from orion.errors import UserError


def command(
    ctx: typer.Context,
    port: Annotated[int | None, typer.Option(help="HTTP port; 0 picks a free one.", show_default=False)] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.", show_default=False)] = None,
    bootstrap: Annotated[
        str | None, typer.Option(help="host:port of the Kafka cluster that keeps the schemas.", show_default=False)
    ] = None,
    memory: Annotated[bool, typer.Option("--memory", help="Keep nothing: for trials and tests.")] = False,
) -> None:
    """Run a schema registry, with Confluent's API, over the topic _schemas of a cluster."""
    if memory and bootstrap:
        raise UserError("CONTRADICTION", "--memory keeps nothing in a cluster.", hint="Leave one of the two out.")
    config = options(ctx).config(registry__port=port, registry__host=host)
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())

    from contextlib import closing

    from orion.registry.log import TOPIC, KafkaLog, Log, MemoryLog
    from orion.registry.store import Registry
    from orion.web.platform import serving_registry
    from orion.web.sockets import bound

    with closing(bound(config.registry.host, config.registry.port)) as sock:
        kafka = None if memory else connect(ctx, bootstrap)
        log: Log = MemoryLog() if kafka is None else KafkaLog(kafka)
        registry = Registry(log)
        with closing(registry), serving_registry(registry, sock, config.web) as url:
            kept = "in memory" if kafka is None else f"in {TOPIC} of {kafka.bootstrap}"
            output.facts({"schema registry": url, "kept": kept, "subjects": len(registry.subjects())})
            output.note("Ctrl-C stops.")
            stopping.wait()
            output.note("stopping ...")
    output.note("stopped")
