"""The folder an embedded cluster lives in: whose it is, who uses it now, and on which ports.

    DATA/hub.lock           held for life by the orion that runs here; holds its process id
    DATA/cluster.json       cluster id, number of brokers, ports: written before anything else
    DATA/broker-N/          a broker's settings, its process id, `data/` with its partitions, `logs/`

A restart finds the same ports, so that clients which remember an address find the cluster again.
"""

from __future__ import annotations

import base64
import errno
import fcntl
import json
import os
import random
import shutil
import socket
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from orion.errors import ConfigError, Conflict
from orion.hub.ivy import Progress
from orion.hub.running import Running, is_claimed

HOST = "127.0.0.1"
NEEDED_BYTES = 200_000_000
# Below the range Linux takes the ports of outgoing connections from, so that no client of anything holds one of ours.
PORTS = range(20_000, 32_000)
LET_GO_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Node:
    """One broker of the cluster and its places."""

    id: int
    folder: Path
    port: int
    controller_port: int

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "logs" / "server.log"

    @property
    def console(self) -> Path:
        return self.folder / "logs" / "console.log"

    @property
    def pid_file(self) -> Path:
        return self.folder / "pid"

    @property
    def is_formatted(self) -> bool:
        return (self.data / "meta.properties").exists()


@dataclass(frozen=True, slots=True)
class Cluster:
    """What `cluster.json` remembers."""

    cluster_id: str
    brokers: int
    ports: tuple[tuple[int, int], ...] = ()  # a broker each: its own and its controller's

    def nodes(self, data: Path) -> tuple[Node, ...]:
        return tuple(Node(i, data / f"broker-{i}", *ports) for i, ports in enumerate(self.ports, 1))


