"""The jars of Orion's Java side: one pinned list, a cache of this user, and nothing used that isn't what the list says.

`jars.lock` names every jar with its sha256. A jar in the cache counts once its content has been hashed; a stamp file
remembers size and time of what was hashed, so that the next run only looks. A jar that is something else than the
list says is deleted and fetched again. `python -m orion.hub.jars` fetches what every server needs; the other sets come
when something needs them.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from orion.config import cache_folder
from orion.errors import ConfigError, ExternalError, InternalError, OrionError
from orion.hub import ivy
from orion.hub.ivy import Jar, Progress

SETS = ("kafka", "spark")
LATER = (
    "connect",
    *(f"debezium-{database}" for database in ("mariadb", "mongodb", "mysql", "postgres", "sqlserver")),
    "s3a",
)
STAMP = "verified.json"

# What the broker needs and PySpark has: taken from there instead of being fetched a second time.
FROM_PYSPARK = (
    "jackson-annotations-[0-9]*.jar",
    "jackson-core-[0-9]*.jar",
    "jackson-databind-[0-9]*.jar",
    "jackson-dataformat-yaml-[0-9]*.jar",
    "log4j-api-[0-9]*.jar",
    "log4j-core-[0-9]*.jar",
    "log4j-slf4j2-impl-[0-9]*.jar",
    "lz4-java-[0-9]*.jar",
    "scala-library-[0-9]*.jar",
    "scala-reflect-[0-9]*.jar",
    "slf4j-api-[0-9]*.jar",
    "snakeyaml-[0-9]*.jar",
    "snappy-java-[0-9]*.jar",
    "zstd-jni-[0-9]*.jar",
)

Fetch = Callable[[Sequence[Jar], Path, Progress], None]


def quiet(_: str) -> None:
    """Progress nobody watches."""


def kafka_classpath(progress: Progress = quiet) -> list[Path]:
    """Everything the embedded broker runs on."""
    fetched = ensure("kafka", progress)
    return [*fetched, *(_in_pyspark(pattern) for pattern in FROM_PYSPARK)]


def spark_jars(progress: Progress = quiet) -> list[Path]:
    """What Spark is given on top of its own jars."""
    return ensure("spark", progress)


def connect_classpath(progress: Progress = quiet) -> list[Path]:
    """Everything a Kafka Connect worker runs on, without its plug-ins."""
    fetched = ensure("connect", progress)
    return [*fetched, *(_in_pyspark(pattern) for pattern in FROM_PYSPARK)]


def plugin_folder(set_name: str, progress: Progress = quiet) -> Path:
    """The folder of a plug-in of Kafka Connect's, unpacked once for this user."""
    (archive,) = listed(set_name)
    folder = cache_folder() / "plugins" / f"{archive.artifact}-{archive.version}"
    if not folder.exists():
        (packed,) = ensure(set_name, progress)
        _unpack(packed, folder)
    return folder


def ensure(set_name: str, progress: Progress = quiet) -> list[Path]:
    """The jars of a set, all of them there and all of them right; the missing ones are fetched first."""
    wanted = listed(set_name)
    return complete(wanted, cache_folder() / "jars", _fetch_with_ivy, progress)


def at_hand(set_name: str) -> bool:
    """Whether a set is there, with nothing to fetch or check."""
    return _all_stamped(listed(set_name), cache_folder() / "jars")


def complete(wanted: Sequence[Jar], folder: Path, fetch: Fetch, progress: Progress) -> list[Path]:
    """Bring a folder to hold every wanted jar, using `fetch` for those that are missing or broken."""
    paths = [folder / jar.name for jar in wanted]
    if _all_stamped(wanted, folder):
        return paths
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder, progress):
            missing = [jar for jar in wanted if not _good(jar, folder, progress)]
            if missing:
                _bring(missing, folder, fetch, progress)
    except OSError as error:
        raise _not_writable(folder, error) from error
    return paths


@cache
def listed(set_name: str) -> tuple[Jar, ...]:
    """The jars of one set, as pinned."""
    if set_name not in (*SETS, *LATER):
        raise InternalError("JAR_SET_UNKNOWN", f"There is no set of jars called {set_name}.")
    text = files("orion.hub").joinpath("jars.lock").read_text("utf-8")
    return tuple(jar for name, jar in parse(text) if name == set_name)


def parse(text: str) -> Iterator[tuple[str, Jar]]:
    """The lines of a list: set, group:artifact:version (an archive's with :type:classifier), sha256, bytes."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            set_name, coordinates, sha256, size = line.split()
            group, artifact, version, *form = coordinates.split(":")
            yield set_name, Jar(group, artifact, version, sha256, int(size), *form)
        except (ValueError, TypeError) as error:
            raise InternalError("JARS_LOCK_MALFORMED", f"Line {number} of jars.lock can't be read: {line}") from error


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unpack(packed: Path, folder: Path) -> None:
    """Unpack beside the folder's place and move it there whole: a folder that is there is complete."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".unpacking-") as place:
            with tarfile.open(packed) as archive:
                archive.extractall(place, filter="data")
            (top,) = Path(place).iterdir()
            os.rename(top, folder)
    except OSError as error:
        if not folder.exists():  # otherwise another process was first, with the same archive
            raise _not_writable(folder.parent, error) from error


