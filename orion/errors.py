"""Every error Orion raises on purpose.

    OrionError                     who must act
    ├── UserError                  the person who wrote the input
    │   ├── ConfigError            ... a setting, a flag, the machine's set-up
    │   ├── SqlError               ... a SQL statement; has a span
    │   │   ├── ParseError         ... its grammar
    │   │   ├── BindError          ... its names and types
    │   │   └── UnsupportedError   ... valid, but Orion doesn't run it yet
    │   ├── SchemaError            ... a record or schema that doesn't fit
    │   ├── NotFound
    │   ├── Conflict
    │   ├── ExpectationFailed      ... an ASSERT that doesn't hold
    │   ├── TooLarge               ... a request's body
    │   ├── BodyLate               ... the same, by its time
    │   ├── UnsupportedMedia       ... the same, by its media type
    │   └── Forbidden
    ├── ExternalError              the operator of another system (broker, object store, database)
    └── InternalError              us

A class says who must act, the code says what happened, the span says where, the hint says what to do.
Codes are stable; texts are not. Command line, HTTP and console all draw `as_dict()`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Span:
    """Where in a text: character offsets, end exclusive."""

    start: int
    end: int

    def line_column(self, text: str) -> tuple[int, int]:
        """One-based line and column of the start."""
        before = text[: self.start]
        return before.count("\n") + 1, self.start - (before.rfind("\n") + 1) + 1


_LINE = 400  # characters of a line that an error shows
_MESSAGE = 2_000  # and of its own words, which may hold a statement's


def _shortened(message: str) -> str:
    return message if len(message) <= _MESSAGE else f"{message[: _MESSAGE // 2]} ... {message[-_MESSAGE // 2 :]}"


class OrionError(Exception):
    """Base of all; never raised itself."""

    http_status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 70

    def __init__(self, code: str, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def as_dict(self) -> dict[str, Any]:
        """The one rendering that every door shows."""
        shown: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.hint:
            shown["hint"] = self.hint
        return shown

    def __str__(self) -> str:
        return self.message


class UserError(OrionError):
    http_status = 400
    exit_code = 2


class ConfigError(UserError):
    exit_code = 78


class SqlError(UserError):
    """A statement that can't be run as written; remembers the text and the place."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        span: Span | None = None,
        text: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(code, _shortened(message), hint=hint)
        self.span = span
        self.text = text

    def with_text(self, text: str) -> SqlError:
        """The same error, knowing the statement it points into."""
        if self.text is None:
            self.text = text
        return self

    def as_dict(self) -> dict[str, Any]:
        shown = super().as_dict()
        if self.span and self.text is not None:
            line, column = self.span.line_column(self.text)
            shown |= {"line": line, "column": column, "context": self.caret()}
        return shown

    def caret(self) -> str:
        """The offending line with a marker under the place."""
        if self.span is None or self.text is None:
            return ""
        line, column = self.span.line_column(self.text)
        lines = self.text.split("\n")
        shown = lines[line - 1] if line <= len(lines) else ""
        if len(shown) > _LINE:  # a line that nobody reads: what stands around the place
            start = max(0, column - 1 - _LINE // 2)
            shown, column = shown[start : start + _LINE], column - start
        width = max(1, min(self.span.end - self.span.start, len(shown) - column + 1))
        number = f"{line} | "
        return f"{number}{shown}\n{' ' * (len(number) + column - 1)}{'^' * width}"


class ParseError(SqlError):
    pass


class BindError(SqlError):
    pass


class UnsupportedError(SqlError):
    http_status = 501


class SchemaError(UserError):
    http_status = 422


class NotFound(UserError):
    http_status = 404
    exit_code = 3


class Conflict(UserError):
    http_status = 409
    exit_code = 4


class ExpectationFailed(UserError):
    """An ASSERT that doesn't hold."""

    http_status = 417
    exit_code = 4


class Forbidden(UserError):
    http_status = 403
    exit_code = 77


class TooLarge(UserError):
    http_status = 413


class BodyLate(UserError):
    http_status = 408


class UnsupportedMedia(UserError):
    http_status = 415


class ExternalError(OrionError):
    """Another system failed; `retry_after` seconds is when trying again makes sense."""

    http_status = 503
    exit_code = 69

    def __init__(self, code: str, message: str, *, hint: str | None = None, retry_after: float | None = None) -> None:
        super().__init__(code, message, hint=hint)
        self.retry_after = retry_after


class InternalError(OrionError):
    pass


def hint_nearest(name: str, known: list[str]) -> str | None:
    """'Did you mean X?' when something known is close enough to be meant."""
    from difflib import get_close_matches

    close = get_close_matches(name.upper(), [k.upper() for k in known], n=1, cutoff=0.6)
    if not close:
        return None
    return f"Did you mean {next(k for k in known if k.upper() == close[0])}?"
