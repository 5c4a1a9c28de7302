"""`orion.Consumer`: records of topics, decoded, committed in one of the four ways Kafka's users know."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from orion import profiles
from orion.clients.codec import Codec, Format, codecs
from orion.clients.distinct import Distinct
from orion.clients.message import Message
from orion.clients.settings import cluster
from orion.errors import OrionError, SchemaError, UserError, hint_nearest
from orion.hub.client_settings import translated_settings
from orion.hub.reader import Commit as ReaderCommit
from orion.hub.reader import Isolation, Reader
from orion.hub.records import Place, Position, Record

if TYPE_CHECKING:
    from orion.registry.access import Access

Commit = Literal["auto", "sync", "async", "async-then-sync"]
COMMITS: dict[str, ReaderCommit] = {
    "auto": "auto",
    "sync": "sync",
    "async": "async",
    "async-then-sync": "async-sync",
}
From = Literal["earliest", "latest"]
Rebalanced = Callable[[list[Place]], None]

_BATCH = 500
_SLICE_S = 0.2  # the longest wait that doesn't hear Ctrl-C
_STORED_S = 1.0


class Consumer:
    """Reads committed records, one after the other. Without a group it reads all partitions and commits nothing.

    - auto: what the program has asked past is committed in the background, and on close all that it was given
    - sync: `commit()` commits what it was given, and waits
    - async: `commit()` doesn't wait, so the last one may be lost
    - async-then-sync: as async, and close waits for the last one

    But for auto nothing is committed that the program didn't say, on close neither: a commit before the work is lost
    work after a crash, a commit after it is work done again.
    """

    def __init__(
        self,
        topics: str | Sequence[str],
        *,
        group: str | None = None,
        bootstrap: str | None = None,
        profile: str | None = None,
        settings: Mapping[str, Any] | None = None,
        commit: Commit | None = None,
        from_: From = "earliest",
        isolation: Isolation | None = None,
        key_format: Format = "bytes",
        value_format: Format = "bytes",
        registry: str | Access | None = None,
        distinct: bool = False,
        timeout: float | None = None,
        on_assign: Rebalanced | None = None,
        on_revoke: Rebalanced | None = None,
    ) -> None:
        self._keys, self._values = codecs((key_format, value_format), (None, None), registry)
        own = {} if profile is None else profiles.of(profile).consumer_settings()
        self.mode = _mode(commit, own)
        self._group = group
        self._timeout = timeout
        self._distinct = Distinct() if distinct else None
        self._told_revoked = on_revoke
        self._waiting: deque[Record] = deque()
        self._taken: list[Message] = []
        self._given: dict[Place, int] = {}  # the next offset after what the program was given
        self._before: dict[Place, int | None] = {}  # what that was before the last it was given
        self._first: dict[Place, int] = {}
        self._stored = time.monotonic()
        self._closed = False
        self._reader = Reader(
            cluster(bootstrap),
            topics,
            _start(from_),
            group=group,
            commit=COMMITS[self.mode],
            settings=_chosen(own, settings or {}, isolation),
            on_assign=on_assign,
            on_revoke=self._revoked,
        )

    # -- reading

    def poll(self, timeout: float = 1.0) -> Message | None:
        """The next record, or none within `timeout` seconds."""
        found = self.read(1, timeout)
        return found[0] if found else None

    def read(self, n: int, timeout: float = 1.0) -> list[Message]:
        """Up to `n` records: as many as come within `timeout` seconds."""
        self._pass()
        deadline = time.monotonic() + timeout
        self._taken = []
        while len(self._taken) < n:
            try:
                if not self._waiting and not self._fetch(deadline):
                    break
                message = self._take()
            except OrionError:
                if self._taken:
                    break  # these first; what goes wrong next time is raised then
                raise
            if message is not None:
                self._taken.append(message)
        return self._taken

    def __iter__(self) -> Iterator[Message]:
        """Records as they come; ends after the consumer's `timeout` without one, never if it has none."""
        last = time.monotonic()
        while True:
            message = self.poll(_SLICE_S)
            if message is not None:
                yield message
                last = time.monotonic()
            elif self._timeout is not None and time.monotonic() - last >= self._timeout:
                return

    def _fetch(self, deadline: float) -> bool:
        """Whether something has come before the deadline; asks once in any case."""
        if self._closed:
            raise UserError("CLIENT_CLOSED", "This consumer is closed.")
        while True:
            left = deadline - time.monotonic()
            self._waiting.extend(self._reader.read(_BATCH, max(0.0, min(left, _SLICE_S))))
            if self._waiting or left <= _SLICE_S:
                return bool(self._waiting)

    def _take(self) -> Message | None:
        """The next of those that have come; none where it is a repeat.

        It stays where it is until it is decoded: a registry that doesn't answer costs no record.
        """
        record = self._waiting[0]
        message = _decoded(record, self._keys, self._values)
        self._waiting.popleft()
        place = message.place
        self._before.setdefault(place, self._given.get(place))
        self._given[place] = record.offset + 1
        self._first.setdefault(place, record.offset)
        return message if self._distinct is None or self._distinct.new(place, message.id) else None

    def _pass(self) -> None:
        """What was given before is behind the program when it asks for more."""
        self._before.clear()
        if self.mode == "auto" and self._given:
            now = time.monotonic()
            # Before waiting: partitions may go to another member then.
            if not self._waiting or now - self._stored >= _STORED_S:
                self._reader.reached(self._given)
                self._reader.commit()
                self._stored = now

    # -- committing

    def commit(self) -> None:
        """Commit all that the program was given, in the consumer's way."""
        if self._group is None:
            raise UserError("NO_GROUP", "A consumer without a group has nowhere to commit to.", hint="Give it a group.")
        self._reader.reached(self._given)
        self._reader.commit()

    @property
    def failed_commits(self) -> int:
        """How many commits that nobody waited for have failed."""
        return self._reader.failed_commits

    @property
    def places(self) -> dict[Place, int]:
        """The next offset of each partition after what the program was given."""
        return dict(self._given)

    def membership(self) -> object:
        """What a transaction has to know of the group to commit its offsets."""
        if self._group is None:
            raise UserError("NO_GROUP", "Only a consumer in a group has offsets to commit.", hint="Give it a group.")
        return self._reader.membership()

    def close(self) -> None:
        """Leave the group, after the commit that the way of committing has at the end."""
        if not self._closed:
            self._closed = True
            if self.mode == "auto":
                self._reader.reached(self._given)
            self._reader.close()

    def __enter__(self) -> Consumer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            # The work on the last ones didn't end: they are not done.
            for place, offset in self._before.items():
                if offset is None:
                    self._given.pop(place, None)
                else:
                    self._given[place] = offset
        self.close()

    # -- moving

    @property
    def assignment(self) -> list[Place]:
        """The partitions it has now."""
        return self._reader.assignment

    @property
    def at_end(self) -> bool:
        """Whether it was given all there is, for now."""
        return not self._waiting and self._reader.at_end

    def seek(self, topic: str, partition: int, offset: int) -> None:
        """Go on from an offset of a partition it has."""
        self._reader.seek((topic, partition), offset)
        self._forget((topic, partition))

    def rewind(self) -> None:
        """Go back to what the group has committed, or to where this consumer began; closed, its next one does."""
        if self._closed:
            return
        begins = {**self._first, **(self._reader.committed() if self._group else {})}
        for place in set(self._given) & set(self._reader.assignment):
            self.seek(*place, begins[place])

    def _revoked(self, places: list[Place]) -> None:
        if self._told_revoked is not None:
            self._told_revoked(places)
        for place in places:
            self._forget(place)
            self._first.pop(place, None)

    def _forget(self, place: Place) -> None:
        """What has come of a partition, but hasn't reached the program, is for whoever reads it from now on."""
        self._taken = [message for message in self._taken if message.place != place]
        self._waiting = deque(record for record in self._waiting if (record.topic, record.partition) != place)
        self._given.pop(place, None)
        self._before.pop(place, None)
        if self._distinct is not None:
            self._distinct.forget(place)


