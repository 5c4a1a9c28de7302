"""Text: cut, joined, searched, padded. Positions start at 1; bytes work like text wherever both make sense."""

from __future__ import annotations

from collections.abc import Sequence

from orion.ksql.functions.declare import example, overload, scalar

# Java's trim() takes away every character up to the blank.
_BLANKS = "".join(f"\\u{code:04x}" for code in range(0x21))

# A delimiter as a pattern that matches just itself.
_LITERALLY = r"regexp_replace({1}, '([^a-zA-Z0-9])', '\\\\$1')"

# Bytes as text that splits only between bytes: 0D0A as 0D,0A,
_SPELLED = "regexp_replace(hex({at}), '(..)', '$1,')"

_LPAD, _RPAD = (
    f"CASE WHEN {{1}} BETWEEN 0 AND {{most}} AND length({{2}}) > 0 THEN {side}({{args}}) END"
    for side in ("lpad", "rpad")
)

_START = "CASE WHEN {1} < 0 THEN greatest(length({0}) + {1}, 0) + 1 WHEN {1} >= 0 THEN greatest({1}, 1) END"

_ESCAPED_UNIT = r"\\\\u(?!d[89a-f])[0-9a-f]{{4}}"
_ESCAPED_PAIR = r"\\\\ud[89ab][0-9a-f]{{2}}\\\\ud[c-f][0-9a-f]{{2}}"


def _find(args: Sequence[str]) -> str:
    """All places of the text, then the one asked for. From the end, a match must end before the position."""
    text, part, position = args[:3]
    nth = args[3] if len(args) > 3 else "1"
    places = (
        f"filter(sequence(1, greatest(length({text}), 1)), __i -> substring({text}, __i, length({part})) = {part} AND "
        f"if({position} > 0, __i >= {position}, __i + length({part}) <= length({text}) + {position} + 2))"
    )
    found = f"try_element_at({places}, if({position} > 0, {nth}, 0 - ({nth})))"
    return f"coalesce(CASE WHEN {position} <> 0 AND {nth} > 0 THEN {found} END, 0)"


def _concat_bytes(args: Sequence[str]) -> str:
    filled = [f"coalesce({arg}, X'')" for arg in args]
    return f"concat({', '.join(filled)})"


def _concat_ws_bytes(args: Sequence[str]) -> str:
    return f"unhex(concat_ws({', '.join(f'hex({arg})' for arg in args)}))"


def _field(args: Sequence[str]) -> str:
    return f"CAST(coalesce(array_position(array({', '.join(args[1:])}), {args[0]}), 0) AS INT)"


CHR = scalar(
    "CHR",
    "The character with this Unicode code point, a number or an escape such as '\\u004b'; NULL where there is none.",
    overload(
        "(INTEGER) -> STRING",
        "CASE WHEN {0} BETWEEN 0 AND 1114111 AND {0} NOT BETWEEN 55296 AND 57343 "
        "THEN decode(unhex(lpad(hex({0}), 8, '0')), 'UTF-32') END",
    ),
    overload(
        "(STRING) -> STRING",
        f"CASE WHEN lower({{0}}) RLIKE '^({_ESCAPED_UNIT}|{_ESCAPED_PAIR})+$' "
        r"THEN decode(unhex(replace(lower({0}), '\\u', '')), 'UTF-16BE') END",
    ),
    examples=[
        example("CHR(75)", "K"),
        example("CHR(128512)", "\N{GRINNING FACE}"),
        example("CHR('\\u597d')", "好"),
        example("CHR(1114112)", None),
    ],
)

CONCAT = scalar(
    "CONCAT",
    "The arguments one after the other. NULLs are left out, so the result is never NULL.",
    overload("(STRING...) -> STRING", "concat_ws('', {args})", duckdb="concat({args})"),
    overload("(BYTES...) -> BYTES", _concat_bytes),
    examples=[
        example("CONCAT('a', NULL, 'b')", "ab"),
        example("CONCAT(CAST(NULL AS STRING), NULL)", ""),
        example("CONCAT(TO_BYTES('ab', 'ascii'), NULL, TO_BYTES('c', 'ascii'))", "YWJj"),
    ],
)

