"""Regular expressions, as Java writes them, and masks for what must not be seen."""

from __future__ import annotations

from collections.abc import Sequence

from orion.ksql.functions.declare import Lowering, Overload, example, overload, scalar

# How many groups a pattern has. Spark stops the whole query where one is asked for that isn't there.
_BARE = r"regexp_replace({0}, '\\\\.|\\[[^\\]]*\\]', '')"
_GROUPS = rf"regexp_count({_BARE}, '\\((?!\\?)|\\(\\?<[a-zA-Z]')"

_MARKS = ("'X'", "'x'", "'n'", "'-'")


def _mask(text: str, marks: Sequence[str]) -> str:
    return f"mask({text}, {', '.join(marks or _MARKS)})"


def _checked(count: str, masked: str) -> str:
    return f"CASE WHEN {count} >= 0 THEN {masked} END"


def _mask_all(args: Sequence[str]) -> str:
    return _mask(args[0], args[1:])


def _mask_left(args: Sequence[str]) -> str:
    text, count, *marks = args
    return _checked(count, f"concat({_mask(f'left({text}, {count})', marks)}, substring({text}, {count} + 1))")


def _mask_right(args: Sequence[str]) -> str:
    text, count, *marks = args
    return _checked(count, f"concat(left({text}, length({text}) - {count}), {_mask(f'right({text}, {count})', marks)})")


def _keep_left(args: Sequence[str]) -> str:
    text, count, *marks = args
    return _checked(count, f"concat(left({text}, {count}), {_mask(f'substring({text}, {count} + 1)', marks)})")


def _keep_right(args: Sequence[str]) -> str:
    text, count, *marks = args
    return _checked(count, f"concat({_mask(f'left({text}, length({text}) - {count})', marks)}, right({text}, {count}))")


def _counted(spark: Lowering) -> tuple[Overload, Overload]:
    """With the usual marks, and with marks for capitals, small letters, digits and the rest."""
    return (
        overload("(STRING, INTEGER) -> STRING", spark),
        overload("(STRING, INTEGER, STRING, STRING, STRING, STRING) -> STRING", spark),
    )


MASK = scalar(
    "MASK",
    "The text with capitals as X, small letters as x, digits as n and everything else as -, or as the four characters "
    "given; NULL for one of them leaves its kind as it is.",
    overload("(STRING) -> STRING", _mask_all),
    overload("(STRING, STRING, STRING, STRING, STRING) -> STRING", _mask_all),
    examples=[
        example("MASK('My Test $123')", "Xx-Xxxx--nnn"),
        example("MASK('My Test $123', '*', NULL, '1', NULL)", "*y *est $111"),
        example("MASK(NULL)", None),
    ],
)

MASK_KEEP_LEFT = scalar(
    "MASK_KEEP_LEFT",
    "The text masked but for its first characters.",
    *_counted(_keep_left),
    examples=[example("MASK_KEEP_LEFT('My Test $123', 4)", "My Txxx--nnn"), example("MASK_KEEP_LEFT('ab', 9)", "ab")],
)

MASK_KEEP_RIGHT = scalar(
    "MASK_KEEP_RIGHT",
    "The text masked but for its last characters.",
    *_counted(_keep_right),
    examples=[
        example("MASK_KEEP_RIGHT('My Test $123', 4)", "Xx-Xxxx-$123"),
        example("MASK_KEEP_RIGHT('4111 1111', 4, '*', '*', '*', NULL)", "**** 1111"),
        example("MASK_KEEP_RIGHT('ab', 9)", "ab"),
    ],
)

MASK_LEFT = scalar(
    "MASK_LEFT",
    "The text with only its first characters masked.",
    *_counted(_mask_left),
    examples=[example("MASK_LEFT('My Test $123', 4)", "Xx-Xest $123"), example("MASK_LEFT('ab', 9)", "xx")],
)

MASK_RIGHT = scalar(
    "MASK_RIGHT",
    "The text with only its last characters masked.",
    *_counted(_mask_right),
    examples=[example("MASK_RIGHT('My Test $123', 4)", "My Test -nnn"), example("MASK_RIGHT('ab', 9)", "xx")],
)

REGEXP_EXTRACT = scalar(
    "REGEXP_EXTRACT",
    "What a pattern first matches in a text, or what one of its groups does; NULL where it doesn't match. The pattern "
    "stands first.",
    overload("(STRING, STRING) -> STRING", "CASE WHEN {1} RLIKE {0} THEN regexp_extract({1}, {0}, 0) END"),
    overload(
        "(STRING, STRING, INTEGER) -> STRING",
        f"CASE WHEN {{2}} BETWEEN 0 AND {_GROUPS} AND {{1}} RLIKE {{0}} THEN regexp_extract({{1}}, {{0}}, {{2}}) END",
    ),
    examples=[
        example("REGEXP_EXTRACT('[0-9]+', 'order 66, line 3')", "66"),
        example("REGEXP_EXTRACT('(.*) (.*)', 'hello there', 2)", "there"),
        example("REGEXP_EXTRACT('x+', 'hello')", None),
        example("REGEXP_EXTRACT('(.*) (.*)', 'hello there', 3)", None),
    ],
)

REGEXP_EXTRACT_ALL = scalar(
    "REGEXP_EXTRACT_ALL",
    "Everything a pattern matches in a text, or what one of its groups does each time. The pattern stands first.",
    overload("(STRING, STRING) -> ARRAY<STRING>", "regexp_extract_all({1}, {0}, 0)"),
    overload(
        "(STRING, STRING, INTEGER) -> ARRAY<STRING>",
        f"CASE WHEN {{2}} BETWEEN 0 AND {_GROUPS} THEN regexp_extract_all({{1}}, {{0}}, {{2}}) END",
    ),
    examples=[
        example("REGEXP_EXTRACT_ALL('[a-z]o', 'to do go')", ["to", "do", "go"]),
        example("REGEXP_EXTRACT_ALL('(\\w+) (\\w+)', 'hello there nice day', 2)", ["there", "day"]),
        example("REGEXP_EXTRACT_ALL('x', 'hello')", []),
        example("REGEXP_EXTRACT_ALL('(x)', 'hello', 2)", None),
    ],
)

REGEXP_REPLACE = scalar(
    "REGEXP_REPLACE",
    "The text with everything that a pattern matches replaced; $1 stands for the first group.",
    overload("(STRING, STRING, STRING) -> STRING", "regexp_replace({args})"),
    examples=[
        example("REGEXP_REPLACE('foobar', 'o+', '-')", "f-bar"),
        example("REGEXP_REPLACE('a1', '([a-z])([0-9])', '$2$1')", "1a"),
        example("REGEXP_REPLACE('a', 'b', NULL)", None),
    ],
)

REGEXP_SPLIT_TO_ARRAY = scalar(
    "REGEXP_SPLIT_TO_ARRAY",
    "The pieces of a text between the matches of a pattern. An empty pattern gives single characters.",
    overload("(STRING, STRING) -> ARRAY<STRING>", "split({0}, {1})"),
    examples=[
        example("REGEXP_SPLIT_TO_ARRAY('a1b22c', '[0-9]+')", ["a", "b", "c"]),
        example("REGEXP_SPLIT_TO_ARRAY('x1', '[0-9]')", ["x", ""]),
        example("REGEXP_SPLIT_TO_ARRAY('abc', '')", ["a", "b", "c"]),
        example("REGEXP_SPLIT_TO_ARRAY('abc', NULL)", None),
    ],
)
