"""A record's bytes as a person reads them: by the registry, by the format that is declared, or as text."""

from __future__ import annotations

import json
import struct
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from orion.hub.records import Record
from orion.plan.sources import Source, WindowKind
from orion.schema import Role, Scalar
from orion.web.console import amounts

_NUMBERS = {Scalar.INTEGER: ">i", Scalar.BIGINT: ">q", Scalar.DOUBLE: ">d"}


@dataclass(frozen=True, slots=True)
class Shown:
    """`text` is what to print, `kind` how the bytes were read: json, text, number, null or base64 among others."""

    text: str
    kind: str

    @property
    def document(self) -> Any:
        """The JSON value, where it is one; else the text."""
        if self.kind == "null":
            return None
        try:
            return json.loads(self.text)
        except ValueError:
            return self.text


@dataclass(frozen=True, slots=True)
class Decoded:
    record: Record
    key: Shown
    value: Shown

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        return tuple((name, plain(value).text) for name, value in self.record.headers)


class Decoder:
    """`shown` asks the registry for what names a schema of it; `source` is what is declared over the topic."""

    def __init__(self, shown: Callable[[bytes | None], str | None], source: Source | None) -> None:
        self._shown, self._source = shown, source

    def __call__(self, record: Record) -> Decoded:
        return Decoded(record, self._side(record.key, Role.KEY), self._side(record.value, Role.VALUE))

    def _side(self, raw: bytes | None, role: Role) -> Shown:
        if raw is None:
            return Shown("null", "null")
        body, window = self._without_window(raw) if role is Role.KEY else (raw, "")
        found = self._shown(body) if body[:1] == b"\0" else None
        told = Shown(found, "registry") if found is not None else self._declared(body, role) or plain(body)
        return Shown(f"{told.text} {window}", told.kind) if window else told

    def _without_window(self, raw: bytes) -> tuple[bytes, str]:
        """The key itself, and the window behind it in words."""
        window = self._source.window if self._source else None
        if window is None or len(raw) < 8:
            return raw, ""
        if window.kind is WindowKind.SESSION and len(raw) >= 16:
            end, start = struct.unpack(">qq", raw[-16:])
            return raw[:-16], f"[{amounts.moment(start)} … {amounts.moment(end, date=False)}]"
        (start,) = struct.unpack(">q", raw[-8:])
        return raw[:-8], f"[{amounts.moment(start)} + {amounts.duration(window.size_ms)}]"

    def _declared(self, raw: bytes, role: Role) -> Shown | None:
        source = self._source
        if source is None or source.serde(role).format != "KAFKA" or len(source.columns(role)) != 1:
            return None
        type_ = source.columns(role)[0].type
        form = _NUMBERS.get(type_) if isinstance(type_, Scalar) else None
        if form is None or struct.calcsize(form) != len(raw):
            return None
        return Shown(str(struct.unpack(form, raw)[0]), "number")


def plain(raw: bytes | None) -> Shown:
    """Bytes without anybody's help: JSON, text, or base64."""
    if raw is None:
        return Shown("null", "null")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return Shown(b64encode(raw).decode(), "base64")
    if text[:1] in ("{", "["):
        try:
            json.loads(text)
            return Shown(text, "json")
        except ValueError:
            pass
    if any(ord(letter) < 32 and letter not in "\t\r\n" for letter in text):
        return Shown(b64encode(raw).decode(), "base64")
    return Shown(text, "text")


def pretty(shown: Shown) -> str:
    """JSON spread over lines, as it was written where it can't be."""
    if shown.kind not in ("json", "registry"):
        return shown.text
    try:
        return spread(json.loads(shown.text))
    except ValueError:
        return shown.text


def spread(document: Any) -> str:
    """JSON over several lines. Half of a surrogate pair is an escape, as in the bytes: else it can't be sent."""
    text = json.dumps(document, indent=2, ensure_ascii=False, default=str)
    return text.encode(errors="backslashreplace").decode()