CONCAT_WS = scalar(
    "CONCAT_WS",
    "The arguments after the first, with the first between them. NULLs are left out; without a separator it is NULL.",
    overload("(STRING, STRING...) -> STRING", "concat_ws({args})", duckdb="concat_ws({args})"),
    overload("(BYTES, BYTES...) -> BYTES", _concat_ws_bytes),
    examples=[
        example("CONCAT_WS(', ', 'apple', NULL, 'date')", "apple, date"),
        example("CONCAT_WS(NULL, 'apple', 'date')", None),
    ],
)

ELT = scalar(
    "ELT",
    "The n-th of the texts; NULL where there is none.",
    overload("(INTEGER, STRING...) -> STRING", "elt({args})"),
    examples=[example("ELT(2, 'a', 'b')", "b"), example("ELT(3, 'a', 'b')", None), example("ELT(0, 'a')", None)],
)

FIELD = scalar(
    "FIELD",
    "The place of the first text among the others; 0 where it isn't there or is NULL.",
    overload("(STRING, STRING...) -> INTEGER", _field),
    examples=[example("FIELD('b', 'a', 'b')", 2), example("FIELD('x', 'a')", 0), example("FIELD(NULL, NULL)", 0)],
)

INITCAP = scalar(
    "INITCAP",
    "Each word with a capital first letter and the rest small. White space parts words; in front it is dropped.",
    overload(
        "(STRING) -> STRING",
        r"array_join(transform(regexp_extract_all(lower({0}), '\\S+\\s*', 0), "
        "__w -> concat(upper(left(__w, 1)), substring(__w, 2))), '')",
    ),
    examples=[example("INITCAP('the qUICK fox-hound')", "The Quick Fox-hound"), example("INITCAP('  x  y')", "X  Y")],
)

INSTR = scalar(
    "INSTR",
    "Where a text begins inside another, from a position on (backwards from the end if negative), or where its n-th "
    "occurrence does; 0 where it isn't.",
    overload("(STRING, STRING) -> INTEGER", "coalesce(instr({0}, {1}), 0)", duckdb="coalesce(instr({0}, {1}), 0)"),
    overload("(STRING, STRING, INTEGER) -> INTEGER", _find),
    overload("(STRING, STRING, INTEGER, INTEGER) -> INTEGER", _find),
    examples=[
        example("INSTR('CORPORATE FLOOR', 'OR')", 2),
        example("INSTR('CORPORATE FLOOR', 'OR', 3, 2)", 14),
        example("INSTR('CORPORATE FLOOR', 'OR', -3, 2)", 2),
        example("INSTR('CORPORATE FLOOR', 'MISSING', 3)", 0),
        example("INSTR(NULL, 'OR')", 0),
    ],
)

LCASE = scalar(
    "LCASE",
    "The text in small letters.",
    overload("(STRING) -> STRING", "lower({0})", duckdb="lower({0})"),
    examples=[example("LCASE('AbC')", "abc")],
)

LEN = scalar(
    "LEN",
    "How many characters a text has, or how many bytes.",
    overload("(STRING) -> INTEGER", "length({0})", duckdb="length({0})"),
    overload("(BYTES) -> INTEGER", "length({0})", duckdb="octet_length({0})"),
    examples=[example("LEN('häuser')", 6), example("LEN(TO_BYTES('ä', 'utf8'))", 2), example("LEN('')", 0)],
)

LPAD = scalar(
    "LPAD",
    "The text filled up on the left, or cut, to a length. NULL where the padding is empty, or the "
    "length negative or more than 100000 (1000 inside of a lambda).",
    overload(
        "(STRING, INTEGER, STRING) -> STRING",
        _LPAD,
        duckdb=_LPAD,
    ),
    overload("(BYTES, INTEGER, BYTES) -> BYTES", _LPAD),
    examples=[
        example("LPAD('Foo', 7, 'Bar')", "BarBFoo"),
        example("LPAD('Foo', 2, 'Bar')", "Fo"),
        example("LPAD('Foo', 7, '')", None),
    ],
)

REPLACE = scalar(
    "REPLACE",
    "The text with every occurrence of one text replaced by another.",
    overload("(STRING, STRING, STRING) -> STRING", "replace({args})", duckdb="replace({args})"),
    examples=[example("REPLACE('foo.foo', '.', '-')", "foo-foo"), example("REPLACE('a', NULL, 'b')", None)],
)

