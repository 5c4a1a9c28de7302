"""OpenSearch, as its own integration tests have it: the engine and its HTTP door, without security and scripting."""

from __future__ import annotations

import hashlib
import os
import shutil
import uuid
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from orion.errors import OrionError
from orion.hub import java
from tests.servers.kept import PREPARE, Tell, absent, keep, place
from tests.servers.process import HOST, Process, another_user, free_ports, hand_over, needs_another_user, run

VERSION = "2.19.6"
ARTIFACT = f"org.opensearch.distribution.integ-test-zip:opensearch:{VERSION}:zip"
SHA256 = "71d6d8b1c637f3faecda0752b184b1cc526fc6eaad59ec1408c6327bb00b9293"
NAME = f"opensearch-{VERSION}.zip"
# Later versions also read the poms above the artifact, and those name a repository that not everyone reaches.
COPY = "org.apache.maven.plugins:maven-dependency-plugin:2.8:copy"
FETCH_S = 300.0
NEWEST_JAVA = 23  # later ones have no security manager, which it insists on

JVM = (
    "-Xms512m",
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",  # it lives for minutes
    "-Djava.security.manager=allow",
    "-Dopensearch.networkaddress.cache.ttl=60",
    "-Dopensearch.distribution.type=zip",
    "-Dlog4j.shutdownHookEnabled=false",
    "-Dlog4j2.disable.jmx=true",
    "-Djava.util.concurrent.ForkJoinPool.common.threadFactory="
    "org.opensearch.secure_sm.SecuredForkJoinWorkerThreadFactory",
)
SETTINGS = {
    "cluster.name": "orion-test",
    "discovery.type": "single-node",
    "network.host": HOST,
    "cluster.routing.allocation.disk.threshold_enabled": "false",  # a full disk is the machine's business
    "action.destructive_requires_name": "false",
}


def missing() -> str | None:
    if not place(NAME).exists():
        install = f"install {' and '.join(absent('mvn'))}, then " if absent("mvn") else ""
        return f"OpenSearch isn't fetched here: {install}{PREPARE}"
    try:
        found = java.find()
    except OrionError as error:
        return f"OpenSearch needs Java: {error.message}"
    if found.version > NEWEST_JAVA:
        return f"OpenSearch {VERSION} doesn't run on Java {found.version}: apt-get install default-jre-headless"
    return needs_another_user()


def prepare(tell: Tell) -> None:
    if place(NAME).exists():
        return
    if absent("mvn"):
        raise RuntimeError("OpenSearch is fetched with Maven, which is missing here")
    tell(f"fetching OpenSearch {VERSION} (56 MB)")
    keep(NAME, _fetch)


def _fetch(folder: Path) -> Path:
    command = ["mvn", "--batch-mode", "--quiet", COPY, f"-Dartifact={ARTIFACT}", f"-DoutputDirectory={folder}"]
    run(command, cwd=folder, timeout=FETCH_S)
    (fetched,) = folder.glob("*.zip")
    if (found := hashlib.sha256(fetched.read_bytes()).hexdigest()) != SHA256:
        raise RuntimeError(f"{ARTIFACT} has the sha256 {found}, not {SHA256}")
    return fetched


class OpenSearch:
    """One server of one node. Anybody may do everything."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.host = HOST
        self.port, self._transport = free_ports(2)
        self._folder = folder
        self._home = folder / f"opensearch-{VERSION}"
        self._process = Process("OpenSearch", folder / "log")

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def start(self) -> None:
        if self._process.runs:
            return
        if not self._home.exists():
            self._unpack()
        ports = {"http.port": self.port, "transport.port": self._transport}
        command = [
            str(java.find().executable),
            *JVM,
            f"-Djava.io.tmpdir={self._folder / 'tmp'}",
            f"-Dopensearch.path.home={self._home}",
            f"-Dopensearch.path.conf={self._home / 'config'}",
            *("-cp", f"{self._home / 'lib'}{os.sep}*"),
            "org.opensearch.bootstrap.OpenSearch",
            *(f"-E{name}={value}" for name, value in {**SETTINGS, **ports}.items()),
        ]
        self._process.start(another_user(command), self._answers)

    def stop(self) -> None:
        self._process.stop()

    def kill(self) -> None:
        self._process.kill()

    @contextmanager
    def indices(self) -> Iterator[str]:
        """What names of indices begin with in this test, on a running server; those are gone afterwards."""
        self.start()
        prefix = f"t-{uuid.uuid4().hex[:12]}-"
        try:
            yield prefix
        finally:
            self.start()
            httpx.delete(f"{self.url}/{prefix}*", timeout=60).raise_for_status()

    def _answers(self) -> None:
        """Also after a crash: it answers searches once the shards are back."""
        asked = {"wait_for_status": "yellow", "timeout": "1s"}
        httpx.get(f"{self.url}/_cluster/health", params=asked, timeout=10).raise_for_status()

    def _unpack(self) -> None:
        """It writes into its own folders, so each run has it anew. Root's cache is closed to the other user, too."""
        with zipfile.ZipFile(place(NAME)) as packed:
            packed.extractall(self._folder)
        shutil.rmtree(self._home / "lib" / "tools")
        (self._folder / "tmp").mkdir()
        hand_over(self._folder)
