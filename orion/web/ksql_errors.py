"""Orion's errors in the body that ksqlDB's clients read, with our own fields beside theirs."""

from __future__ import annotations

from typing import Any

from orion.errors import (
    BodyLate,
    ExpectationFailed,
    Forbidden,
    NotFound,
    OrionError,
    SqlError,
    TooLarge,
    UnsupportedMedia,
    UserError,
)


def body(error: OrionError) -> dict[str, Any]:
    statement = isinstance(error, SqlError)
    shown: dict[str, Any] = {
        "@type": "statement_error" if statement else "generic_error",
        "error_code": _number(error),
        "message": error.message,
        "kind": type(error).__name__,
        **{name: value for name, value in error.as_dict().items() if name != "message"},
    }
    if isinstance(error, SqlError):
        shown["statementText"] = error.text or ""
        shown["entities"] = []
    return shown


def _number(error: OrionError) -> int:
    """ksqlDB's codes: 40001 a bad statement, 40000 a bad request, 40401 not found, 41700 an ASSERT, 50000 our own.

    One of HTTP's own statuses has two zeros behind it.
    """
    if isinstance(error, SqlError):
        return 40001
    if isinstance(error, NotFound):
        return 40401
    if isinstance(error, ExpectationFailed):
        return 41700
    if isinstance(error, Forbidden | TooLarge | BodyLate | UnsupportedMedia):
        return error.http_status * 100
    return 40000 if isinstance(error, UserError) else 50000
