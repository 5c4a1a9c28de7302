"""What a client has set for itself: properties, by SET, and variables, by DEFINE."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from orion import profiles
from orion.errors import UserError, hint_nearest
from orion.ksql.properties import LATE_ROWS
from orion.ksql.pull.patience import DEADLINE, SEEN, offsets
from orion.plan.relations import Guarantee
from orion.plan.steps import SetProperty, SetVariable, Step
from orion.plan.tolerance import PROPERTY as TOLERANCE
from orion.plan.tolerance import Tolerance

# What has an effect: the values it may have, the least whole number, or what reads it.
EFFECTIVE: dict[str, tuple[str, ...] | int | Callable[[str], object]] = {
    "auto.offset.reset": ("earliest", "latest"),
    "cache.max.bytes.buffering": 0,
    TOLERANCE: Tolerance.parse,
    "orion.late.rows": LATE_ROWS,
    "orion.fast.batch.ms": 5000,
    "orion.freshness.ms": 0,
    "orion.guarantee": tuple(Guarantee),
    "orion.max.future.ms": 0,
    "orion.max.records.per.batch": 1,
    "orion.profile": profiles.NAMES,
    DEADLINE: 1,
    SEEN: offsets,
    "orion.tasks": 1,
    "orion.trigger.ms": 0,
}

# What scripts written for ksqlDB set: kept and shown, without an effect here. Kafka Streams' own, then its clients'.
_KAFKA = frozenset(
    (
        "acceptable.recovery.lag application.id application.server bootstrap.servers buffered.records.per.partition "
        "built.in.metrics.version client.id commit.interval.ms default.deserialization.exception.handler "
        "default.key.serde default.production.exception.handler default.timestamp.extractor default.value.serde "
        "deserialization.exception.handler max.task.idle.ms max.warmup.replicas metadata.max.age.ms "
        "metrics.num.samples metrics.recording.level metrics.sample.window.ms num.standby.replicas "
        "num.stream.threads poll.ms probing.rebalance.interval.ms processing.guarantee "
        "production.exception.handler receive.buffer.bytes reconnect.backoff.max.ms reconnect.backoff.ms "
        "replication.factor request.timeout.ms retries retry.backoff.ms rocksdb.config.setter "
        "security.protocol send.buffer.bytes state.cleanup.delay.ms state.dir task.timeout.ms "
        "topology.optimization upgrade.from windowstore.changelog.additional.retention.ms "
        "acks batch.size buffer.memory compression.type delivery.timeout.ms enable.idempotence linger.ms "
        "max.block.ms max.in.flight.requests.per.connection max.request.size transaction.timeout.ms "
        "auto.commit.interval.ms check.crcs enable.auto.commit fetch.max.bytes fetch.max.wait.ms fetch.min.bytes "
        "group.id heartbeat.interval.ms isolation.level max.partition.fetch.bytes max.poll.interval.ms "
        "max.poll.records session.timeout.ms"
    ).split()
)
_PREFIXES = tuple(
    "ksql. consumer. main.consumer. restore.consumer. global.consumer. producer. admin. topic. ssl. sasl.".split()
)
_OTHER_NAMES = {"statestore.cache.max.bytes": "cache.max.bytes.buffering"}


@dataclass(frozen=True, slots=True)
class Session:
    properties: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)  # by name in upper case

    @classmethod
    def of(cls, properties: Mapping[str, object] | None, variables: Mapping[str, object] | None = None) -> Session:
        """What a request brings with it."""
        written = {canonical(name): str(value) for name, value in (properties or {}).items()}
        for name, value in written.items():
            problem = refused(name, value)
            if problem:
                raise UserError("INVALID_PROPERTY", problem)
        return cls(written, {name.upper(): str(value) for name, value in (variables or {}).items()})

    def after(self, step: Step) -> Session:
        match step:
            case SetProperty(name, value):
                return replace(self, properties=_changed(self.properties, name, value))
            case SetVariable(name, value):
                return replace(self, variables=_changed(self.variables, name, value))
            case _:
                return self


def _changed(mapping: Mapping[str, str], name: str, value: str | None) -> Mapping[str, str]:
    others = {n: v for n, v in mapping.items() if n != name}
    return others if value is None else {**others, name: value}


def canonical(name: str) -> str:
    """The one spelling of a property: without the prefix that ksqlDB's scripts write for Kafka Streams' own."""
    bare = name.removeprefix("ksql.streams.")
    return _OTHER_NAMES.get(bare, bare)


def is_known(name: str) -> bool:
    return name in EFFECTIVE or name in _KAFKA or name.startswith(_PREFIXES)


def nearest(name: str) -> str:
    return hint_nearest(name, sorted([*EFFECTIVE, *_KAFKA])) or (
        f"With an effect here are {', '.join(EFFECTIVE)}; others of ksqlDB's and Kafka's are kept without one."
    )


def refused(name: str, value: str) -> str | None:
    """What is wrong with a property's value."""
    allowed = EFFECTIVE.get(name)
    match allowed:
        case None:
            return None
        case int():
            fits = value.isascii() and value.isdecimal() and int(value) >= allowed
            return None if fits else f"'{name}' is a whole number{f' from {allowed}' if allowed else ''}."
        case tuple():
            return None if value in allowed else f"'{name}' is {' or '.join(allowed)}."
        case _:
            return _unread(name, value, allowed)


def _unread(name: str, value: str, read: Callable[[str], object]) -> str | None:
    try:
        read(value)
    except UserError as error:
        return f"'{name}': {error.message} {error.hint}"
    return None
