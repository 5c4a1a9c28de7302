"""What the catalog knows: streams and tables over topics, windows, connectors."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from orion.schema import Column, Role, Scalar, Schema

# What every row has besides its columns. ROWTIME is the record's timestamp, or what the TIMESTAMP property names.
ROWTIME, ROWPARTITION, ROWOFFSET = "ROWTIME", "ROWPARTITION", "ROWOFFSET"
WINDOWSTART, WINDOWEND = "WINDOWSTART", "WINDOWEND"
PSEUDO = {ROWTIME: Scalar.BIGINT, ROWPARTITION: Scalar.INTEGER, ROWOFFSET: Scalar.BIGINT}
WINDOW_BOUNDS = {WINDOWSTART: Scalar.BIGINT, WINDOWEND: Scalar.BIGINT}


class Kind(StrEnum):
    STREAM = "STREAM"
    TABLE = "TABLE"


class WindowKind(StrEnum):
    TUMBLING = "TUMBLING"
    HOPPING = "HOPPING"
    SESSION = "SESSION"


@dataclass(frozen=True, slots=True)
class Window:
    """How rows fall into windows by ROWTIME. `grace_ms` is how long after its end a window still takes late rows."""

    kind: WindowKind
    size_ms: int  # of a session: the gap that ends it
    advance_ms: int
    grace_ms: int

    def __str__(self) -> str:
        match self.kind:
            case WindowKind.TUMBLING:
                return f"TUMBLING ( SIZE {self.size_ms} MILLISECONDS )"
            case WindowKind.HOPPING:
                return f"HOPPING ( SIZE {self.size_ms} MILLISECONDS , ADVANCE BY {self.advance_ms} MILLISECONDS )"
            case WindowKind.SESSION:
                # Of a source over a topic the gap isn't known, and isn't needed: both bounds stand in the keys.
                return f"SESSION ( {self.size_ms} MILLISECONDS )" if self.size_ms else "SESSION"


# The formats whose records name a registry's schema by its id, and what the registry calls such a schema.
SCHEMA_TYPES = {"AVRO": "AVRO", "JSON_SR": "JSON", "PROTOBUF": "PROTOBUF"}


def subject(topic: str, role: Role) -> str:
    """Under what name a registry keeps the schemas of a topic's keys or values."""
    return f"{topic}-{role.lower()}"


@dataclass(frozen=True, slots=True)
class WireSchema:
    """A registry's schema, as records name it."""

    id: int
    type: str
    text: str
    around: tuple[tuple[str, str], ...] = ()  # the texts it refers to, by name, each after those it needs itself


@dataclass(frozen=True, slots=True)
class Wiring:
    """What the registry says of a topic's records when a query starts: never journaled, asked anew each time."""

    subject: str
    reads: tuple[WireSchema, ...] = ()
    unknown: tuple[int, ...] = ()  # ids that records name and the registry doesn't know
    writes: WireSchema | None = None


@dataclass(frozen=True, slots=True)
class Serde:
    """A format and its settings, for a key or a value."""

    format: str
    delimiter: str | None = None
    wrap_single: bool | None = (
        None  # a single column stands in an object (True) or alone (False); None: the format's way
    )
    schema_id: int | None = None  # the registry's schema to use, instead of the last one of the topic
    full_name: str | None = None  # of the record or message
    nullable: Literal["OPTIONAL", "WRAPPER"] | None = None  # how Protobuf tells NULL from a type's zero
    wiring: Wiring | None = None

    @property
    def schema_type(self) -> str | None:
        """The kind of schema that its records name; None: they name none."""
        return SCHEMA_TYPES.get(self.format)


def is_alone(columns: tuple[Column, ...], serde: Serde) -> bool:
    """Whether a single column stands without a record around it: a key's does, a value's where it is told to.

    Protobuf has nothing but messages.
    """
    if len(columns) != 1 or serde.format in ("PROTOBUF", "PROTOBUF_NOSR"):
        return False
    return columns[0].role is Role.KEY if serde.wrap_single is None else not serde.wrap_single


@dataclass(frozen=True, slots=True)
class Timestamp:
    """Which column is ROWTIME, and how its text is read."""

    column: str
    format: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A stream or table: columns over a topic."""

    name: str
    kind: Kind
    schema: Schema
    topic: str
    key: Serde
    value: Serde
    timestamp: Timestamp | None = None
    window: Window | None = None  # the topic's keys carry a window
    statement: str = ""
    query_id: str | None = None  # the query that writes it, if Orion does
    read_only: bool = False  # CREATE SOURCE ...: nothing writes it through SQL, and it isn't altered
    headed: bool = False  # a fast statement writes it: ROWTIME and what tells repeats stand in its records' headers

    def columns(self, role: Role) -> tuple[Column, ...]:
        return self.schema.key if role is Role.KEY else self.schema.value

    def serde(self, role: Role) -> Serde:
        return self.key if role is Role.KEY else self.value

    @property
    def is_served(self) -> bool:
        """Whether pull queries are answered from it: a table that a query keeps, or one declared as SOURCE."""
        return self.kind is Kind.TABLE and (self.query_id is not None or self.read_only)

    @property
    def schema_roles(self) -> tuple[Role, ...]:
        """The sides of its records that name a schema of a registry."""
        return tuple(r for r in (Role.KEY, Role.VALUE) if self.serde(r).schema_type and self.columns(r))

    @property
    def row(self) -> Schema:
        """The columns a query over this source sees: its own, the window's bounds, the pseudo columns."""
        bounds = [Column(n, t, Role.KEY) for n, t in WINDOW_BOUNDS.items()] if self.window else []
        pseudo = [Column(n, t) for n, t in PSEUDO.items()]
        return Schema((*self.schema.columns, *bounds, *pseudo))


class Direction(StrEnum):
    SINK = "SINK"  # from topics to another system
    SOURCE = "SOURCE"  # from another system to topics


class Wanted(StrEnum):
    """How somebody wants a connector to be, whatever it is."""

    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"  # paused, and where it stands may be changed


@dataclass(frozen=True, slots=True)
class Connector:
    """What keeps another system up to date with topics, or topics with another system."""

    name: str
    plugin: str
    sources: tuple[Source, ...]  # what it reads or, of a source connector, writes, as they were when it was made
    options: tuple[tuple[str, str], ...]
    statement: str = ""  # without the secrets that stood in it
    number: int = 0  # never used twice: what another connector of the same name wrote is not this one's
    tolerance: str = "all"  # how many dead letters it bears: see plan.tolerance
    direction: Direction = Direction.SINK
    wanted: Wanted = Wanted.RUNNING
    written: tuple[tuple[str, str], ...] = ()  # all options as somebody wrote them, for whoever compares them
    starting: str = ""  # where a sink begins, if not at the beginning: topic to partition to offset, as JSON

    @property
    def identity(self) -> str:
        return f"{self.name}_{self.number}"

    @property
    def own_options(self) -> dict[str, str]:
        """Those of its plug-in, without what is said for connectors of all kinds."""
        shared = {"transforms", "predicates"}
        if self.direction is Direction.SOURCE:
            shared |= {"key.format", "value.format", "partitions"}  # of what is declared over a topic that is new
        return {n: v for n, v in self.options if n not in shared and not n.startswith(("transforms.", "predicates."))}
