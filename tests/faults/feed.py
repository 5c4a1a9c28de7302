"""What is fed: records with a key and a number within it, acks=all and idempotent, each ack written down.

Beside them, by the seed: poison, transactions that commit, and transactions that are aborted and so never happened.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

from confluent_kafka import KafkaError, Message, Producer

from orion.hub.kafka import Kafka
from tests.faults.processes import wait_until

KEYS = 24
START_MS = 1_700_000_000_000
STEP_MS = 37
FUTURE_MS = 7_000_000_000_000  # the year 2191
_TICK_S = 0.05
_PATIENCE_MS = 600_000  # no fault lasts longer: an idempotent producer tries until its record is in


@dataclass(frozen=True, slots=True)
class Fed:
    """A good record that the broker has acknowledged."""

    key: str
    seq: int
    value: int
    time: int


@dataclass(frozen=True, slots=True)
class Poison:
    """A record that can't be a row, or that no clock should follow; where it stands in its topic."""

    kind: str
    partition: int
    offset: int


class Feed:
    """A thread that writes while it is told to. `pause` returns when every record has its ack."""

    def __init__(self, kafka: Kafka, topic: str, seed: int, log: Path, rate: int) -> None:
        self.acked: list[Fed] = []
        self.poison: list[Poison] = []
        self.aborted = 0
        self.transactions = True  # told off while brokers are away: whether one was committed would be a guess
        self._kafka, self._topic, self._rate = kafka, topic, rate
        self._chance = Random(f"feed {seed}")
        self._log = log.open("a", encoding="utf-8")
        self._producer = self._made()
        self._transactional: Producer | None = None
        self._next = [0] * KEYS
        self._next_in_transactions = 0
        self._count = 0
        self._open = 0  # sent and not acknowledged yet
        self._failed: list[str] = []
        self._flowing = threading.Event()
        self._closed = threading.Event()
        self._idle = threading.Event()
        self._thread = threading.Thread(target=self._run, name="feed", daemon=True)
        self._thread.start()

    def flow(self) -> None:
        self._idle.clear()
        self._flowing.set()

    def pause(self, deadline_s: float = 120.0) -> None:
        self._flowing.clear()
        wait_until(lambda: self._idle.is_set() or bool(self._failed), "the feed doesn't come to rest", deadline_s)
        assert not self._failed, f"the feeder itself failed: {self._failed[0]}"

    def more(self, records: int, deadline_s: float = 120.0) -> None:
        """Wait until so many more are acknowledged."""
        wanted = len(self.acked) + records
        wait_until(lambda: len(self.acked) >= wanted or bool(self._failed), "the feed stands still", deadline_s)

    def poisoned(self, kinds: list[str]) -> None:
        """Put these among the others, in this order."""
        producer = self._made()
        for kind in kinds:
            self._send_poison(producer, kind)
        assert producer.flush(60) == 0, "poison was not acknowledged"

    def hang(self, records: int, timeout_ms: int) -> Producer:
        """Leave a transaction open, with records in it that never come to be. It ends with its timeout."""
        name = f"hung-{self._topic}-{self._count}"
        producer = self._made(**{"transactional.id": name, "transaction.timeout.ms": timeout_ms})
        producer.init_transactions(30)
        producer.begin_transaction()
        for _ in range(records):
            self._send_doomed(producer)
        assert producer.flush(30) == 0
        return producer

    def close(self) -> None:
        self._closed.set()
        self._flowing.set()
        self._thread.join(10)
        self._log.close()

    def _run(self) -> None:
        while not self._closed.is_set():
            if not self._flowing.is_set():
                if self._open == 0:
                    self._idle.set()
                self._producer.poll(0.05)
                continue
            try:
                self._tick()
            except Exception as error:
                self._failed.append(repr(error))
                return
            end = time.monotonic() + _TICK_S
            while (left := end - time.monotonic()) > 0:
                self._producer.poll(left)  # returns with the first ack that comes in

    def _tick(self) -> None:
        for _ in range(round(self._rate * _TICK_S)):
            at = self._chance.randrange(KEYS)
            fed = self._good(f"k{at}", self._next[at])
            self._next[at] += 1
            self._send(self._producer, fed)
        if self._chance.random() < 0.05:
            self._send_poison(self._producer, self._chance.choice(["bad JSON", "wrong type"]))
        if self.transactions and self._chance.random() < 0.04:
            self._transact(commit=self._chance.random() < 0.5)

    def _good(self, key: str, seq: int) -> Fed:
        self._count += 1
        stamp = START_MS + self._count * STEP_MS + self._chance.randrange(-5_000, 5_000)
        return Fed(key, seq, self._chance.randrange(-3, 20), stamp)

    def _send(self, producer: Producer, fed: Fed, acked: Callable[[Fed], None] | None = None) -> None:
        text = json.dumps({"seq": fed.seq, "v": fed.value})
        self._open += 1

        def report(error: KafkaError | None, _: Message) -> None:
            self._open -= 1
            if error is not None:
                self._failed.append(str(error))
            else:
                (acked or self._keep)(fed)

        producer.produce(self._topic, text, fed.key, timestamp=fed.time, on_delivery=report)

    def _keep(self, fed: Fed) -> None:
        self.acked.append(fed)
        self._log.write(json.dumps(asdict(fed)) + "\n")

    def _transact(self, *, commit: bool) -> None:
        """A handful of records in a transaction; those of an aborted one look good, and must never be seen."""
        if self._transactional is None:
            name = f"fed-{self._topic}-{time.monotonic_ns()}"
            self._transactional = self._made(**{"transactional.id": name})
            self._transactional.init_transactions(60)
        producer = self._transactional
        producer.begin_transaction()
        arrived: list[Fed] = []
        for _ in range(self._chance.randrange(1, 20)):
            if commit:
                self._send(producer, self._good("t", self._next_in_transactions), arrived.append)
                self._next_in_transactions += 1
            else:
                self._send_doomed(producer)
        producer.flush(60)
        if commit:
            producer.commit_transaction(60)
            for fed in arrived:
                self._keep(fed)
        else:
            producer.abort_transaction(60)

    def _send_doomed(self, producer: Producer) -> None:
        self.aborted += 1
        doomed = self._good(f"k{self._chance.randrange(KEYS)}", 10_000_000 + self.aborted)
        producer.produce(self._topic, json.dumps({"seq": doomed.seq, "v": 7}), doomed.key, timestamp=doomed.time)

    def _send_poison(self, producer: Producer, kind: str) -> None:
        key, value, stamp = self._poison(kind)
        self._open += 1

        def report(error: KafkaError | None, message: Message) -> None:
            self._open -= 1
            if error is not None:
                self._failed.append(f"{kind}: {error}")
            else:
                self.poison.append(Poison(kind, message.partition() or 0, message.offset() or 0))

        producer.produce(self._topic, value, key, timestamp=stamp, on_delivery=report)

    def _poison(self, kind: str) -> tuple[str, bytes, int]:
        good = self._good(f"k{self._chance.randrange(KEYS)}", 0)
        match kind:
            case "bad JSON":
                return good.key, b'{"seq": 1, "v": ', good.time
            case "wrong type":
                return good.key, b'{"seq": [1, 2], "v": {"a": 1}}', good.time
            case "5 MB":
                return good.key, b'{"seq": 1, "v": "' + b"x" * 5_000_000, good.time
            case "far future":
                return good.key, b'{"seq": -1, "v": 1}', FUTURE_MS + self._count
        raise AssertionError(kind)

    def _made(self, **settings: object) -> Producer:
        own = {"acks": "all", "enable.idempotence": True, "linger.ms": 5, "message.max.bytes": 10_000_000}
        if "transactional.id" not in settings:
            own["message.timeout.ms"] = _PATIENCE_MS
        return self._kafka.producer(**{**own, "log_level": 0, **settings})
