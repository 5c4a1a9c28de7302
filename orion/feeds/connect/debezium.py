"""What a person says of a change capture, and the Debezium configuration that it becomes.

Options have the names that Debezium's users know and go through to it. What isn't said is chosen so that a captured
table can be declared as a TABLE over its topic: the record is the row, a delete is a tombstone, the key is the primary
key, and every value is in the form that Orion's JSON reads. Whatever is said wins over what is chosen.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ConfigDict, Field, ValidationError

from orion.errors import ConfigError, hint_nearest
from orion.feeds.connect.tables import Table
from orion.feeds.connect.worker_settings import Surroundings, converters
from orion.options import Options as ConnectorOptions

PLUGIN = "cdc"
_OWN = ("database", "connect.url", "unwrap")  # said to Orion, not to Debezium
_MATCHES = "org.apache.kafka.connect.transforms.predicates.TopicNameMatches"
_SECRET = re.compile(r"(password|passphrase|secret|token|connection\.string|jaas\.config)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of database: the connector for it, and the set of jars that has it."""

    name: str
    connector_class: str
    jars: str
    include: str = "table.include.list"  # the option that names what is captured
    needs: tuple[str, ...] = ("database.hostname", "database.user")
    history: bool = False  # Debezium keeps the history of the tables' columns itself, in a topic


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "postgresql",
            "io.debezium.connector.postgresql.PostgresConnector",
            "debezium-postgres",
            needs=("database.hostname", "database.user", "database.dbname"),
        ),
        Kind("mysql", "io.debezium.connector.mysql.MySqlConnector", "debezium-mysql", history=True),
        Kind("mariadb", "io.debezium.connector.mariadb.MariaDbConnector", "debezium-mariadb", history=True),
        Kind(
            "sqlserver",
            "io.debezium.connector.sqlserver.SqlServerConnector",
            "debezium-sqlserver",
            needs=("database.hostname", "database.user", "database.names"),
            history=True,
        ),
        Kind(
            "mongodb",
            "io.debezium.connector.mongodb.MongoDbConnector",
            "debezium-mongodb",
            include="collection.include.list",
            needs=("mongodb.connection.string",),
        ),
    )
}
CLASSES = {kind.connector_class: kind for kind in KINDS.values()}


class Options(ConnectorOptions):
    """The WITH of a connector. What isn't a field here is an option of Debezium's or Connect's."""

    model_config = ConfigDict(extra="allow")

    connector_class: str = Field(default=PLUGIN, alias="connector.class", description="cdc, or a class of Debezium's")
    database: str | None = Field(default=None, description=f"one of {', '.join(KINDS)}")
    connect_url: str | None = Field(
        default=None, alias="connect.url", description="a Kafka Connect cluster to use; none: a worker of Orion's own"
    )
    unwrap: bool = Field(default=True, description="whether a record is the row; false: Debezium's envelope")

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Options:
        """The options of a statement; says which one is wrong."""
        try:
            options = cls.model_validate(dict(given))
        except ValidationError as error:
            first = error.errors()[0]
            raise ConfigError("INVALID_OPTION", f"Option '{first['loc'][0]}': {first['msg']}.") from None
        missing = [name for name in options.kind.needs if not options.given.get(name)]
        if missing:
            raise ConfigError("OPTION_MISSING", f"A capture of {options.kind.name} needs the option '{missing[0]}'.")
        return options

    @property
    def kind(self) -> Kind:
        known = CLASSES.get(self.connector_class)
        if known is not None:
            return known
        if self.connector_class != PLUGIN:
            hint = hint_nearest(self.connector_class, [PLUGIN, *CLASSES])
            raise ConfigError("UNKNOWN_CONNECTOR", f"There is no connector '{self.connector_class}' here.", hint=hint)
        named = KINDS.get((self.database or "").lower())
        if named is None:
            said = f"There is no database '{self.database}'." if self.database else "The option 'database' is missing."
            hint = hint_nearest(self.database or "", list(KINDS)) or f"It is one of {', '.join(KINDS)}."
            raise ConfigError("INVALID_OPTION", said, hint=hint)
        return named

    @property
    def given(self) -> dict[str, str]:
        """What goes through to Debezium, as it was said."""
        return {name: _text(value) for name, value in (self.__pydantic_extra__ or {}).items() if name not in _OWN}

    @property
    def tells_login(self) -> bool:
        """Whether we can connect ourselves: a cluster elsewhere may have the password where only it can look."""
        return "${" not in self.given.get("database.password", "")

    def __repr__(self) -> str:
        return f"Options({hidden(self.given)})"

    __str__ = __repr__


