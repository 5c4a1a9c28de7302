"""The platform with its door open: engine, HTTP server, and the note on disk by which other commands find them."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

from orion.app import Orion
from orion.config import Config
from orion.hub.running import Running
from orion.registry import api
from orion.registry.access import without_login
from orion.registry.store import Registry
from orion.web.postgres.server import serving_postgres
from orion.web.server import Server
from orion.web.sockets import bound, bound_somewhere


@dataclass(frozen=True)
class Platform:
    orion: Orion
    url: str
    registry: str | None = None
    postgres: str | None = None  # where clients of PostgreSQL's find the tables


@contextmanager
def running(config: Config, progress: Callable[[str], None]) -> Iterator[Platform]:
    """Start everything; stop it all in the opposite order, whatever happens between."""
    with ExitStack() as stack:
        # The ports first: a clash is told in a millisecond, not after Spark has started.
        sock = stack.enter_context(closing(bound(config.web.host, config.web.port)))
        registry_sock = postgres_sock = None
        if config.registry.enabled and config.registry.url is None:
            found = bound_somewhere(config.registry, "the schema registry", progress)
            registry_sock = stack.enter_context(closing(found))
        if config.postgres.enabled and config.serving.enabled:
            found = bound_somewhere(config.postgres, "the door for PostgreSQL's clients", progress)
            postgres_sock = stack.enter_context(closing(found))
        orion = stack.enter_context(Orion.start(config, progress))
        registry = None if config.registry.url is None else without_login(config.registry.url)
        if registry_sock is not None and orion.registry is not None:
            registry = stack.enter_context(serving_registry(orion.registry, registry_sock))
        server = Server.start(orion, sock)
        stack.callback(server.stop)
        postgres = None
        if postgres_sock is not None and orion.tables is not None:
            postgres = stack.enter_context(serving_postgres(orion.tables, postgres_sock))
        Running(os.getpid(), orion.bootstrap, server.url, config.service_id, registry).write(config.data)
        stack.callback(Running.remove, config.data)
        yield Platform(orion, server.url, registry, postgres)


@contextmanager
def serving_registry(registry: Registry, sock: socket.socket) -> Iterator[str]:
    """A registry's API on a socket; gives its URL."""
    server = Server.serve(api.application(registry), sock)
    try:
        yield server.url
    finally:
        server.stop()
