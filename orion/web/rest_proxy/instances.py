"""Consumers behind web addresses: made, asked and ended by requests, and ended by us where nobody asks any more."""

from __future__ import annotations

import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from orion.errors import ConfigError, OrionError, SchemaError
from orion.hub.kafka import Kafka
from orion.hub.records import Place, Record
from orion.hub.subscription import Subscription
from orion.plan.sources import WireSchema
from orion.security.names import check_group, check_name
from orion.web.rest_proxy.bodies import optional_text
from orion.web.rest_proxy.embedded import FORMATS, decoded
from orion.web.rest_proxy.refusals import (
    INSTANCE_EXISTS,
    INSTANCE_NOT_FOUND,
    INVALID_CONSUMER_CONFIG,
    SERIALIZATION,
    UNPROCESSABLE,
    ProxyError,
)

MOST_BYTES = 64 << 20
_WAIT_MS = 1000
_LONGEST_MS = 60_000
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_SLICE_S = 0.1  # the longest wait between two looks at the clock
_FETCHED_KB = 8192  # what a consumer fetches ahead of its requests

SchemaOf = Callable[[int], WireSchema | None]


@dataclass(frozen=True, slots=True)
class Options:
    """What a request says of a new instance."""

    name: str
    format: str = "binary"
    reset: str = "latest"
    auto_commit: bool = True
    least_bytes: int | None = None  # None: as many as come in time
    wait_ms: int = _WAIT_MS

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Options:
        name = optional_text(body, "id") or optional_text(body, "name") or f"rest-consumer-{uuid.uuid4()}"
        format_ = (optional_text(body, "format") or "binary").lower()
        if format_ not in FORMATS:
            raise ProxyError(UNPROCESSABLE, "Invalid format type.", hint=f"There are {', '.join(FORMATS)}.")
        reset = optional_text(body, "auto.offset.reset") or "latest"
        if reset not in ("earliest", "latest", "none"):
            raise _invalid(f"auto.offset.reset is {reset}, and can be earliest, latest or none")
        commit = (optional_text(body, "auto.commit.enable") or "true").lower()
        if commit not in ("true", "false"):
            raise _invalid(f"auto.commit.enable is {commit}, and can be true or false")
        least = _number(body, "fetch.min.bytes", "responseMinBytes")
        wait = _number(body, "consumer.request.timeout.ms", "requestWaitMs")
        return cls(
            name,
            format_,
            reset,
            commit == "true",
            None if least is None or least < 0 else least,
            _WAIT_MS if wait is None else max(0, min(wait, _LONGEST_MS)),
        )


def _number(body: Mapping[str, Any], *names: str) -> int | None:
    found = next((said for name in names if (said := optional_text(body, name)) is not None), None)
    if found is None:
        return None
    if not _INTEGER.fullmatch(found):
        raise _invalid(f"{names[0]} is {found[:80]}, and must be a whole number")
    return int(found)


def _invalid(reason: str) -> ProxyError:
    return ProxyError(INVALID_CONSUMER_CONFIG, f"Invalid consumer configuration: {reason}.")


@dataclass(frozen=True, slots=True)
class Read:
    """A record, decoded."""

    record: Record
    key: Any
    value: Any


