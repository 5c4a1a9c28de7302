"""A file that was found, and what a worker gives for each thing that stands in it."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

UNREADABLE_FILE = "FILE_UNREADABLE"
BROKEN = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


@dataclass(frozen=True, slots=True)
class Found:
    """A file by its address; its content where it isn't on this machine."""

    address: str
    modified_ms: int
    content: bytes | None = None

    @property
    def path(self) -> str:
        """As people write it."""
        if not self.address.startswith("file:"):
            return self.address
        return "/" + self.address.removeprefix("file:").lstrip("/")

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Its bytes, unpacked if its name says that they are packed."""
        with self._bytes() as source, _unpacked(self.path, source) as unpacked:
            yield unpacked

    def _bytes(self) -> BinaryIO:
        return Path(self.path).open("rb") if self.content is None else io.BytesIO(self.content)


def _unpacked(name: str, source: BinaryIO) -> BinaryIO:
    match name.rpartition(".")[2].lower():
        case "gz":
            return cast(BinaryIO, gzip.GzipFile(fileobj=source))
        case "bz2":
            return cast(BinaryIO, bz2.BZ2File(source))
        case "xz":
            return cast(BinaryIO, lzma.LZMAFile(source))
        case _:
            return source


class Entry(NamedTuple):
    """One line, as it stands there and as cells; or what is wrong with it. There are many: it is quickly made."""

    raw: bytes
    number: int
    cells: tuple[str | None, ...] = ()
    bad: str | None = None
