"""Classes of Spark's JVM that lie ready to be mapped: noted by the first run on a machine, and archived beside it.

Loading classes is most of what a start of Spark and a statement's first batches take. A JVM that finds no archive notes
which classes it loads. When the server has been up for a while and the machine has time, another JVM makes an archive
of them, in the background and last in line for the processor. A server that is killed later finds it at its next start.

Nothing hangs on it: the JVM itself looks whether an archive is right, and starts without one that isn't.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import structlog

from orion.hub import jars
from orion.hub.class_archive import QUIET, class_archive, keep_archive
from orion.hub.java import Java
from orion.hub.leash import leashed

log = structlog.get_logger()

_AFTER_S = 60.0  # from the start on: the first batches are over, and most of what there is to load is loaded
_LOOK_EVERY_S = 5.0
_END_S = 5.0


@dataclass(frozen=True)
class SparkClasses:
    """The archive for one Java and one set of jars; `noted` is where a JVM without it notes what it loads."""

    java: Java
    archive: Path
    noted: Path

    @classmethod
    def find(cls, java: Java, packages: Sequence[Path], data: Path) -> SparkClasses:
        folder = spark_home() / "jars"
        archive = class_archive("spark", java, [folder, *sorted(folder.glob("*.jar")), *packages])
        return cls(java, archive, data.absolute() / "logs" / "spark-classes.txt")

    @property
    def options(self) -> tuple[str, ...]:
        """What the JVM is to be told."""
        if self.archive.exists():
            return (*QUIET, f"-XX:SharedArchiveFile={self.archive}") if _is_plain(self.archive) else ()
        return (f"-XX:DumpLoadedClassList={self.noted}",) if _is_plain(self.noted) else ()

    @contextmanager
    def archiving(self, classpath: str, memory: str, calm: Callable[[], bool]) -> Iterator[None]:
        """Make the archive meanwhile, if there is none: once `calm` says that statements run and there is time."""
        if self.archive.exists() or not self.noted.exists() or any(Path(one).is_dir() for one in classpath.split(":")):
            yield  # Java archives nothing that was loaded beside a folder
            return
        ended = threading.Event()
        work = threading.Thread(target=self._archive, args=(classpath, memory, calm, ended), name="orion-classes")
        work.start()
        try:
            yield
        finally:
            ended.set()
            work.join()

    def _archive(self, classpath: str, memory: str, calm: Callable[[], bool], ended: threading.Event) -> None:
        ended.wait(_AFTER_S)
        while not ended.is_set() and not calm():
            ended.wait(_LOOK_EVERY_S)
        if ended.is_set() or self.archive.exists():
            return
        try:
            with self.noted.open("rb") as file:
                whole = file.read().rpartition(b"\n")[0]  # the JVM writes on, and the last line may be half of one
            listed, written = self.noted.with_suffix(".list"), self.noted.with_suffix(".jsa")
            listed.write_bytes(whole + b"\n")
            if self._dump(classpath, memory, (listed, written), ended):
                keep_archive(written, self.archive)
                log.info("classes of Spark archived", archive=str(self.archive))
            listed.unlink(missing_ok=True)
            written.unlink(missing_ok=True)
        except OSError as error:  # without an archive the next start is slower, no more
            log.info("classes of Spark not archived", reason=str(error))

    def _dump(self, classpath: str, memory: str, files: tuple[Path, Path], ended: threading.Event) -> bool:
        """Have a JVM write the archive, unless the server ends before; whether it did."""
        listed, written = files
        command = [str(self.java.executable), *QUIET, "-Xshare:dump", f"-XX:SharedClassListFile={listed}"]
        command += [f"-XX:SharedArchiveFile={written}", "-XX:+UseG1GC", f"-Xmx{memory}", "-cp", classpath]
        made = subprocess.Popen(
            leashed(_END_S, command),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_give_way,
        )
        with made:
            while made.poll() is None and not ended.wait(0.2):
                pass
            if made.stdin is not None:
                with suppress(OSError):
                    made.stdin.close()  # its leash ends it, where it hasn't ended
        return made.returncode == 0 and not ended.is_set() and written.exists()


def _give_way() -> None:
    """Between fork and exec: whoever else wants the processor has it first."""
    os.nice(19)


def spark_home() -> Path:
    """The folder of Spark that runs: PySpark's, unless somebody has named another."""
    named = os.environ.get("SPARK_HOME")
    return (Path(named) if named else jars.pyspark_folder()).resolve()


def _is_plain(path: Path) -> bool:
    """Whether a path needs no quotes, which Spark and the JVM would read in two ways."""
    return shlex.quote(str(path)) == str(path)
