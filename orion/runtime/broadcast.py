"""Rows of one stream for many readers: each has a queue of its own, and nobody waits long for another.

Nothing here knows Spark. A stream is started for the first reader under a key, and stopped when the last has left.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Protocol

from orion.errors import OrionError, UserError

# What may wait for one reader, in characters, and what a row counts beside its text.
MOST_WAITING = 16 << 20
_ROW = 100
# How long a reader may hold the others up, until it has caught up again.
PATIENCE_S = 5.0
_LOOK_S = 0.1


class Reader:
    """One who reads: rows wait here in order, as JSON texts, up to a limit the reader may have set."""

    def __init__(self, limit: int | None = None, most_waiting: int | None = None) -> None:
        self.patience_s = PATIENCE_S
        self._left = limit
        self._most_waiting = MOST_WAITING if most_waiting is None else most_waiting
        self._rows: deque[str] = deque()
        self._waiting = 0
        self._ended = False
        self.has_begun = False  # whether the stream reads its topics yet: before that, no rows means nothing
        self._failure: OrionError | None = None
        self._changed = threading.Condition()
        self._wake: Callable[[], None] = _nobody

    # ---- whose rows they are -----------------------------------------------------------------------------------

    @property
    def has_all(self) -> bool:
        """Whether the limit is reached."""
        return self._left == 0

    @property
    def is_done(self) -> bool:
        """Whether no row comes any more; a failure is told by `take` first."""
        with self._changed:
            return self.has_all or (self._ended and not self._rows and self._failure is None)

    def take(self, most: int = 1000) -> list[str]:
        """Rows that are there, without waiting. Raises what ended the stream, after the last row."""
        with self._changed:
            most = most if self._left is None else min(most, self._left)
            taken = [self._rows.popleft() for _ in range(min(most, len(self._rows)))]
            self._waiting = self._waiting - sum(map(len, taken)) - _ROW * len(taken) if self._rows else 0
            if not self._rows:
                self.patience_s = PATIENCE_S
            if self._left is not None:
                self._left -= len(taken)
            if not taken and self._failure is not None and not self.has_all:
                failure, self._failure = self._failure, None
                raise failure
            self._changed.notify_all()
            return taken

    def wait(self, timeout: float) -> None:
        """Until there is something to take, or the end; not longer than a while."""
        with self._changed:
            self._changed.wait_for(lambda: self._rows or self._ended, timeout)

    def on_change(self, wake: Callable[[], None]) -> None:
        """Call `wake`, from any thread, when there is something to take, or the end. It must not block."""
        with self._changed:
            self._wake = wake
        wake()

    # ---- whose stream it is ------------------------------------------------------------------------------------

    def offer(self, rows: Sequence[str]) -> bool:
        """Add rows if there is room; a reader that has ended takes any and keeps none."""
        with self._changed:
            if self._ended or self.has_all:
                return True
            if self._waiting >= self._most_waiting:
                return False
            self._rows.extend(rows)
            self._waiting += sum(map(len, rows)) + _ROW * len(rows)
            self._changed.notify_all()
            wake = self._wake
        wake()
        return True

    def await_room(self, timeout: float) -> float:
        """Wait until there is room, or a while; how long that took."""
        start = time.monotonic()
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._waiting < self._most_waiting, timeout)
        return time.monotonic() - start

    def end(self, failure: OrionError | None = None) -> None:
        """No more rows come; those that wait can still be taken if there is a failure to tell after them."""
        with self._changed:
            if self._ended:
                return
            self._ended, self._failure = True, failure
            if failure is None:
                self._rows.clear()
            self._changed.notify_all()
            wake = self._wake
        wake()


class Broadcast:
    """The readers of one stream."""

    def __init__(self) -> None:
        self._readers: tuple[Reader, ...] = ()
        self._has_begun = False
        self._lock = threading.Lock()

    @property
    def readers(self) -> tuple[Reader, ...]:
        return self._readers

    def add(self, reader: Reader) -> None:
        with self._lock:
            self._readers = (*self._readers, reader)
            reader.has_begun = self._has_begun

    def remove(self, reader: Reader) -> None:
        with self._lock:
            self._readers = tuple(one for one in self._readers if one is not reader)

    def announce_start(self) -> None:
        """The stream reads its topics: whoever gets no rows from now on knows that there are none."""
        with self._lock:
            self._has_begun = True
            for reader in self._readers:
                reader.has_begun = True

    def give(self, rows: Sequence[str]) -> None:
        """Rows to all readers. Who is the only one is waited for; among others, a slow one is cut off."""
        for reader in self._readers:
            while not reader.offer(rows):
                waited = reader.await_room(_LOOK_S)
                if len(self._readers) == 1 or reader not in self._readers:
                    continue
                reader.patience_s -= waited
                if reader.patience_s <= 0:
                    self.remove(reader)
                    reader.end(_too_slow())

    def end(self, failure: OrionError | None = None) -> None:
        for reader in self._readers:
            reader.end(failure)


def _too_slow() -> UserError:
    return UserError(
        "READER_TOO_SLOW",
        "The rows came faster than they were read, and others wait for them too: this reader was cut off.",
        hint="Read faster, or ask for fewer rows or columns.",
    )


def _nobody() -> None:
    pass


# ---- streams that are shared ---------------------------------------------------------------------------------------


class Stream(Protocol):
    """What gives its rows to a broadcast until it is stopped, which may be said twice."""

    def stop(self) -> None: ...


Start = Callable[[Broadcast], Stream]


class _Share:
    """One stream under way, or about to be."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.broadcast = Broadcast()
        self.stream: Stream | None = None
        self.over = False  # has no readers any more, or has failed: who comes now starts another


class Shares:
    """Streams by what they compute. Starting one and stopping another don't wait for each other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[Hashable, _Share] = {}

    def join(self, key: Hashable, reader: Reader, start: Start) -> Callable[[], None]:
        """Have a reader get the rows of the stream under a key, which is started for the first. Gives how to leave."""
        while True:
            with self._lock:
                share = self._open.setdefault(key, _Share())
            with share.lock:
                if share.over:
                    continue
                share.broadcast.add(reader)
                try:
                    share.stream = share.stream or start(share.broadcast)
                except BaseException:
                    self._forget(key, share)
                    raise
                return lambda: self._leave(key, share, reader)

    def _leave(self, key: Hashable, share: _Share, reader: Reader) -> None:
        share.broadcast.remove(reader)
        reader.end()
        with share.lock:
            if share.broadcast.readers:
                return
            self._forget(key, share)
            stream = share.stream
        if stream is not None:
            stream.stop()

    def failed(self, broadcast: Broadcast, failure: OrionError) -> None:
        """A stream has ended by itself: its readers are told, and those who come start another."""
        with self._lock:
            found = next(((key, one) for key, one in self._open.items() if one.broadcast is broadcast), None)
        if found is not None:
            with found[1].lock:  # nobody joins between the one and the other
                self._forget(*found)
                broadcast.end(failure)

    def _forget(self, key: Hashable, share: _Share) -> None:
        share.over = True
        with self._lock:
            if self._open.get(key) is share:
                del self._open[key]

    def __len__(self) -> int:
        return len(self._open)

    def close(self) -> None:
        """End them all."""
        with self._lock:
            shares, self._open = list(self._open.values()), {}
        for share in shares:
            with share.lock:
                share.over = True
                stream = share.stream
            share.broadcast.end()
            if stream is not None:
                stream.stop()
