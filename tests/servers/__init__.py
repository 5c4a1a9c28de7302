"""Real servers for tests of connectors, one file each: how it is started, and what a client needs to reach it.

Each file has `missing()`, which says why the server can't run on this machine, and what to install. Those that have
`prepare(tell)` too are fetched or built by `python -m tests.servers`, once a user. `fixtures.py` gives them to tests.
"""

from __future__ import annotations

from typing import Protocol

NAMES = ("postgres", "mariadb", "seaweedfs", "ferretdb", "opensearch")


class Server(Protocol):
    """What every server has. A run shares it, so a test that ends it starts it again."""

    @property
    def url(self) -> str:
        """Where clients connect to; without a password."""
        ...

    def start(self) -> None:
        """Run it, on the port and the data of the time before; return once it answers. Nothing if it runs."""
        ...

    def stop(self) -> None:
        """End it in order."""
        ...

    def kill(self) -> None:
        """End it as a crash does, with all its processes."""
        ...
