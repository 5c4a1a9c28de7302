"""A peer in a JVM of its own that is told on stdin what to run, and answers each command by one line on stdout.

The JVM lives as long as the comparison, so that what it has compiled is there for the next run. It ends with its stdin.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orion.errors import ConfigError
from orion.hub.ivy import Progress
from orion.hub.java import find

SOURCES = Path(__file__).with_name("java")
_END_S = 30.0


class PeerFailure(RuntimeError):
    """What a peer answered in place of doing what it was asked."""


@dataclass(frozen=True)
class Driver:
    """`pid` is the JVM's."""

    process: subprocess.Popen[str]
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def ask(self, *words: object) -> str:
        """Say a command; its answer."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(word_command(words))
        stdin.flush()
        return read_answer(stdout.readline(), self.log)


def word_command(words: Sequence[object]) -> str:
    texts = [str(word) for word in words]
    if any(not text or set(text) & set(" \n") for text in texts):
        raise ValueError(f"words of a command have no spaces: {texts}")
    return " ".join(texts) + "\n"


def read_answer(line: str, log: Path) -> str:
    """What stands behind "ok"; an empty line is the end of a process."""
    told, _, text = line.rstrip("\n").partition(" ")
    if told == "ok":
        return text
    raise PeerFailure(text if told == "error" else f"the peer has ended: {log.read_text(errors='replace')[-2000:]}")


def find_compiler() -> str:
    compiler = shutil.which("javac")
    if compiler is None:
        raise ConfigError(
            "JAVA_COMPILER_MISSING",
            "There is no javac on this machine, which compiles what drives Kafka Streams and Flink.",
            hint="Install one: apt-get install openjdk-17-jdk-headless. Without PEERS=1 make bench needs none.",
        )
    return compiler


@contextmanager
def start_driver(
    main: str, classpath: Sequence[Path], options: Sequence[str], given: Sequence[str], folder: Path, say: Progress
) -> Iterator[Driver]:
    """Compile a driver, and run it in `folder`."""
    folder.mkdir()
    say(f"compiling {main}")
    jars = ":".join(map(str, classpath))
    command = [find_compiler(), "-d", str(folder), "-cp", jars, str(SOURCES / f"{main}.java")]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False)
    if compiled.returncode:
        raise PeerFailure(f"{main} doesn't compile: {compiled.stderr}")
    command = [str(find().executable), *options, "-cp", f"{folder}:{jars}", main, *given]
    log = folder / "driver.log"
    with log.open("w") as said:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True
        )
    try:
        yield Driver(process, log)
    finally:
        _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()
