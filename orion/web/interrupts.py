"""Ctrl-C and SIGTERM while the platform starts and stops: never lost, and never an error in the middle of something."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

SIGNALS = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = 130
STOPPING = "stopping ... (Ctrl-C once more ends it at once)"
_T = TypeVar("_T")


class Interrupts:
    """What has been asked for by signals. The first asks for the end, in order; the second wants it at once.

    At once means that this process ends without another step: brokers are on a leash, and Spark ends with its client.
    """

    def __init__(self, *, stopping: bool = False) -> None:
        """`stopping`: the end has come already, and the next signal wants it at once."""
        self.asked = threading.Event()
        if stopping:
            self.asked.set()

    def note(self, number: int, frame: FrameType | None) -> None:
        """A signal's handler."""
        if self.asked.is_set():
            end_at_once()
        self.asked.set()

    def check(self) -> None:
        """Raise where the end was asked for: between two steps, where nothing is half done."""
        if self.asked.is_set():
            raise KeyboardInterrupt

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Within, signals are noted here; afterwards whoever had them before has them again.

        Only the main thread can do so; elsewhere signals are somebody else's concern.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.note) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def run(self, work: Callable[[], _T], progress: Callable[[str], None]) -> _T:
        """Do work in a thread, so that a signal is noticed whatever the work is at; it ends at its next `check`.

        Spark's client takes Ctrl-C for itself where it is started in the main thread.
        """
        if threading.current_thread() is not threading.main_thread():
            return work()
        results: list[_T] = []
        failures: list[BaseException] = []

        def perform() -> None:
            try:
                results.append(work())
            except BaseException as error:  # raised again below
                failures.append(error)

        thread = threading.Thread(target=perform, name="orion-opening")
        thread.start()
        told = False
        while thread.is_alive():
            thread.join(0.2)
            if self.asked.is_set() and not told:
                told = True
                progress(STOPPING)
        if failures:
            raise failures[0]
        return results[0]


def end_at_once() -> None:
    """End this process here and now. What is on a leash ends with it."""
    sys.stderr.flush()
    os._exit(INTERRUPTED)
