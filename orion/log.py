"""The log: lines for people on a stream, which cost whoever logs next to nothing and tell no secrets.

What is logged is put into a queue, as it is; a thread makes text of it and writes. So neither a traceback's rendering
nor a slow terminal holds up an event loop. A traceback has the places, without the values that were in variables there:
these may be a request's body or a password. For the same reason an error's text stands there without what it quotes,
and a secret that was read for a connector is hidden wherever it turns up.
"""

from __future__ import annotations

import atexit
import logging
import queue
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import suppress
from functools import partial
from typing import Any, TextIO

import structlog

HIDDEN = "[hidden]"
_WAITING = 10_000  # lines that may wait for the stream; what comes beyond that is counted and left out
_FRAMES = 30  # of each error, the innermost
_CAUSES = 5
_LONGEST_TEXT = 300
_SHORTEST_SECRET = 4  # a shorter one would be found in every other word
_MOST_SECRETS = 1_000
_FLUSH_S = 5.0
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`")
# Libraries that report what fails on an event loop through Python's own logging.
_LIBRARIES = ("asyncio", "nicegui")

Event = MutableMapping[str, Any]


# ---- secrets -----------------------------------------------------------------------------------------------------

_secrets: dict[str, None] = {}


def hide_secret(value: str) -> None:
    """Have a value never stand in the log from now on."""
    if len(value) >= _SHORTEST_SECRET:
        _secrets.pop(value, None)
        _secrets[value] = None
        while len(_secrets) > _MOST_SECRETS:
            del _secrets[next(iter(_secrets))]


def without_secrets(text: str) -> str:
    for value in sorted(_secrets, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    return text


# ---- text --------------------------------------------------------------------------------------------------------


def describe_error(error: BaseException) -> str:
    """Where an error was raised, and its causes before it; without the values of variables and without quotations."""
    parts = [_describe_one(one) for one in _with_causes(error)]
    return "\nwhich led to:\n".join(reversed(parts))


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    at: BaseException | None = error
    for _ in range(_CAUSES):
        if at is None:
            return
        yield at
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)


def _describe_one(error: BaseException) -> str:
    places = "".join(traceback.StackSummary.extract(traceback.walk_tb(error.__traceback__), limit=-_FRAMES).format())
    return f"{places}{type(error).__name__}: {_without_quotations(error)}".rstrip(": ")


def _without_quotations(error: BaseException) -> str:
    """An error's text may quote what it found: a piece of a request's body, or of a record."""
    if hasattr(error, "errors") and hasattr(error, "error_count"):  # pydantic's, whose text has the input in it
        return f"{error.error_count()} values don't fit"
    first = str(error).partition("\n")[0][: 4 * _LONGEST_TEXT]
    return _QUOTED.sub("'...'", first)[:_LONGEST_TEXT]


def render_event(event: Event, *, colors: bool) -> str:
    """The line, and what a traceback adds to it."""
    error = event.pop("exc_info", None)
    if isinstance(error, BaseException):
        event["exception"] = describe_error(error)
    renderer = structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback)
    return without_secrets(str(renderer(None, str(event.get("level", "")), event)))


# ---- writing -----------------------------------------------------------------------------------------------------


class _LogWriter:
    """The queue and the thread behind it, once a process."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[tuple[TextIO, Callable[[bool], str]] | threading.Event] = queue.Queue(_WAITING)
        self._dropped = 0
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def put(self, stream: TextIO, line: Callable[[bool], str]) -> None:
        if sys.is_finalizing():  # no thread runs any more, and none can be started
            self._write(stream, line)
            return
        if self._thread is None:
            self._start()
        try:
            self._waiting.put_nowait((stream, line))
        except queue.Full:
            self._dropped += 1

    def flush(self, seconds: float = _FLUSH_S) -> None:
        """Wait until all that was logged before is written."""
        if self._thread is not None:
            reached = threading.Event()
            with suppress(queue.Full):
                self._waiting.put(reached, timeout=seconds)
                reached.wait(seconds)

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                atexit.register(self.flush)
                self._thread = threading.Thread(target=self._run, name="orion-log", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            found = self._waiting.get()
            if isinstance(found, threading.Event):
                found.set()
                continue
            dropped, self._dropped = self._dropped, 0
            if dropped:
                told = f"{dropped} lines of the log are left out: they came too fast"
                self._write(found[0], partial(_plainly, told))
            self._write(*found)

    def _write(self, stream: TextIO, line: Callable[[bool], str]) -> None:
        with suppress(Exception):  # a stream that is closed, or an object that can't be told: nobody is left to tell
            stream.write(line(stream.isatty()) + "\n")
            stream.flush()


def _plainly(text: str, _: bool) -> str:
    return text


_writer = _LogWriter()


def flush_log() -> None:
    """Wait until what was logged is written, or for a few seconds."""
    _writer.flush()


class _QueuedLogger:
    """What structlog calls with an event, by the name of its level."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def msg(self, event: Event) -> None:
        _writer.put(self._stream, lambda colors: render_event(event, colors=colors))

    log = debug = info = warn = warning = error = err = critical = fatal = exception = msg


class _QueueingHandler(logging.Handler):
    """The same for libraries that use Python's own logging."""

    def __init__(self, stream: Callable[[], TextIO]) -> None:
        super().__init__(logging.WARNING)
        self._stream = stream

    def emit(self, record: logging.LogRecord) -> None:
        text = _QUOTED.sub("'...'", record.getMessage().partition("\n")[0])
        event: Event = {"event": text, "level": record.levelname.lower(), "logger": record.name}
        if record.exc_info and record.exc_info[1]:
            event["exc_info"] = record.exc_info[1]
        _QueuedLogger(self._stream()).msg(event)


def _with_error(_: Any, method: str, event: Event) -> Event:
    """The error itself, which only the thread that logs can know."""
    wanted = event.pop("exc_info", method == "exception")
    error = wanted if isinstance(wanted, BaseException) else sys.exc_info()[1] if wanted else None
    return event if error is None else {**event, "exc_info": error}


def _passed_on(_: Any, __: str, event: Event) -> tuple[tuple[Event], dict[str, Any]]:
    return (event,), {}


def configure_log(stream: Callable[[], TextIO]) -> None:
    """Log to the stream that there is at the time."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%Y-%m-%d %H:%M:%S", utc=False),
            _with_error,
            _passed_on,
        ],
        logger_factory=lambda *_: _QueuedLogger(stream()),
        cache_logger_on_first_use=False,
    )
    for name in _LIBRARIES:
        logger = logging.getLogger(name)
        for handler in [one for one in logger.handlers if isinstance(one, _QueueingHandler)]:
            logger.removeHandler(handler)
        logger.addHandler(_QueueingHandler(stream))


def configure_log_unless_told() -> None:
    """For a program that has no log of its own: structlog's way would render tracebacks at once, with all values."""
    if not structlog.is_configured():
        configure_log(lambda: sys.stderr)
