"""Which servers run, so that other commands on the same machine find them.

A server writes `server.json` into its data folder, and a note with that folder's path among the user's own files: a
command in any folder finds the servers of its user by these notes.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from orion.errors import ConfigError, Conflict

if TYPE_CHECKING:
    from orion.config import Config

FILE = "server.json"
LOCK = "server.lock"  # held by the server that runs on a folder
_ANSWER_S = 10.0


@dataclass(frozen=True, slots=True)
class Running:
    """A running server's process and addresses."""

    pid: int
    bootstrap: str
    url: str
    service_id: str
    registry: str | None = None

    def write(self, data: Path) -> None:
        """Announce the server, in its folder and to its user's commands; a reader sees the whole file or none."""
        data.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=data, prefix=f".{FILE}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(asdict(self), file)
            os.replace(name, data / FILE)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        note = _note_of(data)
        with suppress(OSError):  # a user without a home is found by the data folder alone
            note.parent.mkdir(parents=True, exist_ok=True)
            note.write_text(f"{data.absolute()}\n", encoding="utf-8")

    @classmethod
    def read(cls, data: Path) -> Running | None:
        """The server of this folder; none when no file says so, or when that process is gone."""
        file = data / FILE
        try:
            written = file.stat().st_mtime
            running = cls(**json.loads(file.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None
        return running if _alive(running.pid, written) else None

    @staticmethod
    def remove(data: Path) -> None:
        """Take the announcement back."""
        with suppress(OSError):
            _note_of(data).unlink(missing_ok=True)
        (data / FILE).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Located:
    """A server, and the folder it runs on; None: it is known by its address alone."""

    running: Running
    data: Path | None

    def __str__(self) -> str:
        return self.running.url if self.data is None else f"{self.running.url} on {self.data}"


def running_servers() -> list[Located]:
    """The servers of this user that run now."""
    found: list[Located] = []
    for note in sorted(_notes().glob("*.path")):
        try:
            data = Path(note.read_text(encoding="utf-8").strip())
        except (OSError, ValueError):
            continue
        running = Running.read(data)
        if running is not None:
            found.append(Located(running, data))
        elif not data.exists():  # a server that was killed, and its folder removed
            note.unlink(missing_ok=True)
    return found


def locate_server(config: Config) -> Located | None:
    """The server that is meant: the one on the data folder.

    Where no folder is named, and no server ever ran here, it is the only one that runs, wherever that is.
    """
    own = Running.read(config.data)
    if own is not None:
        return Located(own, config.data)
    if is_folder_chosen(config):
        return None
    found = running_servers()
    if len(found) > 1:
        raise Conflict(
            "SEVERAL_SERVERS",
            f"{len(found)} servers run: {'; '.join(map(str, found))}.",
            hint=f"Say which with --data, such as --data {found[0].data}.",
        )
    return found[0] if found else _answering(config.web.host, config.web.port)


def is_folder_chosen(config: Config) -> bool:
    """Whether the data folder is more than a default: somebody named it, or a server has run on it."""
    return "data" in config.model_fields_set or (config.data / LOCK).exists()


def is_claimed(data: Path, name: str = LOCK) -> bool:
    """Whether a process holds the folder: a server, also one that can't be talked to yet or any more.

    Nothing is made, and nothing is claimed.
    """
    try:
        with (data / name).open(encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def not_running(config: Config, otherwise: str) -> ConfigError:
    """No server is there to talk to; what to do, and what else there is `otherwise`."""
    if is_claimed(config.data):
        hint = "Try again when `orion up` has shown its addresses; /healthcheck says how far it is."
        return ConfigError("NOT_READY", f"The Orion on {config.data} is still starting, or is stopping.", hint=hint)
    others = running_servers()
    hint = f"start one with `orion up`, or {otherwise}"
    if others:
        hint = f"{'; '.join(f'--data {one.data} is the one at {one.running.url}' for one in others)}; or {hint}"
    return ConfigError("NOT_RUNNING", f"No Orion runs on {config.data}.", hint=hint)


def bootstrap_of(config: Config) -> str:
    """The address of the cluster: what the settings say, else that of the server that is meant."""
    if config.hub.bootstrap:
        return config.hub.bootstrap
    found = locate_server(config)
    if found is None:
        raise not_running(config, "give --bootstrap")
    return found.running.bootstrap


def registry_of(config: Config) -> str:
    """The address of the registry: what the settings say, that of the server that is meant, or where one would be."""
    if config.registry.url:
        return config.registry.url
    found = locate_server(config)
    if found is not None and found.running.registry:
        return found.running.registry
    return f"http://{config.registry.host}:{config.registry.port}"


def _notes() -> Path:
    from orion.config import state_folder

    return state_folder() / "servers"


def _note_of(data: Path) -> Path:
    name = hashlib.sha256(os.fsencode(data.absolute())).hexdigest()[:16]
    return _notes() / f"{name}.path"


def _answering(host: str, port: int) -> Located | None:
    """The Orion at an address on this machine, whoever runs it: ksqlDB has the same port, but no list of brokers."""
    if not port or host not in ("127.0.0.1", "localhost", "::1"):
        return None
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    try:
        told = _asked(f"{url}/info")["KsqlServerInfo"]
        cluster = quote(told["kafkaClusterId"], safe="")
        brokers = _asked(f"{url}/v3/clusters/{cluster}/brokers")["data"]
        bootstrap = ",".join(f"{broker['host']}:{broker['port']}" for broker in brokers)
        return Located(Running(0, bootstrap, url, told["ksqlServiceId"]), None)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _asked(url: str) -> Any:
    from urllib.request import ProxyHandler, build_opener

    with build_opener(ProxyHandler({})).open(url, timeout=_ANSWER_S) as answer:  # no proxy leads to this machine
        return json.loads(answer.read())


def _alive(pid: int, written: float) -> bool:
    """Whether the process that wrote the file still runs.

    A number is used again after a restart of the machine, so a process that began after the file was written isn't it;
    neither is one that has ended and only waits for its parent.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        lines = Path("/proc/stat").read_text(encoding="utf-8").splitlines()
        booted = next(line for line in lines if line.startswith("btime"))
    except (OSError, StopIteration):
        return True
    state, ticks = fields[0], int(fields[19])
    began = int(booted.split()[1]) + ticks / os.sysconf("SC_CLK_TCK")
    return state != "Z" and began <= written + 2.0
