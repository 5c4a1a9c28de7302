"""What a request says, read with the patience that Confluent's clients count on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from orion.registry import errors
from orion.registry.errors import InvalidSchema, RegistryError
from orion.registry.schemas import Reference, Schema, schema_type
from orion.registry.state import qualified, split
from orion.registry.store import Wanted

_LARGEST = 2**31 - 1
Item = TypeVar("Item")


@dataclass(frozen=True)
class Call:
    """One request: what is in its path, its query and its body."""

    path: Mapping[str, Any]
    query: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""

    @property
    def context(self) -> str:
        """The context in front of the path; `.` is the default one."""
        given = self.path.get("context", ".")
        return given if given.startswith(".") else f".{given}"

    @property
    def subject(self) -> str:
        return self.qualified(self.path["subject"])

    def qualified(self, subject: str) -> str:
        """A subject of the context in the path, unless it names one itself."""
        if subject.startswith(":.:"):
            return subject[3:]
        return qualified(self.context, subject) if split(subject)[0] == "." else subject

    @property
    def version(self) -> int:
        """A version's number, -1 for the last."""
        return version(self.path["version"])

    @property
    def id(self) -> int:
        text = self.path["id"]
        if not text.isdecimal() or int(text[:11]) > _LARGEST:
            raise RegistryError(404, "HTTP 404 Not Found")
        return int(text)

    def flag(self, *names: str) -> bool:
        """Python's clients say True where Java's say true."""
        return any(self.query.get(name, "").lower() == "true" for name in names)

    def page(self, items: list[Item]) -> list[Item]:
        """The part of a list that was asked for."""
        offset, limit = (self._number(name, default) for name, default in (("offset", 0), ("limit", -1)))
        start = max(offset, 0)
        return items[start:] if limit < 0 else items[start : start + limit]

    def _number(self, name: str, default: int) -> int:
        try:
            return int(self.query.get(name, default))
        except ValueError:
            raise RegistryError(404, "HTTP 404 Not Found") from None

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
            _mapping(body.get("metadata"), "metadata"),
            _mapping(body.get("ruleSet"), "ruleSet"),
        )
        return Wanted(schema, _chosen(body.get("id"), "id"), _chosen(body.get("version"), "version"))


def version(text: str) -> int:
    if text in ("latest", "-1"):
        return -1
    if text.isdecimal() and 0 < int(text[:11]) <= _LARGEST:
        return int(text)
    raise RegistryError(
        errors.INVALID_VERSION,
        f"The specified version '{text[:80]}' is not a valid version id. "
        'Allowed values are between [1, 2^31-1] and the string "latest"',
    )


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


def _mapping(given: Any, name: str) -> Mapping[str, Any] | None:
    if given is None or isinstance(given, dict):
        return given or None
    raise InvalidSchema(f"{name} is an object")


def _chosen(given: Any, name: str) -> int | None:
    """A number that the client chooses; clients that don't send none, -1 or 0."""
    if given is None or given in (-1, 0):
        return None
    if not isinstance(given, int) or isinstance(given, bool) or not 0 < given <= _LARGEST:
        raise RegistryError(422, f"The {name} must be a number from 1 to {_LARGEST}")
    return given
