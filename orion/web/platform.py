"""The platform with its door open: engine, HTTP server, and the note on disk by which other commands find them."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

from orion.app import RESTORED_S, Orion
from orion.config import Config, Web
from orion.hub import cluster_data
from orion.hub.running import LOCK, Running
from orion.registry import api
from orion.registry.access import without_login
from orion.registry.store import Registry
from orion.runtime.spark_process import SparkProcess
from orion.web.entrance import Entrance
from orion.web.interrupts import Interrupts
from orion.web.postgres.server import serving_postgres
from orion.web.server import Server, application
from orion.web.sockets import bound, bound_somewhere


@dataclass(frozen=True)
class Platform:
    orion: Orion
    url: str
    registry: str | None = None
    postgres: str | None = None  # where clients of PostgreSQL's find the tables


@contextmanager
def running(
    config: Config, progress: Callable[[str], None], *, wait: bool = True, launched: SparkProcess | None = None
) -> Iterator[Platform]:
    """Start everything; stop it all in the opposite order, whatever happens between.

    The HTTP door is open from the first moment. Statements come back side by side; `wait`: until all are back. Ctrl-C
    while it starts raises KeyboardInterrupt when what was started has been stopped again. `launched` is Spark's JVM
    where it was launched before.
    """
    interrupts = Interrupts()
    with ExitStack() as stack:
        with interrupts.caught():
            try:
                platform = interrupts.run(lambda: _open(config, progress, stack, interrupts, wait, launched), progress)
            except BaseException:
                stack.close()
                raise
        try:
            yield platform
        finally:
            with Interrupts(stopping=True).caught():
                stack.close()


def _open(
    config: Config,
    progress: Callable[[str], None],
    stack: ExitStack,
    interrupts: Interrupts,
    wait: bool,
    launched: SparkProcess | None,
) -> Platform:
    """Start everything, and have the stack stop it."""
    entrance, said = Entrance(), [""]

    def step(told: str) -> None:
        interrupts.check()
        entrance.say(told)
        if told != said[-1]:
            said.append(told)
            progress(told)

    # Who starts the same platform again is told that it runs, not that its ports are taken.
    cluster_data.refuse_claimed(config.data.absolute(), LOCK)
    # The ports first: a clash is told in a millisecond, not after Spark has started.
    sock = stack.enter_context(closing(bound(config.web.host, config.web.port)))
    registry_sock = postgres_sock = None
    if config.registry.enabled and config.registry.url is None:
        found = bound_somewhere(config.registry, "the schema registry", progress)
        registry_sock = stack.enter_context(closing(found))
    if config.postgres.enabled and config.serving.enabled:
        found = bound_somewhere(config.postgres, "the door for PostgreSQL's clients", progress)
        postgres_sock = stack.enter_context(closing(found))
    server = Server.serve(entrance, sock, config.web)
    stack.callback(server.stop)
    orion = stack.enter_context(Orion.start(config, step, wait=False, launched=launched))
    stack.callback(server.stop)  # before what it answers from
    registry = None if config.registry.url is None else without_login(config.registry.url)
    if registry_sock is not None and orion.registry is not None:
        registry = stack.enter_context(serving_registry(orion.registry, registry_sock, config.web))
    entrance.open(application(orion))
    postgres = None
    if postgres_sock is not None and orion.tables is not None:
        postgres = stack.enter_context(serving_postgres(orion.tables, postgres_sock))
    Running(os.getpid(), orion.bootstrap, server.url, config.service_id, registry).write(config.data)
    stack.callback(Running.remove, config.data)
    until = time.monotonic() + RESTORED_S
    while wait and not orion.await_restored(step, 0.5) and time.monotonic() < until:
        interrupts.check()
    interrupts.check()
    return Platform(orion, server.url, registry, postgres)


@contextmanager
def serving_registry(registry: Registry, sock: socket.socket, settings: Web | None = None) -> Iterator[str]:
    """A registry's API on a socket; gives its URL."""
    server = Server.serve(api.application(registry), sock, settings)
    try:
        yield server.url
    finally:
        server.stop()
