"""For programs in Python: `orion.Producer` and `orion.Consumer` for topics, `orion.connect` for SQL.

Each comes when it is first asked for: who only asks a server for rows loads no Kafka client.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orion.clients.connection import Connection, PushRows, connect
    from orion.clients.consumer import Consumer
    from orion.clients.message import Message
    from orion.clients.producer import Producer, Transaction
    from orion.clients.values import Result
    from orion.hub.records import Receipt

__all__ = [
    "Connection",
    "Consumer",
    "Message",
    "Producer",
    "PushRows",
    "Receipt",
    "Result",
    "Transaction",
    "connect",
]

_HOMES = {
    "Connection": "orion.clients.connection",
    "Consumer": "orion.clients.consumer",
    "Message": "orion.clients.message",
    "Producer": "orion.clients.producer",
    "PushRows": "orion.clients.connection",
    "Receipt": "orion.hub.records",
    "Result": "orion.clients.values",
    "Transaction": "orion.clients.producer",
    "connect": "orion.clients.connection",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'orion.clients' has no attribute {name!r}")
