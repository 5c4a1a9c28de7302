"""SPOOL: what `orion sql` prints goes to a file as well."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, TextIO

from orion.errors import UserError


class Spool:
    """Stands in for standard output while a file listens in."""

    def __init__(self) -> None:
        self._screen: TextIO | None = None
        self._file: TextIO | None = None

    def start(self, path: Path) -> None:
        self.stop()
        try:
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise UserError("SPOOL_FILE", f"{path} can't be written: {error.strerror}.") from error
        self._screen = sys.stdout
        sys.stdout = _Both(self._screen, self._file)

    def stop(self) -> bool:
        """Whether it was on."""
        if self._file is None or self._screen is None:
            return False
        sys.stdout, self._screen = self._screen, None
        self._file.close()
        self._file = None
        return True

    def note(self, statement: str) -> None:
        """The statement, for the file alone: on the screen it stands already."""
        if self._file is not None:
            self._file.write(f"orion> {statement};\n")


class _Both:
    """Text to both; everything else is asked of the screen."""

    def __init__(self, screen: TextIO, file: TextIO) -> None:
        self._screen, self._file = screen, file

    def write(self, text: str) -> int:
        self._file.write(text)
        return self._screen.write(text)

    def flush(self) -> None:
        self._file.flush()
        self._screen.flush()

    def __getattr__(self, name: str) -> Any:
        # No buffer of bytes: one who wrote there would pass the file by.
        if name == "buffer":
            raise AttributeError(name)
        return getattr(self._screen, name)
