"""What the web's ways to records share: one producer, consumer instances, the registry, threads of their own."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import ParamSpec, TypeVar

from fastapi import Request

from orion.config import Web
from orion.errors import OrionError
from orion.hub.kafka import Kafka
from orion.hub.outbox import Outbox, Transactions
from orion.hub.records import Outgoing, Receipt
from orion.plan.catalog import Catalog
from orion.runtime.schemas import Schemas
from orion.web.rest_proxy.instances import Instances
from orion.web.rest_proxy.schema_choice import SchemaChoice

P = ParamSpec("P")
T = TypeVar("T")
# Consumers wait in these for records, which is most of what they do.
_THREADS = 64


class Gateway:
    """Clients are made when they are first needed. `catalog` tells what is declared now."""

    def __init__(self, kafka: Kafka, schemas: Schemas, settings: Web, catalog: Callable[[], Catalog]) -> None:
        self.kafka = kafka
        self.schemas = schemas
        self.settings = settings
        self.catalog = catalog
        self.outbox = Outbox(kafka, settings.queue_bytes, settings.delivery_s)
        self.transactions = Transactions(kafka, f"orion-feed-{uuid.uuid4()}", settings.delivery_s)
        self.instances = Instances(kafka, settings.consumer_idle_s)
        self.choice = SchemaChoice(lambda: schemas.registry)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="orion-gateway")

    @classmethod
    def of(cls, request: Request) -> Gateway:
        """That of the application which answers the request."""
        found: Gateway = request.app.state.gateway
        return found

    @cached_property
    def cluster_id(self) -> str:
        return self.kafka.cluster_id()

    async def run(self, call: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """What may wait, off the event loop, and where it keeps no statement waiting."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(call, *arguments, **named))

    async def send(self, topic: str, records: Iterable[Outgoing], patience: float = 0.0) -> list[Receipt | OrionError]:
        """Write records, and return when it is known of each what became of it; raises where there is no room."""
        futures = await self.run(self.outbox.send, topic, records, patience)
        told = await asyncio.gather(*map(asyncio.wrap_future, futures), return_exceptions=True)
        return [_told(one) for one in told]

    def close(self) -> None:
        self.instances.close()
        self.outbox.close()
        self._threads.shutdown(wait=False, cancel_futures=True)


def _told(result: Receipt | BaseException) -> Receipt | OrionError:
    if isinstance(result, Receipt | OrionError):
        return result
    raise result
