"""What the pages of one platform share: the platform, threads to ask it in, and answers that several may look at."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

from orion.app import Orion
from orion.errors import OrionError
from orion.hub.outbox import Outbox
from orion.web.console.questions.groups import LagHistory
from orion.web.console.questions.pulse import Pulse, Reading
from orion.web.console.questions.saved_statements import SavedStatements
from orion.web.console.questions.topics import EndHistory

P = ParamSpec("P")
T = TypeVar("T")
# Threads of the console's own: whoever looks at a page keeps no statement of the API waiting.
_THREADS = 12
PULSE_S = 2.0
_TOPICS_S = 4.0


class Desk:
    """Made when the first browser comes. `outbox` is the producer that the API's ways to records use."""

    def __init__(self, orion: Orion, outbox: Outbox) -> None:
        self.orion = orion
        self.outbox = outbox
        self.pulse = Pulse()
        self.lags = LagHistory()
        self.topic_ends = EndHistory()
        self.saved = SavedStatements(orion.engine.config.data / "console")
        self.history: list[str] = []  # statements that were run here, the newest first
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="orion-console")
        self._open: set[Callable[[], None]] = set()
        self._answers: dict[Hashable, tuple[float, asyncio.Future[Any]]] = {}

    async def ask(self, call: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """A question to the engine or to Kafka, off the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(call, *arguments, **named))

    async def shared(self, key: Hashable, most_s: float, call: Callable[[], T]) -> T:
        """An answer that may be as old as `most_s`: however many look, it is asked for once."""
        now = time.monotonic()
        known = self._answers.get(key)
        if known is None or now - known[0] > most_s or _failed(known[1]):
            self._forget(now)
            known = (now, asyncio.ensure_future(self.ask(call)))
            self._answers[key] = known
        found: T = await asyncio.shield(known[1])
        return found

    async def reading(self) -> Reading:
        """How everything is doing now. Looking is what keeps the history: nobody looks, nothing is asked."""
        return await self.shared("pulse", PULSE_S * 0.9, lambda: self.pulse.take(self.orion))

    async def topic_names(self) -> frozenset[str] | None:
        """The topics there are, so that no page leads to one that isn't; None where Kafka can't be asked."""
        try:
            return await self.shared("topic names", _TOPICS_S, lambda: _topic_names(self.orion))
        except OrionError:
            return None

    def opened(self, close: Callable[[], None]) -> Callable[[], None]:
        """Note something to be closed when nobody looks any more, or when the console ends; gives what does it.

        Closing waits, so it happens in a thread; it may be asked for again and again.
        """

        def leave() -> None:
            if leave in self._open:
                self._open.discard(leave)
                self._threads.submit(close)

        self._open.add(leave)
        return leave

    def _forget(self, now: float) -> None:
        old = [key for key, (at, answer) in self._answers.items() if now - at > 60 and answer.done()]
        for key in old:
            del self._answers[key]

    def close(self) -> None:
        for leave in list(self._open):
            leave()
        self._threads.shutdown(wait=True)


def _topic_names(orion: Orion) -> frozenset[str]:
    return frozenset(topic.name for topic in orion.kafka.outlines())


def _failed(answer: asyncio.Future[Any]) -> bool:
    return answer.done() and (answer.cancelled() or answer.exception() is not None)
