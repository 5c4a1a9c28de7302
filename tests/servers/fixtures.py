"""Servers for tests, one of each for a whole run: started on first use, killed at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

from tests.required import refuse
from tests.servers import Server

if TYPE_CHECKING:
    from tests.servers.ferretdb import FerretDB
    from tests.servers.mariadb import MariaDB
    from tests.servers.opensearch import OpenSearch
    from tests.servers.postgres import Postgres
    from tests.servers.seaweedfs import SeaweedFS

S = TypeVar("S", bound=Server)


@contextmanager
def running(missing: Callable[[], str | None], make: Callable[[Path], S], folder: Path) -> Iterator[S]:
    """A server of its own folder, where this machine can run it."""
    reason = missing()
    if reason is not None:
        refuse(reason)
    server = make(folder)
    try:
        server.start()
        yield server
    finally:
        server.kill()


@pytest.fixture(scope="session")
def postgres(scratch: Path) -> Iterator[Postgres]:
    from tests.servers.postgres import Postgres, missing

    with running(missing, Postgres, scratch / "postgres") as server:
        yield server


@pytest.fixture(scope="session")
def mariadb(scratch: Path) -> Iterator[MariaDB]:
    from tests.servers.mariadb import MariaDB, missing

    with running(missing, MariaDB, scratch / "mariadb") as server:
        yield server


@pytest.fixture(scope="session")
def seaweedfs(scratch: Path) -> Iterator[SeaweedFS]:
    from tests.servers.seaweedfs import SeaweedFS, missing

    with running(missing, SeaweedFS, scratch / "seaweedfs") as server:
        yield server


@pytest.fixture(scope="session")
def ferretdb(scratch: Path) -> Iterator[FerretDB]:
    from tests.servers.ferretdb import FerretDB, missing

    with running(missing, FerretDB, scratch / "ferretdb") as server:
        yield server


@pytest.fixture(scope="session")
def opensearch(scratch: Path) -> Iterator[OpenSearch]:
    from tests.servers.opensearch import OpenSearch, missing

    with running(missing, OpenSearch, scratch / "opensearch") as server:
        yield server
