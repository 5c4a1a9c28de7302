"""`orion.Producer`: records into topics, waited for or not, in transactions or not."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from orion.clients.codec import Format, codecs
from orion.clients.settings import cluster, producer_settings
from orion.errors import NotFound, OrionError, UserError
from orion.hub.records import Headers, Outgoing, Receipt
from orion.hub.sending import Report, Sender

if TYPE_CHECKING:
    from orion.clients.consumer import Consumer
    from orion.registry.access import Access

LOGGER = logging.getLogger("orion.clients")
LONGEST_S = 60.0  # of a transaction; brokers end it then
_PATIENCE_S = 1.0

OnDelivery = Callable[[OrionError | None, Receipt | None], None]
GivenHeaders = Mapping[str, str | bytes | None] | Iterable[tuple[str, str | bytes | None]]


class Transaction:
    """What is sent inside of `with producer.transaction()`, seen together or not at all."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._consumers: list[Consumer] = []

    def reads(self, consumer: Consumer) -> None:
        """The transaction's records are made of this consumer's: aborted, it reads them again."""
        if consumer.mode == "auto":
            message = "This consumer commits by itself, whether the transaction does or not."
            raise UserError("INVALID_OPTIONS", message, hint="Give it commit='sync', and don't call commit().")
        if consumer not in self._consumers:
            self._consumers.append(consumer)

    def offsets(self, consumer: Consumer) -> None:
        """Commit how far the consumer has come with the transaction's records, or neither of them."""
        self.reads(consumer)
        if places := consumer.places:
            self._sender.send_offsets(places, consumer.membership())

    def rewind(self) -> None:
        for consumer in self._consumers:
            consumer.rewind()


