"""Plan values as JSON and back. A value is written with its class's tag (`orion.plan.tags`) and with the fields that
don't have their default; a field that isn't there has it. What isn't known is refused, never guessed at."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from enum import Enum
from typing import Any

from orion.errors import Conflict
from orion.plan.tags import TAGS

_TAG = "@"


@dataclasses.dataclass(frozen=True, slots=True)
class _Form:
    """How values of one class are written: their tag, and fields by the names they are stored under."""

    tag: str
    cls: type[Any]
    fields: Mapping[str, dataclasses.Field[Any]]

    def encode_fields(self, value: Any) -> dict[str, Any]:
        """The value's fields that don't have their default, by the names they are stored under."""
        found = {stored: getattr(value, field.name) for stored, field in self.fields.items()}
        return {stored: item for stored, item in found.items() if item != _get_default(self.fields[stored])}


def _build_form(tag: str, cls: type[Any]) -> _Form:
    if issubclass(cls, Enum):
        return _Form(tag, cls, {})
    return _Form(tag, cls, {f.metadata.get("stored", f.name): f for f in dataclasses.fields(cls)})


def _get_default(field: dataclasses.Field[Any]) -> Any:
    """A field's default; MISSING, which no value equals, where it has none."""
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


class PlanCodec:
    """Writes and reads values of the classes that have a tag."""

    def __init__(self, tags: Mapping[str, type[Any]]) -> None:
        self._by_tag = {tag: _build_form(tag, cls) for tag, cls in tags.items()}
        self._by_class = {form.cls: form for form in self._by_tag.values()}

    def encode_value(self, value: Any) -> Any:
        """A value as what JSON holds."""
        if isinstance(value, tuple):
            return [self.encode_value(item) for item in value]
        form = self._by_class.get(type(value))
        if form is None:
            if value is None or type(value) in (str, int, bool):
                return value
            raise TypeError(f"{type(value).__name__} has no tag in orion.plan.tags")
        if isinstance(value, Enum):
            return {_TAG: form.tag, "value": value.value}
        return {_TAG: form.tag, **{name: self.encode_value(item) for name, item in form.encode_fields(value).items()}}

    def decode_value(self, plain: Any) -> Any:
        """A value from what JSON holds. What this Orion doesn't know is a Conflict."""
        if isinstance(plain, list):
            return tuple(self.decode_value(item) for item in plain)
        if not isinstance(plain, dict):
            return plain
        form = self._by_tag.get(plain[_TAG])
        if form is None:
            raise build_unknown_error(f"there is a {plain[_TAG]}")
        if issubclass(form.cls, Enum):
            return _decode_member(form, plain["value"])
        names = [name for name in plain if name != _TAG]
        strange = next((name for name in names if name not in form.fields), None)
        if strange is not None:
            raise build_unknown_error(f"a {form.tag} has a {strange}")
        return form.cls(**{form.fields[name].name: self.decode_value(plain[name]) for name in names})


def _decode_member(form: _Form, value: Any) -> Any:
    try:
        return form.cls(value)
    except ValueError:
        raise build_unknown_error(f"a {form.tag} is {value}") from None


def build_unknown_error(what: str) -> Conflict:
    """The error of a stored value that only another Orion understands."""
    return Conflict(
        "NEWER_ORION", f"{what}, which this Orion doesn't know", hint="Upgrade Orion: a newer one wrote it."
    )


_CODEC = PlanCodec(TAGS)


def encode_value(value: object) -> Any:
    return _CODEC.encode_value(value)


def decode_value(plain: Any) -> Any:
    return _CODEC.decode_value(plain)


def dumps(value: object) -> str:
    return to_json(_CODEC.encode_value(value))


def loads(text: str | bytes) -> Any:
    return _CODEC.decode_value(json.loads(text))


def to_json(plain: Any) -> str:
    return json.dumps(plain, separators=(",", ":"), ensure_ascii=False)
