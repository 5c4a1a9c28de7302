"""The registry itself: what may be asked of it and changed in it, over a log of records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from orion.registry import errors
from orion.registry.compatibility import levels
from orion.registry.compatibility.finding import Finding
from orion.registry.compatibility.levels import Level
from orion.registry.errors import Incompatible, InvalidSchema, RegistryError
from orion.registry.log import Log
from orion.registry.records import DeleteSubject, Entry, PutConfig, PutMode, PutVersion, RemoveVersion, Version
from orion.registry.schemas import Parsed, Reference, Schema, parse, stored_text
from orion.registry.state import DEFAULT_CONTEXT, State, qualified, split, target

Mode = Literal["READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT", "FORWARD"]
MODES: tuple[Mode, ...] = get_args(Mode)
DEFAULT_LEVEL: Level = "BACKWARD"
_MOST_PARSED = 4_000


@dataclass(frozen=True)
class Wanted:
    """A schema to be registered; number and id are only told when one is copied from another registry."""

    schema: Schema
    id: int | None = None
    version: int | None = None


class Registry:
    def __init__(self, log: Log) -> None:
        self._log = log
        self._parsed: dict[bytes, Parsed] = {}

    @property
    def _state(self) -> State:
        return self._log.state

    def close(self) -> None:
        self._log.close()

    # -- questions

    def subjects(self, prefix: str = "", *, deleted: bool = False, deleted_only: bool = False) -> list[str]:
        """The names of subjects with a version that counts; `deleted` lets soft-deleted ones count too."""
        with self._log.lock:
            return sorted(
                subject
                for subject, versions in self._state.subjects.items()
                if subject.startswith(prefix) and _shown_at_all(versions.values(), deleted, deleted_only)
            )

    def versions(self, subject: str, *, deleted: bool = False, deleted_only: bool = False) -> list[int]:
        with self._log.lock:
            known = self._state.subjects.get(subject, {})
            found = sorted(n for n, one in known.items() if _counts(one, deleted, deleted_only))
        if not found:
            raise _no_subject(subject)
        return found

    def version(self, subject: str, number: int, *, deleted: bool = False) -> Version:
        """One version, the last for -1."""
        with self._log.lock:
            known = self._state.subjects.get(subject, {})
            if not any(deleted or not one.deleted for one in known.values()):
                raise _no_subject(subject)
            if number == -1:
                number = max(n for n, one in known.items() if deleted or not one.deleted)
            found = known.get(number)
        if found is None or (found.deleted and not deleted):
            raise RegistryError(errors.VERSION_NOT_FOUND, f"Version {number} not found.")
        return found

    def all_versions(self, prefix: str = "", *, deleted: bool = False, latest_only: bool = False) -> list[Version]:
        with self._log.lock:
            found = []
            for subject in sorted(name for name in self._state.subjects if name.startswith(prefix)):
                known = self._state.subjects[subject]
                counted = [known[number] for number in sorted(known) if deleted or not known[number].deleted]
                found += counted[-1:] if latest_only else counted
            return found

    def schema(self, number: int, subject: str = "") -> Schema:
        """The schema of an id, soft-deleted or not: records that carry the id are still there."""
        context, _ = split(subject)
        with self._log.lock:
            found = self._state.schema(context, number)
            if found is None and subject:
                found = self._state.schema(DEFAULT_CONTEXT, number)
        if found is None:
            raise RegistryError(errors.SCHEMA_NOT_FOUND, f"Schema {number} not found")
        return found

    def by_guid(self, guid: str) -> tuple[str, int]:
        """Context and id of a schema by what it is."""
        with self._log.lock:
            found = self._state.by_guid(guid)
        if found is None:
            raise RegistryError(errors.SCHEMA_NOT_FOUND, f"Schema {guid} not found")
        return found

    def uses(self, number: int, subject: str = "", *, deleted: bool = False) -> list[Version]:
        """The versions with an id."""
        context, name = split(subject)
        with self._log.lock:
            if self._state.schema(context, number) is None:
                raise RegistryError(errors.SCHEMA_NOT_FOUND, f"Schema {number} not found")
            found = self._state.uses(context, number)
        return [one for one in found if (deleted or not one.deleted) and (not name or one.subject == subject)]

    def highest_id(self, subject: str = "") -> int:
        with self._log.lock:
            return self._state.highest_id(split(subject)[0])

    def referenced_by(self, subject: str, number: int) -> list[int]:
        """The ids of schemas that refer to a version."""
        version = self.version(subject, number, deleted=True)
        with self._log.lock:
            found = self._state.referring(subject, version.version)
        return sorted({one.id for one in found if not one.deleted})

    def contexts(self) -> list[str]:
        with self._log.lock:
            return self._state.contexts()

    def lookup(self, subject: str, schema: Schema, *, deleted: bool = False, normalize: bool = False) -> Version:
        """The version of a subject that is this schema."""
        with self._log.lock:
            known = self._state.subjects.get(subject, {})
            if not any(deleted or not one.deleted for one in known.values()):
                raise _no_subject(subject)
            found = self._same(subject, *self._understood(subject, schema, normalize), deleted=deleted)
        if found is None:
            raise RegistryError(errors.SCHEMA_NOT_FOUND, "Schema not found")
        return found

    def parsed(self, schema: Schema, subject: str = "") -> Parsed:
        """A schema of the registry, understood."""
        digest = schema.digest + split(subject)[0].encode()
        if digest not in self._parsed:
            if len(self._parsed) >= _MOST_PARSED:
                self._parsed.clear()
            self._parsed[digest] = parse(schema.type, schema.text, self.around(schema, subject))
        return self._parsed[digest]

    def around(self, schema: Schema, subject: str = "") -> dict[str, str]:
        """The texts that a schema needs, by name, each after those it needs itself."""
        found: dict[str, str] = {}
        self._gather(schema, subject, found, {}, ())
        return found

    # -- compatibility

    def check(
        self, subject: str, schema: Schema, number: int | None = None, *, normalize: bool = False
    ) -> list[Finding]:
        """What keeps a schema from following a version, or those that the subject's level names; [] when nothing."""
        with self._log.lock:
            parsed, _ = self._understood(subject, schema, normalize)
            earlier = self._earlier(subject, schema) if number is None else self._alone(subject, number)
            return levels.check(self._level(subject), parsed, [self.parsed(one, subject) for one in earlier])

    # -- changes

    def register(self, subject: str, wanted: Wanted, *, normalize: bool = False) -> Version:
        """Add a schema to a subject, or find it there."""
        _check_subject(subject)

        def decide() -> tuple[Sequence[Entry], Version]:
            parsed, schema = self._understood(subject, wanted.schema, normalize)
            same = self._same(subject, parsed, schema)
            if same is not None and wanted.id in (None, same.id):
                return (), same
            mode = self.mode(subject)
            if wanted.id is None:
                _check_writable(subject, mode)
                self._check_compatible(subject, parsed, schema)
            elif mode != "IMPORT":
                raise _not_permitted(f"Subject {subject} is not in import mode")
            added = self._numbered(subject, schema, wanted)
            return (PutVersion(added),), added

        return self._log.commit(decide)

    def delete_version(self, subject: str, number: int, *, permanent: bool = False) -> int:
        """Soft-delete a version or, after that, take it away for good."""

        def decide() -> tuple[Sequence[Entry], int]:
            found = self.version(subject, number, deleted=True) if permanent else self._last_or(subject, number)
            _check_deletable(subject, self.mode(subject))
            self._check_unreferenced(found)
            if permanent:
                if not found.deleted:
                    raise _version_error(errors.VERSION_NOT_SOFT_DELETED, found, "was not deleted first before being")
                return (RemoveVersion(subject, found.version),), found.version
            if found.deleted:
                raise _version_error(errors.VERSION_SOFT_DELETED, found, "was soft deleted. Set permanent=true to be")
            return (PutVersion(replace(found, deleted=True)),), found.version

        done = self._log.commit(decide)
        self._parsed.clear()
        return done

    def delete_subject(self, subject: str, *, permanent: bool = False) -> list[int]:
        """The same for all versions of a subject."""

        def decide() -> tuple[Sequence[Entry], list[int]]:
            known = self._state.subjects.get(subject, {})
            if not known:
                raise _no_subject(subject)
            _check_deletable(subject, self.mode(subject))
            alive = sorted(number for number, one in known.items() if not one.deleted)
            for number in sorted(known) if permanent else alive:
                self._check_unreferenced(known[number], inside=subject)
            if permanent:
                if alive:
                    text = f"Subject '{subject}' was not deleted first before being permanently deleted"
                    raise RegistryError(errors.SUBJECT_NOT_SOFT_DELETED, text)
                return [RemoveVersion(subject, number) for number in sorted(known)], sorted(known)
            if not alive:
                text = f"Subject '{subject}' was soft deleted.Set permanent=true to delete permanently"
                raise RegistryError(errors.SUBJECT_SOFT_DELETED, text)
            entries: list[Entry] = [DeleteSubject(subject, alive[-1])]
            # What was set for the subject goes with it.
            entries += [PutMode(subject, None)] if subject in self._state.mode else []
            entries += [PutConfig(subject, None)] if subject in self._state.config else []
            return entries, alive

        done = self._log.commit(decide)
        self._parsed.clear()
        return done

    # -- settings

    def config(self, subject: str | None, *, inherited: bool = False) -> Mapping[str, Any]:
        """What is set for a subject, or for all; `inherited` falls back on what is set further out."""
        with self._log.lock:
            for scope in _scopes(subject) if inherited or subject is None else (subject,):
                if scope in self._state.config:
                    return {"compatibilityLevel": DEFAULT_LEVEL, **self._state.config[scope]}
        if inherited or subject is None:
            return {"compatibilityLevel": DEFAULT_LEVEL}
        text = f"Subject '{subject}' does not have subject-level compatibility configured"
        raise RegistryError(errors.NO_SUBJECT_LEVEL, text)

    def set_config(self, subject: str | None, changes: Mapping[str, Any]) -> Mapping[str, Any]:
        """Change some settings of a subject, or of all; the others stay."""
        if subject is not None:
            _check_subject(subject)

        def decide() -> tuple[Sequence[Entry], Mapping[str, Any]]:
            _check_settable(subject, self.mode(subject))
            config = {**self._state.config.get(subject, {}), **changes}
            return (PutConfig(subject, config),), config

        return self._log.commit(decide)

    def remove_config(self, subject: str | None) -> Mapping[str, Any]:
        """Back to what is set further out; what was set here."""

        def decide() -> tuple[Sequence[Entry], Mapping[str, Any]]:
            config = self._state.config.get(subject)
            if config is None:
                if subject is None:
                    return (), {"compatibilityLevel": DEFAULT_LEVEL}
                raise _no_subject(subject)
            return (PutConfig(subject, None),), config

        return self._log.commit(decide)

    def mode(self, subject: str | None) -> Mode:
        """The mode that counts for a subject."""
        with self._log.lock:
            for scope in _scopes(subject):
                if scope in self._state.mode:
                    return mode(self._state.mode[scope])
        return "READWRITE"

    def own_mode(self, subject: str) -> Mode:
        with self._log.lock:
            if subject not in self._state.mode:
                text = f"Subject '{subject}' does not have subject-level mode configured"
                raise RegistryError(errors.NO_SUBJECT_MODE, text)
            return mode(self._state.mode[subject])

    def set_mode(self, subject: str | None, wanted: Mode, *, force: bool = False) -> Mode:
        if subject is not None:
            _check_subject(subject)

        def decide() -> tuple[Sequence[Entry], Mode]:
            if wanted == "IMPORT" and not force and self.mode(subject) != "IMPORT" and self._holds_any(subject):
                raise _not_permitted("Cannot import since found existing subjects")
            return (PutMode(subject, wanted),), wanted

        return self._log.commit(decide)

    def remove_mode(self, subject: str | None) -> Mode:
        def decide() -> tuple[Sequence[Entry], Mode]:
            before = self._state.mode.get(subject)
            if before is None:
                if subject is None:
                    return (), "READWRITE"
                raise _no_subject(subject)
            return (PutMode(subject, None),), mode(before)

        return self._log.commit(decide)

    # -- inside

    def _understood(self, subject: str, schema: Schema, normalize: bool) -> tuple[Parsed, Schema]:
        """Parsed, and in the form that is kept, with the versions of its references settled."""
        normalize = normalize or bool(self.config(subject, inherited=True).get("normalize"))
        settled = replace(schema, references=tuple(self._settled(one, subject) for one in schema.references))
        parsed = parse(schema.type, schema.text, self.around(settled, subject), normalize=normalize)
        return parsed, replace(settled, text=stored_text(parsed))

    def _settled(self, reference: Reference, subject: str) -> Reference:
        """A reference without a version means the last one there is now."""
        if reference.version != -1:
            return reference
        return replace(reference, version=self._referred(target(reference, subject), reference).version)

    def _referred(self, subject: str, reference: Reference) -> Version:
        try:
            return self.version(subject, reference.version)
        except RegistryError as error:
            text = f'no schema reference found for subject "{reference.subject}" and version {reference.version}'
            raise InvalidSchema(text) from error

    def _gather(
        self,
        schema: Schema,
        subject: str,
        found: dict[str, str],
        done: dict[tuple[str, int], None],
        above: tuple[tuple[str, int], ...],
    ) -> None:
        for reference in schema.references:
            place = (target(reference, subject), reference.version)
            if place in above:
                raise InvalidSchema(f"references go round in a circle through {place[0]}")
            if place in done:
                continue
            version = self._referred(place[0], reference)
            self._gather(version.schema, place[0], found, done, (*above, place))
            done[place] = None
            found[reference.name] = version.schema.text

    def _same(self, subject: str, parsed: Parsed, schema: Schema, *, deleted: bool = False) -> Version | None:
        """The newest version that is the same schema: by its text, else by what the text means."""
        known = self._state.subjects.get(subject, {})
        candidates = [known[number] for number in sorted(known, reverse=True) if deleted or not known[number].deleted]
        for one in candidates:
            if one.schema == schema:
                return one
        for one in candidates:
            if replace(one.schema, text=schema.text) == schema and self._means(one, parsed):
                return one
        return None

    def _means(self, version: Version, parsed: Parsed) -> bool:
        try:
            return self.parsed(version.schema, version.subject).canonical == parsed.canonical
        except RegistryError:  # kept by another registry, which took it for a schema
            return False

    def _level(self, subject: str) -> Level:
        return levels.level(self.config(subject, inherited=True)["compatibilityLevel"])

    def _earlier(self, subject: str, schema: Schema) -> list[Schema]:
        """The versions to be compared with, oldest first; where there are groups, only those of the same."""
        known = self._state.subjects.get(subject, {})
        earlier = [known[number].schema for number in sorted(known) if not known[number].deleted]
        group = self.config(subject, inherited=True).get("compatibilityGroup")
        if not group:
            return earlier
        return [one for one in earlier if _property(one, group) == _property(schema, group)]

    def _alone(self, subject: str, number: int) -> list[Schema]:
        """One version to be compared with; the last of a subject that has none is nothing to be compared with."""
        if number == -1 and not self._holds_any(subject):
            return []
        return [self.version(subject, number).schema]

    def _check_compatible(self, subject: str, parsed: Parsed, schema: Schema) -> None:
        level = self._level(subject)
        if level == "NONE":
            return
        earlier = [self.parsed(one, subject) for one in self._earlier(subject, schema)]
        found = levels.check(level, parsed, earlier)
        if found:
            raise Incompatible(subject, level, [str(one) for one in found])

    def _numbered(self, subject: str, schema: Schema, wanted: Wanted) -> Version:
        context, _ = split(subject)
        known = self._state.subjects.get(subject, {})
        number = wanted.version or max(known, default=0) + 1
        given = self._state.id_of(context, schema)
        if wanted.id is None:
            return Version(subject, number, given or self._state.highest_id(context) + 1, schema)
        held = self._state.schema(context, wanted.id)
        if held is not None and held != schema:
            raise _not_permitted(f"Overwrite new schema with id {wanted.id} is not permitted.")
        if given is not None and given != wanted.id:
            text = f"Schema already registered with id {given} instead of input id {wanted.id}"
            raise RegistryError(errors.ID_DOES_NOT_MATCH, text)
        return Version(subject, number, wanted.id, schema)

    def _last_or(self, subject: str, number: int) -> Version:
        alive = any(not one.deleted for one in self._state.subjects.get(subject, {}).values())
        return self.version(subject, number, deleted=alive and number != -1)

    def _check_unreferenced(self, version: Version, inside: str | None = None) -> None:
        referring = self._state.referring(version.subject, version.version)
        if any(not one.deleted and one.subject != inside for one in referring):
            key = f"{{magic=1,keytype=SCHEMA,subject={version.subject},version={version.version}}}"
            raise RegistryError(errors.REFERENCE_EXISTS, f"One or more references exist to the schema {key}.")

    def _holds_any(self, subject: str | None) -> bool:
        if subject is None:
            return bool(self.subjects())
        context, name = split(subject)
        if not name:
            return bool(self.subjects(qualified(context, "")))
        return any(not one.deleted for one in self._state.subjects.get(subject, {}).values())