class Instance:
    """One consumer. One request at a time; `lock` is held by whoever asks it."""

    def __init__(self, subscription: Subscription, options: Options) -> None:
        self.options = options
        self.subscription = subscription
        self.lock = threading.Lock()
        self.used = time.monotonic()
        self.is_closed = False
        self._given: dict[Place, int] = {}  # the next offset after what its client was given
        self._pending: Record | None = None  # read, and not given yet

    def records(self, timeout_ms: int, most_bytes: int, schema_of: SchemaOf) -> list[Read]:
        """What there is: all up to the end, or what comes in time, or as much as was asked for."""
        if self.options.auto_commit:
            self.subscription.store(self._given)  # who asks for more has done with these
        wait = self.options.wait_ms if timeout_ms <= 0 else min(timeout_ms, max(self.options.wait_ms, _WAIT_MS))
        end = time.monotonic() + wait / 1000
        least = self.options.least_bytes
        taken: list[Read] = []
        size = 0
        while True:
            enough = bool(taken) and least is not None and size >= least
            record = self._next(0.0 if enough else max(0.0, min(_SLICE_S, end - time.monotonic())))
            if record is not None:
                cost = len(record.key or b"") + len(record.value or b"")
                if taken and size + cost > most_bytes:
                    self._pending = record
                    return taken
                if not self._take(record, taken, schema_of):
                    return taken
                size += cost
            elif enough or (taken and least is None and self.subscription.at_end):
                return taken
            if time.monotonic() >= end:
                return taken

    def _next(self, timeout: float) -> Record | None:
        pending, self._pending = self._pending, None
        if pending is not None and (pending.topic, pending.partition) in self.subscription.assignment:
            return pending
        return self.subscription.read(timeout)

    def _take(self, record: Record, taken: list[Read], schema_of: SchemaOf) -> bool:
        """Give a record; one that can't be decoded stays, and is told of when it is the next."""
        try:
            key, value = (decoded(self.options.format, raw, schema_of) for raw in (record.key, record.value))
        except OrionError as error:
            self._pending = record
            if taken:
                return False
            if not isinstance(error, SchemaError):
                raise
            where = f"offset {record.offset} of partition {record.partition} of {record.topic}"
            raise ProxyError(
                SERIALIZATION,
                f"The record at {where} can't be read as {self.options.format}: {error.message}",
                hint=f"To pass it, POST positions with the offset {record.offset + 1}.",
            ) from error
        taken.append(Read(record, key, value))
        self._given[record.topic, record.partition] = record.offset + 1
        return True

    def commit(self, offsets: Mapping[Place, tuple[int, str | None]] | None = None) -> None:
        """Commit what is said, or all that its client was given."""
        if offsets is None:
            held = set(self.subscription.assignment)
            offsets = {place: (offset, None) for place, offset in self._given.items() if place in held}
        self.subscription.commit(offsets)

    def seek(self, places: Mapping[Place, int]) -> None:
        for place, offset in places.items():
            self.subscription.seek(place, offset)
            self._forget([place])

    def subscribe(self, topics: Sequence[str] | None, pattern: str | None) -> None:
        if topics is not None:
            self.subscription.subscribe(topics)
        elif pattern is not None:
            try:
                self.subscription.subscribe_pattern(pattern)
            except ConfigError as error:
                raise ProxyError(UNPROCESSABLE, f"topic_pattern is no regular expression: {error.message}") from error
        self._forget(list(self._given))

    def assign(self, places: Sequence[Place]) -> None:
        self.subscription.assign(places)
        self._forget(list(self._given))

    def unsubscribe(self) -> None:
        self.subscription.unsubscribe()
        self._forget(list(self._given))

    def _forget(self, places: Sequence[Place]) -> None:
        for place in places:
            self._given.pop(place, None)
        if self._pending is not None and (self._pending.topic, self._pending.partition) in places:
            self._pending = None

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            if self.options.auto_commit:
                with suppress(OrionError):
                    self.subscription.store(self._given)
            self.subscription.close()


class Instances:
    """All of them, by group and name. One that nobody asks for `idle_s` seconds is closed."""

    def __init__(self, kafka: Kafka, idle_s: float) -> None:
        self._kafka = kafka
        self._idle_s = idle_s
        self._lock = threading.Lock()
        self._held: dict[tuple[str, str], Instance | None] = {}
        self._stopped = threading.Event()
        self._sweeper: threading.Thread | None = None

    def create(self, group: str, options: Options) -> None:
        check_group(group)
        check_name(options.name, "consumer instance")
        key = (group, options.name)
        with self._lock:
            if key in self._held:
                message = "Consumer with specified consumer ID already exists in the specified consumer group."
                raise ProxyError(INSTANCE_EXISTS, message)
            self._held[key] = None  # the name is taken while it is made
            if self._sweeper is None:
                self._sweeper = threading.Thread(target=self._sweep, name="orion-consumers", daemon=True)
                self._sweeper.start()
        made: Instance | None = None
        try:
            made = Instance(Subscription(self._kafka, group, self._settings(options)), options)
        except ConfigError as error:
            raise _invalid(error.message.rstrip(".")) from error
        finally:
            with self._lock:
                if made is None:
                    del self._held[key]
                else:
                    self._held[key] = made

    def _settings(self, options: Options) -> dict[str, Any]:
        return {
            "auto.offset.reset": "error" if options.reset == "none" else options.reset,
            "enable.auto.commit": options.auto_commit,
            "queued.max.messages.kbytes": _FETCHED_KB,
            "fetch.wait.max.ms": 100,
            # Topics that fit a pattern are looked for this often.
            "topic.metadata.refresh.interval.ms": 5_000,
            # It stays in its group for as long as it may lie idle.
            "max.poll.interval.ms": max(300_000, round(self._idle_s * 1000) + 60_000),
        }

    @contextmanager
    def using(self, group: str, name: str) -> Iterator[Instance]:
        """One of them, for one request."""
        found = self._held.get((group, name))
        if found is None:
            raise _unknown()
        found.used = time.monotonic()
        with found.lock:
            if found.is_closed:
                raise _unknown()
            try:
                yield found
            finally:
                found.used = time.monotonic()

    def remove(self, group: str, name: str) -> None:
        with self.using(group, name) as found:
            with self._lock:
                self._held.pop((group, name), None)
            found.close()

    def close(self) -> None:
        self._stopped.set()
        with self._lock:
            held = [one for one in self._held.values() if one is not None]
            self._held.clear()
        for one in held:
            with one.lock:
                one.close()

    def _sweep(self) -> None:
        while not self._stopped.wait(min(1.0, self._idle_s / 4)):
            now = time.monotonic()
            for (group, name), one in list(self._held.items()):
                if one is None or now - one.used < self._idle_s or not one.lock.acquire(blocking=False):
                    continue
                try:
                    if now - one.used >= self._idle_s:
                        with self._lock:
                            self._held.pop((group, name), None)
                        one.close()
                finally:
                    one.lock.release()


def _unknown() -> ProxyError:
    return ProxyError(INSTANCE_NOT_FOUND, "Consumer instance not found.")
