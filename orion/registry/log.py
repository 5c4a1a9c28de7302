"""Where the registry's records are, and how a change gets into them: in memory, or in a compacted topic."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import structlog

from orion.errors import ExternalError, OrionError
from orion.hub.exclusive import MARK, ExclusiveWriter, ShutOut
from orion.hub.kafka import Kafka
from orion.hub.reader import Reader
from orion.hub.records import Position
from orion.registry.records import Entry, decode, encode
from orion.registry.state import State

log = structlog.get_logger()

TOPIC = "_schemas"
_CONFIG = {"cleanup.policy": "compact"}
_TIMEOUT_S = 30.0

Result = TypeVar("Result")
Change = tuple[Sequence[Entry], Result]


class Log(Protocol):
    """The state, and the one way to change it."""

    state: State
    lock: threading.RLock

    def commit(self, decide: Callable[[], Change[Result]]) -> Result:
        """Ask what to write with the newest state at hand, write it, and return when the state has it.

        `decide` may be asked again, when another process has written meanwhile; what it raises writes nothing.
        """

    def close(self) -> None: ...


class MemoryLog:
    """No log at all: a registry that forgets, for tests and trials."""

    def __init__(self) -> None:
        self.state = State()
        self.lock = threading.RLock()

    def commit(self, decide: Callable[[], Change[Result]]) -> Result:
        with self.lock:
            entries, result = decide()
            for entry in entries:
                # Through the records, so that a trial is the same as the real thing.
                kept = decode(*encode(entry))
                if kept is not None:
                    self.state.apply(kept)
            return result

    def close(self) -> None:
        pass


class KafkaLog:
    """The topic `_schemas`. A thread folds it; a writer waits until its own record has come back."""

    def __init__(self, kafka: Kafka, topic: str = TOPIC) -> None:
        self.state = State()
        self.lock = threading.RLock()
        self.problems = 0
        self._kafka = kafka
        self._topic = topic
        kafka.create_topic(topic, 1, config=_CONFIG, exist_ok=True)
        self._writer = ExclusiveWriter(kafka, topic, f"orion-registry-{topic}")
        self._writing = threading.Lock()
        self._moved = threading.Condition()
        self._marks: deque[bytes] = deque(maxlen=1000)
        self._next = 0
        self._stopping = False
        self._failure: OrionError | None = None
        self._reader = Reader(kafka, topic, Position("earliest"), partitions=(0,))
        self._thread = threading.Thread(target=self._follow, name="orion-registry", daemon=True)
        self._thread.start()
        self._catch_up()

    def commit(self, decide: Callable[[], Change[Result]]) -> Result:
        with self._writing:
            deadline = time.monotonic() + _TIMEOUT_S
            mark = uuid.uuid4().bytes
            tried: list[Result] = []
            while True:
                if not self._writer.holds:
                    self._writer.open()
                    self._catch_up()
                with self.lock:
                    if tried and mark in self._marks:
                        return tried[-1]  # shut out after the commit: the records are there
                    entries, result = decide()
                    tried.append(result)
                if not entries:
                    return result
                try:
                    offset = self._writer.write([encode(entry) for entry in entries], mark)
                except ShutOut:
                    if time.monotonic() > deadline:
                        raise ExternalError("REGISTRY_BUSY", "Other registries write all the time.") from None
                    time.sleep(random.uniform(0.01, 0.1))  # two that shut each other out must not keep step
                    continue
                self._await(offset + 1)
                return result

    def close(self) -> None:
        self._stopping = True
        self._thread.join(timeout=10)
        self._writer.close()

    # -- the fold

    def _follow(self) -> None:
        try:
            while not self._stopping:
                try:
                    self._take()
                except OrionError as error:
                    self._failure = error
                    log.warning("registry", problem=str(error))
                    time.sleep(0.5)
        finally:
            self._reader.close()

    def _take(self) -> None:
        records = self._reader.read(1000, 0.2)
        if records:
            with self.lock:
                for record in records:
                    self._marks.extend(value for name, value in record.headers if name == MARK and value)
                    self._fold(record.key, record.value, record.offset)
        self._failure = None
        with self._moved:
            # An end may lie behind the last record: transactions leave marks of their own.
            reached = records[-1].offset + 1 if records else self._reader.end(0)
            if reached > self._next:
                self._next = reached
                self._moved.notify_all()

    def _fold(self, key: bytes | None, value: bytes | None, offset: int) -> None:
        """One record that can't be read must not keep the others from being known."""
        try:
            entry = decode(key, value)
            if entry is not None:
                self.state.apply(entry)
        except Exception as error:  # anybody may write to the topic, and the thread that reads it must live
            self.problems += 1
            log.warning("registry", problem=f"record {offset} of {self._topic} is passed over: {error!r:.300}")

    def _catch_up(self) -> None:
        """Wait until everything committed so far is folded."""
        self._await(self._kafka.end_offsets(self._topic, committed=True)[0])

    def _await(self, offset: int) -> None:
        deadline = time.monotonic() + _TIMEOUT_S
        with self._moved:
            while self._next < offset:
                self._wait(deadline)

    def _wait(self, deadline: float) -> None:
        if not self._moved.wait(0.2) and time.monotonic() > deadline:
            raise self._failure or ExternalError("REGISTRY_LATE", f"{self._topic} can't be read to its end.")