def translate(name: str, options: Options, around: Surroundings, tables: Sequence[Table] = ()) -> dict[str, str]:
    """The configuration of a connector. Pure; secrets are in it as they were given.

    `tables` are those that it captures, as far as they are known: with them a key of one column stands alone in its
    record, as SQL reads it, and without them it stays an object.
    """
    kind, given = options.kind, options.given
    chosen = {
        "tasks.max": "1",
        "topic.prefix": re.sub(r"[^a-z0-9_.-]", "_", name.lower()),
        **converters(),
        # Somebody else's cluster may not have it switched on; ours has.
        "exactly.once.support": "requested" if options.connect_url else "required",
        # A table's topic keeps the last record of each key for good.
        "topic.creation.default.cleanup.policy": "compact",
        "topic.creation.default.partitions": str(around.partitions),
        "topic.creation.default.replication.factor": "-1",
        # Lets go of the log of a database in which only other tables change.
        "heartbeat.interval.ms": "10000",
        **_for_kind(name, kind, around),
    }
    config = {**chosen, **given, "name": name, "connector.class": kind.connector_class}
    return _unwrapped(kind, config, tables) if options.unwrap else config


def topic_of(config: Mapping[str, str], table: str) -> str:
    """The topic that the changes of a table, such as public.users, are written to."""
    name = config.get("topic.delimiter", ".").join((config["topic.prefix"], *table.split(".")))
    return re.sub(r"[^A-Za-z0-9._-]", "_", name)


def is_secret(option: str) -> bool:
    """Whether an option's value must not be shown."""
    return _SECRET.search(option) is not None


def hidden(config: Mapping[str, str]) -> dict[str, str]:
    """A configuration that may be shown."""
    return {name: "********" if is_secret(name) and value else value for name, value in config.items()}


def slot_name(name: str, around: Surroundings) -> str:
    """What the connector's slot and publication are called in PostgreSQL, which other services may use too."""
    wanted = re.sub(r"[^a-z0-9_]", "_", f"{around.service_id}_{name}".lower())
    return wanted if len(wanted) <= 63 else f"{wanted[:54]}_{zlib.crc32(wanted.encode()):08x}"


def _for_kind(name: str, kind: Kind, around: Surroundings) -> dict[str, str]:
    chosen: dict[str, str] = {}
    if kind.name != "mongodb":
        chosen |= {
            # As text a number keeps all its digits for any reader, also where the column has no scale of its own, and
            # Orion's JSON reads it as DECIMAL. As Connect's own decimal such a column would be an object with bytes.
            "decimal.handling.mode": "string",
            # Days, milliseconds of the day, milliseconds: what Orion's JSON has for DATE, TIME and TIMESTAMP.
            "time.precision.mode": "connect",
            "binary.handling.mode": "base64",
        }
    if kind.name == "postgresql":
        chosen |= {
            "plugin.name": "pgoutput",
            "slot.name": slot_name(name, around),
            # A publication of its own, for its tables only: connectors that share one take its tables from each other.
            "publication.name": slot_name(name, around),
            "publication.autocreate.mode": "filtered",
            # Debezium makes a slot that is missing, and by its default goes on from there without a word about the
            # changes in between. This has it stop when the slot begins behind what it has read.
            "offset.mismatch.strategy": "trust_offset",
            "interval.handling.mode": "string",
            # A large value that an update leaves alone isn't in the log: it is read from the table instead.
            "post.processors": "reselector",
            "post.processors.reselector.type": "io.debezium.processors.reselect.ReselectColumnsPostProcessor",
            "post.processors.reselector.reselect.unavailable.values": "true",
            "post.processors.reselector.reselect.null.values": "false",
        }
    if kind.name in ("mysql", "mariadb"):
        chosen |= {
            # What a replica is known by; no two of a server's may have the same.
            "database.server.id": str(10_000 + zlib.crc32(f"{around.service_id}/{name}".encode()) % 2_000_000_000),
            "bigint.unsigned.handling.mode": "precise",
            "include.schema.changes": "false",  # they have no key, and a compacted topic takes none without
        }
    if kind.name == "sqlserver":
        chosen |= {
            "include.schema.changes": "false",
            # The driver's own 30 s hold up a statement that names a server which isn't there.
            "driver.loginTimeout": "10",
        }
    if kind.history:
        chosen |= _history(name, around)
    return chosen


