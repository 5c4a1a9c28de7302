"""FerretDB, which speaks MongoDB's protocol, with SQLite behind it. It is built here, from its Go module.

It has no change streams and no transactions. Users and passwords are an experiment of its own, and enough for ours.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymongo

from tests.servers.kept import PREPARE, Tell, absent, keep, place
from tests.servers.process import HOST, Process, free_ports, run

VERSION = "v1.24.0"
MODULE = f"github.com/FerretDB/FerretDB@{VERSION}"
SUM = "h1:7WJmezL48Bj9bYWnhT/bEJgX5gjT5s7LFdHTqkN25rA="
NAME = f"ferretdb-{VERSION}"
BUILD_S = 600.0


def missing() -> str | None:
    if place(NAME).exists():
        return None
    install = f"install {' and '.join(absent('go'))}, then " if absent("go") else ""
    return f"FerretDB isn't built here: {install}{PREPARE}"


def prepare(tell: Tell) -> None:
    if place(NAME).exists():
        return
    if absent("go"):
        raise RuntimeError("FerretDB is built with Go, which is missing here")
    tell(f"building FerretDB {VERSION} (a minute or two)")
    keep(NAME, _build)


def _build(folder: Path) -> Path:
    """The program. The module's text says its version only when it is told."""
    told = json.loads(run(["go", "mod", "download", "-json", MODULE], cwd=folder, timeout=BUILD_S))
    if told["Sum"] != SUM:
        raise RuntimeError(f"{MODULE} has the checksum {told['Sum']}, not {SUM}")
    source = folder / "source"
    shutil.copytree(told["Dir"], source)
    for path in (source, *source.rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)  # Go keeps modules unwritable
    (source / "build" / "version" / "version.txt").write_text(f"{VERSION}\n")
    run(["go", "build", "-buildvcs=false", "-o", "../ferretdb", "./cmd/ferretdb"], cwd=source, timeout=BUILD_S)
    return folder / "ferretdb"


@dataclass(frozen=True, slots=True)
class Database:
    """One database of the server."""

    server: FerretDB
    name: str

    @property
    def url(self) -> str:
        return f"mongodb://{HOST}:{self.server.port}/{self.name}"

    @contextmanager
    def connect(self) -> Iterator[pymongo.database.Database[dict[str, Any]]]:
        with self.server.connect() as client:
            yield client[self.name]


class FerretDB:
    """One server with a user that may do everything and needs a password. Its users are those of `admin`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.host = HOST
        (self.port,) = free_ports(1)
        self.user = "orion"
        self.password = secrets.token_hex(8)
        self._folder = folder
        self._process = Process("FerretDB", folder / "log")

    @property
    def url(self) -> str:
        return f"mongodb://{HOST}:{self.port}/"

    def start(self) -> None:
        if self._process.runs:
            return
        data = self._folder / "data"
        data.mkdir(exist_ok=True)
        settings = {
            "HANDLER": "sqlite",
            "SQLITE_URL": f"file:{data}/",
            "LISTEN_ADDR": f"{HOST}:{self.port}",
            "DEBUG_ADDR": "-",
            "STATE_DIR": str(self._folder),
            "TELEMETRY": "disable",
            "TEST_ENABLE_NEW_AUTH": "true",
            "SETUP_DATABASE": "admin",
            "SETUP_USERNAME": self.user,
            "SETUP_PASSWORD": self.password,
        }
        env = {f"FERRETDB_{name}": value for name, value in settings.items()}
        self._process.start([os.fspath(place(NAME))], self._answers, env=env)

    def stop(self) -> None:
        self._process.stop()

    def kill(self) -> None:
        self._process.kill()

    def connect(self, patience_ms: int = 5000) -> pymongo.MongoClient[dict[str, Any]]:
        """A client, and how long it waits for a server that isn't there."""
        return pymongo.MongoClient(
            HOST, self.port, username=self.user, password=self.password, serverSelectionTimeoutMS=patience_ms
        )

    @contextmanager
    def database(self) -> Iterator[Database]:
        """A name of a database that nobody has, on a running server; what is written there is gone afterwards."""
        self.start()
        name = f"t_{uuid.uuid4().hex[:12]}"
        try:
            yield Database(self, name)
        finally:
            self.start()
            with self.connect() as client:
                client.drop_database(name)

    def _answers(self) -> None:
        with self.connect(patience_ms=200) as client:
            client.list_database_names()
