"""The HTTP ways to records over a broker, a registry and a catalog, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

import httpx

from orion import ksql
from orion.config import Web
from orion.hub.kafka import Kafka
from orion.hub.reader import Reader
from orion.hub.records import Position, Record
from orion.plan.catalog import Catalog
from orion.plan.steps import EnsureTopic, RegisterSchema
from orion.registry.access import Local
from orion.registry.log import MemoryLog
from orion.registry.store import Registry
from orion.runtime.schemas import Schemas
from orion.web.gateway import Gateway
from orion.web.server import Server, over
from orion.web.sockets import bound

PATIENCE_S = 150.0


@dataclass
class Declared:
    """What statements have declared, and a registry that is told of it."""

    registry: Local = field(default_factory=lambda: Local(Registry(MemoryLog())))
    catalog: Catalog = field(default_factory=Catalog)

    def __post_init__(self) -> None:
        self.schemas = Schemas(self.registry)

    def declare(self, kafka: Kafka, script: str) -> None:
        for statement in ksql.split(script):
            for step in ksql.compile(statement, self.catalog, schemas=self.schemas).steps:
                if isinstance(step, EnsureTopic):
                    kafka.create_topic(step.topic, step.partitions or 1, exist_ok=True)
                if isinstance(step, RegisterSchema):
                    self.schemas.register(step)
                self.catalog = self.catalog.after(step)


@dataclass(frozen=True)
class Proxy:
    declared: Declared
    gateway: Gateway
    http: httpx.Client


@contextmanager
def proxy(kafka: Kafka, settings: Web | None = None) -> Iterator[Proxy]:
    declared = Declared()
    gateway = Gateway(kafka, declared.schemas, settings or Web(), lambda: declared.catalog)
    with closing(bound("127.0.0.1", 0)) as sock:
        server = Server.serve(over(gateway), sock, gateway.settings)
        try:
            with httpx.Client(base_url=server.url, timeout=PATIENCE_S) as client:
                yield Proxy(declared, gateway, client)
        finally:
            server.stop()


def everything(kafka: Kafka, topic: str) -> list[Record]:
    """All committed records of a topic, by partition and offset."""
    found: list[Record] = []
    with Reader(kafka, topic, Position("earliest")) as reader:
        while not reader.at_end:
            found += reader.read(1000, 0.5)
    return sorted(found, key=lambda r: (r.partition, r.offset))
