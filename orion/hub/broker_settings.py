"""What an embedded broker is told: Kafka's settings, where it logs, and the JVM it runs in.

All paths are relative to the broker's own folder, which it runs in: no character of the user's path can break a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orion.hub.class_archive import QUIET, class_archive
from orion.hub.cluster_data import HOST, Node
from orion.hub.java import Java

FOREVER = "-1"
ANY_TIME = str(2**63 - 1)

# Fit for one machine with few records a second or many, a handful of topics or hundreds.
ONE_MACHINE = {
    # Small internal topics: each partition costs files and start time.
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.num.partitions": "2",
    # A topic exists because someone made it, not because of a typing error.
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    # What a paused query has noted in its group is kept for a year, not for a week.
    "offsets.retention.minutes": str(365 * 24 * 60),
    # Topics are the truth: nothing is dropped unless a topic says so. Record timestamps are event times here, and
    # by Kafka's defaults a record from last year would be gone in minutes and one from tomorrow refused.
    "log.retention.ms": FOREVER,
    "log.message.timestamp.after.max.ms": ANY_TIME,
    # Files grow with what is in them instead of beginning large.
    "log.segment.bytes": str(64 << 20),
    "log.index.size.max.bytes": str(1 << 20),
    "log.segment.delete.delay.ms": "5000",
    # Compaction and retention act within seconds; the cleaner's map fits a small heap.
    "log.initial.task.delay.ms": "1000",
    "log.cleaner.backoff.ms": "1000",
    "log.cleaner.dedupe.buffer.size": str(16 << 20),
    "log.retention.check.interval.ms": "5000",
    # A broker that was killed is let in again when its session has run out; Kafka's nine seconds are long to wait for.
    "broker.heartbeat.interval.ms": "1000",
    "broker.session.timeout.ms": "5000",
    # Threads for a few cores.
    "num.network.threads": "2",
    "num.io.threads": "4",
    "background.threads": "2",
}

# The JVM's own beginning is a 64th of the machine's memory, through which G1 spreads for hours although what lives is
# a few dozen megabytes. With a young generation of one size, and an old one that is no larger than what lives needs,
# memory is bounded from the first minutes on; collecting so little takes a tenth of a second.
_SMALL_HEAP = ("-XX:+UseSerialGC", "-Xms96m", "-Xmn48m", "-XX:MinHeapFreeRatio=30", "-XX:MaxHeapFreeRatio=50")

LOGGING = """\
status = error
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = logs/server.log
appender.file.filePattern = logs/server.log.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{yyyy-MM-dd HH:mm:ss.SSS} %p %m (%c{1})%n
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 3
rootLogger.level = WARN
rootLogger.appenderRef.file.ref = file
logger.broker.name = kafka.server
logger.broker.level = INFO
logger.settings.name = kafka.server.KafkaConfig
logger.settings.level = WARN
logger.controller.name = org.apache.kafka.controller
logger.controller.level = INFO
logger.groups.name = org.apache.kafka.coordinator.group
logger.groups.level = INFO
"""


def server_properties(node: Node, nodes: Sequence[Node]) -> str:
    """The broker's settings file; every node is broker and controller at once."""
    copies = str(len(nodes))
    in_sync = str(2 if len(nodes) > 2 else 1)
    settings = {
        "process.roles": "broker,controller",
        "node.id": str(node.id),
        "listeners": f"PLAINTEXT://{HOST}:{node.port},CONTROLLER://{HOST}:{node.controller_port}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{node.port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": ",".join(f"{n.id}@{HOST}:{n.controller_port}" for n in nodes),
        "log.dirs": node.data.name,
        "default.replication.factor": copies,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": in_sync,
        **ONE_MACHINE,
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def write(node: Node, nodes: Sequence[Node]) -> None:
    """Put the broker's files in its folder."""
    (node.folder / "server.properties").write_text(server_properties(node, nodes), encoding="utf-8")
    (node.folder / "log4j2.properties").write_text(LOGGING, encoding="utf-8")


def format_command(java: Java, classpath: Sequence[Path], cluster_id: str) -> list[str]:
    """Makes the data folder a broker's. Short-lived, so it isn't worth much compiling."""
    return [
        *(str(java.executable), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *_archive_options(java, classpath)),
        "-Dlog4j2.configurationFile=log4j2.properties",
        *("-cp", _joined(classpath), "kafka.tools.StorageTool"),
        *("format", "--cluster-id", cluster_id, "--config", "server.properties"),
    ]


def broker_command(java: Java, classpath: Sequence[Path], heap: str, archive: str | None) -> list[str]:
    """Runs a broker; with `archive` it writes the classes it has loaded there when it ends."""
    options = [f"-XX:ArchiveClassesAtExit={archive}"] if archive else _archive_options(java, classpath)
    return [
        *(str(java.executable), *_SMALL_HEAP, f"-Xmx{heap}", "-XX:+ExitOnOutOfMemoryError"),
        *(*QUIET, "-XX:ErrorFile=logs/crash.log", *options),
        *("-Djava.awt.headless=true", "-Dlog4j2.configurationFile=log4j2.properties"),
        *("-cp", _joined(classpath), "kafka.Kafka", "server.properties"),
    ]


def broker_archive(java: Java, classpath: Sequence[Path]) -> Path:
    """Where the broker's classes lie ready, which halves its start time."""
    return class_archive("kafka", java, classpath)


def _archive_options(java: Java, classpath: Sequence[Path]) -> list[str]:
    archive = broker_archive(java, classpath)
    return [f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []


def _joined(classpath: Sequence[Path]) -> str:
    return ":".join(str(path) for path in classpath)
