"""A record as a line of JSON, both ways: what `orion consume --json` writes, `orion produce --envelope` reads.

An envelope is `{"key", "value", "headers", "timestamp", "partition"}`. A value is JSON and a key is text; what is
neither has `value_format` or `key_format` beside it, `text` or `base64`.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orion.errors import UserError

if TYPE_CHECKING:
    from orion.hub.records import Headers, Outgoing, Record

# Topic and offset are what a record had where it was read; Kafka decides them anew.
FIELDS = {"key", "value", "headers", "timestamp", "partition", "key_format", "value_format", "topic", "offset"}
LATEST_TIME = 2**63 - 1
LAST_PARTITION = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Shape:
    """How a line becomes a record; in an envelope, what the line says beats what the flags say."""

    envelope: bool = False
    key: str | None = None
    key_field: str | None = None
    headers: Headers = ()
    timestamp: int | None = None
    timestamp_field: str | None = None
    partition: int | None = None

    def record(self, line: bytes) -> Outgoing:
        """The record of one line, or an error that says what is wrong with it."""
        from orion.hub.records import Outgoing

        document = parsed(line)
        if self.envelope:
            return self._enveloped(document)
        return Outgoing(
            # The line as it is, not as Python would write it again; null is a tombstone.
            value=None if document is None else line,
            key=self._key(document),
            headers=self.headers,
            timestamp=self._timestamp(document),
            partition=self.partition,
        )

    def _enveloped(self, document: Any) -> Outgoing:
        from orion.hub.records import Outgoing

        if not isinstance(document, dict) or "value" not in document:
            raise _bad("An envelope is an object with a value.")
        if unknown := sorted(set(document) - FIELDS):
            raise _bad(f"An envelope has no {unknown[0]}.")
        value = document["value"]
        key_format = document.get("key_format", "text")
        stamp, partition = document.get("timestamp"), document.get("partition")
        return Outgoing(
            value=_encoded(value, document.get("value_format", "json")),
            key=_encoded(document["key"], key_format) if "key" in document else self._key(value),
            headers=_headers(document["headers"]) if "headers" in document else self.headers,
            timestamp=self._timestamp(value) if stamp is None else _milliseconds(stamp),
            partition=self.partition if partition is None else _partition(partition),
        )

    def _key(self, document: Any) -> bytes | None:
        if self.key_field is None:
            return None if self.key is None else self.key.encode()
        return _encoded(_field(document, self.key_field), "text")

    def _timestamp(self, document: Any) -> int | None:
        if self.timestamp_field is None:
            return self.timestamp
        return _milliseconds(_field(document, self.timestamp_field))


def rendered(record: Record) -> str:
    """A record as an envelope on one line. JSON in it stays as it was written: 1.10 doesn't become 1.1."""
    key, key_format = _plain(record.key)
    fields: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": key,
    }
    if key_format != "text":
        fields["key_format"] = key_format
    fields["headers"] = _rendered_headers(record.headers)
    exact = _exact_json(record.value)
    if exact is None:
        fields["value"], fields["value_format"] = _plain(record.value)
        return _dumped(fields)
    return f'{_dumped(fields)[:-1]}, "value": {exact}}}'


def _exact_json(value: bytes | None) -> str | None:
    """The text of bytes that are a JSON value, on one line; none when they aren't."""
    if value is None:
        return "null"
    try:
        document = parsed(value)
    except UserError:
        return None
    if document is None:
        return None  # the four letters null are not a tombstone
    text = value.decode()
    return _dumped(document) if "\n" in text or "\r" in text else text.strip()


def _plain(value: bytes | None) -> tuple[str | None, str]:
    """Bytes as text where they are, else as base64, and which of the two."""
    if value is None:
        return None, "text"
    try:
        return value.decode(), "text"
    except UnicodeDecodeError:
        return b64encode(value).decode(), "base64"


def shown(value: bytes | None) -> str | None:
    """Bytes for people: as text where they are, else as base64."""
    return _plain(value)[0]


def _rendered_headers(headers: Headers) -> Any:
    """An object, or pairs when a name comes twice."""
    pairs = []
    for name, value in headers:
        text, form = _plain(value)
        pairs.append((name, {"base64": text} if form == "base64" else text))
    return dict(pairs) if len({name for name, _ in pairs}) == len(pairs) else pairs


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def header_pairs(texts: Iterable[str]) -> Headers:
    """Headers of `key=value` flags."""
    pairs = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UserError("INVALID_HEADER", f"{text!r} is not a header.", hint="Write --header key=value.")
        pairs.append((name, value.encode()))
    return tuple(pairs)


def parsed(line: bytes) -> Any:
    """The JSON value of some bytes; Python's own additions to JSON are refused."""
    try:
        return json.loads(line.decode(), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise _bad("It isn't UTF-8.") from error
    except json.JSONDecodeError as error:
        raise _bad(f"It isn't JSON: {error.msg} at column {error.colno}.") from error
    except (ValueError, RecursionError) as error:
        raise _bad(f"It can't be read: {error}.") from error


def _no_constant(name: str) -> Any:
    raise _bad(f"It isn't JSON: {name} is not a value.")


def _field(document: Any, name: str) -> Any:
    if not isinstance(document, dict) or document.get(name) is None:
        raise _bad(f"It has no field {name}.")
    return document[name]


def _encoded(value: Any, form: str) -> bytes | None:
    """Bytes of a key or value. As text, a string is its characters and anything else its JSON."""
    if value is None:
        return None
    if form == "base64" and isinstance(value, str):
        try:
            return b64decode(value, validate=True)
        except ValueError as error:
            raise _bad("It isn't base64.") from error
    if form == "text" and isinstance(value, str):
        return _utf8(value)
    if form not in ("json", "text"):
        raise _bad(f"{form!r} is not a format of a value: json, text or base64.")
    return _utf8(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise _bad("It has half of a surrogate pair.") from error


def _headers(written: Any) -> Headers:
    pairs = written.items() if isinstance(written, Mapping) else written or ()
    try:
        return tuple((str(name), _header(value)) for name, value in pairs)
    except (TypeError, ValueError) as error:
        raise _bad("Headers are an object, or a list of [key, value].") from error


def _header(value: Any) -> bytes | None:
    if isinstance(value, Mapping) and set(value) == {"base64"}:
        return _encoded(value["base64"], "base64")
    return _encoded(value, "text")


def _milliseconds(value: Any) -> int:
    from orion.hub.records import milliseconds

    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LATEST_TIME:
        return value
    if not isinstance(value, str):
        raise _bad(f"{json.dumps(value)} is not a time.")
    return milliseconds(value)


def _partition(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= LAST_PARTITION:
        raise _bad(f"{json.dumps(value)} is not a partition.")
    return value


def _bad(message: str) -> UserError:
    return UserError("MALFORMED_LINE", message)
