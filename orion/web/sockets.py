"""Where servers listen: a port is taken before anything else starts, so that a clash is told at once."""

from __future__ import annotations

import socket
from collections.abc import Callable

from orion.config import Postgres, Registry
from orion.errors import ConfigError


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there."""
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        raise ConfigError(
            "PORT_TAKEN",
            f"{host}:{port} can't be listened on: {error.strerror}.",
            hint="Stop what uses it, or choose another with --port (0 picks a free one).",
        ) from error
    sock.listen(128)
    sock.setblocking(False)
    return sock


def bound_somewhere(wanted: Postgres | Registry, whose: str, progress: Callable[[str], None]) -> socket.socket:
    """The same for a server whose usual port gives way: of two platforms on a machine the second takes a free one."""
    try:
        return bound(wanted.host, wanted.port)
    except ConfigError:
        if "port" in wanted.model_fields_set:
            raise
        progress(f"port {wanted.port} is taken: {whose} gets a free one")
        return bound(wanted.host, 0)