def claim(data: Path, name: str = "hub.lock") -> IO[str]:
    """Make the folder ours for as long as the returned file stays open."""
    with explained(data):
        data.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(data).free < NEEDED_BYTES:
            raise disk_full(data)
        lock = (data / name).open("a+", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise _in_use(data, name) from None
    with explained(data):
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
    return lock


def refuse_claimed(data: Path, name: str = "hub.lock") -> None:
    """Raise where another orion has claimed the folder. Nothing is made, and nothing is claimed."""
    if is_claimed(data, name):
        raise _in_use(data, name)


def _in_use(data: Path, name: str) -> Conflict:
    holder = (data / name).read_text(encoding="utf-8").strip() or "unknown"
    running = Running.read(data)
    hint = "Stop that one, or give this one another folder with --data."
    if running is not None:
        hint = f"It answers at {running.url}: `orion sql` talks to it. {hint}"
    return Conflict("DATA_IN_USE", f"{data} is in use by another orion, process {holder}.", hint=hint)


def settle(
    data: Path, brokers: int, port: int, progress: Progress, preferred: int = 0
) -> tuple[Cluster, tuple[Node, ...]]:
    """The cluster of this folder, made up now if the folder is new, with ports that are free.

    `port` is asked for: it is this one or none. `preferred` is what a new cluster gets where it is free.
    """
    with explained(data):
        known = _read(data)
        if known is None:
            _refuse_foreign(data)
            known = Cluster(_new_id(), brokers)
        if known.brokers != brokers:
            raise _another(data, f"was made with --brokers {known.brokers}, not {brokers}")
        for number in range(1, brokers + 1):
            _check_identity(data, number, known.cluster_id)
            _wait_for_earlier(data / f"broker-{number}", progress)
        cluster = Cluster(known.cluster_id, brokers, _ports(known, port, preferred, progress))
        _write(data, cluster)
        nodes = cluster.nodes(data)
        for node in nodes:
            node.log.parent.mkdir(parents=True, exist_ok=True)
    return cluster, nodes


def is_free(port: int) -> bool:
    """Whether a server can bind the port. Connections of an earlier server that are dying away don't count."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
            probe.listen(1)
        except OSError:
            return False
    return True


def port_taken(port: int) -> ConfigError:
    return ConfigError(
        "PORT_TAKEN",
        f"Port {port} of {HOST} is taken by another process.",
        hint="Stop that process, or choose another port with hub.port (0 picks a free one).",
    )


def disk_full(data: Path) -> ConfigError:
    return ConfigError(
        "DISK_FULL",
        f"The disk of {data} is full; a broker needs at least {NEEDED_BYTES // 1_000_000} MB.",
        hint="Free some space, or give a folder on another disk with --data.",
    )


@contextmanager
def explained(data: Path) -> Iterator[None]:
    """Turn what the file system refuses into an error that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise disk_full(data) from error
        raise ConfigError(
            "DATA_NOT_WRITABLE",
            f"The data folder {data} can't be used: {error.strerror or error}.",
            hint="Give a folder you may write to with --data.",
        ) from error


def _read(data: Path) -> Cluster | None:
    file = data / "cluster.json"
    if not file.exists():
        return None
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
        ports = tuple((int(own), int(controller)) for own, controller in told["ports"])
        return Cluster(str(told["cluster_id"]), int(told["brokers"]), ports)
    except (ValueError, KeyError, TypeError) as error:
        raise _another(data, f"has a cluster.json that Orion didn't write ({error})") from error


def _write(data: Path, cluster: Cluster) -> None:
    new = data / "cluster.json.new"
    new.write_text(json.dumps(asdict(cluster)) + "\n", encoding="utf-8")
    os.replace(new, data / "cluster.json")


def _refuse_foreign(data: Path) -> None:
    """A folder without `cluster.json` must be without a broker's data too."""
    for file in (data / "meta.properties", *data.glob("broker-*/data/meta.properties")):
        if file.exists():
            raise _another(data, f"holds {file.relative_to(data)} but no cluster.json")


def _check_identity(data: Path, number: int, cluster_id: str) -> None:
    """What the broker itself wrote about its data must fit what the folder says."""
    file = data / f"broker-{number}" / "data" / "meta.properties"
    if not file.exists():
        return
    told = dict(line.split("=", 1) for line in file.read_text(encoding="utf-8").splitlines() if "=" in line)
    if told.get("cluster.id") != cluster_id:
        raise _another(data, f"has data of cluster {told.get('cluster.id')} in broker-{number}, not of {cluster_id}")
    if told.get("node.id") != str(number):
        raise _another(data, f"has data of broker {told.get('node.id')} in broker-{number}")


def _another(data: Path, why: str) -> ConfigError:
    return ConfigError(
        "DATA_OF_ANOTHER_CLUSTER",
        f"{data} belongs to another cluster: it {why}.",
        hint="Give the settings the folder was made with, or another folder with --data.",
    )


def _wait_for_earlier(folder: Path, progress: Progress) -> None:
    """A broker whose orion was killed needs a moment to end; the lock in its data tells when it has."""
    lock = folder / "data" / ".lock"
    deadline = time.monotonic() + LET_GO_SECONDS
    told = False
    while lock.exists() and _is_held(lock):
        pid = (folder / "pid").read_text(encoding="utf-8").strip() if (folder / "pid").exists() else "unknown"
        if not told:
            progress(f"waiting for an earlier broker (process {pid}) to end")
            told = True
        if time.monotonic() > deadline:
            raise Conflict(
                "DATA_IN_USE",
                f"An earlier broker, process {pid}, still runs on {folder}.",
                hint=f"End it (kill {pid}) and start again.",
            )
        time.sleep(0.1)


def _is_held(lock: Path) -> bool:
    with lock.open("r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # POSIX locks, as Java takes them
        except OSError:
            return True
    return False


def _ports(known: Cluster, port: int, preferred: int, progress: Progress) -> tuple[tuple[int, int], ...]:
    """A requested port or none at all; otherwise the ports of last time where they are still free."""
    chosen: list[tuple[int, int]] = []
    for number in range(known.brokers):
        own, controller = known.ports[number] if number < len(known.ports) else (0, 0)
        taken = [used for pair in chosen for used in pair]
        if port:
            own = port + number
            if own > 65535:
                raise ConfigError("PORT_INVALID", f"There is no port {own}.", hint="Give hub.port a smaller number.")
            if not is_free(own):
                raise port_taken(own)
        elif own == 0:
            own = _preferred_port(preferred, number, taken, progress)
        elif not is_free(own):
            own, was = pick_port(taken), own
            progress(f"port {was} of broker {number + 1} is taken now; it moves to {own}")
        taken.append(own)
        if controller == 0 or controller in taken or not is_free(controller):
            controller = pick_port([*taken, *range(port, port + known.brokers)])
        chosen.append((own, controller))
    return tuple(chosen)


def _preferred_port(preferred: int, number: int, taken: Sequence[int], progress: Progress) -> int:
    """The port that clients try first, for a broker that never had one; another where it is taken."""
    wanted = preferred + number
    if preferred and wanted <= 65535 and wanted not in taken and is_free(wanted):
        return wanted
    chosen = pick_port(taken)
    if preferred:
        progress(f"port {wanted} is taken: broker {number + 1} gets {chosen}, and keeps it")
    return chosen


def pick_port(taken: Sequence[int] = ()) -> int:
    """A port that is free and that no outgoing connection takes."""
    for port in random.sample(PORTS, len(PORTS)):
        if port not in taken and is_free(port):
            return port
    raise ConfigError("PORT_TAKEN", f"No port from {PORTS.start} to {PORTS.stop} is free.")


def _new_id() -> str:
    """A random id as Kafka writes them; one that begins with a dash would look like an option."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text
