"""COPY ... TO STDOUT: what it asks for, and rows in its three formats."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from orion.web.postgres import protocol
from orion.web.postgres.binary import fixed
from orion.web.postgres.errors import Refused
from orion.web.postgres.lexer import Sort, Token, tokens, words
from orion.web.postgres.rows import concatenated, data_rows
from orion.web.postgres.types import TEXT, Column

_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0)
_TRAILER = b"\xff\xff"
_CONTROL = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
_YES, _NO = {"true", "on", "1", "match", ""}, {"false", "off", "0"}


@dataclass(frozen=True, slots=True)
class CopyFormat:
    name: str = "text"  # or csv, or binary
    delimiter: str = "\t"
    null: str = "\\N"
    quote: str = '"'
    escape: str | None = None  # none: the quote
    header: bool = False
    quoted: frozenset[str] | None = frozenset()  # columns of csv that always are; none: all


def copied_query(statement: Sequence[Token]) -> tuple[tuple[Token, ...], CopyFormat]:
    """The query whose rows are wanted, and how. Whatever isn't TO STDOUT is refused."""
    rest = words(statement)[1:]
    if rest and rest[0].text == "(":
        end = _closing(rest, 0) + 1
        query = _between(statement, rest[0], rest[end - 1])
    else:
        query, end = _whole_table(rest)
    match [token.word for token in rest[end : end + 2]]:
        case ["to", "stdout"]:
            return query, _options(rest[end + 2 :])
        case ["from", *_]:
            raise Refused("25006", "COPY FROM can't be run here: tables are only read")
        case ["to", *_]:
            raise Refused("42501", "COPY can't write files or start programs here", hint="COPY ... TO STDOUT works.")
    raise Refused("42601", "COPY needs a table or a query in brackets, and TO STDOUT")


def _whole_table(rest: Sequence[Token]) -> tuple[tuple[Token, ...], int]:
    """The query for `table (columns)`, and how many words that takes."""
    end = next((at for at, token in enumerate(rest) if token.word in ("to", "from") or token.text == "("), len(rest))
    if not all(token.sort in (Sort.NAME, Sort.QUOTED) or token.text == "." for token in rest[:end]) or not end:
        raise Refused("42601", "COPY needs a table or a query in brackets")
    columns, table = "*", "".join(token.text for token in rest[:end])
    if end < len(rest) and rest[end].text == "(":
        start, end = end + 1, _closing(rest, end) + 1
        columns = " ".join(token.text for token in rest[start : end - 1])
    return tuple(tokens(f"SELECT {columns} FROM {table}")), end


def _closing(rest: Sequence[Token], start: int) -> int:
    depth = 0
    for at in range(start, len(rest)):
        depth += {"(": 1, ")": -1}.get(rest[at].text, 0) if rest[at].sort is Sort.SIGN else 0
        if depth == 0:
            return at
    raise Refused("42601", "a bracket isn't closed")


def _between(statement: Sequence[Token], first: Token, last: Token) -> tuple[Token, ...]:
    start = next(at for at, token in enumerate(statement) if token is first)
    end = next(at for at, token in enumerate(statement) if token is last)
    return tuple(statement[start + 1 : end])


def _options(rest: Sequence[Token]) -> CopyFormat:
    if rest and rest[0].word == "with":
        rest = rest[1:]
    found: dict[str, list[Token]] = {}
    for given in _bracketed(rest) if rest and rest[0].text == "(" else _legacy(rest):
        found[given[0].word] = given[1:]
    name = found.pop("format", [Token(Sort.NAME, "text")])[0].word.strip("'")
    if name not in ("text", "csv", "binary"):
        raise Refused("22023", f'COPY format "{name}" not recognized')
    format_ = CopyFormat("csv", ",", "") if name == "csv" else CopyFormat(name)
    for option, value in found.items():
        format_ = _with_option(format_, option, value)
    if len(format_.delimiter) != 1 or len(format_.quote) != 1:
        raise Refused("22023", "COPY's delimiter and quote are one character each")
    return format_


def _bracketed(rest: Sequence[Token]) -> Iterator[list[Token]]:
    option: list[Token] = []
    depth = 0
    for token in rest[1 : _closing(rest, 0)]:
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if token.text == "," and depth == 0:
            yield option
            option = []
        else:
            option.append(token)
    if option:
        yield option


def _legacy(rest: Sequence[Token]) -> Iterator[list[Token]]:
    """`CSV HEADER DELIMITER AS ';'`, as it was written before PostgreSQL 9."""
    pieces = [token for token in rest if token.word != "as"]
    at = 0
    while at < len(pieces):
        word = pieces[at].word
        if word in ("csv", "binary"):
            yield [Token(Sort.NAME, "format"), pieces[at]]
        elif word == "header":
            yield [pieces[at]]
        elif word == "force":
            yield [Token(Sort.NAME, "force_quote"), *pieces[at + 2 :]]
            return
        else:
            yield pieces[at : at + 2]
            at += 1
        at += 1


