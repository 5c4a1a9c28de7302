"""The platform with its door open: engine, HTTP server, and the note on disk by which other commands find them."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

from orion.app import Orion
from orion.config import Config
from orion.errors import ConfigError
from orion.hub.running import Running
from orion.registry import api
from orion.registry.access import without_login
from orion.registry.store import Registry
from orion.web.postgres.server import listening, serving_postgres
from orion.web.server import Server, bound


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
        registry_sock = _registry_socket(config, progress)
        if registry_sock is not None:
            stack.enter_context(closing(registry_sock))
        postgres_sock = listening(config.postgres, progress) if config.serving.enabled else None
        if postgres_sock is not None:
            stack.enter_context(closing(postgres_sock))
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


def _registry_socket(config: Config, progress: Callable[[str], None]) -> socket.socket | None:
    """Where the registry listens. Two platforms on a machine both want the usual port: the second takes a free one."""
    wanted = config.registry
    if not wanted.enabled or wanted.url is not None:
        return None
    try:
        return bound(wanted.host, wanted.port)
    except ConfigError:
        if "port" in wanted.model_fields_set:
            raise
        progress(f"port {wanted.port} is taken: the schema registry gets a free one")
        return bound(wanted.host, 0)
