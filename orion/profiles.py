"""What to set for throughput, latency, durability or availability, and what each setting trades.

A profile sets only what it is about; all else keeps Orion's defaults: acks all, idempotence, committed records. Names
are Kafka's own (those of its Java clients), a statement's are Orion's. Pure data: who hands it to a client translates.
"""

from __future__ import annotations

from dataclasses import dataclass

from orion.errors import UserError, hint_nearest

# Of a topic's settings these two are said when it is made; Kafka keeps them beside the topic's configuration.
PARTITIONS = "partitions"
REPLICATION = "replication.factor"
# A statement's settings with this in front are the producer's of its lane.
OF_PRODUCER = "producer."


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting and what it trades for what."""

    name: str
    value: str
    trades: str


Settings = tuple[Setting, ...]

# A producer that neither loses, repeats nor reorders: what a topic with strict order asks for, and a transaction too.
STRICT: Settings = (
    Setting(
        "acks", "all", "A record counts when every replica in sync has it: slower, and no leader's death loses it."
    ),
    Setting("enable.idempotence", "true", "A retry neither repeats nor reorders; costs nothing that can be measured."),
    Setting(
        "max.in.flight.requests.per.connection",
        "5",
        "The most that idempotence keeps in order; 1, which older advice asks for, only makes it slower.",
    ),
)


@dataclass(frozen=True, slots=True)
class Profile:
    """The settings of one aim, for everybody who takes part in it."""

    name: str
    aim: str
    producer: Settings = ()
    consumer: Settings = ()
    topic: Settings = ()
    broker: Settings = ()
    statement: Settings = ()

    def producer_settings(self, *, strict: bool = False) -> dict[str, str]:
        """`strict`: for a transaction or a topic with strict order, which both keep acks all whatever the profile.

        How long a record may take is then the transaction's affair.
        """
        settings = values(self.producer)
        if strict:
            settings |= values(STRICT)
            settings.pop("delivery.timeout.ms", None)
        return settings

    def consumer_settings(self) -> dict[str, str]:
        return values(self.consumer)

    def broker_settings(self) -> dict[str, str]:
        return values(self.broker)

    def partitions(self) -> int | None:
        """How many partitions a topic gets unless somebody says; none where the profile has no opinion."""
        wanted = values(self.topic).get(PARTITIONS)
        return None if wanted is None else int(wanted)

    def replication(self, brokers: int) -> int | None:
        """How many copies a topic gets: as many as the profile asks for, or as there are brokers for."""
        wanted = values(self.topic).get(REPLICATION)
        return None if wanted is None else max(1, min(int(wanted), brokers))

    def topic_config(self, brokers: int, replication: int | None = None) -> dict[str, str]:
        """A topic's own settings. More replicas in sync than it has copies would refuse every write."""
        config = {name: value for name, value in values(self.topic).items() if name not in (PARTITIONS, REPLICATION)}
        copies = self.replication(brokers) if replication is None else replication
        if "min.insync.replicas" in config and copies is not None:
            config["min.insync.replicas"] = str(max(1, min(int(config["min.insync.replicas"]), copies)))
        return config

    def statement_settings(self) -> dict[str, str]:
        """What a statement takes by itself: `trigger_ms`, `max_records_per_batch`, `guarantee`."""
        return {name: value for name, value in values(self.statement).items() if not name.startswith(OF_PRODUCER)}

    def lane_settings(self) -> dict[str, str]:
        """What the producers of a statement's lane take, by the producer's own names."""
        return {
            name.removeprefix(OF_PRODUCER): value
            for name, value in values(self.statement).items()
            if name.startswith(OF_PRODUCER)
        }


def values(settings: Settings) -> dict[str, str]:
    """Names and values alone."""
    return {setting.name: setting.value for setting in settings}


_LEADER_ALONE: Settings = (
    Setting(
        "acks",
        "1",
        "The leader's word is enough: about twice as fast as all, and a leader that dies takes records with it that it "
        "has acknowledged. Not for transactions nor strict order: these keep all.",
    ),
    Setting(
        "enable.idempotence",
        "false",
        "Idempotence needs acks all, so that with acks 1 a retry may repeat a record or put it behind a later one.",
    ),
)

_THROUGHPUT = Profile(
    "throughput",
    "Most records a second; each may wait a moment for others.",
    producer=(
        Setting("batch.size", "131072", "Fuller requests, fewer of them; more memory for each partition."),
        Setting("linger.ms", "50", "Waits so long for a batch to fill: that much later, if it doesn't."),
        Setting("compression.type", "lz4", "A little processor for much less network and disk; acts on whole batches."),
        *_LEADER_ALONE,
        Setting("buffer.memory", "67108864", "Room for bursts and many partitions; lost if the process dies."),
    ),
    consumer=(
        Setting(
            "fetch.min.bytes", "100000", "The broker answers when so much is there: fewer requests, later records."
        ),
        Setting("fetch.max.wait.ms", "500", "The longest it waits for that much; a quiet topic's records are so late."),
    ),
    topic=(
        Setting(
            PARTITIONS, "6", "More readers and writers at once; order holds within each alone, and never fewer again."
        ),
    ),
    broker=(
        Setting("num.partitions", "6", "The same for topics made without a number."),
        Setting("compression.type", "producer", "Batches are stored as they came; the broker compresses nothing anew."),
    ),
    statement=(
        Setting("trigger_ms", "1000", "Fewer, larger batches: less overhead a record, results up to a second later."),
        Setting(
            "max_records_per_batch", "500000", "Catches up faster; more memory, and more done again after a crash."
        ),
        Setting("producer.batch.size", "262144", "Fuller requests of the lane."),
        Setting("producer.linger.ms", "50", "Small: a commit flushes at once whatever waits."),
        Setting("producer.compression.type", "lz4", "A little processor for much less network and disk."),
    ),
)

