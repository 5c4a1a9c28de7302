"""Passwords of connectors, kept out of Kafka.

Connect writes a connector's configuration to a topic that whoever reads the cluster can read. So a secret is a file of
this user's alone, and the configuration only says where it is: `${directory:FOLDER:database.password}`. The worker
reads it when a task starts. Somebody else's cluster can't see our files: there a person refers to that cluster's own
provider, or the password goes as it is.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from orion.errors import ConfigError
from orion.feeds.connect.debezium import is_secret
from orion.feeds.connect.worker_settings import SECRETS
from orion.hub.cluster_data import explained

_REFERENCE = re.compile(r"\$\{[^}]*\}")
_OWN_REFERENCE = re.compile(rf"\$\{{\s*{SECRETS}\s*:")


class Secrets:
    """The secrets of one worker's connectors, a folder each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def hide(self, connector: str, config: Mapping[str, str]) -> dict[str, str]:
        """The configuration with references instead of secrets, which are written down."""
        return self._hide(self._place(connector), config)

    def forget(self, connector: str) -> None:
        shutil.rmtree(self._place(connector), ignore_errors=True)

    @contextmanager
    def lent(self, config: Mapping[str, str]) -> Iterator[dict[str, str]]:
        """The same for a configuration that is only tried."""
        place = self._folder / f"tried-{uuid.uuid4().hex}"
        try:
            yield self._hide(place, config)
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _place(self, connector: str) -> Path:
        return self._folder / hashlib.sha256(connector.encode()).hexdigest()[:24]

    def _hide(self, place: Path, config: Mapping[str, str]) -> dict[str, str]:
        for option, value in config.items():
            if _OWN_REFERENCE.search(value):  # it may lead to another connector's secrets
                raise ConfigError(
                    "SECRET_NOT_ALLOWED",
                    f"'{option}' refers to a secret of Kafka Connect's own worker.",
                    hint="Write ${file:NAME}, for a file in secrets/ of the data folder or in secrets.folders.",
                )
        secret = {o: v for o, v in config.items() if is_secret(o) and v and not _REFERENCE.search(v)}
        if not secret:
            return dict(config)
        if re.search(r"[:,{}]", str(place)):
            raise ConfigError(
                "DATA_PATH_UNFIT",
                f"Kafka Connect can't be told of files in {place.parent}: its path has a colon, comma or brace.",
                hint="Give another folder with --data.",
            )
        with explained(self._folder):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            for option, value in secret.items():
                _write(place / option, value)
        return {**config, **{option: f"${{{SECRETS}:{place}:{option}}}" for option in secret}}


def _write(file: Path, value: str) -> None:
    """Whole or not at all, and never readable by others, not even for a moment."""
    new = file.with_name(f".{file.name}.new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
        out.write(value)
    os.replace(new, file)
