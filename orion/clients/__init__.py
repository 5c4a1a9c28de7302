"""Producers and consumers for programs in Python: `orion.Producer` and `orion.Consumer`."""

from __future__ import annotations

from orion.clients.consumer import Consumer
from orion.clients.message import Message
from orion.clients.producer import Producer, Transaction
from orion.hub.records import Receipt

__all__ = ["Consumer", "Message", "Producer", "Receipt", "Transaction"]
