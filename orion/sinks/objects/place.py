"""Where objects stand: a bucket of an S3 server, or a folder of this machine.

An object appears whole or not at all in both: S3 shows one when its upload is complete, and a file gets its name when
it is written and synced.
"""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from pyarrow import fs
from pydantic import SecretStr

from orion.errors import ConfigError, OrionError
from orion.sinks.store import StoreAway

# What S3 servers say of requests that are wrong as they are; whatever else they say may pass.
_REFUSED = re.compile(
    r"ACCESS_DENIED|INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|INVALID_CLIENT_TOKEN_ID|INVALID_SIGNATURE"
    r"|MISSING_AUTHENTICATION_TOKEN|EXPIRED_TOKEN|UNRECOGNIZED_CLIENT|HTTP status 403|InvalidAccessKeyId|ExpiredToken"
)
_NO_BUCKET = re.compile(r"NO_SUCH_BUCKET|RESOURCE_NOT_FOUND|HTTP status 404|NoSuchBucket")
_ELSEWHERE = re.compile(r"PermanentRedirect|HTTP status 30[17]|AuthorizationHeaderMalformed|IllegalLocationConstraint")
_OPERATION = re.compile(r"AWS Error (\w+) during (\w+) operation[^:]*: *([^\n]*)")


class Shelf(Protocol):
    """A place that is open."""

    def put(self, name: str, content: bytes) -> None:
        """Replace or make the object of this name, whole. Raises StoreAway, or ConfigError where it is refused."""
        ...

    def get(self, name: str) -> bytes | None: ...


class Place(Protocol):
    def open(self) -> Shelf: ...

    def check(self, probe: str) -> None:
        """That objects can be put there, by putting one of this name."""
        ...


@dataclass(frozen=True, slots=True)
class Login:
    key: str
    secret: SecretStr
    token: SecretStr | None = None


@dataclass(frozen=True, slots=True)
class Bucket:
    name: str
    region: str | None = None
    url: str | None = None
    login: Login | None = None  # None: what the AWS SDK finds in the environment
    virtual: bool = False

    def open(self) -> BucketShelf:
        at = urlsplit(self.url) if self.url else None
        try:
            files = fs.S3FileSystem(
                access_key=self.login and self.login.key,
                secret_key=self.login and self.login.secret.get_secret_value(),
                session_token=self.login and self.login.token and self.login.token.get_secret_value(),
                region=self.region or ("us-east-1" if at else None),
                scheme=at.scheme if at else "https",
                endpoint_override=at.netloc if at else None,
                force_virtual_addressing=self.virtual,
                connect_timeout=5.0,
                allow_delayed_open=True,  # a small object is one request
            )
        except OSError as error:
            raise told(error, self) from None
        return BucketShelf(self, files)

    def check(self, probe: str) -> None:
        shelf = self.open()
        try:
            (found,) = shelf.files.get_file_info([self.name])
        except OSError as error:
            raise told(error, self) from None
        if found.type is fs.FileType.NotFound:
            raise _no_bucket(self)
        shelf.put(probe, b"")

    def __str__(self) -> str:
        return f"bucket {self.name} at {self.url}" if self.url else f"bucket {self.name}"


@dataclass(frozen=True, slots=True)
class BucketShelf:
    bucket: Bucket
    files: fs.S3FileSystem

    def put(self, name: str, content: bytes) -> None:
        try:
            with self.files.open_output_stream(f"{self.bucket.name}/{name}") as out:
                out.write(content)
        except OSError as error:
            raise told(error, self.bucket) from None

    def get(self, name: str) -> bytes | None:
        path = f"{self.bucket.name}/{name}"
        try:
            (found,) = self.files.get_file_info([path])
            if found.type is not fs.FileType.File:
                return None
            with self.files.open_input_stream(path) as stream:
                return bytes(stream.read())
        except OSError as error:
            raise told(error, self.bucket) from None


@dataclass(frozen=True, slots=True)
class Folder:
    path: str

    def open(self) -> FolderShelf:
        return FolderShelf(Path(self.path))

    def check(self, probe: str) -> None:
        try:
            Path(self.path).mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self.path, prefix=".orion-probe-"):
                pass
        except OSError as error:
            raise ConfigError("PATH_NOT_WRITABLE", f"{self.path} can't be written: {error.strerror}.") from error


@dataclass(frozen=True, slots=True)
class FolderShelf:
    root: Path

    def put(self, name: str, content: bytes) -> None:
        path = self.root / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, made = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
            try:
                with open(handle, "wb") as out:
                    out.write(content)
                    out.flush()
                    os.fsync(out.fileno())
                os.chmod(made, 0o644)
                os.replace(made, path)
            except BaseException:
                os.unlink(made)
                raise
        except OSError as error:
            raise StoreAway(str(self.root), error.strerror or str(error)) from error

    def get(self, name: str) -> bytes | None:
        try:
            return (self.root / name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreAway(str(self.root), error.strerror or str(error)) from error


def told(error: OSError, bucket: Bucket) -> OrionError:
    """What pyarrow's error means to somebody."""
    said = str(error)
    found = _OPERATION.search(said)
    words = f"{found[2]}: {found[3] or found[1]}".rstrip(". ") if found else said.splitlines()[0].rstrip(".")
    if _NO_BUCKET.search(said):
        return _no_bucket(bucket)
    if _REFUSED.search(said):
        return ConfigError(
            "STORE_REFUSES",
            f"The {bucket} refuses: {words}.",
            hint="Check aws.access.key.id, aws.secret.access.key and what that key may do.",
        )
    if _ELSEWHERE.search(said):
        return ConfigError("STORE_REFUSES", f"The {bucket} refuses: {words}.", hint="Check s3.region and store.url.")
    return StoreAway(f"The {bucket}", words)


def _no_bucket(bucket: Bucket) -> ConfigError:
    return ConfigError(
        "BUCKET_MISSING",
        f"There is no {bucket}.",
        hint="Make it, or check s3.bucket.name, s3.region and store.url.",
    )
