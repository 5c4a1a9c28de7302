"""The registry itself: what may be asked of it and changed in it, over a log of records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from orion.registry import contracts, errors
from orion.registry.comparison import Comparison, Conflict
from orion.registry.errors import (
    Incompatible,
    InvalidSchema,
    RegistryError,
    not_permitted,
    schema_not_found,
    subject_not_found,
)
from orion.registry.library import Library
from orion.registry.log import Log
from orion.registry.records import (
    DeleteSubject,
    Entry,
    PutConfig,
    PutContext,
    PutHighest,
    PutMode,
    PutVersion,
    RemoveVersion,
    Version,
)
from orion.registry.schemas import Parsed, Schema
from orion.registry.settings import Settings, check_subject
from orion.registry.state import DEFAULT_CONTEXT, State, context_of, split

_SOFT_DELETED = "was soft deleted.Set permanent=true to delete permanently"
_NOT_DELETED_FIRST = "was not deleted first before being permanently deleted"


@dataclass(frozen=True)
class Wanted:
    """A schema to be registered; number and id are only told when one is copied from another registry."""

    schema: Schema
    id: int | None = None
    version: int | None = None


class Registry:
    """A subject may be named by an alias everywhere but in the settings."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.settings = Settings(log)
        self._library = Library(self.version)

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
        found = [one.version for one in self._known(subject) if _counts(one, deleted, deleted_only)]
        if not found:
            raise subject_not_found(subject)
        return found

    def version(self, subject: str, number: int, *, deleted: bool = False) -> Version:
        """One version, the last for -1."""
        counted = [one for one in self._known(subject) if deleted or not one.deleted]
        if not counted:
            raise subject_not_found(subject)
        if number == -1:
            return counted[-1]
        for one in counted:
            if one.version == number:
                return one
        raise RegistryError(errors.VERSION_NOT_FOUND, f"Version {number} not found.")

    def all_versions(self, prefix: str = "", *, deleted: bool = False, latest_only: bool = False) -> list[Version]:
        with self._log.lock:
            found = []
            for subject in sorted(name for name in self._state.subjects if name.startswith(prefix)):
                counted = [one for one in self._known(subject) if deleted or not one.deleted]
                found += counted[-1:] if latest_only else counted
            return found

    def schema(self, number: int, subject: str = "") -> Schema:
        """The schema of an id, soft-deleted or not: records that carry the id are still there."""
        with self._log.lock:
            found = self._state.schema(context_of(subject), number)
        if found is None:
            raise schema_not_found(number)
        return found

    def by_guid(self, guid: str) -> list[tuple[str, int]]:
        """Contexts and ids of a schema by what it is."""
        with self._log.lock:
            found = self._state.by_guid(guid)
        if not found:
            raise schema_not_found(guid)
        return found

    def uses(self, number: int, subject: str = "", *, deleted: bool = False) -> list[Version]:
        """The versions with an id."""
        subject = self.settings.real(subject)
        context, name = split(subject)
        with self._log.lock:
            if self._state.schema(context, number) is None:
                raise schema_not_found(number)
            found = self._state.uses(context, number)
        return [one for one in found if (deleted or not one.deleted) and (not name or one.subject == subject)]

    def highest_id(self, subject: str = "") -> int:
        with self._log.lock:
            return self._state.highest_id(context_of(subject))

    def referenced_by(self, subject: str, number: int) -> list[int]:
        """The ids of schemas that refer to a version."""
        version = self.version(subject, number, deleted=True)
        return sorted({one.id for one in self._referring(version) if not one.deleted})

    def contexts(self) -> list[str]:
        with self._log.lock:
            return self._state.contexts()

    def lookup(self, subject: str, schema: Schema, *, deleted: bool = False, normalize: bool = False) -> Version:
        """The version of a subject that is this schema."""
        subject = self.settings.real(subject)
        if not any(deleted or not one.deleted for one in self._known(subject)):
            raise subject_not_found(subject)
        parsed, kept = self._understood(subject, schema, normalize)
        found = self._same(subject, parsed, kept, deleted=deleted)
        if found is None:
            raise schema_not_found()
        return found

    def parsed(self, schema: Schema, subject: str = "") -> Parsed:
        """A schema of the registry, understood."""
        return self._library.parsed(schema, subject)

    def around(self, schema: Schema, subject: str = "") -> dict[str, str]:
        """The texts that a schema needs, by name, each after those it needs itself."""
        return self._library.around(schema, subject)

    # -- compatibility

    def check(
        self, subject: str, schema: Schema, number: int | None = None, *, normalize: bool = False
    ) -> Conflict | None:
        """What keeps a schema from following a version, or those that the subject's level names."""
        subject = self.settings.real(subject)
        if number is not None:
            self._alone(subject, number)
        parsed, kept = self._understood(subject, schema, normalize)
        with self._log.lock:
            kept = contracts.completed(kept, self._newest(subject), self.settings.config(subject, inherited=True))
            earlier = self._alone(subject, number) if number is not None else self._alive(subject)
        return self._comparison(subject, parsed).conflict(kept, earlier)

    def _comparison(self, subject: str, parsed: Parsed) -> Comparison:
        return Comparison(parsed, lambda: self.settings.config(subject, inherited=True), self._library)

    # -- changes

    def register(self, subject: str, wanted: Wanted, *, normalize: bool = False) -> Version:
        """Add a schema to a subject, or find it there."""
        subject = self.settings.real(subject)
        check_subject(split(subject)[1])
        # Before the log is asked for a turn: to read and compare may take long, and most texts are known already.
        parsed, schema = self._understood(subject, wanted.schema, normalize)
        known = self._registered(subject, parsed, schema, wanted)
        if known is not None:
            return known
        comparison = self._comparison(subject, parsed)
        if wanted.id is None:
            comparison.conflict(schema, self._alive(subject))

        def decide() -> tuple[Sequence[Entry], Version]:
            known = self._registered(subject, parsed, schema, wanted)
            if known is not None:
                return (), known
            self._check_writable(subject, wanted)
            self._library.check_references(subject, schema)
            kept = schema
            if wanted.id is None:
                kept = contracts.completed(schema, self._newest(subject), self.settings.config(subject, inherited=True))
                conflict = comparison.conflict(kept, self._alive(subject))
                if conflict is not None:
                    raise Incompatible(subject, conflict.messages())
            added = self._numbered(subject, kept, wanted)
            context = context_of(subject)
            entries: list[Entry] = [] if self._state.knows_context(context) else [PutContext(context)]
            return [*entries, PutVersion(added)], added

        version = self._log.commit(decide)
        self._library.remember(version.schema, subject, parsed)
        return version

    def delete_version(self, subject: str, number: int, *, permanent: bool = False) -> int:
        """Soft-delete a version or, after that, take it away for good."""
        subject = self.settings.real(subject)

        def decide() -> tuple[Sequence[Entry], int]:
            found = self.version(subject, number, deleted=permanent or number != -1)
            if found.deleted and not permanent:
                raise _version_error(errors.VERSION_SOFT_DELETED, found, _SOFT_DELETED)
            self.settings.check_open(subject)
            self._check_unreferenced(found)
            if not permanent:
                return (PutVersion(replace(found, deleted=True)),), found.version
            if not found.deleted:
                raise _version_error(errors.VERSION_NOT_SOFT_DELETED, found, _NOT_DELETED_FIRST)
            return self._removal([found]), found.version

        return self._log.commit(decide)

    def delete_subject(self, subject: str, *, permanent: bool = False) -> list[int]:
        """The same for all versions of a subject."""
        subject = self.settings.real(subject)

        def decide() -> tuple[Sequence[Entry], list[int]]:
            known, alive = self._known(subject), self._alive(subject)
            if not known:
                raise subject_not_found(subject)
            if not alive and not permanent:
                raise RegistryError(errors.SUBJECT_SOFT_DELETED, f"Subject '{subject}' {_SOFT_DELETED}")
            self.settings.check_open(subject)
            for one in known if permanent else alive:
                self._check_unreferenced(one, inside=subject)
            if permanent:
                if alive:
                    raise RegistryError(errors.SUBJECT_NOT_SOFT_DELETED, f"Subject '{subject}' {_NOT_DELETED_FIRST}")
                return self._removal(known), [one.version for one in known]
            entries: list[Entry] = [DeleteSubject(subject, alive[-1].version)]
            # What was set for the subject goes with it.
            entries += [PutMode(subject, None)] if subject in self._state.mode else []
            entries += [PutConfig(subject, None)] if subject in self._state.config else []
            return entries, [one.version for one in alive]

        return self._log.commit(decide)

    def delete_context(self, context: str) -> None:
        """Forget a context that has no subject left."""

        def decide() -> tuple[Sequence[Entry], None]:
            if context not in self._state.contexts():
                raise RegistryError(404, f"Context '{context}' not found.")
            if context == DEFAULT_CONTEXT or any(context_of(one) == context for one in self._state.subjects):
                raise RegistryError(errors.CONTEXT_NOT_EMPTY, f"The specified context '{context}' is not empty.")
            return (PutContext(context, there=False),), None

        self._log.commit(decide)

    # -- inside

    def _known(self, subject: str) -> list[Version]:
        """All versions of a subject in their order, soft-deleted ones included."""
        subject = self.settings.real(subject)
        with self._log.lock:
            known = self._state.subjects.get(subject, {})
            return [known[number] for number in sorted(known)]

    def _alive(self, subject: str) -> list[Version]:
        return [one for one in self._known(subject) if not one.deleted]

    def _newest(self, subject: str) -> Schema | None:
        alive = self._alive(subject)
        return alive[-1].schema if alive else None

    def _alone(self, subject: str, number: int) -> list[Version]:
        """One version to be compared with; the last of a subject that has none is nothing to be compared with.

        Any other is missing as a version, as Confluent's registry tells it, even where there is no such subject.
        """
        alive = self._alive(subject)
        found = alive[-1:] if number == -1 else [one for one in alive if one.version == number]
        if not found and number != -1:
            raise RegistryError(errors.VERSION_NOT_FOUND, f"Version {number} not found.")
        return found

    def _understood(self, subject: str, schema: Schema, normalize: bool) -> tuple[Parsed, Schema]:
        always = bool(self.settings.config(subject, inherited=True).get("normalize"))
        return self._library.understood(subject, schema, normalize=normalize or always)

    def _registered(self, subject: str, parsed: Parsed, schema: Schema, wanted: Wanted) -> Version | None:
        """The version that is what is wanted; one whose settings add something is looked for with that added."""
        config = self.settings.config(subject, inherited=True)
        if wanted.id is None and contracts.adds(config):
            schema = contracts.completed(schema, self._newest(subject), config)
        found = self._same(subject, parsed, schema)
        return found if found is not None and wanted.id in (None, found.id) else None

    def _same(self, subject: str, parsed: Parsed, schema: Schema, *, deleted: bool = False) -> Version | None:
        """The newest version that is the same schema: to the letter, else in meaning, else but for its metadata."""
        candidates = [one for one in reversed(self._known(subject)) if deleted or not one.deleted]
        for one in candidates:
            if one.schema == schema:
                return one
        alike = [one for one in candidates if self._means(one, parsed, schema)]
        for one in alike:
            if replace(one.schema, text=schema.text) == schema:
                return one
        return alike[0] if alike and contracts.bare(schema) else None

    def _means(self, version: Version, parsed: Parsed, schema: Schema) -> bool:
        known = version.schema
        if known.type != schema.type or known.references != schema.references:
            return False
        try:
            return known.text == schema.text or self.parsed(known, version.subject).canonical == parsed.canonical
        except RegistryError:  # kept by another registry, which took it for a schema
            return False

    def _check_writable(self, subject: str, wanted: Wanted) -> None:
        self.settings.check_open(subject)
        mode = self.settings.mode(subject)
        if wanted.id is not None and mode != "IMPORT":
            raise not_permitted(f"Subject {subject} is not in import mode")
        if wanted.id is None and mode != "READWRITE":
            raise not_permitted(f"Subject {subject} is not in read-write mode")

    def _numbered(self, subject: str, schema: Schema, wanted: Wanted) -> Version:
        context = context_of(subject)
        known = self._known(subject)
        following = known[-1].version + 1 if known else 1
        number = wanted.version or following
        given = self._state.id_of(context, schema)
        if wanted.id is None:
            if number != following:
                raise InvalidSchema("the version is not one more than that of the version before")
            return Version(subject, number, given or self._state.highest_id(context) + 1, schema)
        held = self._state.schema(context, wanted.id)
        if held is not None and held != schema:
            raise not_permitted(f"Overwrite new schema with id {wanted.id} is not permitted.")
        if given is not None and given != wanted.id:
            text = f"Schema already registered with id {given} instead of input id {wanted.id}"
            raise RegistryError(errors.ID_DOES_NOT_MATCH, text)
        if any(one.version == number for one in known):
            raise not_permitted(f"Overwrite version {number} of subject {subject} is not permitted.")
        return Version(subject, number, wanted.id, schema)

    def _referring(self, version: Version) -> list[Version]:
        """The versions that refer to this one, under whatever name."""
        with self._log.lock:
            names = (version.subject, *self.settings.aliases(version.subject))
            return [one for name in names for one in self._state.referring(name, version.version)]

    def _check_unreferenced(self, version: Version, inside: str | None = None) -> None:
        if any(not one.deleted and one.subject != inside for one in self._referring(version)):
            key = f"{{magic=1,keytype=SCHEMA,subject={version.subject},version={version.version}}}"
            raise RegistryError(errors.REFERENCE_EXISTS, f"One or more references exist to the schema {key}.")

    def _removal(self, versions: Sequence[Version]) -> list[Entry]:
        """Tombstones; and where they take the highest id with them, a record of it, for no id is given twice."""
        entries: list[Entry] = [RemoveVersion(one.subject, one.version) for one in versions]
        highest = self._state.highest_ids()
        if any(highest.get(context_of(one.subject)) == one.id for one in versions):
            entries.append(PutHighest(highest))
        return entries


def _counts(version: Version, deleted: bool, deleted_only: bool) -> bool:
    return version.deleted if deleted_only else deleted or not version.deleted


def _shown_at_all(versions: Iterable[Version], deleted: bool, deleted_only: bool) -> bool:
    if deleted_only:
        return all(one.deleted for one in versions)
    return any(_counts(one, deleted, False) for one in versions)


def _version_error(number: int, version: Version, what: str) -> RegistryError:
    return RegistryError(number, f"Subject '{version.subject}' Version {version.version} {what}")