def _bring(missing: Sequence[Jar], folder: Path, fetch: Fetch, progress: Progress) -> None:
    """Fetch into a staging folder, check there, move over what is right; try once more for what isn't."""
    staging = folder / "staging"
    for _ in range(2):
        megabytes = sum(jar.size for jar in missing) / 1e6
        progress(f"fetching {len(missing)} jar{'s' * (len(missing) > 1)} ({megabytes:.1f} MB)")
        fetch(missing, staging, progress)
        broken = [jar for jar in missing if not _take(jar, staging, folder)]
        if not broken:
            shutil.rmtree(staging)
            return
        for jar in broken:
            progress(f"  {jar.name} arrived broken")
            ivy.forget(jar, staging)
        missing = broken
    raise ExternalError(
        "JARS_BROKEN",
        f"{missing[0].name} arrived broken twice.",
        hint="Something between here and the repository changes files; try another network.",
    )


def _take(jar: Jar, staging: Path, folder: Path) -> bool:
    """Move a staged jar into the cache if it is what the list says."""
    staged = staging / jar.name
    if not staged.exists():
        return False
    if sha256_of(staged) != jar.sha256:
        staged.unlink()
        return False
    os.replace(staged, folder / jar.name)
    _stamp(jar, folder)
    return True


def _good(jar: Jar, folder: Path, progress: Progress) -> bool:
    """Whether the cache holds this jar; one that is something else is deleted here."""
    path = folder / jar.name
    if not path.exists():
        return False
    if _stamps(folder).get(jar.name) == _look(jar, path):
        return True
    if sha256_of(path) != jar.sha256:
        progress(f"  {jar.name} in the cache is broken: it is fetched again")
        path.unlink()
        return False
    _stamp(jar, folder)
    return True


def _all_stamped(wanted: Sequence[Jar], folder: Path) -> bool:
    stamps = _stamps(folder)
    try:
        return all(stamps.get(jar.name) == _look(jar, folder / jar.name) for jar in wanted)
    except OSError:
        return False


def _look(jar: Jar, path: Path) -> list[Any]:
    """What identifies a file without reading it, beside the hash it was found to have."""
    stat = path.stat()
    return [stat.st_size, stat.st_mtime_ns, jar.sha256]


def _stamps(folder: Path) -> dict[str, Any]:
    try:
        stamps = json.loads((folder / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamps if isinstance(stamps, dict) else {}


def _stamp(jar: Jar, folder: Path) -> None:
    stamps = _stamps(folder) | {jar.name: _look(jar, folder / jar.name)}
    new = folder / f"{STAMP}.new"
    new.write_text(json.dumps(stamps, indent=0), encoding="utf-8")
    os.replace(new, folder / STAMP)


def _not_writable(folder: Path, error: OSError) -> ConfigError:
    return ConfigError(
        "CACHE_NOT_WRITABLE",
        f"The jars can't be kept in {folder}: {error.strerror or error}.",
        hint="Free some space there, or set ORION_CACHE to another folder.",
    )


@contextmanager
def _locked(folder: Path, progress: Progress) -> Iterator[None]:
    """One process fetches; another waits for it and then finds everything there."""
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("waiting for another process that fetches jars")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch_with_ivy(jars: Sequence[Jar], staging: Path, progress: Progress) -> None:
    ivy.fetch(jars, staging, ivy.ivy_in(_pyspark_jars()), progress)


def pyspark_folder() -> Path:
    """Where PySpark is, found without importing it."""
    spec = find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError("PYSPARK_MISSING", "PySpark isn't installed.", hint="Run make setup.")
    return Path(spec.submodule_search_locations[0])


def _pyspark_jars() -> Path:
    return pyspark_folder() / "jars"


def _in_pyspark(pattern: str) -> Path:
    folder = _pyspark_jars()
    found = sorted(folder.glob(pattern))
    if not found:
        raise ConfigError(
            "PYSPARK_JAR_MISSING",
            f"PySpark has no {pattern} in {folder}, which the broker needs.",
            hint="Install the PySpark version of requirements.lock: make setup.",
        )
    return found[-1]


def main() -> int:
    """Fetch every set, telling what is slow."""
    try:
        for set_name in SETS:
            ensure(set_name, lambda line: print(line, flush=True))
    except OrionError as error:
        print(f"{error.code}: {error.message} {error.hint or ''}".rstrip(), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("stopped; the next run goes on from here", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
