"""What the registry refuses, with Confluent's numbers: its clients act on `error_code`, not on the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orion.errors import UserError

SUBJECT_NOT_FOUND = 40401
VERSION_NOT_FOUND = 40402
SCHEMA_NOT_FOUND = 40403
SUBJECT_SOFT_DELETED = 40404
SUBJECT_NOT_SOFT_DELETED = 40405
VERSION_SOFT_DELETED = 40406
VERSION_NOT_SOFT_DELETED = 40407
NO_SUBJECT_LEVEL = 40408
NO_SUBJECT_MODE = 40409
INCOMPATIBLE = 409
INVALID_SCHEMA = 42201
INVALID_VERSION = 42202
INVALID_LEVEL = 42203
INVALID_MODE = 42204
NOT_PERMITTED = 42205
REFERENCE_EXISTS = 42206
ID_DOES_NOT_MATCH = 42207
INVALID_SUBJECT = 42208
INVALID_RULE_SET = 42210
CONTEXT_NOT_EMPTY = 42211
STORE_FAILED = 50001
STORE_LATE = 50002


class RegistryError(UserError):
    """A refusal under one of Confluent's numbers; the first three digits are the HTTP status."""

    def __init__(self, number: int, message: str, *, hint: str | None = None) -> None:
        super().__init__(f"REGISTRY_{number}", message, hint=hint)
        self.number = number
        self.status = int(str(number)[:3])

    def body(self) -> dict[str, Any]:
        """As Confluent's clients expect it."""
        return {"error_code": self.number, "message": self.message}


def subject_not_found(subject: str) -> RegistryError:
    return RegistryError(SUBJECT_NOT_FOUND, f"Subject '{subject}' not found.")


def schema_not_found(what: object = None) -> RegistryError:
    return RegistryError(SCHEMA_NOT_FOUND, "Schema not found" if what is None else f"Schema {what} not found")


def not_permitted(message: str) -> RegistryError:
    return RegistryError(NOT_PERMITTED, message)


class InvalidSchema(RegistryError):
    """A text that is no schema of its type. `path` is where, when that is known."""

    def __init__(self, message: str, *, path: str = "") -> None:
        where = f" at {path}" if path else ""
        super().__init__(INVALID_SCHEMA, f"Invalid schema: {message}{where}")
        self.path = path


class Incompatible(RegistryError):
    """A schema that readers or writers of the subject's other versions couldn't live with."""

    def __init__(self, subject: str, details: Sequence[str]) -> None:
        super().__init__(
            INCOMPATIBLE,
            f'Schema being registered is incompatible with an earlier schema for subject "{subject}", '
            f"details: [{', '.join(details)}]",
        )
