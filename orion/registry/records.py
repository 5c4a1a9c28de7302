"""The records of `_schemas`, in the JSON of Confluent's registry: either can read what the other wrote."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, assert_never, get_args

from orion.registry import contracts, words
from orion.registry.compatibility import levels
from orion.registry.errors import INVALID_MODE, RegistryError
from orion.registry.schemas import Reference, Schema, schema_type

Mode = Literal["READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT", "FORWARD"]
MODES: tuple[Mode, ...] = get_args(Mode)


@dataclass(frozen=True)
class Version:
    """A schema under a subject."""

    subject: str
    version: int
    id: int
    schema: Schema
    deleted: bool = False


@dataclass(frozen=True)
class PutVersion:
    version: Version


@dataclass(frozen=True)
class RemoveVersion:
    subject: str
    version: int


@dataclass(frozen=True)
class DeleteSubject:
    """All versions up to this one are soft-deleted."""

    subject: str
    version: int


@dataclass(frozen=True)
class PutConfig:
    """Settings of a subject or, without one, of all."""

    subject: str | None
    config: Mapping[str, Any] | None = field(hash=False)  # None: no longer set


@dataclass(frozen=True)
class PutMode:
    subject: str | None
    mode: Mode | None  # None: no longer set


@dataclass(frozen=True)
class PutContext:
    """A context that subjects are in; Confluent's registry lists those that have such a record."""

    context: str
    there: bool = True  # False: taken away again


@dataclass(frozen=True)
class PutHighest:
    """The highest id that a context has given. Versions that are gone for good leave no record behind to tell."""

    ids: Mapping[str, int] = field(hash=False)


Entry = PutVersion | RemoveVersion | DeleteSubject | PutConfig | PutMode | PutContext | PutHighest
# What is read of a CONFIG record: Confluent's registry repeats the subject in it.
SETTINGS = (
    "alias normalize validateFields compatibilityLevel compatibilityPolicy compatibilityGroup defaultMetadata "
    "overrideMetadata defaultRuleSet overrideRuleSet"
).split()


def encode(entry: Entry) -> tuple[bytes, bytes | None]:
    """Key and value; a value of none is a tombstone."""
    match entry:
        case PutVersion():
            version = entry.version
            shown = version.schema.as_dict()
            value = {"subject": version.subject, "version": version.version, "id": version.id}
            value |= {
                name: shown[name] for name in ("schemaType", "references", "metadata", "ruleSet") if name in shown
            }
            value |= {"schema": version.schema.text, "deleted": version.deleted}
            return _version_key(version.subject, version.version), _text(value)
        case RemoveVersion():
            return _version_key(entry.subject, entry.version), None
        case DeleteSubject():
            key = {"keytype": "DELETE_SUBJECT", "subject": entry.subject, "magic": 0}
            return _text(key), _text({"subject": entry.subject, "version": entry.version})
        case PutConfig():
            key = {"keytype": "CONFIG", "subject": entry.subject, "magic": 0}
            return _text(key), None if entry.config is None else _text(dict(entry.config))
        case PutMode():
            key = {"keytype": "MODE", "subject": entry.subject, "magic": 0}
            return _text(key), None if entry.mode is None else _text({"mode": entry.mode})
        case PutContext():
            naming = {"tenant": "default", "context": entry.context}
            return _text({"keytype": "CONTEXT", **naming, "magic": 0}), _text(naming) if entry.there else None
        case PutHighest():
            # Confluent's registry looks at the key of such a record alone.
            return _text({"keytype": "NOOP", "magic": 0}), _text({"highestIds": dict(entry.ids)})
        case _:
            assert_never(entry)


def decode(key: bytes | None, value: bytes | None) -> Entry | None:
    """What a record says; nothing for those that only mark a place (NOOP) or that Orion has no use for.

    Raises an exception of Python's for what is no record of a registry.
    """
    named = json.loads(key or b"")
    body = None if value is None else json.loads(value)
    subject = None if named.get("subject") is None else _name(named)
    match named["keytype"]:
        case "SCHEMA":
            name, number = _name(named), int(named["version"])
            return RemoveVersion(name, number) if body is None else PutVersion(_version(name, number, body))
        case "DELETE_SUBJECT":
            return None if body is None else DeleteSubject(_name(named), int(body["version"]))
        case "CONFIG":
            return PutConfig(subject, None if body is None else _settings(body))
        case "MODE":
            return PutMode(subject, None if body is None else mode(body["mode"]))
        case "CONTEXT":
            return PutContext(str(named["context"]), body is not None)
        case "NOOP" if body is not None:
            return PutHighest({str(context): int(number) for context, number in body["highestIds"].items()})
        case _:
            return None


def _settings(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a CONFIG record sets. A value that is none is left out: it would fail whatever is registered there later."""
    found = {name: body[name] for name in SETTINGS if body.get(name) is not None}
    if "compatibilityLevel" in found:
        levels.level(found["compatibilityLevel"])
    return {name: kept for name, value in found.items() if (kept := _well_formed(name, value)) is not None}


def _well_formed(name: str, value: Any) -> Any:
    """A setting or a part of a schema, or None where it has another shape."""
    read = _READ.get(name, _FLAG if name in ("normalize", "validateFields") else _TEXT)
    try:
        return read(value)
    except ValueError:
        return None


def _of_kind(kind: type) -> Callable[[Any], Any]:
    return lambda value: value if isinstance(value, kind) else None


_TEXT, _FLAG = _of_kind(str), _of_kind(bool)
_READ: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("metadata", "defaultMetadata", "overrideMetadata"), contracts.metadata_of),
    **dict.fromkeys(("ruleSet", "defaultRuleSet", "overrideRuleSet"), contracts.rule_set_of),
}


def _name(named: Mapping[str, Any]) -> str:
    subject = named["subject"]
    if not isinstance(subject, str):
        raise ValueError(f"{subject!r} is no subject")
    return subject


def _version(subject: str, number: int, body: Mapping[str, Any]) -> Version:
    references = tuple(
        Reference(one["name"], one["subject"], int(one["version"])) for one in body.get("references") or ()
    )
    metadata, rules = (_well_formed(name, body.get(name)) for name in ("metadata", "ruleSet"))
    schema = Schema(str(body["schema"]), schema_type(body.get("schemaType")), references, metadata, rules)
    return Version(subject, number, int(body["id"]), schema, bool(body.get("deleted")))


def mode(word: object) -> Mode:
    if (found := words.known(word, MODES)) is not None:
        return found
    raise RegistryError(INVALID_MODE, f"Invalid mode. Valid values are {', '.join(MODES)}")


def _version_key(subject: str, version: int) -> bytes:
    # The order of the keys is Confluent's: compaction compares bytes.
    return _text({"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1})


def _text(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