def _with_option(format_: CopyFormat, option: str, given: Sequence[Token]) -> CopyFormat:
    text = _text(given[0]) if given else ""
    match option:
        case "delimiter":
            return replace(format_, delimiter=text)
        case "null":
            return replace(format_, null=text)
        case "quote":
            return replace(format_, quote=text)
        case "escape":
            return replace(format_, escape=text)
        case "header" if text.lower() in _YES | _NO:
            return replace(format_, header=text.lower() in _YES)
        case "force_quote":
            names = frozenset(token.word for token in given if token.sort in (Sort.NAME, Sort.QUOTED))
            return replace(format_, quoted=names or None)
        case "encoding" if text.upper().replace("-", "") == "UTF8":
            return format_
    raise Refused("42601", f'COPY TO has no option "{option}" with such a value here')


def _text(token: Token) -> str:
    if token.sort is not Sort.TEXT:
        return token.word
    inner = token.text[token.text.index("'") + 1 : -1].replace("''", "'")
    return inner.replace("\\t", "\t") if token.text[0] in "eE" else inner


def response(columns: Sequence[Column], format_: CopyFormat) -> bytes:
    code = int(format_.name == "binary")
    return protocol.framed(b"H", struct.pack("!bh", code, len(columns)) + struct.pack("!h", code) * len(columns))


def copy_data(batches: Iterator[Any], columns: Sequence[Column], format_: CopyFormat) -> Iterator[tuple[bytes, int]]:
    """Messages, a row each as PostgreSQL has them, with how many rows there are in them."""
    if format_.name == "binary":
        yield from _binary_data(batches, columns)
        return
    if format_.header:
        names = pa.RecordBatch.from_pydict({str(at): [c.name] for at, c in enumerate(columns)})
        yield _lines(names, [Column("", TEXT)] * len(columns), format_), 0
    for batch in batches:
        yield _lines(batch, columns, format_), batch.num_rows


def _binary_data(batches: Iterator[Any], columns: Sequence[Column]) -> Iterator[tuple[bytes, int]]:
    """The signature stands before the first row, in one message with it."""
    formats = [1] * len(columns)
    waiting = _SIGNATURE
    for batch in batches:
        if waiting and batch.num_rows:
            first = data_rows(batch.slice(0, 1), columns, formats)[5:]
            yield protocol.framed(b"d", waiting + first), 1
            waiting, batch = b"", batch.slice(1)
        if batch.num_rows:
            yield data_rows(batch, columns, formats, b"d"), batch.num_rows
    yield protocol.framed(b"d", waiting + _TRAILER), 0


def _lines(batch: Any, columns: Sequence[Column], format_: CopyFormat) -> bytes:
    write = _csv if format_.name == "csv" else _escaped
    fields = [
        pc.fill_null(write(_as_text(part, column), column, format_), format_.null)
        for part, column in zip(batch.columns, columns, strict=True)
    ]
    lines = pc.binary_join_element_wise(*fields, format_.delimiter) if fields else pa.array([""] * batch.num_rows)
    lines = pc.binary_join_element_wise(lines.cast(pa.binary()), b"\n", b"")
    sizes = pc.binary_length(lines).to_numpy(zero_copy_only=False) + 4
    return concatenated(pc.binary_join_element_wise(b"d", fixed(sizes.astype(">i4").tobytes(), 4), lines, b""))


def _as_text(part: Any, column: Column) -> Any:
    if pa.types.is_null(part.type):
        return pa.nulls(len(part), pa.string())
    return column.type.as_text(part).cast(pa.string())


def _escaped(values: Any, column: Column, format_: CopyFormat) -> Any:
    values = pc.replace_substring(values, "\\", "\\\\")
    for plain, written in _CONTROL.items():
        values = pc.replace_substring(values, plain, written)
    if format_.delimiter not in _CONTROL:
        values = pc.replace_substring(values, format_.delimiter, f"\\{format_.delimiter}")
    return values


def _csv(values: Any, column: Column, format_: CopyFormat) -> Any:
    special = "".join(map(re.escape, (format_.delimiter, format_.quote, "\n", "\r")))
    needed = pc.or_(pc.match_substring_regex(values, f"[{special}]"), pc.equal(values, format_.null))
    needed = pc.or_(needed, pc.equal(values, "\\."))
    if format_.quoted is None or column.name in format_.quoted:
        needed = pc.is_valid(values)
    escape = format_.escape or format_.quote
    inner = values if escape == format_.quote else pc.replace_substring(values, escape, escape * 2)
    inner = pc.replace_substring(inner, format_.quote, escape + format_.quote)
    quoted = pc.binary_join_element_wise(format_.quote, inner, format_.quote, "")
    return pc.if_else(needed, quoted, values)
