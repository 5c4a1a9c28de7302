"""What is set for a subject, a context or all: compatibility, modes, aliases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orion.registry import errors
from orion.registry.compatibility import levels
from orion.registry.compatibility.levels import Level
from orion.registry.errors import RegistryError, not_permitted, subject_not_found
from orion.registry.log import Log
from orion.registry.records import Entry, Mode, PutConfig, PutMode
from orion.registry.state import DEFAULT_CONTEXT, State, context_of, qualified, split
from orion.security.names import is_fit

DEFAULT_LEVEL: Level = "BACKWARD"


class Settings:
    def __init__(self, log: Log) -> None:
        self._log = log

    @property
    def _state(self) -> State:
        return self._log.state

    # -- compatibility and what goes with it

    def config(self, subject: str | None, *, inherited: bool = False) -> Mapping[str, Any]:
        """What is set for a subject, or for all; `inherited` adds what is set further out and not here."""
        with self._log.lock:
            own = self._state.config.get(subject)
            if own is None and subject is not None and not inherited:
                text = f"Subject '{subject}' does not have subject-level compatibility configured"
                raise RegistryError(errors.NO_SUBJECT_LEVEL, text)
            found = dict(own or {})
            if inherited or subject is None:
                for scope in _scopes(subject)[1:]:
                    outer = self._state.config.get(scope, {})
                    found = {**{name: value for name, value in outer.items() if name != "alias"}, **found}
                found = {"compatibilityLevel": DEFAULT_LEVEL, **found}
            return found

    def level(self, subject: str) -> Level:
        return levels.level(self.config(subject, inherited=True)["compatibilityLevel"])

    def set_config(self, subject: str | None, changes: Mapping[str, Any]) -> Mapping[str, Any]:
        """Change some settings of a subject, or of all, or take them back with None; the others stay."""
        if subject is not None:
            check_subject(subject)

        def decide() -> tuple[Sequence[Entry], Mapping[str, Any]]:
            self.check_open(subject)
            config = {**self._state.config.get(subject, {}), **changes}
            config = {name: value for name, value in config.items() if value is not None}
            return (PutConfig(subject, config),), config

        return self._log.commit(decide)

    def remove_config(self, subject: str | None) -> Mapping[str, Any]:
        """Back to what is set further out; what was set here."""

        def decide() -> tuple[Sequence[Entry], Mapping[str, Any]]:
            config = self._state.config.get(subject)
            if config is None:
                if subject is None:
                    return (), {"compatibilityLevel": DEFAULT_LEVEL}
                raise subject_not_found(subject)
            self.check_open(subject)
            return (PutConfig(subject, None),), config

        return self._log.commit(decide)

    # -- aliases

    def real(self, subject: str) -> str:
        """The subject that a name stands for: itself, unless it is an alias."""
        with self._log.lock:
            alias = self._state.config.get(subject, {}).get("alias")
        if not isinstance(alias, str) or not alias:
            return subject
        return alias if split(alias)[0] != DEFAULT_CONTEXT else qualified(context_of(subject), alias)

    def aliases(self, subject: str) -> list[str]:
        """The names that stand for a subject."""
        with self._log.lock:
            names = [name for name, config in self._state.config.items() if name is not None and config.get("alias")]
        return sorted(name for name in names if self.real(name) == subject and name != subject)

    # -- modes

    def mode(self, subject: str | None) -> Mode:
        """The mode that counts for a subject: the nearest, unless one further out overrides."""
        with self._log.lock:
            found = [self._state.mode[scope] for scope in _scopes(subject) if scope in self._state.mode]
        if "READONLY_OVERRIDE" in found:
            return "READONLY_OVERRIDE"
        return found[0] if found else "READWRITE"

    def own_mode(self, subject: str) -> Mode:
        with self._log.lock:
            if subject not in self._state.mode:
                text = f"Subject '{subject}' does not have subject-level mode configured"
                raise RegistryError(errors.NO_SUBJECT_MODE, text)
            return self._state.mode[subject]

    def set_mode(self, subject: str | None, wanted: Mode, *, force: bool = False) -> Mode:
        if subject is not None:
            check_subject(subject)

        def decide() -> tuple[Sequence[Entry], Mode]:
            if wanted == "IMPORT" and not force and self.mode(subject) != "IMPORT" and self._state.holds_any(subject):
                raise not_permitted("Cannot import since found existing subjects")
            return (PutMode(subject, wanted),), wanted

        return self._log.commit(decide)

    def remove_mode(self, subject: str | None, *, recursive: bool = False) -> Mode:
        """Back to what is set further out; what was set here. `recursive` takes back what is set inside as well."""

        def decide() -> tuple[Sequence[Entry], Mode]:
            inside = [name for name in self._state.mode if recursive and name != subject and _within(name, subject)]
            before = self._state.mode.get(subject)
            if before is None and subject is not None:
                raise subject_not_found(subject)
            gone = [subject, *inside] if before is not None else inside
            return [PutMode(name, None) for name in gone], before or "READWRITE"

        return self._log.commit(decide)

    def check_open(self, subject: str | None) -> None:
        """Refuse to change anything about what may only be read."""
        if self.mode(subject) in ("READONLY", "READONLY_OVERRIDE"):
            raise not_permitted(f"Subject {subject} is in read-only mode")


def check_subject(subject: str) -> None:
    # Confluent's own words for scopes can't be subjects.
    if not subject or subject in ("__GLOBAL", "__EMPTY") or not is_fit(subject):
        raise RegistryError(errors.INVALID_SUBJECT, f"The specified subject '{subject}' is not a valid.")


def _scopes(subject: str | None) -> tuple[str | None, ...]:
    """Where a setting is looked for, the nearest first."""
    if subject is None:
        return (None,)
    context = context_of(subject)
    whole = qualified(context, "")
    return (subject, None) if context == DEFAULT_CONTEXT or subject == whole else (subject, whole, None)


def _within(name: str | None, scope: str | None) -> bool:
    if name is None or scope is None:
        return name is not None
    return not split(scope)[1] and context_of(name) == context_of(scope)
