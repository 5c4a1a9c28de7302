"""Topics under a running query: one that is deleted, made anew, shortened or widened is noticed and told.

Spark knows a topic by its name alone. It stops with a long text when offsets vanish under it, and reads on without a
word where a topic was deleted, made again and filled past the old offset. So a query notes the id and the number of
partitions of what it reads when it starts (see orion.runtime.checkpoint), and a `Watch` holds that against the cluster.

| what is seen | code | the query |
|---|---|---|
| the topic isn't there | TOPIC_GONE | stops |
| another topic has its name | TOPIC_RECREATED | stops |
| records were deleted before they were read | OFFSETS_GONE | stops; may go on behind the gap when told to |
| more partitions, and rows are folded by key | PARTITIONS_ADDED | goes on, with a warning |
| more partitions, each row for itself | - | goes on |

A query that minds the order of arrival goes on all the same: its state lies by key and stays right, Spark has begun to
read the new partitions before anyone can look, and a stop would only let the lag grow, which is what brings rows out of
order.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import structlog

from orion.errors import Conflict, OrionError
from orion.hub.kafka import Kafka, Topic
from orion.plan.partitions import Bond
from orion.runtime.progress import Offsets

log = structlog.get_logger()

TOPIC_GONE = "TOPIC_GONE"
TOPIC_RECREATED = "TOPIC_RECREATED"
OFFSETS_GONE = "OFFSETS_GONE"
PARTITIONS_ADDED = "PARTITIONS_ADDED"

_EVERY_S = 5.0
_CERTAIN_S = 1.0  # a topic that is missed is asked for once more after this: a broker may not know all of them yet
_FORGOTTEN_S = 120.0  # a topic that no query has asked about for so long isn't asked for any more


@dataclass(frozen=True, slots=True)
class Input:
    """A topic as a query noted it when it started."""

    topic: str
    topic_id: str
    partitions: int
    skipped: Mapping[int, int] = field(default_factory=dict)  # up to which offsets the loss of records is accepted


@dataclass(frozen=True, slots=True)
class Inputs:
    """All that a query reads, and how much it minds where a key's rows lie."""

    query: str
    topics: tuple[Input, ...]
    bonds: Mapping[str, Bond] = field(default_factory=dict)
    resume: str = ""  # the statement that makes it go on behind a gap; none: there is no such

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(noted.topic for noted in self.topics)


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is wrong with a query's input. `fatal`: it must not go on. `acceptable`: it may, if somebody says so."""

    code: str
    message: str
    hint: str
    fatal: bool = True
    acceptable: bool = False

    @property
    def error(self) -> Conflict:
        """As the error that ends a query."""
        return Conflict(self.code, self.message, hint=self.hint)


def noted(names: tuple[str, ...], seen: Mapping[str, Topic]) -> tuple[Input, ...]:
    """What a query that starts now notes of its topics."""
    topics = (seen[name] for name in dict.fromkeys(names) if name in seen)
    return tuple(Input(topic.name, topic.topic_id, topic.partitions) for topic in topics)


def accepted(inputs: Inputs, seen: Mapping[str, Topic], reached: Offsets, earliest: Offsets) -> Inputs:
    """The inputs as they are now: gaps and added partitions are known and taken. Another topic never is."""
    return replace(inputs, topics=tuple(_as_seen(known, seen, reached, earliest) for known in inputs.topics))


def _as_seen(known: Input, seen: Mapping[str, Topic], reached: Offsets, earliest: Offsets) -> Input:
    topic = seen.get(known.topic)
    if topic is None or topic.topic_id != known.topic_id:
        return known
    gaps = _gaps(known, reached, earliest)
    skipped = dict(known.skipped) | {partition: to for partition, (_, to) in gaps.items()}
    return replace(known, partitions=topic.partitions, skipped=skipped)


def trouble(inputs: Inputs, seen: Mapping[str, Topic], reached: Offsets, earliest: Offsets) -> Trouble | None:
    """The worst that is wrong, if something is. `seen` are the topics that exist, of all that were asked for;
    `reached` is the next offset that the query reads, and `earliest` the first that each partition still has."""
    found: list[Trouble] = []
    for known in inputs.topics:
        topic = seen.get(known.topic)
        if topic is None:
            return _gone(inputs.query, known)
        if topic.topic_id != known.topic_id:
            return _recreated(inputs.query, known, topic)
        if gaps := _gaps(known, reached, earliest):
            found.append(_offsets_gone(inputs, known, gaps))
        if topic.partitions > known.partitions and (bond := inputs.bonds.get(known.topic, Bond.NONE)):
            found.append(_added(inputs, known, topic, bond))
    return max(found, key=lambda one: (one.fatal, not one.acceptable), default=None)


def _gaps(known: Input, reached: Offsets, earliest: Offsets) -> dict[int, tuple[int, int]]:
    """For each partition that lost records nobody has read: from where up to, not including, where."""
    found: dict[int, tuple[int, int]] = {}
    for partition, stands in sorted(reached.get(known.topic, {}).items()):
        start = max(stands, known.skipped.get(partition, 0))
        first = earliest.get(known.topic, {}).get(partition, 0)
        if first > start:
            found[partition] = (start, first)
    return found


def _gone(query: str, known: Input) -> Trouble:
    return Trouble(
        TOPIC_GONE,
        f"Topic {known.topic} was deleted, and {query} reads it.",
        f"A topic that is created again is another one: drop {query}, create the topic, and create {query} again.",
    )


