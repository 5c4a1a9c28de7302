"""Captures of databases under supervision: Kafka Connect runs them, and here they are seen to.

A capture that has failed is started again, later and later, as a query is. One whose database doesn't answer waits for
it: that is asked here, since Debezium tries for good and Connect calls that running. One whose database has thrown away
what it had still to read is stopped for good: going on would leave changes out without a word.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import structlog

from orion.errors import ConfigError, ExternalError, OrionError
from orion.feeds.cdc import Capture, Captures, Options
from orion.plan.connectors import Offset
from orion.plan.sources import Connector, Wanted
from orion.runtime.failures import Failure, FailureHistory, cause_of
from orion.runtime.states import QueryStatus, State
from orion.security.secret_places import SecretPlaces

log = structlog.get_logger()

_EVERY_S = 1.0
_ASK_EVERY_S = 10.0  # what a database is asked that was there the last time
_FIRST_WAIT_S, _LONGEST_WAIT_S = 2.0, 60.0
_HEALTHY_S = 60.0  # one that ran this long starts its back-off anew
_FAILED = (State.RESTARTING, State.FAILING)
_FIRST_PATIENCE_S, _LONGEST_PATIENCE_S = 1.0, 30.0  # between two looks while something is away


@dataclass
class _Held:
    """One capture, and what is known of it."""

    connector: Connector
    options: Options
    topics: tuple[str, ...] = ()
    state: State = State.STARTING
    error: str | None = None
    restarts: int = 0
    known: bool = False  # Connect has it, as far as we have seen
    retry_at: float = 0.0
    wait_s: float = _FIRST_WAIT_S
    ran_at: float = 0.0  # since when it runs
    began: float | None = None  # the same, in seconds since 1970; None: it doesn't
    history: FailureHistory = field(default_factory=FailureHistory)
    ask_at: float = 0.0  # when its database is asked next
    look_at: float = 0.0  # when it is looked at next, while it waits for something that is away
    patience_s: float = _FIRST_PATIENCE_S
    lock: threading.RLock = field(default_factory=threading.RLock)


class Capturing:
    """All captures of this server. `captures` makes what runs them, when the first one is needed."""

    def __init__(self, captures: Callable[[], Captures], secrets: SecretPlaces | None = None) -> None:
        self._make = captures
        self._secrets = secrets or SecretPlaces()
        self._captures: Captures | None = None
        self._held: dict[str, _Held] = {}
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    # ---- their life --------------------------------------------------------------------------------------------

    def check(self, connector: Connector) -> Capture:
        """What the capture would be; raises what is wrong with it."""
        return self._on.check(connector.name, self._options(connector))

    def create(self, connector: Connector, checked: Capture | None = None) -> Capture:
        """Make a capture, or give one that is there other options; `checked` is what `check` has given for them."""
        options = self._options(connector)
        capture = self._on.create(connector.name, options, checked)
        held = _Held(connector, options, tuple(capture.topics.values()), known=True)
        self._hold(held)
        if connector.wanted is not Wanted.RUNNING:
            self._on.pause(connector.name, options)
            held.state = State.PAUSED
        return capture

    def restore(self, connector: Connector) -> None:
        """Bring back one that the journal knows; what is in its way is shown, and tried again."""
        paused = connector.wanted is not Wanted.RUNNING
        try:
            held = _Held(connector, self._options(connector), state=State.PAUSED if paused else State.STARTING)
        except OrionError as error:
            options = Options.model_construct()
            held = _Held(connector, options, state=State.ERROR, error=error.message)
        self._hold(held)

    def _options(self, connector: Connector) -> Options:
        """What was said, with what stands elsewhere put in. Kafka Connect has transforms of its own: they are its."""
        written = {n: self._secrets.resolve(v, n) for n, v in connector.options if n not in OF_ORION}
        return Options.of(written)

    def drop(self, name: str) -> list[str]:
        """Take it away, with what it has left in the database; what couldn't be is told."""
        held = self._held[name]
        with held.lock:  # nobody looks at it meanwhile, and makes again what is missing
            left = self._on.drop(name, held.options)
            del self._held[name]
        return left

    def steer(self, name: str, wanted: Wanted) -> None:
        held = self._held[name]
        with held.lock:
            if wanted is not Wanted.RUNNING:
                self._on.pause(name, held.options)
                held.state, held.error, held.began = State.PAUSED, None, None
                return
            self._refuse_loss(held)
            self._on.ensure(name, held.options)
            self._on.resume(name, held.options)
            held.known = True
            self._begin(held)

    def restart(self, name: str) -> None:
        held = self._held[name]
        with held.lock:
            if held.state is State.PAUSED:
                return
            self._refuse_loss(held)
            self._on.restart(name, held.options)
            held.restarts += 1
            self._begin(held)

    def _begin(self, held: _Held) -> None:
        held.state, held.error, held.look_at, held.began = State.STARTING, None, 0.0, None

    def _refuse_loss(self, held: _Held) -> None:
        problem = self._on.problem(held.connector.name, held.options)
        if problem is not None:
            raise ConfigError("CAPTURE_LOST", problem, hint="Drop the connector and create it again: it reads anew.")

    # ---- looking -----------------------------------------------------------------------------------------------

    def status(self, name: str) -> QueryStatus:
        held = self._held[name]
        return QueryStatus(
            name,
            held.connector.plugin,
            held.state.value,
            0,
            0,
            0,
            None,
            None,
            held.error,
            restarts=held.restarts,
            failures=tuple(held.history.failures),
            restarted_at=tuple(held.history.restarts),
            running_since=held.began,
        )

    def topics(self, name: str) -> list[str]:
        return list(self._held[name].topics)

    def offsets(self, name: str) -> list[Offset]:
        return [Offset(one.partition, one.offset) for one in self._on.offsets(name, self._held[name].options)]

    def close(self) -> None:
        self._closed.set()
        if self._thread is not None:
            self._thread.join(timeout=10)
        if self._captures is not None:
            self._captures.close()

    @property
    def _on(self) -> Captures:
        with self._lock:
            if self._captures is None:
                self._captures = self._make()
            return self._captures

    def _hold(self, held: _Held) -> None:
        with self._lock:
            self._held[held.connector.name] = held
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="orion-captures", daemon=True)
                self._thread.start()

    def _watch(self) -> None:
        while not self._closed.wait(_EVERY_S):
            self.look()

    def look(self) -> None:
        """See to each capture once."""
        for held in list(self._held.values()):
            with held.lock:
                resting = held.state in (State.PAUSED, State.ERROR) or time.monotonic() < held.look_at
                if resting or self._held.get(held.connector.name) is not held:
                    continue
                try:
                    self._look(held)
                    held.patience_s = _FIRST_PATIENCE_S
                except ExternalError as error:
                    self._wait(held, error.message)
                except Exception as error:
                    self._failed(held, str(error))

    def _look(self, held: _Held) -> None:
        name = held.connector.name
        if not held.known:
            self._on.ensure(name, held.options)
            held.known = True
            with suppress(OrionError):
                held.topics = tuple(self._on.describe(name, held.options).topics.values())
        status = self._on.status(name, held.options)
        fails_anew = status.failed and held.state not in _FAILED
        if fails_anew or held.state is State.WAITING or time.monotonic() >= held.ask_at:
            problem = self._on.ask(name, held.options)
            held.ask_at = time.monotonic() + _ASK_EVERY_S
            if problem is not None:
                self._stop(held, problem)
                return
        if status.failed:
            self._again(held, status.reason or "it has failed")
        elif status.running:
            self._runs(held)
        else:
            held.state, held.error = State.STARTING, None

    def _runs(self, held: _Held) -> None:
        now = time.monotonic()
        if held.began is None:
            held.ran_at, held.began = now, time.time()
        if held.state is not State.RUNNING and not held.history.persists(time.time(), held.began):
            held.state, held.error = State.RUNNING, None
        elif now - held.ran_at > _HEALTHY_S:
            held.wait_s = _FIRST_WAIT_S

    def _wait(self, held: _Held, reason: str) -> None:
        """Look again later and later, until what is away answers."""
        if held.state is not State.WAITING:
            log.warning("capture waits", connector=held.connector.name, reason=reason)
        held.state, held.error, held.began = State.WAITING, reason, None
        held.look_at = time.monotonic() + held.patience_s
        held.patience_s = min(_LONGEST_PATIENCE_S, held.patience_s * 2)

    def _again(self, held: _Held, reason: str) -> None:
        """Start again what has failed, once it has waited for its time."""
        if held.state not in _FAILED or held.began is not None:
            self._failed(held, reason)
        elif time.monotonic() >= held.retry_at:
            if held.history.failed_since_restart:
                self._note_failure(held, reason)
            held.restarts += 1
            held.history.restarts.append(time.time())
            self._put_off(held)
            self._on.restart(held.connector.name, held.options)

    def _put_off(self, held: _Held) -> None:
        held.retry_at = time.monotonic() + held.wait_s
        held.wait_s = min(_LONGEST_WAIT_S, held.wait_s * 2)

    def _failed(self, held: _Held, reason: str) -> None:
        self._note_failure(held, reason)
        self._put_off(held)
        log.warning("capture failed", connector=held.connector.name, reason=reason)

    def _note_failure(self, held: _Held, reason: str) -> None:
        held.history.note(Failure(time.time(), reason, cause_of(reason)))
        failing = held.history.persists(time.time(), None)
        held.state, held.error, held.began = State.FAILING if failing else State.RESTARTING, reason, None

    def _stop(self, held: _Held, problem: str) -> None:
        log.error("capture stopped", connector=held.connector.name, reason=problem)
        with suppress(OrionError):
            self._on.pause(held.connector.name, held.options)
        held.state, held.error, held.began = State.ERROR, problem, None


OF_ORION = ("topic", "declare.tables", "name")
