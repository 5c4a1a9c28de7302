"""What a worker of Kafka Connect is told: its settings, where it logs, and the JVM it runs in.

It runs in `DATA/connect`; what it logs goes to `DATA/logs/connect.log`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from orion.hub.cluster_data import HOST
from orion.hub.java import Java

CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
SECRETS = "directory"  # the provider's name in references such as ${directory:FOLDER:database.password}
MOST_COPIES = 3

LOGGING = """\
status = error
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = ../logs/connect.log
appender.file.filePattern = ../logs/connect.log.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{yyyy-MM-dd HH:mm:ss.SSS} %p %X{connector.context}%m (%c{1})%n
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 3
rootLogger.level = WARN
rootLogger.appenderRef.file.ref = file
logger.debezium.name = io.debezium
logger.debezium.level = INFO
"""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where connectors run: the cluster they write to, the folder for their files, whose they are."""

    bootstrap: str
    data: Path
    service_id: str = "orion"
    partitions: int = 2  # of a topic that a connector makes
    heap: str = "512m"
    client: Mapping[str, str] = field(default_factory=dict)  # settings of Kafka's Java clients, such as security

    @property
    def folder(self) -> Path:
        return self.data.absolute() / "connect"

    @property
    def secrets(self) -> Path:
        return self.folder / "secrets"

    @property
    def plugins(self) -> Path:
        return self.folder / "plugins"

    @property
    def log(self) -> Path:
        return self.data.absolute() / "logs" / "connect.log"

    @property
    def console(self) -> Path:
        return self.data.absolute() / "logs" / "connect-console.log"

    def internal_topic(self, what: str) -> str:
        return f"_{self.service_id}_connect_{what}"


def worker_properties(around: Surroundings, port: int, brokers: int) -> dict[str, str]:
    """The settings of a worker that is a cluster of one."""
    copies = str(max(1, min(MOST_COPIES, brokers)))
    internal = {
        f"{what}.storage.{name}": value
        for what, topic in (("offset", "offsets"), ("config", "configs"), ("status", "status"))
        for name, value in (("topic", around.internal_topic(topic)), ("replication.factor", copies))
    }
    return {
        "bootstrap.servers": around.bootstrap,
        # The group's name is part of the transactional ids by which a new worker shuts an old one out.
        "group.id": f"{around.service_id}-connect",
        **internal,
        "offset.storage.partitions": "1",
        "status.storage.partitions": "1",
        "exactly.once.source.support": "enabled",
        **converters(),
        "listeners": f"http://{HOST}:{port}",
        "rest.advertised.host.name": HOST,
        "plugin.path": str(around.plugins),
        "plugin.discovery": "service_load",
        "config.providers": SECRETS,
        f"config.providers.{SECRETS}.class": "org.apache.kafka.common.config.provider.DirectoryConfigProvider",
        f"config.providers.{SECRETS}.param.allowed.paths": str(around.secrets),
        # Nobody comes to take over, so nobody waits for a worker that is gone.
        "scheduled.rebalance.max.delay.ms": "0",
        "task.shutdown.graceful.timeout.ms": "5000",
        **{
            f"{of}{name}": value
            for of in ("", "producer.", "consumer.", "admin.")
            for name, value in around.client.items()
        },
    }


def converters() -> dict[str, str]:
    """Keys and values as plain JSON. Decimals that remain numbers are numbers there, not bytes."""
    return {
        f"{role}.converter{name}": value
        for role in ("key", "value")
        for name, value in (("", CONVERTER), (".schemas.enable", "false"), (".decimal.format", "NUMERIC"))
    }


def as_properties(settings: Mapping[str, str]) -> str:
    """Java's format of a settings file, whatever a value holds."""
    return "".join(f"{_escaped(name, key=True)}={_escaped(value)}\n" for name, value in settings.items())


def _escaped(text: str, *, key: bool = False) -> str:
    special = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"} | ({"=": "\\=", ":": "\\:"} if key else {})
    return "".join(special.get(c, c if " " < c <= "~" else _unicode(c)) for c in text)


def _unicode(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def worker_command(java: Java, classpath: Sequence[Path], heap: str) -> list[str]:
    return [
        *(str(java.executable), f"-Xmx{heap}", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError"),
        *("-Xlog:disable", "-Xlog:all=error:stderr", "-XX:ErrorFile=../logs/connect-crash.log"),
        *("-Djava.awt.headless=true", "-Dlog4j2.configurationFile=log4j2.properties"),
        *("-cp", ":".join(str(path) for path in classpath)),
        *("org.apache.kafka.connect.cli.ConnectDistributed", "connect.properties"),
    ]