def mode(word: object) -> Mode:
    for known in MODES:
        if isinstance(word, str) and word.upper() == known:
            return known
    valid = "READWRITE, READONLY, READONLY_OVERRIDE, IMPORT"
    raise RegistryError(errors.INVALID_MODE, f"Invalid mode. Valid values are {valid}")


def _scopes(subject: str | None) -> tuple[str | None, ...]:
    """Where a setting is looked for, the nearest first."""
    if subject is None:
        return (None,)
    context, _ = split(subject)
    return (subject, None) if context == DEFAULT_CONTEXT else (subject, f":{context}:", None)


def _counts(version: Version, deleted: bool, deleted_only: bool) -> bool:
    return version.deleted if deleted_only else deleted or not version.deleted


def _shown_at_all(versions: Iterable[Version], deleted: bool, deleted_only: bool) -> bool:
    if deleted_only:
        return all(one.deleted for one in versions)
    return any(_counts(one, deleted, False) for one in versions)


def _property(schema: Schema, name: str) -> Any:
    return ((schema.metadata or {}).get("properties") or {}).get(name)


def _check_subject(subject: str) -> None:
    # Confluent's own words for scopes can't be subjects.
    if not subject or subject in ("__GLOBAL", "__EMPTY") or any(ord(letter) < 32 for letter in subject):
        raise RegistryError(errors.INVALID_SUBJECT, f"The specified subject '{subject}' is not a valid.")


def _check_writable(subject: str, now: Mode) -> None:
    if now == "IMPORT":
        raise _not_permitted(f"Subject {subject} is in import mode")
    if now in ("READONLY", "READONLY_OVERRIDE"):
        raise _not_permitted(f"Subject {subject} is in read-only mode")


def _check_deletable(subject: str, now: Mode) -> None:
    if now in ("READONLY", "READONLY_OVERRIDE"):
        raise _not_permitted(f"Subject {subject} is in read-only mode")


def _check_settable(subject: str | None, now: Mode) -> None:
    if now in ("READONLY", "READONLY_OVERRIDE"):
        raise _not_permitted(f"Subject {subject} is in read-only mode")


def _not_permitted(text: str) -> RegistryError:
    return RegistryError(errors.NOT_PERMITTED, text)


def _no_subject(subject: str) -> RegistryError:
    return RegistryError(errors.SUBJECT_NOT_FOUND, f"Subject '{subject}' not found.")


def _version_error(number: int, version: Version, what: str) -> RegistryError:
    tail = "permanently deleted" if "first" in what else "deleted permanently"
    return RegistryError(number, f"Subject '{version.subject}' Version {version.version} {what} {tail}")
