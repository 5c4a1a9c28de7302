"""elasticsearch: rows as documents of Elasticsearch or OpenSearch, by the options of Confluent's sink.

Documents go with the offset of their record as their version, so that a late retry never overwrites newer data and the
same batch twice changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import httpx
from pydantic import Field, SecretStr, field_validator

from orion.errors import ConfigError
from orion.options import Options, understood
from orion.plan.sources import Connector, Kind
from orion.sinks.search.bulk import Method, SearchSession, Tombstones, Work
from orion.sinks.search.client import Connection
from orion.sinks.search.names import TOPIC, Naming, pattern_of
from orion.sinks.store import Layout, Nested

_WITHOUT_EFFECT = "taken, without effect: a slot's rows are sent in order, as they come"


class SearchOptions(Options):
    urls: tuple[str, ...] = Field(
        alias="connection.url", description="addresses of the servers, separated by commas", min_length=1
    )
    username: str | None = Field(default=None, alias="connection.username", description="who logs in")
    password: SecretStr | None = Field(default=None, alias="connection.password", description="and the password")
    api_key: SecretStr | None = Field(
        default=None, alias="connection.api.key", description="an API key in base64, in place of a user and password"
    )
    certificates: str | None = Field(
        default=None,
        alias="elastic.https.ssl.truststore.location",
        description="a PEM file of certificates to trust, in place of the machine's",
    )
    host_check: Literal["https", ""] = Field(
        default="https",
        alias="elastic.https.ssl.endpoint.identification.algorithm",
        description="empty: the server's name isn't held against its certificate",
    )
    compress: bool = Field(default=False, alias="connection.compression", description="whether requests are gzipped")
    connect_ms: int = Field(
        default=1000, alias="connection.timeout.ms", description="how long to wait for a connection", gt=0
    )
    read_ms: int = Field(default=30_000, alias="read.timeout.ms", description="how long to wait for an answer", gt=0)
    key_ignore: bool | None = Field(
        default=None,
        alias="key.ignore",
        description="true: a document's id is topic+partition+offset; false: the key. By default false of a table",
    )
    schema_ignore: bool = Field(
        default=False,
        alias="schema.ignore",
        description="whether the server guesses the fields of an index; else they are made from the columns",
    )
    compact_maps: bool = Field(
        default=True,
        alias="compact.map.entries",
        description="whether a MAP is an object; else a list of key and value",
    )
    tombstones: Tombstones | None = Field(
        default=None,
        alias="behavior.on.null.values",
        description="what a record without a value does: ignore, delete or fail. By default delete of a table",
    )
    malformed: Literal["ignore", "warn", "fail"] = Field(
        default="fail",
        alias="behavior.on.malformed.documents",
        description="taken, without effect: what the server refuses becomes a dead letter",
    )
    method: Method = Field(
        default=Method.INSERT,
        alias="write.method",
        description="insert: a document takes the place of the one before; upsert: its fields do",
    )
    resources: tuple[str, ...] = Field(
        default=(),
        alias="topic.to.external.resource.mapping",
        description="names in place of topics', as topic:name, separated by commas",
    )
    name_format: str = Field(
        default=TOPIC,
        alias="index.name.format",
        description="the index, with ${topic}, ${timestamp} and codes of strftime for the record's time in UTC",
        min_length=1,
    )
    time_format: str = Field(
        default="yyyyMMdd", alias="timestamp.format", description="what ${timestamp} is, as a pattern of Java's"
    )
    batch_size: int = Field(
        default=2000, alias="batch.size", description="most rows in one request", gt=0, le=1_000_000
    )
    bulk_bytes: int = Field(
        default=5_242_880, alias="bulk.size.bytes", description="most bytes in one request; -1 is without a limit"
    )
    retries: int = Field(
        default=5, alias="max.retries", description="how often a busy server is asked again at once", ge=0, le=20
    )
    backoff_ms: int = Field(
        default=100, alias="retry.backoff.ms", description="how long to wait before that; doubled each time", ge=0
    )
    buffered: int = Field(default=20_000, alias="max.buffered.records", description=_WITHOUT_EFFECT)
    linger_ms: int = Field(default=1, alias="linger.ms", description=_WITHOUT_EFFECT)
    in_flight: int = Field(default=5, alias="max.in.flight.requests", description=_WITHOUT_EFFECT)
    flush_ms: int = Field(default=180_000, alias="flush.timeout.ms", description=_WITHOUT_EFFECT)
    flush_at_once: bool = Field(default=False, alias="flush.synchronously", description=_WITHOUT_EFFECT)

    @field_validator("urls", "resources", mode="before")
    @classmethod
    def _split(cls, written: Any) -> Any:
        return tuple(w.strip() for w in written.split(",") if w.strip()) if isinstance(written, str) else written

    @field_validator("tombstones", "malformed", "method", mode="before")
    @classmethod
    def _lower(cls, written: Any) -> Any:
        return written.strip().lower() if isinstance(written, str) else written

    @field_validator("resources")
    @classmethod
    def _pairs(cls, written: tuple[str, ...]) -> tuple[str, ...]:
        if any(not all(pair.partition(":")[::2]) for pair in written):
            raise ValueError("each is topic:name")
        return written


OPTIONS = SearchOptions


@dataclass(frozen=True)
class SearchStore:
    work: Work
    guarantee: ClassVar[str] = "each row once, by its document's id and version"
    nested: ClassVar[Nested] = Nested.ARROW

    @property
    def layout(self) -> Layout:
        return self.work.layout

    def prepare(self) -> None:
        session = SearchSession(self.work)
        try:
            session.prepare()
        finally:
            session.close()

    def reach(self) -> None:
        session = SearchSession(self.work)
        try:
            session.reach()
        finally:
            session.close()

    def open(self) -> SearchSession:
        return SearchSession(self.work)


def open_sink(connector: Connector, layout: Layout) -> SearchStore:
    options = understood(SearchOptions, connector.own_options, connector.name)
    by_key = _by_key(options, layout)
    work = Work(
        layout=layout,
        connection=_connection(options, connector.name),
        naming=_naming(options, layout, by_key),
        by_key=by_key,
        method=options.method,
        tombstones=_tombstones(options, layout, by_key),
        explicit=not options.schema_ignore,
        compact=options.compact_maps,
        most_rows=options.batch_size,
        most_bytes=options.bulk_bytes if options.bulk_bytes > 0 else 2**62,
    )
    return SearchStore(work)


def _connection(options: SearchOptions, connector: str) -> Connection:
    """Addresses and login apart: a login may stand in the first address."""
    try:
        urls = [httpx.URL(url if "://" in url else f"http://{url}") for url in options.urls]
    except (httpx.InvalidURL, ValueError):
        urls = []
    if not urls or any(url.scheme not in ("http", "https") or not url.host for url in urls):
        told = f"Connector {connector}: 'connection.url' has one that is no address."
        raise ConfigError("INVALID_CONNECTOR", told, hint="Each is http://host:port or https://host:port.")
    named = next((url for url in urls if url.username), None)
    inside = SecretStr(named.password) if named is not None else None
    return Connection(
        urls=tuple(str(url.copy_with(username=None, password=None)).rstrip("/") for url in urls),
        username=options.username or (named.username if named is not None else None),
        password=options.password or inside,
        api_key=options.api_key,
        certificates=options.certificates,
        check_host=options.host_check == "https",
        compress=options.compress,
        connect_seconds=options.connect_ms / 1000,
        read_seconds=options.read_ms / 1000,
        retries=options.retries,
        pause_seconds=options.backoff_ms / 1000,
    )


def _by_key(options: SearchOptions, layout: Layout) -> bool:
    if options.key_ignore is None:
        return layout.kind is Kind.TABLE and bool(layout.key)
    if not options.key_ignore and not layout.key:
        told = f"'key.ignore' is false, and {layout.topic} has no key that a document's id could be."
        raise ConfigError("INVALID_CONNECTOR", told)
    return not options.key_ignore


def _tombstones(options: SearchOptions, layout: Layout, by_key: bool) -> Tombstones:
    if options.tombstones is None:
        return Tombstones.DELETE if by_key and layout.kind is Kind.TABLE else Tombstones.IGNORE
    if options.tombstones is Tombstones.DELETE and not by_key:
        told = "'behavior.on.null.values' is delete, and documents have no ids by which their keys would be found."
        raise ConfigError("INVALID_CONNECTOR", told, hint="Ids are keys with 'key.ignore' = 'false'.")
    return options.tombstones


def _naming(options: SearchOptions, layout: Layout, by_key: bool) -> Naming:
    try:
        pattern = pattern_of(options.name_format, options.time_format)
    except ValueError as error:
        raise ConfigError("INVALID_CONNECTOR", f"'index.name.format': {error}.") from None
    names = dict(pair.split(":", 1) for pair in options.resources)
    naming = Naming(pattern, names.get(layout.topic, layout.topic))
    if naming.by_time and by_key:
        told = "'index.name.format' goes by time: a row that changes would stand in several indices."
        hint = "With 'key.ignore' = 'true' each change is a document."
        raise ConfigError("INVALID_CONNECTOR", told, hint=hint)
    if not naming.by_time and not naming.fixed:
        raise ConfigError("INVALID_CONNECTOR", f"'index.name.format' makes no name of an index out of {layout.topic}.")
    return naming