_LATENCY = Profile(
    "latency",
    "Each record as soon as can be; fewer of them a second.",
    producer=(
        Setting("linger.ms", "0", "A record leaves at once: many small requests. Kafka 4's default of 5 would wait."),
        Setting("compression.type", "none", "No time spent on it; more network and disk."),
        *_LEADER_ALONE,
    ),
    consumer=(
        Setting("fetch.min.bytes", "1", "The broker answers as soon as there is a record: many small answers."),
        Setting("fetch.max.wait.ms", "100", "Only how often an idle reader asks again; no record waits for it."),
    ),
    broker=(
        Setting(
            "num.replica.fetchers", "4", "Followers are up with their leader sooner; more threads and connections."
        ),
    ),
    statement=(
        Setting("trigger_ms", "0", "The next batch begins when one ends: sooner results, a processor always busy."),
        Setting("max_records_per_batch", "10000", "No batch is long; behind by much, it catches up slower."),
        Setting("producer.linger.ms", "0", "Nothing waits for company."),
        Setting("producer.compression.type", "none", "No time spent on it; more network and disk."),
    ),
)

_DURABILITY = Profile(
    "durability",
    "What was acknowledged is never lost, repeated or out of order; it stops rather than risk that.",
    producer=STRICT,
    consumer=(
        Setting(
            "enable.auto.commit", "false", "The program commits what it has done: nothing is lost, some is redone."
        ),
        Setting("isolation.level", "read_committed", "No aborted record is seen; waits for open transactions to end."),
    ),
    topic=(
        Setting(REPLICATION, "3", "Two brokers may die; three times the disk and network."),
        Setting("min.insync.replicas", "2", "A write that fewer than two have is refused: topics stop being written."),
        Setting("unclean.leader.election.enable", "false", "A partition rather stands still than forget records."),
        Setting(
            "flush.ms", "1000", "To disk each second: what a power cut of all brokers at once takes; costs disk writes."
        ),
    ),
    broker=(
        Setting("default.replication.factor", "3", "The same for topics made without a number."),
        Setting("min.insync.replicas", "2", "The same for topics that don't say."),
        Setting("unclean.leader.election.enable", "false", "The same; Kafka's default."),
        Setting("auto.create.topics.enable", "false", "A mistyped name is an error and no new topic of one copy."),
        Setting("offsets.topic.replication.factor", "3", "Groups' places are as safe as the records."),
        Setting("transaction.state.log.replication.factor", "3", "Transactions outlive two brokers."),
        Setting("transaction.state.log.min.isr", "2", "A commit is on two brokers before it counts."),
        Setting("log.flush.interval.ms", "1000", "To disk each second; Kafka by itself trusts its replicas instead."),
    ),
    statement=(
        Setting("guarantee", "exact", "Each result once, whatever is killed; a transaction a batch, so not in ms."),
    ),
)

_AVAILABILITY = Profile(
    "availability",
    "Goes on writing and reading when parts fail, even where that forgets records.",
    producer=(
        Setting("acks", "all", "All in sync, who with min.insync.replicas 1 may be the leader alone: writes go on."),
        Setting("enable.idempotence", "true", "The many retries of a failover neither repeat nor reorder."),
        Setting("delivery.timeout.ms", "300000", "Keeps trying through five minutes of trouble; a failure shows late."),
    ),
    consumer=(
        Setting(
            "session.timeout.ms",
            "6000",
            "A dead reader's partitions move after 6 s and not 45; a slow one may be taken for dead. 3 s, which older "
            "advice gives, is below what brokers allow (group.min.session.timeout.ms, 6000).",
        ),
        Setting("heartbeat.interval.ms", "2000", "A third of the session: two heartbeats may be lost."),
    ),
    topic=(
        Setting(REPLICATION, "3", "Two brokers may die; three times the disk and network."),
        Setting("min.insync.replicas", "1", "Written while a leader lives; what it alone has may die with it."),
        Setting(
            "unclean.leader.election.enable",
            "true",
            "A replica that is behind may lead: the partition lives, and records that it lacks are gone.",
        ),
    ),
    broker=(
        Setting("default.replication.factor", "3", "The same for topics made without a number."),
        Setting("min.insync.replicas", "1", "The same for topics that don't say."),
        Setting("unclean.leader.election.enable", "true", "The same for topics that don't say."),
        Setting("num.recovery.threads.per.data.dir", "5", "Back sooner after a crash; a busier disk (Kafka 4 has 2)."),
    ),
    statement=(
        Setting("max_records_per_batch", "20000", "Little is done again after a crash; behind by much, slower."),
    ),
)

_ALL = {profile.name: profile for profile in (_THROUGHPUT, _LATENCY, _DURABILITY, _AVAILABILITY)}
NAMES: tuple[str, ...] = tuple(_ALL)


def of(name: str) -> Profile:
    """The profile of a name, however it is written."""
    found = _ALL.get(name.strip().lower())
    if found is None:
        hint = hint_nearest(name, list(NAMES)) or f"There are {', '.join(NAMES)}."
        raise UserError("UNKNOWN_PROFILE", f"There is no profile {name}.", hint=hint)
    return found
