"""What a request says, read with the patience that Confluent's clients count on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from orion.registry import contracts, errors, words
from orion.registry.errors import InvalidSchema, RegistryError
from orion.registry.schemas import Reference, Schema, schema_type
from orion.registry.state import DEFAULT_CONTEXT, context_of, qualified
from orion.registry.store import Wanted

_LARGEST = 2**31 - 1
_NUMBER = re.compile(r"-?[0-9]{1,10}")
Item = TypeVar("Item")


@dataclass(frozen=True)
class Call:
    """One request: what is in its path, its query and its body."""

    path: Mapping[str, Any]
    query: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""

    @property
    def context(self) -> str:
        """The context in front of the path, written as `.team`, `team` or `:.team:`; `.` is the default one."""
        given = str(self.path.get("context", DEFAULT_CONTEXT)).strip(":")
        return given if given.startswith(".") else f".{given}"

    @property
    def subject(self) -> str:
        return self.qualified(self.path["subject"])

    @property
    def asked_subject(self) -> str:
        """The subject that a question about an id is asked for: it names the context."""
        return self.qualified(self.query.get("subject", ""))

    def qualified(self, subject: str) -> str:
        """A subject of the context in the path, unless it names one itself."""
        if subject.startswith(":.:"):
            return subject[3:]
        return qualified(self.context, subject) if context_of(subject) == DEFAULT_CONTEXT else subject

    @property
    def version(self) -> int:
        """A version's number, -1 for the last."""
        return version(self.path["version"])

    @property
    def id(self) -> int:
        return _number(self.path["id"])

    def flag(self, *names: str) -> bool:
        """Python's clients say True where Java's say true."""
        return any(self.query.get(name, "").lower() == "true" for name in names)

    def every(self, name: str) -> list[str]:
        """All values of a parameter that may come more than once."""
        query: Any = self.query
        return list(query.getlist(name)) if hasattr(query, "getlist") else [query[name]] if name in query else []

    def page(self, items: list[Item]) -> list[Item]:
        """The part of a list that was asked for."""
        start = max(_number(self.query.get("offset", "0")), 0)
        limit = _number(self.query.get("limit", "-1"))
        return items[start:] if limit < 0 else items[start : start + limit]

    def body(self) -> dict[str, Any]:
        try:
            value = json.loads(self.content or b"null")
            json.dumps(value, ensure_ascii=False).encode()  # half of a pair of surrogates is no text
        except (ValueError, RecursionError) as error:
            raise RegistryError(400, f"Malformed JSON: {str(error)[:200]}") from error
        if not isinstance(value, dict):
            raise RegistryError(422, "The request body must be a JSON object")
        return value

    def wanted(self) -> Wanted:
        """The schema in the body."""
        body = self.body()
        text = body.get("schema")
        if not isinstance(text, str) or not text.strip():
            raise InvalidSchema("the schema is empty" if text in (None, "") else "the schema is not a string")
        schema = Schema(
            text,
            schema_type(body.get("schemaType")),
            _references(body.get("references")),
            _metadata(body.get("metadata")),
            _rule_set(body.get("ruleSet")),
        )
        return Wanted(schema, _chosen(body.get("id"), "id"), _chosen(body.get("version"), "version"))

    def settings(self) -> dict[str, Any]:
        """The settings in the body; one that is null is taken back."""
        body = self.body()
        found = {name: check(body[name], name) for name, check in _SETTINGS.items() if name in body}
        if "compatibilityLevel" in body and "compatibility" not in body:
            body["compatibility"] = body["compatibilityLevel"]
        return {**found, **({"compatibility": body["compatibility"]} if "compatibility" in body else {})}


def version(text: str) -> int:
    if text in ("latest", "-1"):
        return -1
    if _NUMBER.fullmatch(text) and 0 < int(text) <= _LARGEST:
        return int(text)
    raise RegistryError(
        errors.INVALID_VERSION,
        f"The specified version '{text[:80]}' is not a valid version id. "
        'Allowed values are between [1, 2^31-1] and the string "latest"',
    )


def _number(text: str) -> int:
    """A number in a path or query; to Confluent's server, one that isn't makes another path."""
    if _NUMBER.fullmatch(text) and abs(int(text)) <= _LARGEST:
        return int(text)
    raise RegistryError(404, "HTTP 404 Not Found")


def _references(given: Any) -> tuple[Reference, ...]:
    if given is None:
        return ()
    if not isinstance(given, list):
        raise InvalidSchema("references are a list")
    found = []
    for one in given:
        if not isinstance(one, dict) or not all(isinstance(one.get(key), str) for key in ("name", "subject")):
            raise InvalidSchema("a reference needs a name, a subject and a version")
        number = one.get("version", -1)
        if not isinstance(number, int) or isinstance(number, bool) or not (number == -1 or 0 < number <= _LARGEST):
            raise InvalidSchema("a reference's version is a number")
        found.append(Reference(one["name"], one["subject"], number))
    return tuple(found)


def _metadata(given: Any) -> Mapping[str, Any] | None:
    try:
        return contracts.metadata_of(given)
    except ValueError as error:
        raise InvalidSchema(str(error)) from error


def _rule_set(given: Any) -> Mapping[str, Any] | None:
    try:
        return contracts.rule_set_of(given)
    except ValueError as error:
        raise RegistryError(errors.INVALID_RULE_SET, f"Invalid rule set: {error}") from error


def _chosen(given: Any, name: str) -> int | None:
    """A number that the client chooses; clients that don't send none, -1 or 0."""
    if given is None or given in (-1, 0):
        return None
    if not isinstance(given, int) or isinstance(given, bool) or not 0 < given <= _LARGEST:
        raise RegistryError(422, f"The {name} must be a number from 1 to {_LARGEST}")
    return given


def _of_type(kind: type, described: str) -> Callable[[Any, str], Any]:
    def check(value: Any, name: str) -> Any:
        if value is not None and not isinstance(value, kind):
            raise RegistryError(422, f"The setting {name} must be {described}")
        return value

    return check


_text, _flag = _of_type(str, "a text"), _of_type(bool, "true or false")


def _policy(value: Any, name: str) -> Any:
    found = words.known(value, ("STRICT", "LENIENT"))
    if found is None and value is not None:
        raise RegistryError(errors.INVALID_LEVEL, f"The setting {name} must be STRICT or LENIENT")
    return found


def _setting(check: Callable[[Any], Any]) -> Callable[[Any, str], Any]:
    return lambda value, _: check(value)


_SETTINGS: dict[str, Callable[[Any, str], Any]] = {
    "alias": _text,
    "normalize": _flag,
    "validateFields": _flag,
    "compatibilityGroup": _text,
    "compatibilityPolicy": _policy,
    "defaultMetadata": _setting(_metadata),
    "overrideMetadata": _setting(_metadata),
    "defaultRuleSet": _setting(_rule_set),
    "overrideRuleSet": _setting(_rule_set),
}
