"""Values of connectors' options that stand elsewhere, and from where they may be read.

`${file:PATH}` is a file's text, `${file:PATH:KEY}` a line KEY=VALUE of one, `${env:NAME}` a variable of the server's
environment. Whoever can send a statement can write such a reference beside an address of their own, and the server
would carry the value there. So the settings say what may be read, and a statement never does: files of the folders
in `secrets.folders`, and of `secrets/` in the data folder; variables whose names are in `secrets.variables`. A path is
what it leads to once `..` and links are followed. A refusal is the same whether there is such a file or not.

A value is read when it is used and kept nowhere, but for the log's list of what it must not show.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orion import log
from orion.config import Config
from orion.errors import ConfigError

REFERENCE = re.compile(r"\$\{(env|file):([^}]+)\}")
_FOLDER = "secrets"
_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class SecretPlaces:
    """Where secrets may stand; without folders and variables, nowhere."""

    folders: tuple[Path, ...] = ()
    variables: frozenset[str] = frozenset()

    @classmethod
    def of(cls, config: Config) -> SecretPlaces:
        folders = (config.data / _FOLDER, *config.secrets.folders)
        return cls(
            tuple(Path(os.path.expanduser(folder)).absolute() for folder in folders),
            frozenset(config.secrets.variables),
        )

    def resolve(self, written: str, option: str) -> str:
        """A value with what stands elsewhere put in; refused where the settings don't allow that."""

        def put(match: re.Match[str]) -> str:
            kind, place = match[1], match[2]
            found = self._read_variable(place, option) if kind == "env" else self._read_file(place, option)
            log.hide_secret(found)
            return found

        return REFERENCE.sub(put, written)

    def _read_variable(self, name: str, option: str) -> str:
        if name not in self.variables:
            raise ConfigError(
                "SECRET_NOT_ALLOWED",
                f"'{option}' refers to the environment variable {name}, which connectors may not read.",
                hint="Whoever runs the server can list it in the setting secrets.variables.",
            )
        found = os.environ.get(name)
        if found is None:
            raise ConfigError("SECRET_MISSING", f"'{option}' stands elsewhere, and the variable {name} isn't set.")
        return found

    def _read_file(self, place: str, option: str) -> str:
        path, _, key = place.partition(":")
        real = next(self._candidates(path), None)
        if real is None:
            folder = self.folders[0] if self.folders else f"{_FOLDER}/ in the data folder"
            raise ConfigError(
                "SECRET_NOT_ALLOWED",
                f"'{option}' refers to the file {path}, which connectors may not read.",
                hint=f"Put it into {folder}, or have its folder listed in the setting secrets.folders.",
            )
        text = _read_text(real)
        lines = (line.partition("=") for line in text.splitlines()) if text is not None else iter(())
        value = next((v.strip() for name, _, v in lines if name.strip() == key), None) if key else text and text.strip()
        if value is None:
            what = f"has no line {key}=" if key and text is not None else "can't be read"
            raise ConfigError("SECRET_MISSING", f"'{option}' stands elsewhere, and {path} {what}.")
        return value

    def _candidates(self, path: str) -> Iterator[Path]:
        """What the path may mean, as far as that lies in an allowed folder: those that are there before others."""
        if "\0" in path:
            return
        inside = []
        for folder in self.folders:
            real, within = Path(os.path.realpath(folder / os.path.expanduser(path))), Path(os.path.realpath(folder))
            if real != within and real.is_relative_to(within):
                inside.append(real)
        yield from sorted(inside, key=lambda real: not real.exists())


def _read_text(file: Path) -> str | None:
    """A regular file's text: a device or a pipe would never end, and what is huge is no secret."""
    try:
        # A link that takes the file's place from now on isn't followed, and a pipe isn't waited for.
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as opened:
            found = os.fstat(opened.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
                return None
            return opened.read(_LARGEST).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
