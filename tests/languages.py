"""Clients in other languages: small programs in tests/clients, made by their languages' own package managers."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from orion.config import cache_folder
from tests.required import refuse

CLIENTS = Path(__file__).parent / "clients"
INSTALL_S = 500.0
RUN_S = 120.0
# Of Maven's plug-in. Later versions also read the poms above a jar; those name repositories that not everyone reaches.
COPY = "org.apache.maven.plugins:maven-dependency-plugin:2.8:copy"


@dataclass(frozen=True)
class Language:
    """What its client needs on the machine, how it is made ready in a folder, and how it is started from there."""

    name: str
    tools: tuple[str, ...]
    make: Callable[[Path, Path], None]  # from its sources, into a folder
    start: tuple[str, ...]  # in that folder
    needs: str = ""  # what its sources don't say about what it is made of

    def ready(self) -> Path:
        """The folder with the client, made unless these very sources have been already."""
        sources = CLIENTS / self.name
        digest = hashlib.sha256(self.needs.encode())
        for file in sorted(sources.iterdir()):
            digest.update(file.read_bytes())
        folder = cache_folder() / "clients" / f"{self.name}-{digest.hexdigest()[:16]}"
        if not folder.exists():
            folder.parent.mkdir(parents=True, exist_ok=True)
            new = Path(tempfile.mkdtemp(prefix=f"{self.name}-", dir=folder.parent))
            try:
                self.make(sources, new)
                new.rename(folder)
            finally:
                shutil.rmtree(new, ignore_errors=True)
        return folder


def ran(*command: str, cwd: Path, timeout: float) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, (command[0], done.stdout[-2000:], done.stderr[-4000:])
    return done.stdout


def make_node(sources: Path, folder: Path) -> None:
    for file in sources.iterdir():
        shutil.copy(file, folder)
    ran("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=folder, timeout=INSTALL_S)


def need(language: Language) -> None:
    """Skip where the machine can't run it; the build server promises that it can."""
    missing = [tool for tool in language.tools if shutil.which(tool) is None]
    if missing:
        refuse(f"{' and '.join(missing)} missing on this machine: the client isn't tried")