RPAD = scalar(
    "RPAD",
    "The text filled up on the right, or cut, to a length. NULL where the padding is empty, or the "
    "length negative or more than 100000 (1000 inside of a lambda).",
    overload(
        "(STRING, INTEGER, STRING) -> STRING",
        _RPAD,
        duckdb=_RPAD,
    ),
    overload("(BYTES, INTEGER, BYTES) -> BYTES", _RPAD),
    examples=[example("RPAD('Foo', 7, 'Bar')", "FooBarB"), example("RPAD('Foo', -1, 'Bar')", None)],
)

SPLIT = scalar(
    "SPLIT",
    "The pieces between the delimiters, which are taken literally. An empty delimiter gives single characters.",
    overload("(STRING, STRING) -> ARRAY<STRING>", f"if({{1}} = '', split({{0}}, ''), split({{0}}, {_LITERALLY}))"),
    overload(
        "(BYTES, BYTES) -> ARRAY<BYTES>",
        f"CASE WHEN length({{1}}) > 0 OR length({{0}}) = 0 THEN transform(split({_SPELLED.format(at='{0}')}, "
        f"{_SPELLED.format(at='{1}')}), __p -> unhex(replace(__p, ',', ''))) "
        "WHEN length({1}) = 0 THEN transform(regexp_extract_all(hex({0}), '..', 0), __p -> unhex(__p)) END",
    ),
    examples=[
        example("SPLIT('a.*b.*', '.*')", ["a", "b", ""]),
        example("SPLIT('abc', '')", ["a", "b", "c"]),
        example("ARRAY_LENGTH(SPLIT(TO_BYTES('612E622E', 'hex'), TO_BYTES('2E', 'hex')))", 3),
        example("SPLIT(NULL, ',')", None),
    ],
)

SPLIT_TO_MAP = scalar(
    "SPLIT_TO_MAP",
    "Keys and values from a text: one delimiter between the entries, one inside them. What has no value is left out; "
    "of equal keys the last counts.",
    overload(
        "(STRING, STRING, STRING) -> MAP<STRING, STRING>",
        "CASE WHEN {1} <> '' AND {2} <> '' AND {1} <> {2} THEN map_from_entries(transform("
        f"filter(split({{0}}, {_LITERALLY}), __e -> contains(__e, {{2}})), "
        "__e -> struct(split_part(__e, {2}, 1), split_part(__e, {2}, 2)))) END",
    ),
    examples=[
        example("SPLIT_TO_MAP('a:=1/b:=2/c', '/', ':=')", {"a": "1", "b": "2"}),
        example("SPLIT_TO_MAP('a=1;a=2', ';', '=')", {"a": "2"}),
        example("SPLIT_TO_MAP('a=1', '', '=')", None),
    ],
)

SUBSTRING = scalar(
    "SUBSTRING",
    "The part from a position on, as long as said or up to the end. A negative position counts from the end; one "
    "before the beginning is the beginning.",
    overload("(STRING, INTEGER) -> STRING", f"substring({{0}}, {_START})", duckdb=f"substring({{0}}, {_START})"),
    overload(
        "(STRING, INTEGER, INTEGER) -> STRING",
        f"substring({{0}}, {_START}, {{2}})",
        duckdb=f"substring({{0}}, {_START}, greatest({{2}}, 0))",
    ),
    overload("(BYTES, INTEGER) -> BYTES", f"substring({{0}}, {_START})"),
    overload("(BYTES, INTEGER, INTEGER) -> BYTES", f"substring({{0}}, {_START}, {{2}})"),
    examples=[
        example("SUBSTRING('stream', 1, 4)", "stre"),
        example("SUBSTRING('stream', -3)", "eam"),
        example("SUBSTRING('stream', -10, 2)", "st"),
        example("SUBSTRING('stream', 0, 3)", "str"),
        example("SUBSTRING('stream', NULL)", None),
    ],
)

TRIM = scalar(
    "TRIM",
    "The text without the white space around it: blanks, tabs, line ends and other control characters.",
    overload("(STRING) -> STRING", f"btrim({{0}}, '{_BLANKS}')"),
    examples=[example("TRIM('  a b ')", "a b"), example("TRIM(CONCAT(CHR(9), 'x', CHR(10)))", "x")],
)

UCASE = scalar(
    "UCASE",
    "The text in capital letters.",
    overload("(STRING) -> STRING", "upper({0})", duckdb="upper({0})"),
    examples=[example("UCASE('abc')", "ABC"), example("UCASE(NULL)", None)],
)