def _history(name: str, around: Surroundings) -> dict[str, str]:
    prefix = "schema.history.internal"
    clients = {f"{prefix}.{c}.{k}": v for c in ("producer", "consumer") for k, v in around.client.items()}
    return {
        f"{prefix}.kafka.bootstrap.servers": around.bootstrap,
        f"{prefix}.kafka.topic": around.internal_topic(f"history_{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}"),
        f"{prefix}.store.only.captured.tables.ddl": "true",
        **clients,
    }


def _unwrapped(kind: Kind, config: dict[str, str], tables: Sequence[Table]) -> dict[str, str]:
    """With the row out of Debezium's envelope and a key of one column out of its object, before any other transform."""
    mongo = "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState"
    said = {
        "transforms.unwrap.type": mongo if kind.name == "mongodb" else "io.debezium.transforms.ExtractNewRecordState",
        # Debezium's 'tombstone' keeps the schema of the row, and Connect's JSON writes the text null for that.
        "transforms.unwrap.delete.tombstone.handling.mode": "delete-to-tombstone",
    }
    keys = []
    for at, (column, topics) in enumerate(_alone(kind, config, tables).items()):
        keys.append(f"key{at}")
        said |= {
            f"transforms.key{at}.type": "org.apache.kafka.connect.transforms.ExtractField$Key",
            f"transforms.key{at}.field": column,
            f"transforms.key{at}.predicate": f"key{at}",
            f"predicates.key{at}.type": _MATCHES,
            f"predicates.key{at}.pattern": topics,
        }
    transforms, predicates = (_listed(config.get(option, "")) for option in ("transforms", "predicates"))
    lists = {"transforms": ["unwrap", *keys, *transforms], "predicates": [*keys, *predicates]}
    return {**said, **config, **{option: ",".join(dict.fromkeys(names)) for option, names in lists.items() if names}}


def _alone(kind: Kind, config: Mapping[str, str], tables: Sequence[Table]) -> dict[str, str]:
    """Columns that are a key by themselves, each with a pattern for the topics where it is."""
    if kind.name == "mongodb":
        return {"id": re.escape(config["topic.prefix"]) + r"\..*"}
    said = keys_said(config)
    keys = {table.name: table.key for table in tables} | said
    topics: dict[str, list[str]] = {}
    for table, key in keys.items():
        if len(key) == 1:
            topics.setdefault(key[0], []).append(topic_of(config, table).replace(".", r"\."))
    return {column: "|".join(sorted(found)) for column, found in sorted(topics.items())}


def keys_said(config: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The keys that 'message.key.columns' gives to tables, where it names them without a pattern."""
    said = {}
    for entry in config.get("message.key.columns", "").split(";"):
        table, _, columns = entry.strip().rpartition(":")
        if re.fullmatch(r"[\w.$-]+", table):
            said[table] = tuple(_listed(columns))
    return said


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