def _recreated(query: str, known: Input, topic: Topic) -> Trouble:
    return Trouble(
        TOPIC_RECREATED,
        f"Topic {known.topic} was deleted and created again while {query} read it (its id was {known.topic_id} and is "
        f"{topic.topic_id}): how far the query had come in the old one means nothing in the new one.",
        f"Drop {query} and create it again to read the new topic from its start.",
    )


def _offsets_gone(inputs: Inputs, known: Input, gaps: Mapping[int, tuple[int, int]]) -> Trouble:
    query, topic = inputs.query, known.topic
    lost = sum(to - start for start, to in gaps.values())
    where = ", ".join(f"partition {part} offsets {start} to {to - 1}" for part, (start, to) in gaps.items())
    on = f"{inputs.resume}; goes on behind the gap and keeps what was made so far. " if inputs.resume else ""
    return Trouble(
        OFFSETS_GONE,
        f"Topic {topic} no longer has what {query} would read next: {where}. "
        f"Retention, or somebody, deleted up to {lost} records before they were read.",
        f"{on}Drop {query} and create it again to make everything anew from what is left. "
        f"`orion topics alter {topic} --retention 30d` keeps records longer.",
        acceptable=bool(inputs.resume),
    )


def _added(inputs: Inputs, known: Input, topic: Topic, bond: Bond) -> Trouble:
    query = inputs.query
    grown = f"Topic {known.topic} has {topic.partitions} partitions and had {known.partitions} when {query} started"
    apart = "a key's new rows may lie in another partition than its old ones"
    anew = (
        "To have a key's rows in one order again, write them to a topic that has enough partitions from the start, "
        f"e.g. by CREATE STREAM ... WITH (partitions={topic.partitions}) AS SELECT, and create {query} again over that."
    )
    seen = f" {inputs.resume}; takes this warning away." if inputs.resume else ""
    match bond:
        case Bond.ORDER:
            said = f"{grown}: {apart}. {query} takes them by their timestamps, as far as it reads them together."
            hint = f"Results can differ for keys whose rows were written while it was behind. {anew}{seen}"
        case _:
            said = f"{grown}. Its results stay right: rows are brought together by key, wherever they lie."
            hint = f"Nothing has to be done.{seen}"
    return Trouble(PARTITIONS_ADDED, said, hint, fatal=False, acceptable=bool(inputs.resume))


@dataclass(frozen=True, slots=True)
class Seen:
    """What the cluster said at one moment about the topics that it was asked for."""

    asked: frozenset[str]
    topics: Mapping[str, Topic]
    earliest: Offsets


class Watch:
    """Holds the inputs of all queries against the cluster, with one round of requests for all of them.

    `look` never waits: it judges by what the cluster said last, and has it asked again when that is some seconds old.
    While the cluster doesn't answer, what it said last stands: no answer is never a topic that is gone.
    """

    def __init__(self, kafka: Kafka, every_s: float = _EVERY_S) -> None:
        self._kafka = kafka
        self._every_s = every_s
        self._lock = threading.Lock()
        self._wanted: dict[str, float] = {}  # topics, and when a query last asked about each
        self._seen: Seen | None = None
        self._told: dict[str, tuple[Seen, Inputs, Trouble | None]] = {}  # by query, what was made of what was seen
        self._asked_at = float("-inf")
        self._asking = False
        self._closed = False

    def close(self) -> None:
        """Ask no more, and say nothing of a cluster that is gone by now: an answer may be under way still."""
        self._closed = True

    def look(self, inputs: Inputs, ahead: Callable[[], Offsets]) -> Trouble | None:
        """What is wrong with a running query's inputs, as far as is known by now.

        `ahead` tells what is read after the batch under way, and is asked once for each answer of the cluster. That
        batch itself may have what was deleted since it began; Spark ends it if it hasn't.
        """
        now = time.monotonic()
        with self._lock:
            self._wanted |= dict.fromkeys(inputs.names, now)
            due = not (self._asking or self._closed) and now - self._asked_at >= self._every_s
            if due:
                self._asking, self._asked_at = True, now
            seen, told = self._seen, self._told.get(inputs.query)
        if due:
            threading.Thread(target=self._ask_again, name="orion-inputs", daemon=True).start()
        if seen is None or not seen.asked.issuperset(inputs.names):
            return None
        if told is None or told[0] is not seen or told[1] != inputs:
            told = (seen, inputs, trouble(inputs, seen.topics, ahead(), seen.earliest))
            with self._lock:
                self._told[inputs.query] = told
        return told[2]

    def check(self, inputs: Inputs, reached: Offsets) -> Trouble | None:
        """The same, by asking now: for a query that is about to start, and reads on at `reached`.

        Raises when the cluster can't be asked.
        """
        seen = self.see(inputs.names)
        return trouble(inputs, seen.topics, reached, seen.earliest)

    def see(self, names: tuple[str, ...]) -> Seen:
        """What the cluster says about some topics now. One is missing only if it is missed twice."""
        wanted = list(dict.fromkeys(names))
        topics = self._kafka.present(wanted)
        if len(topics) < len(wanted):
            time.sleep(_CERTAIN_S)
            topics = self._kafka.present(wanted)
        return Seen(frozenset(wanted), topics, self._kafka.earliest_of(list(topics.values())))

    def _ask_again(self) -> None:
        with self._lock:
            recent = time.monotonic() - _FORGOTTEN_S
            self._wanted = {name: at for name, at in self._wanted.items() if at >= recent}
            wanted = tuple(self._wanted)
        try:
            seen = self.see(wanted)
            with self._lock:
                self._seen = seen
        except OrionError as error:
            if not self._closed:
                log.info("topics can't be looked at", reason=error.message)
        finally:
            with self._lock:
                self._asking = False
