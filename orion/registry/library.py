"""Schemas of the registry, understood: each over the versions it refers to, and remembered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from orion.registry.errors import InvalidSchema, RegistryError
from orion.registry.records import Version
from orion.registry.schemas import Parsed, Reference, Schema, parse, stored_text
from orion.registry.state import target

_MOST_CHARACTERS = 20_000_000
Place = tuple[str, int]
Key = tuple[bytes, tuple[tuple[str, str], ...]]


class Library:
    def __init__(self, version: Callable[[str, int], Version]) -> None:
        self._version = version
        self._parsed: dict[Key, Parsed] = {}
        self._size = 0

    def parsed(self, schema: Schema, subject: str = "") -> Parsed:
        """A schema that is in the registry."""
        around = self.around(schema, subject)
        found = self._parsed.get(_key(schema, around))
        if found is None:
            found = parse(schema.type, schema.text, around)
            self._keep(schema, around, found)
        return found

    def remember(self, schema: Schema, subject: str, parsed: Parsed) -> None:
        """One that came into the registry just now: it is the next to be asked for."""
        self._keep(schema, self.around(schema, subject), parsed)

    def _keep(self, schema: Schema, around: Mapping[str, str], parsed: Parsed) -> None:
        self._size += len(schema.text)
        if self._size > _MOST_CHARACTERS:
            self._parsed.clear()
            self._size = len(schema.text)
        self._parsed[_key(schema, around)] = parsed

    def understood(self, subject: str, schema: Schema, *, normalize: bool) -> tuple[Parsed, Schema]:
        """One that a client sends: parsed, and as it is kept, with the versions of its references settled."""
        settled = replace(schema, references=tuple(self._settled(one, subject) for one in schema.references))
        if normalize:
            ordered = sorted(settled.references, key=lambda one: (one.name, one.subject, one.version))
            settled = replace(settled, references=tuple(dict.fromkeys(ordered)))
        parsed = parse(schema.type, schema.text, self.around(settled, subject), normalize=normalize)
        return parsed, replace(settled, text=stored_text(parsed))

    def check_references(self, subject: str, schema: Schema) -> None:
        """Refuse a schema that refers to what isn't there any more."""
        for reference in schema.references:
            self._referred(target(reference, subject), reference)

    def around(self, schema: Schema, subject: str = "") -> dict[str, str]:
        """The texts that a schema needs, by name, each after those it needs itself."""
        found: dict[str, str] = {}
        self._gather(schema, subject, found, set(), ())
        return found

    def _gather(
        self, schema: Schema, subject: str, found: dict[str, str], done: set[Place], above: tuple[Place, ...]
    ) -> None:
        for reference in schema.references:
            place = (target(reference, subject), reference.version)
            if place in above:
                raise InvalidSchema(f"references go round in a circle through {place[0]}")
            version = self._referred(place[0], reference)
            if place not in done:
                self._gather(version.schema, place[0], found, done, (*above, place))
                done.add(place)
            found.setdefault(reference.name, version.schema.text)

    def _settled(self, reference: Reference, subject: str) -> Reference:
        """A reference without a version means the last one there is now."""
        if reference.version != -1:
            return reference
        return replace(reference, version=self._referred(target(reference, subject), reference).version)

    def _referred(self, subject: str, reference: Reference) -> Version:
        try:
            return self._version(subject, reference.version)
        except RegistryError as error:
            text = f'no schema reference found for subject "{reference.subject}" and version {reference.version}'
            raise InvalidSchema(text) from error


def _key(schema: Schema, around: Mapping[str, str]) -> Key:
    """What a schema refers to is part of it: another text may come to stand under the same number."""
    return schema.digest, tuple(around.items())
