"""The platform with its door open: engine, HTTP server, and the note on disk by which other commands find them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from orion.app import Orion
from orion.config import Config
from orion.hub.running import Running
from orion.web.server import Server, bound


@dataclass(frozen=True)
class Platform:
    orion: Orion
    url: str


@contextmanager
def running(config: Config, progress: Callable[[str], None]) -> Iterator[Platform]:
    """Start everything; stop it all in the opposite order, whatever happens between."""
    # The port first: a clash is told in a millisecond, not after Spark has started.
    sock = bound(config.web.host, config.web.port)
    try:
        with Orion.start(config, progress) as orion:
            server = Server.start(orion, sock)
            Running(os.getpid(), orion.bootstrap, server.url, config.service_id).write(config.data)
            try:
                yield Platform(orion, server.url)
            finally:
                Running.remove(config.data)
                server.stop()
    finally:
        sock.close()
