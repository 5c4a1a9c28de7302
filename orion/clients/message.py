"""A record as a program reads it: decoded, with the row's time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orion.clients.distinct import HEADER as ID
from orion.errors import SchemaError
from orion.hub.records import Headers, Place, Record

ROWTIME = "orion.rowtime"


@dataclass(frozen=True, slots=True)
class Message:
    """A record. Where key or value couldn't be decoded, `error` says why and `raw` has the bytes.

    Taking the one that is broken raises the error: nobody takes it for a tombstone.
    """

    raw: Record
    decoded_key: Any = None
    decoded_value: Any = None
    key_error: SchemaError | None = None
    value_error: SchemaError | None = None

    @property
    def key(self) -> Any:
        if self.key_error is not None:
            raise self.key_error
        return self.decoded_key

    @property
    def value(self) -> Any:
        if self.value_error is not None:
            raise self.value_error
        return self.decoded_value

    @property
    def error(self) -> SchemaError | None:
        """Why key or value can't be read; none where all is well."""
        return self.key_error or self.value_error

    @property
    def topic(self) -> str:
        return self.raw.topic

    @property
    def partition(self) -> int:
        return self.raw.partition

    @property
    def offset(self) -> int:
        return self.raw.offset

    @property
    def timestamp(self) -> int | None:
        """The record's, in milliseconds."""
        return self.raw.timestamp

    @property
    def headers(self) -> Headers:
        return self.raw.headers

    @property
    def place(self) -> Place:
        return self.raw.topic, self.raw.partition

    def header(self, name: str) -> bytes | None:
        """The last header of a name, which is the one that counts in Kafka."""
        return next((value for key, value in reversed(self.raw.headers) if key == name), None)

    @property
    def rowtime(self) -> int | None:
        """The row's time in milliseconds: what Orion's fast lane says in a header, else the record's timestamp."""
        text = self.header(ROWTIME)
        digits = b"" if text is None else text.removeprefix(b"-")
        return int(text) if text and digits.isdigit() else self.raw.timestamp

    @property
    def id(self) -> str | None:
        """What Orion's fast lane calls the record, the same if it is written again."""
        text = self.header(ID)
        return None if text is None else text.decode(errors="replace")
