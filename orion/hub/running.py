"""Which server runs on a data folder, so that another command on the same machine finds it."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orion.errors import ConfigError

if TYPE_CHECKING:
    from orion.config import Config

FILE = "server.json"


@dataclass(frozen=True, slots=True)
class Running:
    """A running server's process and addresses."""

    pid: int
    bootstrap: str
    url: str
    service_id: str
    registry: str | None = None

    def write(self, data: Path) -> None:
        """Announce the server; a reader sees the whole file or none."""
        data.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=data, prefix=f".{FILE}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(asdict(self), file)
            os.replace(name, data / FILE)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

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
        (data / FILE).unlink(missing_ok=True)


def bootstrap_of(config: Config) -> str:
    """The address of the cluster: what the settings say, else what runs on the data folder."""
    if config.hub.bootstrap:
        return config.hub.bootstrap
    running = Running.read(config.data)
    if running is None:
        raise ConfigError(
            "NOT_RUNNING",
            f"No Orion runs on {config.data}.",
            hint="start one with `orion up`, or give --bootstrap",
        )
    return running.bootstrap


def registry_of(config: Config) -> str:
    """The address of the registry: what the settings say, what runs on the data folder, or where one would."""
    if config.registry.url:
        return config.registry.url
    running = Running.read(config.data)
    if running is not None and running.registry:
        return running.registry
    return f"http://{config.registry.host}:{config.registry.port}"


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
