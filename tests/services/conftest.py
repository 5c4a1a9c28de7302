"""The command line on a real broker."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from typer.testing import CliRunner

from orion.cli import app
from orion.hub.kafka import Kafka
from orion.registry.log import MemoryLog
from orion.registry.store import Registry
from orion.web.platform import serving_registry
from orion.web.sockets import bound

PATIENCE = 150.0


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[list[str]]:
        """The cells of a piped table, without its head."""
        return [line.split("\t") for line in self.out.splitlines()[1:]]

    @property
    def lines(self) -> list[Any]:
        """The values of JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def document(self) -> Any:
        return json.loads(self.out)


class Orion(Protocol):
    """`orion` with arguments, lines for its standard input, and the exit code to insist on."""

    def __call__(self, *arguments: str, stdin: str = "", code: int | None = 0) -> Ran: ...


@pytest.fixture
def orion(bootstrap: str) -> Orion:
    """The command line in this process, pointed at the broker."""

    def run(*arguments: str, stdin: str = "", code: int | None = 0) -> Ran:
        result = CliRunner().invoke(app, [*arguments, "--bootstrap", bootstrap], input=stdin)
        ran = Ran(result.exit_code, result.stdout, result.stderr)
        assert code is None or ran.code == code, ran
        return ran

    return run


@pytest.fixture
def name() -> str:
    """A name that no other test has."""
    return f"t-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def topic(kafka: Kafka, name: str) -> Iterator[str]:
    """A topic of three partitions that goes with the test."""
    kafka.create_topic(name, 3)
    yield name
    kafka.delete_topic(name, missing_ok=True)


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], None]:
    """Wait for a condition, with a deadline."""

    def wait(condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, "the condition never came true"
            time.sleep(0.05)

    return wait


@pytest.fixture
def process(bootstrap: str) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts `orion` as a process of its own; what still runs at the end of the test is ended."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "orion", *arguments, "--bootstrap", bootstrap]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for running in started:
        running.kill()
        running.communicate(timeout=PATIENCE)


@pytest.fixture
def registry_url() -> Iterator[str]:
    """Where an empty registry answers."""
    with closing(bound("127.0.0.1", 0)) as sock, serving_registry(Registry(MemoryLog()), sock) as url:
        yield url


@pytest.fixture
def client(registry_url: str) -> Iterator[SchemaRegistryClient]:
    """Confluent's own client of it."""
    with SchemaRegistryClient({"url": registry_url}) as made:
        yield made
