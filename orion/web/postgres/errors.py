"""What goes wrong, with PostgreSQL's codes."""

from __future__ import annotations

import re


class Refused(Exception):
    """A statement that isn't run, or failed; the session goes on."""

    def __init__(self, code: str, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


CANCELLED = "57014"

# By the word that DuckDB's messages begin with: through Arrow only the text of an error comes.
_CODES = {
    "parser": "42601",
    "syntax": "42601",
    "binder": "42P10",
    "catalog": "42704",
    "conversion": "22P02",
    "out of range": "22003",
    "mismatch type": "42804",
    "invalid type": "42804",
    "invalid input": "22023",
    "parameter not resolved": "42P18",
    "parameter not allowed": "42P02",
    "constraint": "23000",
    "permission": "42501",
    "transactioncontext": "25006",
    "not implemented": "0A000",
    "out of memory": "53200",
    "interrupt": CANCELLED,
    "io": "58030",
    "http": "58030",
}
_CLOSER = (
    (re.compile(r"Table with name .* does not exist"), "42P01"),
    (re.compile(r"Function with name .* does not exist|No function matches"), "42883"),
    (re.compile(r"Schema with name .* does not exist"), "3F000"),
    (re.compile(r"[Cc]olumn .*not found|does not have a column named"), "42703"),
    (re.compile(r"Ambiguous reference"), "42702"),
    (re.compile(r"Division by zero"), "22012"),
    (re.compile(r"must appear in the GROUP BY"), "42803"),
)
_ELSEWHERE = re.compile(r'\n*Did you mean "[^"\n]*\.[^\n]*')  # what lies outside of the views isn't hinted at
_BEGINS = re.compile(r"^([A-Za-z ]+?) Error: (.*)$", re.DOTALL)


def understood(error: Exception) -> Refused:
    """An error of DuckDB's, or one that Arrow has passed on."""
    if isinstance(error, Refused):
        return error
    found = _BEGINS.match(str(error))
    if not found:
        return Refused("XX000", str(error) or type(error).__name__)
    word, message = found.groups()
    message = _ELSEWHERE.sub("", message)
    code = next((code for pattern, code in _CLOSER if pattern.search(message)), None)
    code = code or _CODES.get(word.lower(), "XX000")
    return Refused(code, "the query was cancelled" if code == CANCELLED else message)