def _mode(commit: str | None, profile: Mapping[str, str]) -> str:
    """Said, or the profile's: one that wants no commits in the background leaves them to the program."""
    if commit is None:
        return "sync" if profile.get("enable.auto.commit") == "false" else "auto"
    if commit not in COMMITS:
        hint = hint_nearest(commit, list(COMMITS)) or f"There are {', '.join(COMMITS)}."
        raise UserError("INVALID_OPTIONS", f"{commit!r} is no way to commit.", hint=hint)
    return commit


def _start(text: str) -> Position:
    position = Position.parse(text)
    if position.kind not in ("earliest", "latest"):
        raise UserError(
            "INVALID_POSITION", f"A consumer doesn't begin at {text}.", hint="Use earliest, latest or seek."
        )
    return position


def _chosen(profile: Mapping[str, str], given: Mapping[str, Any], isolation: Isolation | None) -> dict[str, Any]:
    said = {} if isolation is None else {"isolation.level": isolation}
    return translated_settings(profile, given, said)


def _decoded(record: Record, keys: Codec, values: Codec) -> Message:
    key, key_error = _attempt(keys, record.key)
    value, value_error = _attempt(values, record.value)
    return Message(record, key, value, key_error, value_error)


def _attempt(codec: Codec, raw: bytes | None) -> tuple[Any, SchemaError | None]:
    try:
        return codec.decode(raw), None
    except SchemaError as error:
        return None, error