class Producer:
    """Writes records. Safe unless told otherwise: acks of all, idempotent, keys placed as Java's clients place them.

    - `send` waits for nothing, and nobody learns of a failure
    - `send_sync` waits for the broker, and raises what went wrong
    - `send_async` gives a future, or calls back, from a thread of the producer's
    """

    def __init__(
        self,
        bootstrap: str | None = None,
        *,
        profile: str | None = None,
        settings: Mapping[str, Any] | None = None,
        ordered: bool = False,
        transactional_id: str | None = None,
        key_format: Format = "bytes",
        value_format: Format = "bytes",
        key_schema: str | None = None,
        value_schema: str | None = None,
        registry: str | Access | None = None,
        timeout: float = 30.0,
    ) -> None:
        self._keys, self._values = codecs((key_format, value_format), (key_schema, value_schema), registry)
        strict = ordered or transactional_id is not None
        chosen = producer_settings(profile, settings or {}, strict=strict, timeout=timeout)
        if transactional_id is not None:
            chosen.setdefault("transaction.timeout.ms", round(max(LONGEST_S, timeout) * 1000))
        self._ordered = ordered
        self._transactional = transactional_id is not None
        self._open = False  # a transaction
        self._closed = False
        self._topics: set[str] = set()
        self._sender = Sender(cluster(bootstrap), chosen, transactional_id=transactional_id, timeout=timeout)
        self._reporting: threading.Thread | None = None
        self._stopped = threading.Event()
        weakref.finalize(self, self._stopped.set)

    # -- sending

    def send(self, topic: str, value: Any, *, key: Any = None, **more: Any) -> None:
        """Hand a record over and forget it; `more` is headers, timestamp (milliseconds) and partition."""
        self._hand_over(topic, self._outgoing(topic, key, value, **more), None)

    def send_sync(self, topic: str, value: Any, *, key: Any = None, **more: Any) -> Receipt:
        """Send a record and wait until the broker has it, or until it is known that it doesn't."""
        return self.send_async(topic, value, key=key, **more).result()

    def send_async(
        self, topic: str, value: Any, *, key: Any = None, on_delivery: OnDelivery | None = None, **more: Any
    ) -> Future[Receipt]:
        """Send a record; its future has the receipt or the error. `on_delivery(error, receipt)` is called as well."""
        future: Future[Receipt] = Future()
        future.set_running_or_notify_cancel()

        def report(told: Receipt | OrionError) -> None:
            receipt, error = (told, None) if isinstance(told, Receipt) else (None, told)
            if on_delivery is not None:
                try:
                    on_delivery(error, receipt)
                except Exception:
                    LOGGER.exception("on_delivery failed for a record of %s", topic)
            if receipt is not None:
                future.set_result(receipt)
            else:
                future.set_exception(error)

        self._hand_over(topic, self._outgoing(topic, key, value, **more), report)
        return future

    def flush(self, timeout: float | None = None) -> int:
        """Wait for what is under way, at most `timeout` seconds; how many records have no answer yet."""
        return self._sender.flush(timeout)

    def close(self, timeout: float | None = None) -> None:
        """Wait for what is under way, and send no more."""
        if not self._closed:
            self._sender.flush(timeout)
            self._closed = True
            self._stopped.set()

    def __enter__(self) -> Producer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- transactions

    @contextmanager
    def transaction(self, consumer: Consumer | None = None) -> Iterator[Transaction]:
        """All that is sent inside is seen together, when the block ends; an exception takes it back and goes on.

        With a consumer, its offsets are committed with it, and after an exception it reads the same records again.
        """
        self._check_transaction()
        self._sender.begin()
        self._open = True
        made = Transaction(self._sender)
        if consumer is not None:
            made.reads(consumer)
        try:
            yield made
            if consumer is not None:
                made.offsets(consumer)
            self._sender.commit()
        except BaseException:
            # What went wrong first is told; a transaction that can't be aborted ends with the next of its id.
            with suppress(OrionError):
                self._sender.abort()
            with suppress(OrionError):
                made.rewind()
            raise
        finally:
            self._open = False

    def _check_transaction(self) -> None:
        if not self._transactional:
            raise UserError("NO_TRANSACTION", "This producer has no transactional_id.", hint="Give it one of its own.")
        if self._open:
            raise UserError("NO_TRANSACTION", "A transaction is open already, and they don't nest.")

    # -- inside

    def _outgoing(
        self,
        topic: str,
        key: Any,
        value: Any,
        headers: GivenHeaders = (),
        timestamp: int | None = None,
        partition: int | None = None,
    ) -> Outgoing:
        return Outgoing(
            value=self._values.encode(topic, value),
            key=self._keys.encode(topic, key),
            headers=_headers(headers),
            timestamp=timestamp,
            # Even if partitions are added while it writes, all stays in one order.
            partition=0 if self._ordered and partition is None else partition,
        )

    def _hand_over(self, topic: str, record: Outgoing, report: Report | None) -> None:
        if self._closed:
            raise UserError("CLIENT_CLOSED", "This producer is closed.")
        if self._transactional and not self._open:
            hint = "Send inside of `with producer.transaction():`."
            raise UserError("NO_TRANSACTION", "This producer writes in transactions, and none is open.", hint=hint)
        if topic not in self._topics:
            self._meet(topic)
        if self._ordered and record.partition != 0:
            raise _unordered(topic, f"partition {record.partition} is another order")
        if report is not None and self._reporting is None:
            self._reporting = threading.Thread(
                target=_let_in, args=(self._sender, self._stopped), name="orion-producer", daemon=True
            )
            self._reporting.start()
        self._sender.send(topic, record, report)

    def _meet(self, topic: str) -> None:
        """Fail before the first record of a topic that isn't there, or whose order can't be kept."""
        count = self._sender.partitions(topic, _PATIENCE_S)
        if count == 0:
            hint = f"Make it: `orion topics create {topic}`."
            raise NotFound("TOPIC_NOT_FOUND", f"There is no topic {topic}.", hint=hint)
        if self._ordered and count != 1:
            raise _unordered(topic, f"it has {count} partitions")
        self._topics.add(topic)


def _let_in(sender: Sender, stopped: threading.Event) -> None:
    """Reports only arrive while somebody asks. A producer that can write no more answers at once, with nothing."""
    while not stopped.is_set():
        if not sender.poll(0.2):
            stopped.wait(0.2)


def _unordered(topic: str, reason: str) -> UserError:
    return UserError(
        "NOT_ORDERED",
        f"{topic} has no strict order: {reason}.",
        hint="Make one with `orion topics create NAME --ordered`, or leave out ordered=True: a key keeps its order.",
    )


def _headers(given: GivenHeaders) -> Headers:
    pairs = given.items() if isinstance(given, Mapping) else given
    return tuple((name, value.encode() if isinstance(value, str) else value) for name, value in pairs)
